"""Summary of `recon slivers`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from recon_cli.capabilities.slivers import SLIVERS
from recon_cli.capabilities.slivers.question import SLIVERS as COLUMNS
from recon_cli.console.output import Line, seconds, show_table
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural
from recon_cli.store import open_folder

#: Rows of the table.
_SLIVERS_SHOWN = 12


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest, people = outcome.manifest, plural(run.release.record)
    units = plural(run.release.geography.unit.name)
    totals, below = manifest.totals, manifest.notes["below"]
    yield from [
        (units, f"{totals['units']:,}"),
        ("areas", f"{totals['areas']:,}, {totals['exact_areas']:,} with an exact total"),
        (f"slivers of 1 to {below - 1} {people}", f"{totals['slivers']:,}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["units"], units)),
    ]
    folder = open_folder(run.work, SLIVERS, "slivers")
    rows = pl.concat([COLUMNS.to_frame(), *folder.parts()])
    first = rows.sort("people", "geoid").head(_SLIVERS_SHOWN)
    table = first.select("areas", pl.col("units").list.join(", "), "people")
    yield partial(show_table, table, ["areas", "holds", people])
