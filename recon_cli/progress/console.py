"""Progress for people: a live view on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from recon_cli.progress.protocol import Bar, FinishedPartition, Task
from recon_cli.progress.tally import Snapshot, Tally, call_periodically, clock_time, flow
from recon_cli.resources import Memory

if TYPE_CHECKING:
    from rich.console import Console, Group

#: Seconds between plain lines.
_EVERY = 5.0
#: Times a second that the live view is drawn, however often progress arrives.
_FRAMES = 5
#: Columns that the bar must have to be worth drawing.
_BAR = 8


@dataclass
class ConsoleReporter:
    """Reports on a rich console.

    Attributes:
        make_console: Makes the console on stderr on first use, since rich loads slowly.
        verbose: Whether details are printed.
        place: Which stage of how many (``2/5``), where there are several.
    """

    make_console: Callable[[], Console]
    verbose: bool = False
    place: str = ""

    @cached_property
    def console(self) -> Console:
        """Return the console on stderr."""
        return self.make_console()

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """Show a live view on a terminal; elsewhere print a line every few seconds."""
        tally, memory = Tally(task), Memory()
        if not self.console.is_terminal:
            with call_periodically(
                _EVERY, lambda: self.note(line(tally.snapshot(), self.place, memory.mb()))
            ):
                yield tally
            return
        from rich.live import Live  # a library user pays for it only here

        def view() -> Group:
            return draw(self.console, tally.snapshot(), self.place, memory.mb())

        with Live(
            console=self.console,
            get_renderable=view,
            refresh_per_second=_FRAMES,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield tally

    def finished(self, part: FinishedPartition) -> None:
        """Print the partition if details are wanted."""
        self.detail(
            f"{part.stage}: {part.name} done in {part.seconds:.2f} s, {part.peak_mb:,.0f} MB"
        )

    def note(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def detail(self, text: str) -> None:
        """Print the text if details are wanted."""
        if self.verbose:
            self.note(text)


def line(now: Snapshot, place: str = "", memory_mb: float | None = None) -> str:
    """Format all facts about a task in one line."""
    facts = [*now.facts(), f"{clock_time(now.seconds)} so far"]
    if now.left is not None:
        facts.append(f"{clock_time(now.left)} left")
    return f"{_title(now, place)}: {', '.join([*facts, *_memory(memory_mb)])}"


def draw(console: Console, now: Snapshot, place: str, memory_mb: float | None) -> Group:
    """Draw the live view: a bar, and below it the facts in as many lines as the width needs."""
    from rich.console import Group  # slow imports only on a terminal
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    width = console.width - 1  # a full last column would wrap on some terminals
    title, share = _title(now, place), now.share
    tail = f"{clock_time(now.seconds)} so far"
    if share is not None and now.left is not None:
        tail = f"{int(100 * share):3d}%  {clock_time(now.left)} left"
    head = Table.grid(padding=(0, 1))
    head.add_column(no_wrap=True, overflow="ellipsis")
    cells: list[Text | ProgressBar] = [Text(title, style="bold")]
    room = width - len(title) - len(tail) - 2
    if room >= _BAR:
        head.add_column(width=room)
        total = None if share is None else 1.0
        cells.append(ProgressBar(total, share or 0.0, width=room, pulse=share is None))
    head.add_column(no_wrap=True, justify="right")
    head.add_row(*cells, Text(tail))
    separator = ", " if console.options.ascii_only else " · "
    facts = flow([*now.facts(), *_memory(memory_mb)], width, separator)
    below = (Text(each, style="dim", no_wrap=True, overflow="ellipsis") for each in facts)
    return Group(head, *below)


def _title(now: Snapshot, place: str) -> str:
    return f"{place} {now.task.stage}" if place else now.task.stage


def _memory(mb: float | None) -> list[str]:
    return [] if mb is None else [f"{mb:,.0f} MB"]
