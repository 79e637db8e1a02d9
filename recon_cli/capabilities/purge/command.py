"""``recon purge``."""

from __future__ import annotations

import click

from recon_cli.capabilities.purge.entries import Purge, find_purge, purge
from recon_cli.console.options import ConfiguredCommand, RunOptions, run_options
from recon_cli.console.output import Fact, readable_bytes, show
from recon_cli.pipeline.stages import STAGES
from recon_cli.sources.unpacked import remove_abandoned


@click.command(cls=ConfiguredCommand)
@run_options
@click.option("--yes", is_flag=True, help="Remove the files; without it, only list them.")
def command(options: RunOptions, *, yes: bool) -> None:
    """Remove a run's files from its work folder.

    These are the folders of all stages, private/ with its keys, unfinished work, locks, logs of
    --log-json, and the folders disagreements/ and contradictions/. Other files are kept and
    listed, even in a stage's folder; so are links. Files outside the work folder are untouched. The
    command refuses a folder without any run, and one in which a stage is running. Files are
    removed, not overwritten: backups and the disk may still have them.

    Example:
      recon purge -c al.yaml
      recon purge --work work/al --yes
    """
    work = options.work if options.work is not None else options.load().work
    if work is None:
        raise click.UsageError("give --config FILE or --work FOLDER")
    found = find_purge(work, {folder for stage in STAGES for folder in stage.folders})
    if yes:
        size = _size(found)
        purge(found)
        left = "\n".join(map(str, remove_abandoned()))
        done = [*_facts(found, "removed"), *([("of killed runs", left)] if left else [])]
        done += [("together", size)]
        title = "purge: done"
    else:
        done = [*_facts(found, "to remove"), ("together", _size(found))]
        title = "purge: nothing is removed yet; --yes removes this"
    if options.verbosity >= 0:
        show(title, [("work folder", str(work)), *done])


def _size(found: Purge) -> str:
    return f"{found.files:,} files, {readable_bytes(found.size)}"


def _facts(found: Purge, removed: str) -> list[Fact]:
    named = (
        (removed, [str(each.relative_to(found.work)) for each in found.paths]),
        ("stays", [str(each.relative_to(found.work)) for each in found.kept]),
        ("elsewhere", [f"{each}: remove it yourself" for each in found.elsewhere]),
    )
    return [(label, "\n".join(lines)) for label, lines in named if lines]
