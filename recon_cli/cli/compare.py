"""``recon compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("compare",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Protect one truth in several ways, attack each, and show error and risk on one page.

    Every protection is published, reconstructed and attacked in a work folder of its own,
    compare/NAME/, several at a time; then all are linked with the truth together. Writes
    comparison/: the page, a table of all protections, and their errors.

    \b
    Example:
      recon compare -c protections.yaml
    """  # noqa: D301 - click wants the character itself
    run_and_print("compare", options, force=force)


def print_compare(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.stages.compare import PAGE  # noqa: PLC0415

    manifest = outcome.manifest
    show(
        title_of(outcome),
        [
            *(("", sentence.replace("**", "")) for sentence in manifest.notes["summary"]),
            ("page", str(run.work / "comparison" / PAGE)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
