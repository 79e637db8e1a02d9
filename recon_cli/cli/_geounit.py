"""`View` in a terminal of any width: text that still reads at 60 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recon_cli.report.view import Kind, Reason, TableView, View

#: A published table is laid beside another from this width on.
_COLUMN = 38
_BAR = 12


def print_view(console: Console, view: View) -> None:
    """Print everything of a geounit.

    Args:
        console: Where to.
        view: The geounit.
    """
    console.print(Text(f"{view.place.level} {view.place.geoid}", style="bold"))
    console.print(Text(view.title, style="dim"))
    console.print(_head(view))
    for note in view.notes:
        console.print(Padding(_marked(note), (0, 0, 0, 2)), style="dim")
    if view.is_unit:
        _people(console, view)
        _reasons(console, view)
    else:
        _heading(console, f"{view.member_level} inside")
        console.print(_members(view))
    _tables(console, view)


def _heading(console: Console, title: str, note: str = "") -> None:
    console.print()
    console.print(Text.assemble((title, "bold"), (f"  {note}" if note else "", "dim")))


def _head(view: View) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    if view.above:
        grid.add_row("  in", ", ".join(map(str, view.above)))
    for fact in view.facts:
        grid.add_row(f"  {fact.label}", fact.value)
    return grid


def _people(console: Console, view: View) -> None:
    _heading(console, "reconstructed people", f"intervals {view.bounds}")
    if not view.kinds:
        console.print(Text("  nobody", style="dim"))
    elif console.width >= _needed(view):
        console.print(_wide(view))
    else:
        console.print(_narrow(view))
    if view.possible:
        _heading(console, "could be here too", "nobody in this reconstruction, somebody in others")
        for kind in view.possible:
            line = Text.assemble("  ", kind.words, ("  ", ""), (_interval(kind), "cyan"))
            console.print(line)
    if view.caution:
        console.print(Padding(Text(view.caution, style="yellow"), (1, 0, 0, 2)))


def _needed(view: View) -> int:
    """Columns that the wide list of people takes without wrapping."""
    titles = [*view.columns, *view.finer_columns]
    widths = [len(title) for title in titles]
    for kind in view.kinds:
        cells = [*kind.values, *(text[:24] for text in kind.finer)]
        widths = [max(width, len(cell)) for width, cell in zip(widths, cells, strict=True)]
    return 2 + 4 + 8 + 9 + 14 + sum(width + 2 for width in widths)


def _wide(view: View) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("  row", justify="right")
    for title in view.columns:
        table.add_column(title)
    table.add_column("people", justify="right")
    table.add_column("certain", justify="right")
    table.add_column("interval")
    for title in view.finer_columns:
        table.add_column(title, style="dim", overflow="fold")
    for kind in view.kinds:
        table.add_row(
            f"  {kind.number}",
            *kind.values,
            f"{kind.people:,}",
            _certain(kind),
            _interval(kind),
            *kind.finer,
        )
    return table


def _narrow(view: View) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for kind in view.kinds:
        finer = [
            f"{title} {values}"
            for title, values in zip(view.finer_columns, kind.finer, strict=True)
            if values
        ]
        named = [
            f"{title}: {value}" if value in {"yes", "no"} else value
            for title, value in zip(view.columns, kind.values, strict=True)
        ]
        words = Text(", ".join(named))
        if finer:
            words.append(f" ({', '.join(finer)})", style="dim")
        standing = Text.assemble(f"{kind.people:,}, ", _certain(kind), " certain")
        table.add_row(f"  {kind.number}", words, standing)
    return table


def _certain(kind: Kind) -> Text:
    if kind.lower == kind.people:
        return Text(f"{kind.lower:,}" if kind.people > 1 else "1", style="green")
    return Text(f"{kind.lower:,}" if kind.lower else "none", style="yellow")


def _interval(kind: Kind) -> str:
    if kind.upper is None:
        return f"{kind.lower:,} or more"
    if kind.lower == kind.upper:
        return f"{kind.lower:,} exactly"
    return f"{kind.lower:,} to {kind.upper:,}" + ("" if kind.is_exact else " at most")


def _reasons(console: Console, view: View) -> None:
    if not view.reasons and not view.unexplained:
        return
    _heading(console, "which published cells force it")
    for reason in view.reasons:
        console.print(Padding(_reason(view, reason), (0, 0, 1, 2)))
    if view.unexplained:
        rows = "row" if view.unexplained == 1 else "rows"
        hint = f"{view.unexplained:,} more {rows} with certain people: --why ROW or --why all"
        console.print(Text(f"  {hint}", style="dim"))


def _reason(view: View, reason: Reason) -> Group:
    kind = reason.kind
    title = Text.assemble(
        (f"row {kind.number}  ", "dim"), (claim(reason), "bold")
    )
    if not reason.lines:
        return Group(title, Text(reason.note, style="dim"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    for line in reason.lines:
        words = Text(line.words)
        if line.place is not None:
            words.append(f"  in {line.place}", style="dim")
        grid.add_row(f"{line.table} {line.code}", words, Text(f"{line.count:,}", style="bold"))
    return Group(title, grid, Text(proof(reason), style="dim"))


def claim(reason: Reason) -> str:
    """What is forced, as a sentence."""
    least = reason.kind.lower
    exactly = "" if least == reason.kind.people else f" of these {reason.kind.people:,}"
    people = "person" if least == 1 else "people"
    return f"at least {least:,} {people}{exactly}: {reason.words}"


def proof(reason: Reason) -> str:
    """How it is proven, and whether it is as short as can be."""
    count = len(reason.lines)
    if count == 1:
        return f"this cell alone; {reason.note}"
    spare = "none can be spared" if reason.is_minimal else "some of them may be spare"
    return f"these {count} cells, {spare}; {reason.note}"


def _members(view: View) -> RenderableType:
    with_solvar = any(member.solvar is not None for member in view.members)
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("  geoid", no_wrap=True)
    table.add_column("people", justify="right")
    table.add_column("certain", justify="right")
    table.add_column("records")
    if with_solvar:
        table.add_column("solvar", justify="right")
    for member in view.members:
        people = "–" if member.people is None else f"{member.people:,}"
        cells = [f"  {member.geoid}", people, f"{member.certain:,}", member.status]
        table.add_row(*cells, *([member.solvar or "–"] if with_solvar else []))
    if view.empty_members:
        more = f"  and {view.empty_members:,} without people"
        return Group(table, Text(more, style="dim"))
    return table


def _tables(console: Console, view: View) -> None:
    if not (view.tables or view.empty_tables or view.absent_tables):
        return
    _heading(console, "published tables", "cells above zero")
    width = max((_width(table) for table in view.tables), default=_COLUMN)
    fit = max(1, (console.width - 2) // (min(max(width, _COLUMN), console.width - 2) + 2))
    blocks = list(_blocks(view.tables))
    if fit == 1:
        for block in blocks:
            console.print(Padding(block, (0, 0, 1, 2)))
    else:
        each = (console.width - 2) // fit - 2
        console.print(Padding(Columns(blocks, width=each, padding=(0, 2, 1, 0)), (0, 0, 0, 2)))
    _list_tables(console, "all cells zero", view.empty_tables)
    _list_tables(console, "not published here (which is not zero)", view.absent_tables)


def _list_tables(console: Console, title: str, names: Sequence[str]) -> None:
    if names:
        line = Text.assemble((f"{title}: ", "dim"), ", ".join(names))
        console.print(Padding(line, (0, 0, 0, 2)))


def _width(table: TableView) -> int:
    longest = max((len(line.words) for line in table.lines), default=0)
    return min(longest + 8, 60)


def _blocks(tables: Sequence[TableView]) -> Iterator[Group]:
    for table in tables:
        title = Text(table.name, style="bold")
        if table.about:
            title.append(f"  {table.about}", style="dim")
        grid = Table.grid(padding=(0, 2, 0, 0), expand=False)
        grid.add_column(overflow="fold")
        grid.add_column(justify="right", no_wrap=True)
        for line in table.lines:
            grid.add_row(line.words, f"{line.count:,}")
        rest = [f"{table.zeros:,} zero"] if table.zeros else []
        rest += [f"{table.withheld:,} not published"] if table.withheld else []
        rest += [] if table.is_used else ["not used"]
        yield Group(title, grid, Text("; ".join(rest), style="dim")) if rest else Group(title, grid)


def _marked(text: str) -> Text:
    """Backticks as emphasis."""
    found = Text()
    for at, part in enumerate(text.split("`")):
        found.append(part, style="bold" if at % 2 else "")
    return found
