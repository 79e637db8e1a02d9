"""``recon lab calibrate``."""

from __future__ import annotations

import click
import polars as pl

from recon_cli.capabilities.calibrate.populations import calibrate
from recon_cli.console.options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.console.output import show


@click.command(cls=ConfiguredCommand, sections=("calibrate",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    r"""Compare synthetic populations with published facts about the real one.

    Generates a population from each seed in a folder of its own in the work folder (by `recon data
    synth`, `recon data attacker` and `recon protect swap`), measures it, and writes a Markdown
    page with every measure, the published value and the largest allowed difference.

    Example:
      recon lab calibrate -c configs/nation.yaml
      recon lab calibrate -c configs/nation.yaml \
        --set calibrate.seeds=[7] --set synth.people=3000000
    """
    done = calibrate(options.run(force=force))
    if options.verbosity < 0:
        return
    asked = done.judged.filter(pl.col("ok").is_not_null())
    missed = asked.filter(~pl.col("ok"))
    show(
        f"calibrate: wrote {done.page}",
        [
            ("people", f"{done.people:,}"),
            ("seeds", ", ".join(map(str, done.seeds))),
            ("within bounds", f"{len(asked) - len(missed)} of {len(asked)}"),
            *(
                (f"  off by {off:.2f}", f"{name}, {size} (bound {bound:g})")
                for name, size, off, bound in missed.select(
                    "measure", "size", "off", "bound"
                ).iter_rows()
            ),
        ],
    )
