"""Summary of `recon audit`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recon_cli.capabilities.audit.totals import read_audit
from recon_cli.capabilities.findings.asked import (
    LEFT_OUT_ROWS,
    UNKNOWN_RULE,
    UNLISTED_PLACES,
    left_out_gaps,
)
from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.console.output import Line, seconds, share, show_table
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.store import Manifest
from recon_cli.store.protection import read_protection
from recon_cli.store.published import open_published, read_coverage, read_left_out


def _by_statistics(manifest: Manifest) -> int:
    return manifest.totals.get("by_statistics", 0)


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    cells, statuses = manifest.totals["cells"], manifest.statuses
    left_out = manifest.totals.get("left_out", 0)
    found = read_audit(run.work, run.release)
    zeros = int(found.by_table["zeros"].sum())
    tables = open_published(run.work, run.release)[0]
    unasked = left_out_gaps(read_left_out(tables))
    protection = read_protection(tables, run.release)
    has_unlisted = not all(each.is_listed for each in read_coverage(tables, run.release))
    narrowed = "no closer if" if statuses.get("narrowed") else ""
    unlisted_matters = "safe if" if statuses.get("safe") else narrowed
    yield from [
        ("counts not published exactly", f"{cells:,}"),
        *([("  left out of tables", share(left_out, cells))] if left_out else []),
        ("  recovered", share(statuses.get("recovered", 0), cells)),
        *([("    0: nobody is there", f"{zeros:,}")] if zeros else []),
        *([("    only by statistics", f"{by:,}")] if (by := _by_statistics(manifest)) else []),
        ("  narrowed", share(statuses.get("narrowed", 0), cells)),
        ("  safe", share(statuses.get("safe", 0), cells)),
        ("  undecided", share(statuses.get("undecided", 0), cells)),
        *(("safe without", gap) for gap in unasked),
        *([("safe if", UNKNOWN_RULE)] if protection.has_unknown_rule else []),
        *([("safe if", LEFT_OUT_ROWS)] if left_out and statuses.get("safe") else []),
        *([(unlisted_matters, UNLISTED_PLACES)] if has_unlisted and unlisted_matters else []),
        ("proven by", proven_by(WorkFolder(run.work))),
        ("interval known exactly", share(manifest.totals["exact"], cells)),
        ("seconds", seconds(manifest.run.wall_seconds)),
    ]
    outcomes = ["counts", "recovered", "narrowed", "safe", "undecided", "smallest width"]
    yield partial(show_table, found.by_table.drop("small", "zeros"), ["level", "table", *outcomes])
    if not found.by_suppression.is_empty():
        yield partial(show_table, found.by_suppression, ["suppression", *outcomes])
