"""``recon export``."""

from __future__ import annotations

from pathlib import Path

import click

from recon_cli.cli._options import ConfiguredCommand, GivenPath, RunOptions, run_options
from recon_cli.cli._output import show
from recon_cli.export import export_marked, export_suppressed

_FOLDER = GivenPath(file_okay=False)


@click.command(cls=ConfiguredCommand, sections=("ingest",))
@run_options
@click.option("--to", type=_FOLDER, help="Write the files here with what is given away marked.")
@click.option("--suppressed", type=_FOLDER, help="Write them here with stars, for publication.")
def command(options: RunOptions, *, to: Path | None, suppressed: Path | None) -> None:
    """Write the published workbooks and tables again: marked, or with suppressed counts.

    --to marks what was proven by the stages that were run: recovered counts and intervals of
    `recon audit`, certain records, claims and disclosures. A workbook gets colours, comments and
    a sheet of findings; in text a count is `* [3]` or `* [1 to 4]`, with findings.csv beside it.
    It gives away what it marks, and is not for publication.

    --suppressed puts a star in place of the counts that `recon protect suppress` withheld, for
    publication. Sheets that were not read are left out. Formulas become numbers.

    Example:
      recon export -c pupils.yaml --to marked
      recon export -c pupils.yaml --suppressed safe
    """
    if to is None and suppressed is None:
        raise click.UsageError("name a folder: --to marked, or --suppressed safe")
    run = options.run()
    for title, write, folder in (
        ("export: marked, not for publication", export_marked, to),
        ("export: suppressed", export_suppressed, suppressed),
    ):
        if folder is None:
            continue
        made = write(run, folder)
        if options.verbosity >= 0:
            facts = [("wrote", "\n".join(map(str, made.files)))]
            facts += [(what, f"{number:,}") for what, number in made.numbers.items()]
            show(title, [*facts, *(("note", note) for note in made.notes)])
