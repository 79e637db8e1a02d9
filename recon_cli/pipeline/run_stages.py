"""Run the stages of a run in order, or preview what that would do."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from recon_cli.errors import ConfigError, StageError
from recon_cli.pipeline.opened_stage import OpenedStage
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.progress import Reporter, SilentReporter
from recon_cli.resources import require_room
from recon_cli.schema import Release
from recon_cli.store import Manifest, Stage, StageStatus, State, stage_status
from recon_cli.store.manifest import read_manifest


def open_stage(stage: Stage, run: Run) -> OpenedStage:
    """Open a stage's inputs, by ``open_stage`` in the module ``stage`` of its capability.

    Raises:
        ConfigError: The release has printed statistics, which the stage does not use.
    """
    if not stage.uses_statistics:
        refuse_statistics(run.release, stage.command)
    opened: OpenedStage = importlib.import_module(f"{stage.package}.stage").open_stage(run)
    return opened


def refuse_statistics(release: Release, command: str) -> None:
    """Refuse a release with printed statistics, for a command that does not use them.

    Raises:
        ConfigError: The release has some; the message names them.
    """
    if release.statistics:
        names = ", ".join(table.name for table in release.statistics[:6])
        raise ConfigError(
            f"{command} does not use printed statistics yet, and release {release.name!r} has "
            f"some ({names}): ask `recon audit`, or take these tables out of schema and files"
        )


def run_stage(stage: Stage, run: Run) -> StageOutcome:
    """Run one stage, unless it is up to date.

    Raises:
        MemoryShortage: The process may not have what libraries need to be loaded.
    """
    require_room()
    opened = open_stage(stage, run)
    with run.transaction(opened.prepared()) as transaction:
        if transaction.current is None:
            outcome = StageOutcome(stage, opened.make(transaction))
        else:
            outcome = StageOutcome(stage, transaction.current, skipped=True)
    opened.finish()
    return outcome


class RunObserver(Protocol):
    """Follows a run stage by stage."""

    def stage_started(self, stage: Stage, index: int, of: int) -> Reporter:
        """Report the start of a stage, and return the reporter of its progress."""

    def stage_done(self, stage: Stage, outcome: StageOutcome) -> None:
        """Report that a stage ran or was up to date."""

    def stage_failed(self, stage: Stage, error: BaseException) -> None:
        """Report that a stage failed; the run ends."""


def run_stages(stages: Sequence[Stage], run: Run, observer: RunObserver) -> None:
    """Run stages in the order given."""
    for index, stage in enumerate(stages, 1):
        reporter = observer.stage_started(stage, index, len(stages))
        try:
            outcome = run_stage(stage, replace(run, reporter=reporter))
        except BaseException as error:
            observer.stage_failed(stage, error)
            raise
        observer.stage_done(stage, outcome)


def preview(stage: Stage, run: Run) -> StageStatus:
    """Return what running a stage would find: open its inputs, make nothing."""
    opened = open_stage(stage, replace(run, reporter=SilentReporter()))
    return stage_status(run.work, opened.planned(), force=run.force)


@dataclass(frozen=True)
class PlannedStage:
    """A stage of a plan, and what a run would do with it.

    Attributes:
        status: Its present status; None where that depends on what ``after`` makes.
        after: The last stage before it that would run and that it reads from.
        last: Manifest of what is published now.
    """

    stage: Stage
    status: StageStatus | None
    after: str | None
    last: Manifest | None

    @property
    def would_run(self) -> bool:
        """Report whether the stage may run, that is, whether it is not surely up to date."""
        return self.status is None or self.status.state is not State.DONE


def plan(
    run: Run, stages: Sequence[Stage], dependencies: Mapping[str, Set[str]]
) -> tuple[PlannedStage, ...]:
    """Predict what running ``stages`` would do, and why, without changing anything.

    Args:
        stages: In order.
        dependencies: See `recon_cli.pipeline.order.dependencies`.
    """
    planned: list[PlannedStage] = []
    for stage in stages:
        changing = [each.stage.short_name for each in planned if each.would_run]
        before = [name for name in changing if name in dependencies[stage.short_name]]
        if before:
            planned.append(PlannedStage(stage, None, before[-1], _published(run.work, stage)))
        else:
            status = preview(stage, run)
            planned.append(PlannedStage(stage, status, None, status.last))
    return tuple(planned)


def _published(work: Path, stage: Stage) -> Manifest | None:
    try:
        return read_manifest(work / stage.folders[0], command=stage.command)
    except StageError:
        return None
