"""``recon solvar``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
    shard_option,
)
from recon_cli.cli._output import Fact, people_of, seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


#: What each mode looks at; 0 is the release's unit, 1 its region.
_MODES = {
    "relaxed": "relaxed: each {0} alone, so it proves less",
    "exact": "exact: with every count of the {1}",
}


@click.command(cls=ConfiguredCommand, sections=("solvar",))
@run_options
@click.option("--mode", help="relaxed, or exact.")
@shard_option
@force_option
def command(options: RunOptions, *, mode: str | None, shard: str | None, force: bool) -> None:
    """Measure how far any other solution could differ, and who is in all of them.

    Writes solvar/ (one row per unit), intervals/ (least and most people in every histogram cell),
    certainty/ (which records of microdata/ are in every solution) and regions/. Solvar is the
    largest share of a unit's records that differ in another solution of the same tables; zero is
    said only with a proof, and what the budget does not prove is an interval.

    \b
    Example:
      recon solvar -c al.yaml
      recon solvar --mode exact --set solvar.diameter=true
    """  # noqa: D301 - click wants the character itself
    options = options.sharded(shard, force=force)
    run_and_print("solvar", options.setting(solvar__mode=mode), force=force)


def print_solvar(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.evaluate.fresh import WorkFolder  # noqa: PLC0415 - slow imports when needed
    from recon_cli.evaluate.proven import known_columns  # noqa: PLC0415
    from recon_cli.pipeline.stages import RECONSTRUCT  # noqa: PLC0415
    from recon_cli.stages.answers import read_variability_by_size  # noqa: PLC0415
    from recon_cli.stages.run_words import words_of_run  # noqa: PLC0415

    manifest, words = outcome.manifest, words_of_run(run)
    totals, statuses, people = manifest.totals, manifest.statuses, words.people
    inhabited = totals.get("inhabited", totals["units"])
    reconstructed = WorkFolder(run.work).open(RECONSTRUCT)
    known = words.listed(known_columns(run.release, reconstructed))
    uncounted = bool(reconstructed.manifest.totals["uncounted"])
    counted = 0 if uncounted else totals["people"]
    places = run.release.geography.unit.name, run.release.region.name
    facts: list[Fact] = [
        ("mode", _MODES[manifest.notes["mode"]].format(*places).replace("_", " ")),
        (people, people_of(totals, is_counted=not uncounted)),
        (words.units, f"{totals['units']:,}, {inhabited:,} with {people}"),
        (words.zero, share(totals["zero"], inhabited)),
        (f"  {people} in them", share(totals["people_in_zero"], counted)),
        ("certain", f"at least {share(totals['certain'], counted)}, with {known}"),
        ("proven", share(statuses.get("proven", 0), totals["units"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    columns = ["size", "units", "zero_solvar_units_pct", "certain_pct"]
    by_size = read_variability_by_size(run.work).select(columns)
    show_table(by_size, [people, words.units, f"{words.zero} %", "certain %"])
