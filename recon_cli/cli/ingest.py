"""``recon ingest``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, show, title_of
from recon_cli.pipeline.steps import Files, Step

if TYPE_CHECKING:
    from recon_cli.config import RunConfig
    from recon_cli.stages import StageOutcome


@click.command()
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Read published files into the work folder.

    Writes tables/ (every non-zero published count) and geounits/.

    \b
    Example:
      recon ingest -c al.yaml
      recon ingest --set ingest.paths=[al2010.sf1.zip]

    \b
    Config keys:
      release        packaged schema, or a .yaml file
      work           work folder
      ingest.source  sf1-legacy, or tidy
      ingest.paths   files, or folders of files
      ingest.absent  tidy: a cell without a row is
                     zero (default) or unpublished;
                     or by table, {P12: unpublished}
      ingest.geounits
                     tidy: a list of all geounits, a
                     file with a column geoid
      ingest.piece_people
                     people that a worker takes at a
                     time (default 100000)
    """  # noqa: D301 - click wants the character itself
    perform(options, force=force)


def perform(options: RunOptions, *, force: bool) -> StageOutcome:
    """Run the stage and print what came of it."""
    from recon_cli.progress import plural  # noqa: PLC0415
    from recon_cli.stages.ingest import ingest  # noqa: PLC0415 - imports polars

    run = options.run(force=force)
    outcome = ingest(run)
    if options.verbosity < 0:
        return outcome
    manifest = outcome.manifest
    people = manifest.totals["people"]
    levels = [level.name for level in run.release.geography.levels]
    show(
        title_of(outcome),
        [
            ("release", run.release.name),
            ("people", f"{people:,}"),
            *(
                (plural(name).replace("_", " "), f"{manifest.statuses[name]:,}")
                for name in levels
                if name in manifest.statuses
            ),
            ("non-zero cells", f"{manifest.totals['cells']:,}"),
            ("seconds", seconds(manifest.run.wall_seconds, people)),
        ],
    )
    return outcome


def _files(config: RunConfig) -> Files:
    from recon_cli.config import Ingest  # noqa: PLC0415 - imports pydantic

    return Files(reads=config.section(Ingest).paths)


STEP = Step("ingest", "ingest", (), ("tables", "geounits"), perform, _files)
