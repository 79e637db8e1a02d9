"""What a finished stage prints on stdout: a few aligned facts, readable at any width."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from recon_cli.pipeline.run import StageOutcome
    from recon_cli.store import Manifest

Fact = tuple[str, str]

#: Values have as many columns at least, in whatever terminal.
_NARROWEST = 20


def console(*, stderr: bool = False) -> Console:
    """A console whose reader may go away: that raises `BrokenPipeError`, as for any file."""
    from rich.console import Console  # noqa: PLC0415 - only when there is something to show

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - rich calls this where it has caught it

    return Plain(stderr=stderr)


def show(title: str, facts: Iterable[Fact]) -> None:
    """Print a title and facts as label and value."""
    for line in _folded(title, 0):
        click.secho(line, bold=True)
    show_facts([(label, value) for label, value in facts])


def show_facts(facts: Sequence[Fact]) -> None:
    """Print labels, and beside them values folded to the width of the terminal."""
    indent = max((len(label) for label, _ in facts), default=0) + 4
    for label, value in facts:
        lines = [part for line in value.split("\n") for part in _folded(line, indent)]
        for first, line in zip([f"  {label}", *[""] * len(lines)], lines, strict=False):
            click.echo(click.style(first.ljust(indent), dim=True) + line)


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def _folded(line: str, indent: int) -> list[str]:
    room = max(terminal_width() - indent, _NARROWEST)
    return textwrap.wrap(line, room, break_on_hyphens=False) or [""]


def title_of(outcome: StageOutcome) -> str:
    """The stage, and whether there was anything to do."""
    if outcome.skipped:
        return f"{outcome.stage.name}: up to date, nothing to do (--force does it again)"
    return f"{outcome.stage.name}: done"


def share(part: int, whole: int) -> str:
    """A count and its percentage.

    >>> share(8488, 8530), share(0, 0), share(999999, 1000000)
    ('8,488 (99.5%)', '0', '999,999 (99.9%)')
    """
    if not whole:
        return f"{part:,}"
    # down, never up: 100.0% is said only of all
    return f"{part:,} ({int(1000 * part / whole) / 10:.1f}%)"


def seconds(value: float, people: int = 0, noun: str = "people") -> str:
    """Wall time, and the rate where it means something.

    >>> seconds(2.0, 100_000), seconds(0.004)
    ('2.00 (50,000 people a second)', '0.00')
    """
    rate = f" ({people / value:,.0f} {noun} a second)" if people and value >= 0.01 else ""
    return f"{value:.2f}{rate}"


def unlisted_facts(manifest: Manifest, units: str) -> list[Fact]:
    """How many of the units stand for those that the files do not list, if any does."""
    number = manifest.totals.get("unlisted", 0)
    stands = "stands" if number == 1 else "stand"
    name = units.replace("_", " ")
    fact = f"{number:,} of the {name} {stands} for any that the files do not list"
    return [("  not listed", fact)] if number else []


def duration(manifest: Manifest) -> str:
    """How long a stage took; a lower bound when it took over partitions of an earlier run."""
    facts = manifest.run
    least = "over " if facts.reused_partitions else ""
    return f"{least}{facts.wall_seconds:,.1f} s"


def show_table(frame: pl.DataFrame, headers: list[str]) -> None:
    """Print a small frame; numbers to the right, percentages with one decimal, rounded down."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for header, dtype in zip(headers, frame.dtypes, strict=True):
        table.add_column(f"  {header}", justify="right" if dtype.is_numeric() else "left")
    for row in frame.iter_rows():
        table.add_row(*(f"  {_number(value)}" for value in row))
    console().print(table)


def _number(value: object) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{int(10 * value) / 10:.1f}"
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)
