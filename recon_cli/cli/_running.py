"""Performing and rehearsing the steps of a run, and telling people and programs about it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from recon_cli import __version__
from recon_cli.cli._group import MACHINE
from recon_cli.cli._options import RunOptions
from recon_cli.cli._output import console, show
from recon_cli.cli._signals import INTERRUPTED, TERMINATED, Terminated, unmasked
from recon_cli.errors import ConfigError, ReconError
from recon_cli.pipeline.steps import Step, dry_run, links_between
from recon_cli.progress import Events
from recon_cli.stages import StageOutcome
from recon_cli.store import Manifest, StageStatus, State


@contextmanager
def log_to(path: Path | None) -> Iterator[Events]:
    """Events at the end of a file, or on stderr, which then is for programs.

    Raises:
        ConfigError: The file cannot be written.
    """
    if path is None:
        click.get_current_context().meta[MACHINE] = True
        yield Events(sys.stderr)
        return
    try:
        stream = path.open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--log-json: {path}: {error.strerror}") from error
    with stream:
        yield Events(stream)


@dataclass
class _Journal:
    """What became of the steps, and who is told in JSON."""

    events: Events | None
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return round(time.perf_counter() - self.started, 3)

    def begin(self, options: RunOptions, steps: Sequence[Step]) -> None:
        if self.events is not None:
            config = options.load()
            self.events.emit(
                "run_started",
                version=__version__,
                config=config.source,
                work=str(config.work),
                stages=[step.name for step in steps],
            )

    def step(self, step: Step, index: int, of: int) -> None:
        if self.events is not None:
            self.events.emit("stage_started", stage=step.name, index=index, of=of)

    def outcome(self, step: Step, outcome: StageOutcome) -> None:
        (self.skipped if outcome.skipped else self.done).append(step.name)
        if self.events is not None:
            manifest = outcome.manifest
            self.events.emit(
                "stage_skipped" if outcome.skipped else "stage_done",
                stage=step.name,
                seconds=manifest.run.wall_seconds,
                folders=manifest.folders,
                rows=manifest.rows,
                partitions=len(manifest.partitions),
                statuses=manifest.statuses,
                totals=manifest.totals,
            )

    def failure(self, step: Step, error: BaseException) -> None:
        if self.events is not None:
            kind, code = type(error).__name__, code_of(error)
            message = str(error) or kind.lower()
            self.events.emit(
                "stage_failed", stage=step.name, error=kind, message=message, exit_code=code
            )
            self.end(code)

    def end(self, code: int = 0) -> None:
        if self.events is not None:
            self.events.emit(
                "run_done",
                exit_code=code,
                seconds=self.seconds,
                done=self.done,
                skipped=self.skipped,
            )


def code_of(error: BaseException) -> int:
    """The exit code that an error ends the program with."""
    if isinstance(error, ReconError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    return 1


def perform_all(
    options: RunOptions, steps: Sequence[Step], events: Events | None, *, force: bool
) -> None:
    """Perform steps one after the other; each prints what came of it.

    Args:
        options: The run's options.
        steps: In order.
        events: Who hears of progress in place of people; None for people.
        force: Do again what is up to date.

    Raises:
        ReconError: What a stage raised; those before it stay done.
    """
    journal = _Journal(events)
    journal.begin(options, steps)
    for index, step in enumerate(steps, 1):
        journal.step(step, index, len(steps))
        reporter = events or options.on_terminal(f"{index}/{len(steps)}")
        try:
            with unmasked():
                outcome = step.perform(replace(options, reporter=reporter), force=force)
        except BaseException as error:
            journal.failure(step, error)
            raise
        journal.outcome(step, outcome)
    journal.end()
    if options.verbosity >= 0:
        _say_total(journal, len(steps))


def _say_total(journal: _Journal, count: int) -> None:
    stages = f"{count} stage" if count == 1 else f"{count} stages"
    did = f"{len(journal.done)} done, {len(journal.skipped)} up to date"
    if not journal.done:
        did = "all up to date, nothing to do"
    show(f"run: {stages}: {did}, {journal.seconds:.1f} s", [])


def plan_all(
    options: RunOptions, named: Sequence[Step], steps: Sequence[Step], *, force: bool
) -> None:
    """Print what `perform_all` would do, why, and how long each step took last time.

    Args:
        options: The run's options.
        named: All steps of the config.
        steps: Those that were chosen.
        force: As for `perform_all`.

    Raises:
        ReconError: What would keep a step from running.
    """
    links = links_between(named, options.load())
    plans: dict[str, str] = {}
    last: dict[str, str] = {}
    changing: list[str] = []
    for step in steps:
        before = [name for name in changing if name in links[step.name]]
        outlook = None if before else dry_run(step, options, force=force)
        plans[step.name] = _intention(outlook, before, force=force)
        manifest = _last(options, step) if outlook is None else outlook.last
        last[step.name] = "" if manifest is None else duration(manifest)
        if outlook is None or outlook.state is not State.DONE:
            changing.append(step.name)
    _print_plan(plans, last, len(changing))


def _intention(outlook: StageStatus | None, before: Sequence[str], *, force: bool) -> str:
    if outlook is None:
        again = "would run again" if force else "would be checked again"
        return f"{again}, after {before[-1]}"
    if outlook.state is State.DONE:
        return "up to date"
    why = "; ".join(outlook.reasons)
    if outlook.finished:
        of = f" of {outlook.partitions}" if outlook.partitions else ""
        kept = f"{outlook.finished}{of} partitions done"
        why = f"{why}; {kept}" if why else kept
    if outlook.state is State.HALF:
        return f"would go on: {why}" if why else "would go on"
    return f"would run: {why or 'not run yet'}"


def _last(options: RunOptions, step: Step) -> Manifest | None:
    """Manifest of what is published of a step that cannot be rehearsed yet."""
    from recon_cli.errors import StageError  # noqa: PLC0415
    from recon_cli.store.manifest import read_manifest  # noqa: PLC0415

    folder = options.load().work / step.makes[0]
    try:
        return read_manifest(folder, command=f"recon run --only {step.name}")
    except StageError:
        return None


def duration(manifest: Manifest) -> str:
    """How long a stage took; only a lower bound when it took over partitions."""
    facts = manifest.run
    least = "over " if facts.reused_partitions else ""
    return f"{least}{facts.wall_seconds:,.1f} s"


def _print_plan(plans: Mapping[str, str], last: Mapping[str, str], running: int) -> None:
    from rich.table import Table  # noqa: PLC0415 - only when there is something to show
    from rich.text import Text  # noqa: PLC0415

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row("  stage", Text("what would happen", style="dim"), Text("last took", style="dim"))
    for name, plan in plans.items():
        grid.add_row(f"  {name}", Text(plan), Text(last[name] or "–"))
    out = console()
    title = f"dry run: {running} of {len(plans)} stages would run"
    out.print(Text(title if running else "dry run: everything is up to date", style="bold"))
    out.print(grid)
