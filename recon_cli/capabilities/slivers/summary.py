"""Print the summary of `recon slivers`."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.slivers import SLIVERS
from recon_cli.capabilities.slivers.question import SLIVERS as COLUMNS
from recon_cli.console.output import Fact, seconds, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural
from recon_cli.store import open_folder

#: Rows of the table.
_SLIVERS_SHOWN = 12


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, people = outcome.manifest, plural(run.release.record)
    units = plural(run.release.geography.unit.name)
    totals, below = manifest.totals, manifest.notes["below"]
    facts: list[Fact] = [
        (units, f"{totals['units']:,}"),
        ("areas", f"{totals['areas']:,}, {totals['exact_areas']:,} with an exact total"),
        (f"slivers of 1 to {below - 1} {people}", f"{totals['slivers']:,}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["units"], units)),
    ]
    show(title_of(outcome), facts)
    folder = open_folder(run.work, SLIVERS, "slivers")
    rows = pl.concat([COLUMNS.to_frame(), *(folder.read(name) for name in folder.partitions)])
    first = rows.sort("people", "geoid").head(_SLIVERS_SHOWN)
    table = first.select("areas", pl.col("units").list.join(", "), "people")
    show_table(table, ["areas", "holds", people])
