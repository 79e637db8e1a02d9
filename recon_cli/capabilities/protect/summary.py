"""Summary of a protection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from recon_cli.capabilities.protect.stage import ProtectionStage
from recon_cli.console.output import Fact, Line, seconds, share, show_table
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.run_stages import open_stage


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished protection."""
    protection = open_stage(outcome.stage, run)
    if not isinstance(protection, ProtectionStage):
        raise TypeError(f"{outcome.stage.name} is no protection")
    # Where there are no people there is no partition: each sum over none is zero.
    totals = Counter(outcome.manifest.totals)
    manifest = outcome.manifest.model_copy(update={"totals": totals})
    table = protection.table(manifest)
    if table is not None:
        yield partial(show_table, *table)
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
    yield from facts
    yield "seconds", taken


def _said(value: str | int | tuple[int, int]) -> str:
    if isinstance(value, tuple):
        return share(*value)
    return f"{value:,}" if isinstance(value, int) else value
