"""Summary of `recon contributions`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recon_cli.capabilities.contributions import CONTRIBUTIONS
from recon_cli.capabilities.findings.result_tables import read_table
from recon_cli.console.output import Line, seconds, show_table
from recon_cli.pipeline.run import Run, StageOutcome

#: Rows of the list that are printed; all are in the folder.
_PARTS_SHOWN = 40


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    notes = outcome.manifest.notes
    yield from [
        ("left out", f"{notes['parts']}, one after the other"),
        ("attacks", f"{notes['attacks']:,}"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    columns = ["left_out", "certain_added", "disclosed_added", "claims_added"]
    if notes["orders"]:
        columns += ["certain_shapley", "disclosed_shapley", "claims_shapley"]
    table = read_table(run.work, CONTRIBUTIONS, "contributions").select(columns).head(_PARTS_SHOWN)
    yield partial(show_table, table, [name.replace("_", " ") for name in columns])
