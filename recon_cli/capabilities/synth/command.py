"""``recon data synth``."""

from __future__ import annotations

from dataclasses import replace

import click

from recon_cli.console.options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.console.stage_command import run_and_print


@click.command(cls=ConfiguredCommand, sections=("synth",))
@run_options
@click.option("--people", type=click.IntRange(min=1), help="How many people, exactly.")
@click.option("--blocks", type=click.IntRange(min=1), help="Or how many inhabited blocks.")
@force_option
def command(
    options: RunOptions,
    *,
    people: int | None,
    blocks: int | None,
    force: bool,
) -> None:
    """Generate a synthetic population like that of the 2010 Census.

    Writes persons/ (one row per person), households/ (one row per housing unit, with the features
    of the 2010 housing tables) and places/ (every block). The same seed and size give the same
    population, whatever the number of workers. `recon data attacker` then makes attackers' files
    about it.

    Example:
      recon data synth -c nation.yaml --people 1000000
      recon data attacker -c nation.yaml
    """
    run_and_print("synth", _sized(options, people, blocks), force=force)


def _sized(options: RunOptions, people: int | None, blocks: int | None) -> RunOptions:
    """Replace the config's size, of either kind, by the one from the command line."""
    if people is None and blocks is None:
        return options
    if people is not None and blocks is not None:
        raise click.UsageError("--people and --blocks exclude each other")
    sizes = {"people": people, "blocks": blocks}
    said = (f"synth.{name}={'null' if size is None else size}" for name, size in sizes.items())
    return replace(options, settings=(*options.settings, *said))
