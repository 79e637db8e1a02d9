"""``recon status``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import RunOptions, run_options

if TYPE_CHECKING:
    from recon_cli.config import RunConfig
    from recon_cli.pipeline.steps import Step
    from recon_cli.pipeline.work_folder_status import FolderStatus
    from recon_cli.schema import Release
    from recon_cli.store import Manifest, Stage, StageStatus

#: Totals that are shown, and what they are called.
_FIGURES = {
    "cells": "non-zero cells",
    "certain": "certain",
    "pairs": "pairs swapped",
    "zero": "with zero solvar",
    "putative": "putative links",
    "confirmed": "confirmed",
}


@click.command()
@run_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def command(options: RunOptions, *, as_json: bool) -> None:
    """Say how every stage of a work folder stands.

    done, out of date (and why), half done (how many partitions are finished), not run, or
    damaged; people, units and key figures; when, how long, by which version, size on disk.
    With a config its inputs are looked at, too, and its stages that were never run are listed;
    with --work alone, only what lies in the folder. Reads, and changes nothing.

    \b
    Example:
      recon status -c al.yaml
      recon status --work work/al --json

    \b
    Config keys: those of each stage's own command.

    \b
    --json: work, version, and stages, each with
      stage, state, reasons, partitions_done,
      partitions (0: not known yet), folders, rows,
      statuses, totals, seed, created (UTC),
      wall_seconds, peak_mb, bytes, version
    What was never published has null for what is
    not known.
    """  # noqa: D301 - click wants the character itself
    config = _config(options)
    work = config.work if config is not None else options.work
    if work is None:
        raise click.UsageError("give --config FILE or --work FOLDER")
    found = list(_standings(options, config, work))
    if as_json:
        _print_json(work, found)
    elif options.verbosity >= 0:
        _print(work, found, config)


def _config(options: RunOptions) -> RunConfig | None:
    """The config; None when only a work folder was given."""
    from recon_cli.config import DEFAULT_FILE  # noqa: PLC0415 - slow imports only when needed

    alone = options.config is None and not options.settings and options.work is not None
    if alone and not Path(DEFAULT_FILE).exists():
        return None
    return options.load()


def _standings(options: RunOptions, config: RunConfig | None, work: Path) -> Iterator[FolderStatus]:
    """The config's stages in their order, then whatever else lies in the folder."""
    from recon_cli.pipeline import work_folder_status as standing  # noqa: PLC0415
    from recon_cli.pipeline.steps import links_between, steps_of  # noqa: PLC0415

    steps = () if config is None else steps_of(config)
    links = {} if config is None else links_between(steps, config)
    seen: dict[str, FolderStatus] = {}
    for step in steps:
        outlook = _outlook(step, options, work)
        before = {name: seen[name].outlook.state for name in seen if name in links[step.name]}
        outlook = standing.after(outlook, before)
        size = standing.size_of(work, outlook.stage)
        seen[step.name] = standing.FolderStatus(step.name, outlook, size)
    yield from seen.values()
    shown = {folder for step in steps for folder in step.makes}
    others = [stage for stage in standing.stages_in(work) if not shown & set(stage.folders)]
    for stage in _in_order(others):
        outlook, size = standing.status_without_config(work, stage), standing.size_of(work, stage)
        yield standing.FolderStatus(stage.name, outlook, size)


def _in_order(stages: Sequence[Stage]) -> list[Stage]:
    """Stages that no config orders: each after those that it reads from."""
    from recon_cli.pipeline.steps import every_step, in_order  # noqa: PLC0415

    makers = {folder: stage.name for stage in stages for folder in stage.folders}
    links: dict[str, set[str]] = {stage.name: set() for stage in stages}
    for step in every_step():
        if step.makes[0] in makers:
            read = {makers[folder] for folder in step.reads if folder in makers}
            links[makers[step.makes[0]]] = read
    by_name = {stage.name: stage for stage in stages}
    return [by_name[name] for name in in_order(list(by_name), links)]


def _outlook(step: Step, options: RunOptions, work: Path) -> StageStatus:
    """What a run would find, or what can be said where it would not get so far."""
    from recon_cli.errors import ReconError, StageError  # noqa: PLC0415
    from recon_cli.pipeline.steps import dry_run  # noqa: PLC0415
    from recon_cli.pipeline.work_folder_status import stage_of, status_without_config  # noqa: PLC0415

    try:
        return dry_run(step, options, force=False)
    except ReconError as error:
        found = status_without_config(work, stage_of(work, step.name, step.makes))
        if found.last is None and isinstance(error, StageError):
            return found  # what it reads is not there yet: the stages before it say so
        return replace(found, reasons=(*found.reasons, f"cannot be checked: {error}"))


def _print_json(work: Path, found: Sequence[FolderStatus]) -> None:
    from recon_cli import __version__  # noqa: PLC0415

    stages = [_as_json(each) for each in found]
    text = {"work": str(work), "version": __version__, "stages": stages}
    click.echo(json.dumps(text, indent=1, ensure_ascii=False))


def _as_json(standing: FolderStatus) -> dict[str, object]:
    outlook, manifest = standing.outlook, standing.outlook.last
    return {
        "stage": standing.name,
        "state": outlook.state.value,
        "reasons": list(outlook.reasons),
        "partitions_done": outlook.finished,
        "partitions": outlook.partitions,
        "folders": list(outlook.stage.folders),
        "rows": manifest and manifest.rows,
        "statuses": manifest and manifest.statuses,
        "totals": manifest and manifest.totals,
        "seed": manifest and manifest.seed,
        "created": manifest and manifest.run.created,
        "wall_seconds": manifest and manifest.run.wall_seconds,
        "peak_mb": manifest and max(manifest.run.peak_mb, manifest.run.worker_peak_mb),
        "bytes": standing.size,
        "version": manifest and manifest.tool,
    }


def _print(work: Path, found: Sequence[FolderStatus], config: RunConfig | None) -> None:
    from rich.table import Table  # noqa: PLC0415 - only when there is something to show
    from rich.text import Text  # noqa: PLC0415

    from recon_cli.cli._output import console  # noqa: PLC0415
    from recon_cli.progress.tally import flow  # noqa: PLC0415

    out = console()
    out.print(Text(str(work), style="bold"), soft_wrap=True)
    if not found:
        out.print("  no stage has run here")
    label = max((len(each.name) for each in found), default=0)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for each in found:
        release = _release(config, each.outlook.last)
        lines = [_state(each.outlook)]
        if each.outlook.last is not None:
            manifest = each.outlook.last
            for facts in (_figures(manifest, release), _making(manifest, each.size)):
                lines += flow(facts, max(out.width - label - 4, 20))
        grid.add_row(f"  {each.name}", Text("\n".join(lines)))
    out.print(grid)


def _state(outlook: StageStatus) -> str:
    from recon_cli.store import State  # noqa: PLC0415

    text = str(outlook.state)
    if outlook.state is not State.DONE and outlook.finished:
        of = f" of {outlook.partitions:,}" if outlook.partitions else ""
        text += f", {outlook.finished:,}{of} partitions finished"
    return f"{text}: {'; '.join(outlook.reasons)}" if outlook.reasons else text


def _figures(manifest: Manifest, release: Release | None) -> list[str]:
    """People, units, how they came out, and what else counts."""
    from recon_cli.progress import plural  # noqa: PLC0415
    from recon_cli.progress.tally import outcomes  # noqa: PLC0415

    totals = manifest.totals
    unit = "unit" if release is None else release.geography.unit.name
    facts = [f"{totals['people']:,} people"] if "people" in totals else []
    if "units" in totals:
        facts.append(f"{totals['units']:,} {plural(unit).replace('_', ' ')}")
    statuses = dict(manifest.statuses)
    if statuses.pop(unit, None) is not None:  # `recon ingest` counts geounits by level
        statuses = {plural(name) if n != 1 else name: n for name, n in statuses.items()}
    facts += outcomes(statuses)
    return facts + [
        f"{totals[key]:,} {called}" for key, called in _FIGURES.items() if key in totals
    ]


def _making(manifest: Manifest, size: int) -> list[str]:
    from recon_cli.cli._running import duration  # noqa: PLC0415

    when = manifest.run.created.replace("T", " ").removesuffix("+00:00")
    return [f"{when} UTC", duration(manifest), _bytes(size), f"version {manifest.tool}"]


def _bytes(size: int) -> str:
    """A size as people read it.

    >>> _bytes(999), _bytes(1_234_567)
    ('999 B', '1.2 MB')
    """
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


def _release(config: RunConfig | None, manifest: Manifest | None) -> Release | None:
    """The schema that a stage was made with, where it is at hand."""
    from recon_cli.errors import ReconError  # noqa: PLC0415
    from recon_cli.schema import load_release, packaged_releases  # noqa: PLC0415

    try:
        if config is not None:
            return config.load_release()
        if manifest is not None and manifest.release.name in packaged_releases():
            return load_release(manifest.release.name)
    except ReconError:
        return None
    return None
