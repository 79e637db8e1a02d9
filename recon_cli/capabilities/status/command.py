"""``recon status``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.status.stages import FolderStatus, status_of_folder, status_of_run
from recon_cli.config import DEFAULT_FILE
from recon_cli.console.options import ConfiguredCommand, RunOptions, run_options
from recon_cli.console.output import duration, readable_bytes, show_facts, terminal_width
from recon_cli.errors import ReconError
from recon_cli.pipeline.run import Run
from recon_cli.plurals import plural
from recon_cli.progress.tally import flow, outcomes
from recon_cli.schema import Release, load_release, packaged_releases
from recon_cli.store import Manifest, StageStatus, State
from recon_cli.version import __version__

#: Total in a manifest → the words in which it is shown.
_FIGURES = {
    "cells": "{:,} non-zero cells",
    "unlisted": "{:,} standing for any that are not listed",
    "certain": "at least {:,} certain",
    "pairs": "{:,} pairs swapped",
    "putative": "{:,} putative links",
    "confirmed": "{:,} confirmed",
}


@click.command(cls=ConfiguredCommand)
@run_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def command(options: RunOptions, *, as_json: bool) -> None:
    """Show the status of every stage of a work folder.

    A stage is done, out of date (with the reason), half done (with the number of finished
    partitions), not run, or damaged. Also shows people, units and key figures, date, duration,
    version and size on disk. With a config, inputs are checked too, and stages that never ran are
    listed; with --work alone, only stages in the folder. Changes nothing.

    Example:
      recon status -c al.yaml
      recon status --work work/al --json

    --json: work, version, and stages, each with
      stage, state, reasons, partitions_done,
      partitions (0: not known yet), folders, rows,
      statuses, totals, seed, created (UTC),
      wall_seconds, peak_mb, bytes, version
    null: not known, as the stage was never completed.
    """
    run = None if _only_work(options) else options.run()
    work = options.work if run is None else run.work
    if work is None:
        raise click.UsageError("give --config FILE or --work FOLDER")
    if run is None and not work.is_dir():
        raise click.UsageError(f"--work {work}: no such folder")
    folders = status_of_folder(work) if run is None else status_of_run(run)
    if as_json:
        stages = [_as_json(each) for each in folders]
        text = {"work": str(work), "version": __version__, "stages": stages}
        click.echo(json.dumps(text, indent=1, ensure_ascii=False))
    elif options.verbosity >= 0:
        _print(work, folders, run)


def _only_work(options: RunOptions) -> bool:
    """Test whether there is a work folder and no config."""
    given = options.config is not None or options.settings or options.work is None
    return not given and not Path(DEFAULT_FILE).exists()


def _as_json(folder: FolderStatus) -> dict[str, object]:
    status, manifest = folder.status, folder.status.last
    return {
        "stage": folder.name,
        "state": status.state.value,
        "reasons": list(status.reasons),
        "partitions_done": status.finished,
        "partitions": status.partitions,
        "folders": list(status.stage.folders),
        "rows": manifest and manifest.rows,
        "statuses": manifest and manifest.statuses,
        "totals": manifest and manifest.totals,
        "seed": manifest and manifest.seed,
        "created": manifest and manifest.run.created,
        "wall_seconds": manifest and manifest.run.wall_seconds,
        "peak_mb": manifest and max(manifest.run.peak_mb, manifest.run.worker_peak_mb),
        "bytes": folder.size,
        "version": manifest and manifest.tool,
    }


def _print(work: Path, folders: Sequence[FolderStatus], run: Run | None) -> None:

    click.secho(str(work), bold=True)
    if not folders:
        click.echo("  no stage has run here")
    label = max((len(each.name) for each in folders), default=0)
    facts, zero = [], "no variability" if run is None else words_of_run(run).zero
    for each in folders:
        release = _release(run, each.status.last)
        lines = [_state(each.status)]
        if each.status.last is not None:
            manifest = each.status.last
            for parts in (_figures(manifest, release, zero), _making(manifest, each.size)):
                lines += flow(parts, max(terminal_width() - label - 4, 20))
        facts.append((each.name, "\n".join(lines)))
    show_facts(facts)


def _state(status: StageStatus) -> str:

    text = str(status.state)
    if status.state is not State.DONE and status.finished:
        of = f" of {status.partitions:,}" if status.partitions else ""
        text += f", {status.finished:,}{of} partitions finished"
    return f"{text}: {'; '.join(status.reasons)}" if status.reasons else text


def _figures(manifest: Manifest, release: Release | None, zero: str) -> list[str]:
    """List people, units, outcomes and other key figures."""
    totals = manifest.totals
    unit = "unit" if release is None else release.geography.unit.name
    people = plural("person" if release is None else release.record)
    # None are counted where no table says how many there are.
    made = " reconstructed" if totals.get("uncounted") else ""
    partly = "at least " if totals.get("partly_counted") else ""
    facts = [f"{partly}{totals['people']:,} {people}{made}"] if totals.get("people") else []
    if "units" in totals:
        facts.append(f"{totals['units']:,} {plural(unit).replace('_', ' ')}")
    statuses = dict(manifest.statuses)
    if statuses.pop(unit, None) is not None:  # `recon ingest` counts geounits by level
        statuses = {plural(name) if n != 1 else name: n for name, n in statuses.items()}
    facts += outcomes(statuses)
    figures = {**_FIGURES, "zero": f"{{:,}} with {zero}"}
    if manifest.stage == "audit":
        figures["cells"] = "{:,} not published exactly"
    if totals.get("certain") == 0:
        figures["certain"] = "proves none certain"
    return facts + [said.format(totals[key]) for key, said in figures.items() if key in totals]


def _making(manifest: Manifest, size: int) -> list[str]:
    when = manifest.run.created.replace("T", " ").removesuffix("+00:00")
    return [f"{when} UTC", duration(manifest), readable_bytes(size), f"version {manifest.tool}"]


def _release(run: Run | None, manifest: Manifest | None) -> Release | None:
    """Return the schema that a stage was made with, if it can be found."""
    if run is not None:
        return run.release
    if manifest is None or manifest.release.name not in packaged_releases():
        return None
    try:
        return load_release(manifest.release.name)
    except ReconError:
        return None
