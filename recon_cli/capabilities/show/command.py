"""``recon show``: a view of a geounit for a terminal, or as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from recon_cli.capabilities.show.geounit import Why
from recon_cli.capabilities.show.stage import view_geounit, view_release
from recon_cli.capabilities.show.view import GeounitView, Reason, RecordKind, TableView
from recon_cli.console.options import OUTPUT_FILE, ConfiguredCommand, RunOptions, run_options
from recon_cli.console.output import TableColumn, console, fitted_table
from recon_cli.page.markup import to_text
from recon_cli.stage import undisturbed
from recon_cli.store.files import write_named

#: Least width of published tables that are side by side.
_COLUMN = 38
#: Histogram cells without reconstructed people that are listed.
_POSSIBLE = 40
#: Recovered counts that are listed.
_RECOVERED = 6
#: Verified claims that are listed.
_CLAIMS = 12


@click.command(cls=ConfiguredCommand)
@run_options
@click.argument("place", metavar="[GEOID|NAME]", required=False)
@click.option(
    "--why",
    "rows",
    multiple=True,
    metavar="ROW|all|none",
    help="Which rows of people to explain. Repeatable.  [default: the first few]",
)
@click.option("--html", type=OUTPUT_FILE, help="Write a page to this file instead.")
def command(
    options: RunOptions, *, place: str | None, rows: tuple[str, ...], html: Path | None
) -> None:
    """Show one place: its tables, its people, and why records are certain.

    For a block: the published cells, the reconstructed people with the interval of every
    histogram cell, and for certain people a minimal set of published cells that proves them. For
    a larger place: its tables, and the findings about each block in it. Without an argument: the
    largest places that can be shown. A NAME is one that the ingested files give. Needs microdata/,
    audit/ or joint/, and shows other results if they exist. Writes no stage folder.

    Example:
      recon show -c configs/toy.yaml
      recon show 018410001001002 -c configs/toy.yaml
      recon show 01841000100 -c configs/toy.yaml
      recon show 018410001001002 --why 4 --html b.html
    """
    if place is None and rows:
        raise click.UsageError("--why needs a GEOID: rows are those of one geounit")
    run = options.run()
    view = view_release(run) if place is None else view_geounit(run, place, _why(rows))
    if html is None:
        print_view(console(), view)
        return
    with undisturbed():
        from recon_cli.capabilities.show.page import show_page

    write_named(html, show_page(view).encode())
    if options.verbosity >= 0:
        click.echo(f"page  {html}")


def _why(rows: tuple[str, ...]) -> Why:

    if not rows:
        return Why()
    if rows == ("all",):
        return Why(everyone=True)
    if rows == ("none",):
        return Why(numbers=())
    wrong = next((row for row in rows if not row.isdecimal()), None)
    if wrong is not None:
        raise click.UsageError(f"--why {wrong}: a row number, all or none is expected")
    return Why(numbers=tuple(dict.fromkeys(map(int, rows))))


def print_view(console: Console, view: GeounitView) -> None:
    """Print a view of a geounit."""
    console.print(Text(str(view.geounit), style="bold"))
    console.print(Text(view.title, style="dim"))
    console.print(_details(view))
    for note in view.notes:
        console.print(_indent(_marked(note)), style="dim")
    if view.is_unit:
        _claims(console, view)
        _people(console, view)
        _reasons(console, view)
    elif view.member_level:
        _heading(console, f"{view.member_level} inside")
        console.print(_members(view, console.width))
    _tables(console, view)


def _heading(console: Console, title: str, note: str = "") -> None:
    console.print()
    heading = Text(title, style="bold")
    if note:
        heading.append(f"  {to_text(note)}", style="not bold dim")
    console.print(heading)


def _details(view: GeounitView) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    if view.enclosing:
        grid.add_row("  in", ", ".join(map(str, view.enclosing)))
    for detail in view.details:
        grid.add_row(f"  {detail.label}", detail.value)
    recovered = [each for each in view.protected if each.is_recovered]
    for each in recovered[:_RECOVERED]:
        nobody = "" if each.least else ": nobody"
        grid.add_row(
            f"  recovered {each.table} {each.cell}",
            f"{each.words}: {each.interval}{nobody}{each.reason}",
        )
    if len(recovered) > _RECOVERED:
        more = f"{len(recovered) - _RECOVERED:,} more in audit/; --html FILE lists all"
        grid.add_row("  recovered", more)
    return grid


def _claims(console: Console, view: GeounitView) -> None:
    if not view.claims:
        return
    _heading(console, "verified claims", "true in every reconstruction, on any columns")
    for claim in view.claims[:_CLAIMS]:
        console.print(_indent(Text(claim)))
    if len(view.claims) > _CLAIMS:
        more = f"and {len(view.claims) - _CLAIMS:,} more: --html FILE lists all"
        console.print(_indent(Text(more, style="dim")))


def _people(console: Console, view: GeounitView) -> None:
    people = view.words.people
    _heading(console, f"reconstructed {people}", f"intervals {view.bounds}")
    if not view.kinds:
        console.print(Text(f"  no {people}", style="dim"))
    elif console.width >= _table_width(view):
        console.print(_table_of_people(view))
    else:
        console.print(_list_of_people(view))
    if view.possible:
        _heading(console, "also possible", "none in this reconstruction, perhaps some in others")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(overflow="fold")
        grid.add_column(style="dim", no_wrap=True)
        for kind in view.possible[:_POSSIBLE]:
            grid.add_row(kind.words, kind.interval)
        console.print(_indent(grid))
        more_possible = len(view.possible) + view.more_possible - _POSSIBLE
        if more_possible > 0:
            where = "intervals/ has" if view.more_possible else "--html FILE lists"
            more = f"and {more_possible:,} more: {where} all"
            console.print(_indent(Text(more, style="dim")))
    if view.caution:
        console.print(_indent(Text(view.caution, style="yellow"), above=1))


def _table_width(view: GeounitView) -> int:
    """Return the width of the table of people without wrapping."""
    titles = [*view.columns, *view.finer_columns]
    widths = [len(title) for title in titles]
    for kind in view.kinds:
        cells = [*kind.values, *(text[:24] for text in kind.finer)]
        widths = [max(width, len(cell)) for width, cell in zip(widths, cells, strict=True)]
    return 2 + 4 + 8 + 13 + 17 + sum(width + 2 for width in widths)


def _table_of_people(view: GeounitView) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("  row", justify="right")
    for title in view.columns:
        table.add_column(title)
    table.add_column(view.words.people, justify="right")
    table.add_column("certainty")
    table.add_column("in any solution")
    for title in view.finer_columns:
        table.add_column(title, style="dim", overflow="fold")
    for kind in view.kinds:
        table.add_row(
            f"  {kind.number}",
            *kind.values,
            f"{kind.people:,}",
            Text(kind.certainty, style=_style(kind)),
            kind.interval,
            *kind.finer,
        )
    return table


def _list_of_people(view: GeounitView) -> Table:
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
        words = Text(kind.words)
        if finer:
            words.append(f" ({', '.join(finer)})", style="dim")
        certainty = Text.assemble(f"{kind.people:,}  ", (kind.certainty, _style(kind)))
        if kind.lower < kind.people:
            certainty.append(f"\n{kind.interval}", style="dim")
        table.add_row(f"  {kind.number}", words, certainty)
    return table


def _style(kind: RecordKind) -> str:
    return "green" if kind.lower == kind.people else "yellow"


def _reasons(console: Console, view: GeounitView) -> None:
    if not view.reasons and not view.unexplained:
        return
    _heading(console, "which published cells force it")
    for reason in view.reasons:
        console.print(_indent(_reason(reason), below=1))
    if view.unexplained:
        rows = "row" if view.unexplained == 1 else "rows"
        more, people = "more " if view.reasons else "", view.words.people
        hint = f"{view.unexplained:,} {more}{rows} with certain {people}: --why ROW or --why all"
        console.print(Text(f"  {hint}", style="dim"))


def _reason(reason: Reason) -> Group:
    kind = reason.kind
    title = Text.assemble((f"row {kind.number}  ", "dim"), (reason.statement, "bold"))
    if not reason.lines:
        return Group(title, Text(reason.proof, style="dim"))
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    for line in reason.lines:
        words = Text(line.cell.words)
        if line.geounit is not None:
            words.append(f"  in {line.geounit}", style="dim")
        grid.add_row(f"{line.table} {line.cell.code}", words, Text(line.cell.shown, style="bold"))
    return Group(title, grid, Text(reason.proof, style="dim"))


def _members(view: GeounitView, width: int) -> RenderableType:
    with_solvar = any(member.solvar is not None for member in view.members)
    columns = [TableColumn("geoid", is_number=False)]
    if view.has_names:
        columns.append(TableColumn("name", is_number=False))
    columns += [
        TableColumn(view.words.people, is_number=True),
        TableColumn("certain", is_number=True),
    ]
    columns.append(TableColumn("reconstruction", is_number=False))
    if with_solvar:
        columns.append(TableColumn("solvar" if view.words.is_study else "varies", is_number=True))
    rows = []
    for member in view.members:
        people = "–" if member.people is None else f"{member.people:,}"
        cells = [member.geoid, *([member.name] if view.has_names else [])]
        cells += [people, f"{member.certain:,}", member.status]
        rows.append([*cells, *([member.solvar or "–"] if with_solvar else [])])
    table = fitted_table(columns, rows, width)
    if view.empty_members:
        more = f"  and {view.empty_members:,} without {view.words.people}"
        return Group(table, Text(more, style="dim"))
    return table


def _tables(console: Console, view: GeounitView) -> None:
    if not (view.tables or view.empty_tables or view.absent_tables):
        return
    _heading(console, "published tables", "cells above zero")
    width = max((_width(table) for table in view.tables), default=_COLUMN)
    fit = max(1, (console.width - 2) // (min(max(width, _COLUMN), console.width - 2) + 2))
    blocks = list(_blocks(view.tables))
    if fit == 1:
        for block in blocks:
            console.print(_indent(block, below=1))
    else:
        each = (console.width - 2) // fit - 2
        console.print(_indent(Columns(blocks, width=each, padding=(0, 2, 1, 0))))
    _list_tables(console, "all cells zero", view.empty_tables)
    _list_tables(console, "not published here (which is not zero)", view.absent_tables)


def _list_tables(console: Console, title: str, names: Sequence[str]) -> None:
    if names:
        line = Text.assemble((f"{title}: ", "dim"), ", ".join(names))
        console.print(_indent(line))


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
            grid.add_row(line.words, line.shown)
        rest = [Text(table.rest, style="dim")] if table.rest else []
        yield Group(title, grid, *rest)


def _indent(what: RenderableType, *, above: int = 0, below: int = 0) -> Padding:
    return Padding(what, (above, 0, below, 2), expand=False)


def _marked(text: str) -> Text:
    """Render backticks as emphasis."""
    marked = Text()
    for at, part in enumerate(text.split("`")):
        marked.append(part, style="bold" if at % 2 else "")
    return marked
