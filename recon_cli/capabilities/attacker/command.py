"""``recon data attacker``."""

from __future__ import annotations

import click

from recon_cli.console.options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.console.stage_command import run_and_print


@click.command(cls=ConfiguredCommand, sections=("synth",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Make attackers' files about a synthetic population.

    Writes comrcl/ (a commercial file, COMRCL, with gaps, stale addresses and errors; its column
    truth says what each record is) and cef_atkr/ (block, sex and age of everybody who can be
    linked).

    Example:
      recon data attacker -c nation.yaml
    """
    run_and_print("attacker", options, force=force)
