"""What protections, and their comparison, print."""

from __future__ import annotations

from collections import Counter

from recon_cli.capabilities.compare.stage import PAGE
from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.cli._output import Fact, seconds, share, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.stage import load


def protection(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished protection."""
    protection = load(outcome.stage.function)(run)
    # Where there are no people there is no partition: each sum over none is zero.
    totals = Counter(outcome.manifest.totals)
    manifest = outcome.manifest.model_copy(update={"totals": totals})
    table = protection.table(manifest)
    if table is not None:
        show_table(*table)
    facts: list[Fact] = [(label, _said(value)) for label, value in protection.facts(manifest)]
    facts += [
        ("invariant", f"{exact}: ρ and ε are between files that agree in that; else no promise")
        for exact in manifest.notes.get("invariants", ())
    ]
    facts += [
        ("note", f"ρ and ε are {said}") for said in manifest.notes.get("protected_before", ())
    ]
    people = manifest.totals["people"]
    taken = seconds(manifest.run.wall_seconds, people, protection.people)
    show(title_of(outcome), [*facts, ("seconds", taken)])


def _said(value: str | int | tuple[int, int]) -> str:
    if isinstance(value, tuple):
        return share(*value)
    return f"{value:,}" if isinstance(value, int) else value


def compare(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
            ("proven by", ALONE),
            ("page", str(run.work / "comparison" / PAGE)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
