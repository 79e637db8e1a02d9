"""`recon joint`."""

from __future__ import annotations

from recon_cli.cli._output import Fact, seconds, share, show, title_of
from recon_cli.evaluate.checked import ALONE
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, unit = outcome.manifest, plural(run.release.geography.unit.name)
    totals, statuses = manifest.totals, manifest.statuses
    facts: list[Fact] = [(unit, f"{totals['units']:,}")]
    for name in manifest.notes["parts"][:2]:
        records = totals[f"{name}_records"]
        facts += [
            (plural(name), f"{records:,}"),
            ("  certain", share(totals[f"{name}_joint"], records)),
            ("  by their own tables", share(totals[f"{name}_alone"], records)),
        ]
    facts.append(("proven", share(statuses.get("proven", 0), totals["units"])))
    facts.append(("proven by", ALONE))
    first = totals[f"{manifest.notes['parts'][0]}_records"]
    people = plural(run.release.record)
    facts.append(("seconds", seconds(manifest.run.wall_seconds, first, people)))
    show(title_of(outcome), facts)
