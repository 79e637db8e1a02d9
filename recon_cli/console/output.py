"""Printing facts and tables on stdout, readable at any width."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import click

from recon_cli.page.words import percent, percentage
from recon_cli.pipeline.run import StageOutcome
from recon_cli.store import Manifest

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console, RenderableType

Fact = tuple[str, str]
#: A line of a stage's summary: a label with a value, a sentence, or a function that prints it.
Line = Fact | str | Callable[[], None]

#: Blanks before every column of a table.
_GAP = 2
#: Fewest columns for values, in whatever terminal.
_NARROWEST = 20


def console(*, stderr: bool = False) -> Console:
    """Return a console that raises `BrokenPipeError` when its reader goes away, as files do."""
    from rich.console import Console  # only when there is something to show

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - rich calls this where it has caught it

    return Plain(stderr=stderr)


def show(title: str, facts: Iterable[Fact]) -> None:
    """Print a title, then facts as label and value."""
    for line in _folded(title, 0):
        click.secho(line, bold=True)
    show_facts([(label, value) for label, value in facts])


def show_lines(title: str, lines: Iterable[Line]) -> None:
    """Print the lines of a summary; its title stands above the first facts."""
    for are_facts, group in groupby(lines, lambda line: isinstance(line, tuple)):
        if are_facts:
            show(title, [line for line in group if isinstance(line, tuple)])
            continue
        for line in group:
            if isinstance(line, str):
                click.echo(f"  {line}")
            elif not isinstance(line, tuple):
                line()


def show_facts(facts: Sequence[Fact]) -> None:
    """Print labels, each with its value folded to the width of the terminal."""
    indent = max((len(label) for label, _ in facts), default=0) + 4
    for label, value in facts:
        lines = [part for line in value.split("\n") for part in _folded(line, indent)]
        for first, line in zip([f"  {label}", *[""] * len(lines)], lines, strict=False):
            click.echo(click.style(first.ljust(indent), dim=True) + line)


def terminal_width() -> int:
    """Return the width of the terminal in columns; 80 where there is none."""
    return shutil.get_terminal_size().columns


def _folded(line: str, indent: int) -> list[str]:
    room = max(terminal_width() - indent, _NARROWEST)
    return textwrap.wrap(line, room, break_on_hyphens=False) or [""]


def title_of(outcome: StageOutcome) -> str:
    """Format the stage's name, and whether it had anything to do."""
    if outcome.skipped:
        return f"{outcome.stage.name}: up to date, nothing to do (--force does it again)"
    return f"{outcome.stage.name}: done"


def share(part: int, whole: int) -> str:
    """Format a count with its percentage, rounded as in the report.

    >>> share(48, 260), share(0, 0), share(999999, 1000000)
    ('48 (18.5%)', '0', '999,999 (more than 99.9%)')
    """
    return f"{part:,} ({percentage(part, whole)})" if whole else f"{part:,}"


def people_of(totals: Mapping[str, int], *, is_counted: bool) -> str:
    """Format the number of people, or of reconstructed people if no table has a total.

    >>> people_of({"people": 500}, is_counted=False)
    '500 reconstructed; the tables do not say how many'
    """
    unknown = "" if is_counted else " reconstructed; the tables do not say how many"
    return f"{totals['people']:,}{unknown}"


def seconds(value: float, people: int = 0, noun: str = "people") -> str:
    """Format wall time, and the rate where it is meaningful.

    >>> seconds(2.0, 100_000), seconds(0.004)
    ('2.00 (50,000 people a second)', '0.00')
    """
    rate = f" ({people / value:,.0f} {noun} a second)" if people and value >= 0.01 else ""
    return f"{value:.2f}{rate}"


def unlisted_facts(manifest: Manifest, units: str) -> list[Fact]:
    """State how many units stand for units that the files do not list, if there are any."""
    number = manifest.totals.get("unlisted", 0)
    stands = "unit stands" if number == 1 else "units stand"
    fact = f"{number:,} more {stands} for any {units.replace('_', ' ')} that the files do not list"
    return [("  not listed", fact)] if number else []


def duration(manifest: Manifest) -> str:
    """Format how long a stage took; a lower bound if it reused partitions of an earlier run."""
    facts = manifest.run
    least = "over " if facts.reused_partitions else ""
    return f"{least}{facts.wall_seconds:,.1f} s"


def readable_bytes(size: int) -> str:
    """Format a size in bytes for people.

    >>> readable_bytes(999), readable_bytes(1_234_567)
    ('999 B', '1.2 MB')
    """
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


def show_table(frame: pl.DataFrame, headers: list[str]) -> None:
    """Print a small frame, numbers to the right, shares (a header with ``%``) as in the report."""
    rows = [
        [_cell(value, is_share="%" in name) for name, value in zip(headers, row, strict=True)]
        for row in frame.iter_rows()
    ]
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    columns = [TableColumn(name, each) for name, each in zip(headers, numeric, strict=True)]
    out = console()
    out.print(fitted_table(columns, rows, out.width))


@dataclass(frozen=True)
class TableColumn:
    """A column of a table on the terminal.

    Attributes:
        is_number: Whether its cells are to the right.
    """

    name: str
    is_number: bool


def fitted_table(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int
) -> RenderableType:
    """Lay out a table without cutting any cell; one fact a line if it would be too wide.

    Args:
        columns: The columns; those before the first number name a row.
        rows: Cells, as many as columns.
        width: Columns of the terminal.
    """
    from rich.table import Table  # only when there is something to show

    cells = [max((len(row[at]) for row in rows), default=0) for at in range(len(columns))]
    names = [each.name for each in columns]
    if _GAP * len(columns) + sum(map(max, map(len, names), cells)) > width:
        names = [name.replace(" ", "\n") for name in names]  # headings in lines, cells never
    widest = [max(len(line) for line in name.split("\n")) for name in names]
    if _GAP * len(columns) + sum(map(max, widest, cells)) > width:
        return _fact_a_line(columns, rows)
    table = Table(box=None, header_style="dim", padding=(0, 0, 0, _GAP))
    for name, column in zip(names, columns, strict=True):
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        table.add_column(name, justify=justify, no_wrap=True, vertical="bottom")
    for row in rows:
        table.add_row(*row)
    return table


def _fact_a_line(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> RenderableType:
    """Lay out each row as a title, and below it one line for each other cell with its heading."""
    from rich.console import Group  # only when there is something to show
    from rich.table import Table
    from rich.text import Text

    about = next((at for at, each in enumerate(columns) if each.is_number), 1) or 1
    named = f"{columns[0].name} " if columns[0].is_number else ""
    parts: list[RenderableType] = []
    for row in rows:
        grid = Table.grid(padding=(0, _GAP, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for column, cell in zip(columns[about:], row[about:], strict=True):
            grid.add_row(f"    {column.name}", cell)
        parts += [Text(f"  {named}{'  '.join(filter(None, row[:about]))}"), grid]
    return Group(*parts)


def _cell(value: object, *, is_share: bool) -> str:

    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return percent(value) if is_share else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def unasked_facts(manifest: Manifest) -> list[Fact]:
    """State the columns that coarser tables distinguish, beyond the schema's ``histogram``."""
    named = ", ".join(manifest.notes["unasked"])
    return [("  not asked, though shown", named)] if named else []
