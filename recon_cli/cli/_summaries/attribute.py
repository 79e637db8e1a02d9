"""`recon attribute`."""

from __future__ import annotations

import click

from recon_cli.cli._output import Fact, share, show, title_of
from recon_cli.evaluate.checked import ALONE
from recon_cli.evaluate.proven import proof_conditions
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    notes = outcome.manifest.notes
    whom = "whom" if run.release.record == "person" else "which"
    facts: list[Fact] = [
        (f"known {plural(run.release.record)}", f"{notes['people']:,}"),
        (f"of {whom} something is proven", share(notes["settled_people"], notes["people"])),
        ("proven values", f"{notes['settled']:,}"),
        ("proven by", ALONE),
        ("written to", str(run.work / outcome.stage.folders[0])),
    ]
    show(title_of(outcome), facts)
    for line in proof_conditions(notes["laws"], assumes_zeros=notes["assumes_zeros"]):
        click.echo(f"  {line}")
