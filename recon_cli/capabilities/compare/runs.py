"""Running the parts of `recon compare`: protections side by side, then the links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from recon_cli.capabilities.compare.options import Compare
from recon_cli.capabilities.compare.protections import (
    ComparedRuns,
    ProtectionRun,
    truth_of,
    units_path,
)
from recon_cli.capabilities.protect.unit_lists import read_units
from recon_cli.capabilities.records.files import open_records
from recon_cli.config import RunConfig
from recon_cli.errors import ReconError, StageError
from recon_cli.execute import OnProgress, Results, WorkItem, run_items
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.run_stages import plan, run_stage, run_stages
from recon_cli.pipeline.stages import PROTECTIONS
from recon_cli.plurals import plural
from recon_cli.progress import NO_STATUSES, Bar, Reporter, SilentReporter, Task
from recon_cli.resources import Usage
from recon_cli.schema import Release
from recon_cli.store import Stage
from recon_cli.store.files import key_of, parquet_bytes, write_bytes
from recon_cli.store.manifest import MANIFEST, read_manifest

#: Publishes the page: name → digest of a finished run, and name → reason why a run is missing.
_Show = Callable[[Mapping[str, str], Mapping[str, str]], None]
#: Why a protection is not on the page.
_NOT_YET = "not done yet"
#: Text in place of the digest of a folder that is still to be made.
_TO_BE_MADE = "to be made"


def run_compared(run: Run, show: _Show) -> dict[str, str]:
    """Run everything that is not up to date: protections side by side, then the links.

    Args:
        show: Called whenever another protection is done while others are not, or failed.

    Returns:
        Digests of each run's output.

    Raises:
        StageError: Some failed; all others are done, and stay done.
    """
    _write_units(run)
    runs = ComparedRuns.of(run)
    items = [WorkItem(name, each, 1) for name, each in runs.first.items()]
    stages = sum(len(each.stages) for each in runs.first.values())
    growing = _GrowingPage(replace(run, reporter=SilentReporter(), force=False), runs, show)
    for name in () if run.force else runs.first:
        growing.look(name)
    with run.reporter.bar(Task("compare", "stage", stages)) as bar:
        done: Results[str | None] = run_items(
            _run_one,
            lambda: (run.release, run.force),
            items,
            workers=run.config.top.workers,
            on_tick=bar.advance,
            on_done=growing.add,
        )
    outcomes = zip(items, done.values, strict=True)
    failed = {item.name: failure for item, failure in outcomes if failure}
    if failed:
        growing.end(failed)
        raise StageError(
            f"{len(failed)} of {len(items)} protections failed, the others are done and kept; "
            "mend or leave out, and run `recon compare` again\n  "
            + "\n  ".join(f"{name}: {why}" for name, why in failed.items())
        )
    if runs.linking is not None:
        for stage in stages_of(runs.linking):
            run_stage(stage, replace(run, config=runs.linking))
    return {name: _made(config.work, stages) for name, config, stages, _ in _parts(run, runs)}


@dataclass
class _GrowingPage:
    """The page while protections are being made.

    Attributes:
        run: The comparison, silent.
        done: Name of a finished run → digest of its output.
    """

    run: Run
    runs: ComparedRuns
    show: _Show
    done: dict[str, str] = field(default_factory=dict)

    def look(self, name: str) -> None:
        """Add a run if it is up to date."""
        each = self.runs.first[name]
        try:
            is_open = any(_would_run(of_run) for of_run in each.runs(self.run))
        except ReconError:
            return  # what keeps it from being planned is what `_run_one` says of it
        if not is_open:
            self.done[name] = _made(each.config.work, each.stages)

    def add(self, name: str, usage: Usage) -> None:  # noqa: ARG002
        """Add a run that has ended, successfully or not."""
        if name in self.done:
            return
        self.look(name)
        missing = dict.fromkeys(self._missing(), _NOT_YET)
        if name in self.done and missing:
            self._show(missing)

    def end(self, failed: Mapping[str, str]) -> None:
        """Complete the page after all runs.

        Args:
            failed: Name → why.
        """
        self._show({name: f"failed: {failed[name]}" for name in self._missing() if name in failed})

    def _missing(self) -> list[str]:
        return [name for name in self.runs.protected if name not in self.done]

    def _show(self, missing: Mapping[str, str]) -> None:
        # Errors are measured once the truth's own tables are there.
        is_any = len(missing) < len(self.runs.protected)
        if is_any and any(self.runs.first[name] is self.runs.truth for name in self.done):
            self.show(self.done, missing)


def _write_units(run: Run) -> None:
    """Write the list of units: those of the truth, and others where people may be placed."""
    place, config = run.release.geoid_column, run.config.section(Compare)
    truth = open_records("compare.truth", truth_of(run, config), run.release)
    parts = [truth.read(name, [place])[place] for name in truth.slices()]
    parts += [
        read_units(f"compare.protections.{name}.{kind}.geounits", path, run.release)[place]
        for name, each in config.every.items()
        for kind, section in each.sections.items()
        if PROTECTIONS[kind].publishes == "records"
        and (path := getattr(section, "geounits", None)) is not None
    ]
    units = pl.concat(parts).unique().sort().alias("geoid").to_frame()
    write_bytes(units_path(run), parquet_bytes(units))


def _run_one(
    shared: tuple[Release, bool], protection: ProtectionRun, tick: OnProgress
) -> str | None:
    """Run one protection in a worker; return why it failed, so that the others go on."""
    release, force = shared
    try:
        for each in protection.runs(Run(protection.config, release, force=force)):
            run_stages(stages_of(each.config), each, _Ticking(tick))
    except ReconError as error:
        return str(error)
    return None


class _Within(SilentReporter):
    """Reports the units of an inner stage as statuses of the outer stage."""

    def __init__(self, stage: Stage, tick: OnProgress) -> None:
        self.stage, self.tick = stage.short_name, tick

    @contextmanager
    def bar(self, task: Task) -> Iterator[Bar]:
        """Show a bar whose units are reported until the block ends."""
        done = _Units(f"{plural(task.unit)} of {self.stage}", self.tick)
        try:
            yield done
        finally:
            done.advance(-done.units, 0)


@dataclass
class _Units:
    """A bar that reports its units under a name."""

    name: str
    tick: OnProgress
    units: int = 0

    def advance(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:  # noqa: ARG002
        self.units += units
        if units:
            self.tick(0, 0, {self.name: units})


@dataclass(frozen=True)
class _Ticking:
    """Follows the stages of an inner run, and reports each that runs or is done."""

    tick: OnProgress

    def stage_started(self, stage: Stage, index: int, of: int) -> Reporter:  # noqa: ARG002
        self.tick(0, 0, {f"in {stage.short_name}": 1})
        return _Within(stage, self.tick)

    def stage_done(self, stage: Stage, outcome: StageOutcome) -> None:  # noqa: ARG002
        self.tick(1, 0, {f"in {stage.short_name}": -1})

    def stage_failed(self, stage: Stage, error: BaseException) -> None:  # noqa: ARG002
        self.tick(0, 0, {f"in {stage.short_name}": -1})


def planned_digests(run: Run) -> dict[str, str]:
    """Return digests of each run's output; or that the run is not up to date."""
    found = {}
    for name, config, stages, of_run in _parts(run, ComparedRuns.of(run)):
        made = _made(config.work, stages)
        is_open = made != _TO_BE_MADE and any(_would_run(each) for each in of_run)
        found[name] = _TO_BE_MADE if is_open else made
    return found


def _parts(
    run: Run, runs: ComparedRuns
) -> Iterator[tuple[str, RunConfig, Sequence[Stage], Sequence[Run]]]:
    for name, each in runs.first.items():
        yield name, each.config, each.stages, each.runs(run)
    if runs.linking is not None:
        linking = replace(run, config=runs.linking)
        yield "links", runs.linking, stages_of(runs.linking), (linking,)


def _made(work: Path, stages: Sequence[Stage]) -> str:
    keys = [_key(work, stage) for stage in stages]
    return _TO_BE_MADE if None in keys else key_of(keys)


def _key(work: Path, stage: Stage) -> str | None:
    path = work / stage.folders[0]
    if not (path / MANIFEST).is_file():
        return None
    return read_manifest(path, command=stage.command).key


def _would_run(run: Run) -> bool:
    stages = stages_of(run.config)
    return any(each.would_run for each in plan(run, stages, dependencies(stages, run.config)))
