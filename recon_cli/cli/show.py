"""``recon show``."""

from __future__ import annotations

from pathlib import Path

import click

from recon_cli.cli._geounit import print_view
from recon_cli.cli._options import OUTPUT_FILE, ConfiguredCommand, RunOptions, run_options
from recon_cli.cli._output import console
from recon_cli.stage import load
from recon_cli.stages.show import view_geounit, view_release
from recon_cli.stages.why import Why
from recon_cli.store.files import write_named


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
    """Show one geounit: its tables, its people, and why records are certain.

    For a block: the published cells, the reconstructed people with the interval of every
    histogram cell, and for certain people a minimal set of published cells that forces them. For
    a coarser geounit: its tables, and what is proven of each block in it. Without a
    place: the coarsest geounits that can be shown. A NAME is one that `recon ingest` was told.
    Needs microdata/; uses solvar/ if it exists. Reads, and writes no stage folder.

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
    show_page = load("recon_cli.report.show_page:show_page")
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
