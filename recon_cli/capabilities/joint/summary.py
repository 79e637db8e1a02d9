"""Summary of `recon joint`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.capabilities.findings.joint_findings import are_all_open, shown_parts
from recon_cli.console.output import Fact, Line, seconds, share
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural
from recon_cli.store import Manifest


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest, unit = outcome.manifest, plural(run.release.geography.unit.name)
    totals, statuses = manifest.totals, manifest.statuses
    facts: list[Fact] = [(unit, f"{totals['units']:,}")]
    is_open = statuses.get("open", 0)
    if is_open:
        records_of = " or ".join(plural(name) for name in shown_parts(manifest))
        facts.append(("  open", f"{share(is_open, totals['units'])}: no table bounds {records_of}"))
    for name in shown_parts(manifest):
        records = totals[f"{name}_records"]
        if are_all_open(manifest):
            facts.append((plural(name), "not known"))
            continue
        facts += [
            (plural(name), f"{records:,}"),
            ("  certain", share(totals[f"{name}_joint"], records)),
            ("  by their own tables", share(totals[f"{name}_alone"], records)),
        ]
    if are_all_open(manifest):
        facts.append(("proven", "open"))
    else:
        facts.append(("proven", share(statuses.get("proven", 0), totals["units"])))
        facts += _who_lives_with_whom(manifest, unit)
    facts.append(("proven by", ALONE))
    first = totals[f"{shown_parts(manifest)[0]}_records"]
    people = plural(run.release.record)
    facts.append(("seconds", seconds(manifest.run.wall_seconds, first, people)))
    yield from facts


def _who_lives_with_whom(manifest: Manifest, unit: str) -> list[Fact]:
    """Report who lives with whom, if it was asked for."""
    totals, partner = manifest.totals, shown_parts(manifest)[1]
    if not manifest.notes["compositions"]:
        return []
    return [
        (f"{plural(partner)} with every member", f"{totals['certain_with_members']:,}"),
        (f"{unit} with one division", f"{totals['is_division_unique']:,}"),
        ("who lives with whom proven", share(totals["divisions_proven"], totals["units"])),
    ]
