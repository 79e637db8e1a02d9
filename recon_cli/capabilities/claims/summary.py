"""Summary of `recon claims`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.result_tables import read_disclosures
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.console.output import (
    Fact,
    Line,
    people_of,
    seconds,
    share,
    show_table,
    unasked_facts,
)
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    totals, statuses = manifest.totals, manifest.statuses
    people = plural(run.release.record)
    uncounted = WorkFolder(run.work).open(RECONSTRUCT).manifest.totals["uncounted"]
    facts: list[Fact] = [
        ("columns", ", ".join(manifest.notes["columns"]) or "none"),
        *unasked_facts(manifest),
        (people, people_of(totals, is_counted=not uncounted)),
        (plural(run.release.geography.unit.name).replace("_", " "), f"{totals['units']:,}"),
        ("claims", f"{totals['claims']:,}"),
        ("  exact", share(totals["exact_claims"], totals["claims"])),
        ("  maximal", share(totals["maximal"], totals["claims"])),
        (f"  of one {run.release.record}", share(totals["singletons"], totals["claims"])),
        *_on_tables_alone(run, totals),
        *_absent(run, totals),
        ("proven by", proven_by(WorkFolder(run.work))),
        *[("proven if", f"counts are {law}") for law in manifest.notes["laws"]],
        ("undecided", f"{totals['undecided']:,}"),
        ("complete", share(statuses.get("complete", 0), totals["units"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    yield from facts
    yield partial(
        show_table,
        read_disclosures(run.work),
        ["columns known", "identity", "attribute", "inferential"],
    )


def _absent(run: Run, totals: Mapping[str, int]) -> list[Fact]:
    """Report claims of absence, if they were asked for."""
    if "absent" not in totals:
        return []
    return [(f"of no {run.release.record}", f"{totals['absent']:,}")]


def _on_tables_alone(run: Run, totals: Mapping[str, int]) -> list[Fact]:
    """Report claims that hold without assumptions, if the release has any."""
    if not run.release.has_assumptions:
        return []
    return [("  on tables alone", share(totals["on_tables_alone"], totals["claims"]))]
