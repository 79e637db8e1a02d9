"""``recon export``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from recon_cli.capabilities.export.copies import export_marked, export_suppressed
from recon_cli.capabilities.export.records import export_records
from recon_cli.console.options import ConfiguredCommand, GivenPath, RunOptions, run_options
from recon_cli.console.output import show

_FOLDER, _FILE = GivenPath(file_okay=False), GivenPath(dir_okay=False)


@click.command(cls=ConfiguredCommand, sections=("ingest", "check"))
@run_options
@click.option("--to", type=_FOLDER, help="Write the files here with what is given away marked.")
@click.option("--suppressed", type=_FOLDER, help="Write them here with stars, for publication.")
@click.option("--records", type=_FILE, help="Write the records of places with one solution here.")
@click.option("--of", type=GivenPath(), help="In that workbook: records of this file, not our own.")
def command(
    options: RunOptions,
    *,
    to: Path | None,
    suppressed: Path | None,
    records: Path | None,
    of: Path | None,
) -> None:
    """Write the published workbooks and tables again: marked, or with suppressed counts.

    --to marks what was proven by the stages that were run: recovered counts and intervals of
    `recon audit`, certain records, claims and disclosures. A workbook gets colours, comments and
    a sheet of findings; in text a count is `* [3]` or `* [1 to 4]`, with findings.csv beside it.
    It gives away what it marks, and is not for publication.

    --suppressed puts a star in place of the counts that `recon protect suppress` withheld, for
    publication. Sheets that were not read are left out. Formulas become numbers.

    --records writes a workbook of the reconstructed records of regions, such as tracts, in which
    every unit is proven to have one solution: whether each is unique on the attacker's keys,
    certain, in a place or of a category with too few people. Rules of `recon check` say how many
    are too few, and have national totals. --of: of another file, records of the same places. It
    is not for publication.

    Example:
      recon export -c pupils.yaml --to marked
      recon export -c pupils.yaml --suppressed safe
      recon export -c al.yaml --records zero.xlsx --of published.parquet
    """
    if to is None and suppressed is None and records is None:
        raise click.UsageError(
            "name a folder or a file: --to marked, --suppressed safe, or --records records.xlsx"
        )
    if of is not None and records is None:
        raise click.UsageError("--of goes with --records")
    run = options.run()
    for title, write, target in (
        ("export: marked, not for publication", export_marked, to),
        ("export: suppressed", export_suppressed, suppressed),
        ("export: records, not for publication", partial(export_records, others=of), records),
    ):
        if target is None:
            continue
        made = write(run, target)
        if options.verbosity >= 0:
            facts = [("wrote", "\n".join(map(str, made.files)))]
            facts += [(what, f"{number:,}") for what, number in made.numbers.items()]
            show(title, [*facts, *(("note", note) for note in made.notes)])
