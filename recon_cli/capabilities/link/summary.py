"""Print the summary of `recon link`."""

from __future__ import annotations

from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.link.labels import with_labels
from recon_cli.console.output import (
    seconds,
    share,
    show,
    title_of,
)
from recon_cli.pipeline.run import Run, StageOutcome


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    totals, notes, words = manifest.totals, manifest.notes, words_of_run(run)
    people = words.people
    left_out = [(f"  left out, {why}", f"{n:,}") for why, n in sorted(manifest.statuses.items())]
    beyond = [
        (f"  left out, {name}: elsewhere", f"{n:,}")
        for name, n in notes["outside_partitions"].items()
        if n
    ]
    show(
        title_of(outcome),
        [
            ("sources", with_labels(run, manifest, notes["sources"])),
            ("attackers", with_labels(run, manifest, notes["attackers"]) or "none: agreement only"),
            (people, f"{totals['people']:,}"),
            ("  with an id", share(totals["linkable"], totals["people"])),
            (words.units, f"{totals['units']:,}"),
            ("putative links", f"{totals['putative']:,}"),
            ("confirmed", share(totals["confirmed"], totals["putative"])),
            *left_out,
            *beyond,
            ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
        ],
    )
