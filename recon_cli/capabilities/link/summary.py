"""Summary of `recon link`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.link.labels import with_labels
from recon_cli.console.output import Line, seconds, share
from recon_cli.pipeline.run import Run, StageOutcome


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    totals, notes, words = manifest.totals, manifest.notes, words_of_run(run)
    people = words.people
    left_out = [(f"  left out, {why}", f"{n:,}") for why, n in sorted(manifest.statuses.items())]
    beyond = [
        (f"  left out, {name}: elsewhere", f"{n:,}")
        for name, n in notes["outside_partitions"].items()
        if n
    ]
    found = [
        line
        for name in notes["attackers"]
        if name not in notes["from_truth"]
        for line in _beside_truth(name, totals)
    ]
    yield from [
        ("sources", with_labels(run, manifest, notes["sources"])),
        ("attackers", with_labels(run, manifest, notes["attackers"]) or "none: agreement only"),
        (people, f"{totals['people']:,}"),
        ("  with an id", share(totals["linkable"], totals["people"])),
        (words.units, f"{totals['units']:,}"),
        *found,
        ("putative links", f"{totals['putative']:,}"),
        ("confirmed", share(totals["confirmed"], totals["putative"])),
        *left_out,
        *beyond,
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]


def _beside_truth(name: str, totals: Mapping[str, int]) -> list[tuple[str, str]]:
    """Compare an attacker's file with the truth: matched records, as in the study's Table 3."""
    records = totals.get(f"{name}: records", 0)
    matched, linkable = totals.get(f"{name}: matched", 0), totals["linkable"]
    return [
        (name, f"{records:,} records"),
        ("  matched", share(matched, records)),
        ("  unmatched", share(records - matched, records)),
        ("  only in the truth", share(linkable - matched, linkable)),
    ]
