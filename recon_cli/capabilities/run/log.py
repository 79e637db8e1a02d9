"""The log of a run: the outcome of each stage, for people and as JSON lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from recon_cli.capabilities.run.events import JsonLinesReporter
from recon_cli.console.options import RunOptions
from recon_cli.console.output import show
from recon_cli.console.signals import INTERRUPTED, MACHINE, TERMINATED, Terminated, behind
from recon_cli.console.stage_command import print_outcome
from recon_cli.errors import ConfigError, ReconError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.progress import Reporter
from recon_cli.resources import as_shortage
from recon_cli.store import Stage
from recon_cli.tracebacks import safe_message
from recon_cli.version import __version__


@contextmanager
def log_to(path: Path | None) -> Iterator[JsonLinesReporter]:
    """Append events to a file, or write them to stderr, which then has nothing else.

    Raises:
        ConfigError: The file cannot be written.
    """
    if path is None:
        click.get_current_context().meta[MACHINE] = True
        yield JsonLinesReporter(sys.stderr)
        return
    try:
        stream = path.open("a", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--log-json: {path}: {error.strerror}") from error
    with stream:
        yield JsonLinesReporter(stream)


def exit_code(error: BaseException) -> int:
    """Return the exit code for an error."""
    if isinstance(error, ReconError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    return 1


@dataclass
class RunLog:
    """Follows a run: prints a summary of each stage, and logs its outcome.

    Attributes:
        options: Options of the command.
        events: Writer of JSON lines; None for none.
        done: Short names of the stages that ran.
        skipped: Short names of the stages that were up to date.
        started: `time.perf_counter` at the beginning.
    """

    run: Run
    options: RunOptions
    events: JsonLinesReporter | None
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Return the wall time so far."""
        return round(time.perf_counter() - self.started, 3)

    def run_started(self, stages: Sequence[Stage]) -> None:
        if self.events is not None:
            config = self.run.config
            self.events.emit(
                "run_started",
                version=__version__,
                config=config.source,
                work=str(config.work),
                stages=[stage.short_name for stage in stages],
            )

    def stage_started(self, stage: Stage, index: int, of: int) -> Reporter:
        if self.events is None:
            return self.options.reporter_on_terminal(f"{index}/{of}")
        self.events.emit("stage_started", stage=stage.short_name, index=index, of=of)
        return self.events

    def stage_done(self, stage: Stage, outcome: StageOutcome) -> None:
        """Print the summary of a stage that ran or was up to date, and log it."""
        if self.options.verbosity >= 0:
            print_outcome(self.run, outcome)
        (self.skipped if outcome.skipped else self.done).append(stage.short_name)
        if self.events is not None:
            manifest = outcome.manifest
            self.events.emit(
                "stage_skipped" if outcome.skipped else "stage_done",
                stage=stage.short_name,
                seconds=manifest.run.wall_seconds,
                folders=manifest.folders,
                rows=manifest.rows,
                partitions=len(manifest.partitions),
                statuses=manifest.statuses,
                totals=manifest.totals,
            )

    def stage_failed(self, stage: Stage, error: BaseException) -> None:
        if self.events is not None:
            error = as_shortage(error) or behind(error)
            kind, code = type(error).__name__, exit_code(error)
            message = safe_message(error)
            self.events.emit(
                "stage_failed",
                stage=stage.short_name,
                error=kind,
                message=message,
                exit_code=code,
            )
            self.run_done(code)

    def run_done(self, code: int = 0) -> None:
        if self.events is not None:
            self.events.emit(
                "run_done",
                exit_code=code,
                seconds=self.seconds,
                done=self.done,
                skipped=self.skipped,
            )

    def print_total(self) -> None:
        """Print how many stages ran and how long that took."""
        count = len(self.done) + len(self.skipped)
        stages = f"{count} stage" if count == 1 else f"{count} stages"
        did = f"{len(self.done)} done, {len(self.skipped)} up to date"
        if not self.done:
            did = "all up to date, nothing to do"
        show(f"run: {stages}: {did}, {self.seconds:.1f} s", [])
