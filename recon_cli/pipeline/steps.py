"""The stages that `recon run` knows: what each reads and makes, and so their order.

A command module that declares a `Step` as ``STEP`` (or several as ``STEPS``) is a stage of a run.
Nothing else lists stages, and only what they read and make orders them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from recon_cli.errors import ConfigError

if TYPE_CHECKING:
    from recon_cli.cli._options import RunOptions
    from recon_cli.config import RunConfig
    from recon_cli.stages import StageOutcome
    from recon_cli.store import Recipe, StageStatus


class Perform(Protocol):
    """Runs a stage and prints what came of it."""

    def __call__(self, options: RunOptions, *, force: bool) -> StageOutcome:
        """Run it; ``force`` does again what is up to date."""


@dataclass(frozen=True)
class Files:
    """Paths beyond the folders that a stage always reads and makes.

    Attributes:
        reads: Files or folders.
        makes: Likewise.
    """

    reads: tuple[Path, ...] = ()
    makes: tuple[Path, ...] = ()


def no_files(config: RunConfig) -> Files:  # noqa: ARG001
    """Nothing beyond the work folder."""
    return Files()


@dataclass(frozen=True)
class Step:
    """A stage of a run.

    Attributes:
        name: What ``--from``, ``--until`` and ``--only`` call it.
        section: The config section that asks for it.
        reads: Folders of the work folder that it reads, where they are there.
        makes: Folders of the work folder that it publishes.
        perform: Runs it.
        files: What it reads and makes beyond those folders, by config.
    """

    name: str
    section: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    perform: Perform
    files: Callable[[RunConfig], Files] = no_files


def every_step() -> tuple[Step, ...]:
    """The steps of all command modules, by module."""
    found: list[Step] = []
    package = importlib.import_module("recon_cli.cli")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            members = vars(importlib.import_module(f"recon_cli.cli.{module.name}"))
            found += members.get("STEPS", [members["STEP"]] if "STEP" in members else [])
    return tuple(found)


def steps_of(config: RunConfig) -> tuple[Step, ...]:
    """The steps that a config has sections for, in order.

    What none of them reads from another keeps the order of the file.

    Raises:
        ConfigError: It names no stage, or stages that read from each other in a circle.
    """
    every = every_step()
    named = [step for name in config.sections for step in every if step.section == name]
    if not named:
        known = ", ".join(dict.fromkeys(step.section for step in every))
        raise ConfigError(f"{config.source}: names no stage; add a section (stages: {known})")
    by_name = {step.name: step for step in named}
    order = in_order(list(by_name), links_between(named, config), config.source)
    return tuple(by_name[name] for name in order)


def links_between(steps: Sequence[Step], config: RunConfig) -> dict[str, set[str]]:
    """Step → those that make what it reads."""
    places = {step.name: _places(step, config) for step in steps}
    return {
        reader: {
            maker
            for maker, made in places.items()
            if maker != reader and any(_touch(a, b) for a in read.reads for b in made.makes)
        }
        for reader, read in places.items()
    }


def in_order(
    names: Sequence[str], links: Mapping[str, Set[str]], source: str = "stages"
) -> tuple[str, ...]:
    """Each stage after those that it reads from; else the order given.

    Args:
        names: The stages.
        links: Stage → those that make what it reads.
        source: What messages call their list.

    Raises:
        ConfigError: There is no such order.
    """
    waiting, placed = list(names), list[str]()
    while waiting:
        ready = next((name for name in waiting if links[name].isdisjoint(waiting)), None)
        if ready is None:
            circle = ", ".join(waiting)
            raise ConfigError(f"{source}: stages that read from each other in a circle: {circle}")
        waiting.remove(ready)
        placed.append(ready)
    return tuple(placed)


def select(
    steps: Sequence[Step], first: str | None, last: str | None, only: str | None
) -> tuple[Step, ...]:
    """The steps from ``first`` until ``last``, both included, or ``only`` one.

    Raises:
        ConfigError: There is no such step, or nothing is left.
    """
    names = [step.name for step in steps]
    if only is not None and (first is not None or last is not None):
        raise ConfigError("--only goes with neither --from nor --until")
    for option, name in (("--from", first), ("--until", last), ("--only", only)):
        if name is not None and name not in names:
            raise ConfigError(f"{option}: no stage {name!r} (stages: {', '.join(names)})")
    if only is not None:
        return (steps[names.index(only)],)
    start = 0 if first is None else names.index(first)
    end = len(names) if last is None else names.index(last) + 1
    if start >= end:
        raise ConfigError(f"--from {first} comes after --until {last}")
    return tuple(steps[start:end])


class DryRun(Exception):  # noqa: N818 - not an error: it carries what would happen
    """Raised where a stage would begin to write."""

    def __init__(self, stage_status: StageStatus) -> None:
        super().__init__(stage_status)
        self.outlook = stage_status


def dry_run(step: Step, options: RunOptions, *, force: bool) -> StageStatus:
    """What a step would do: it runs as far as the folder that it would write to.

    Raises:
        ReconError: What keeps it from getting that far.
    """
    from recon_cli.progress import Silent  # noqa: PLC0415 - slow imports only when needed

    try:
        step.perform(replace(options, reporter=Silent(), opener=_stop), force=force)
    except DryRun as rehearsal:
        return rehearsal.outlook
    raise AssertionError(f"step {step.name} has no transaction")


def _stop(work: Path, recipe: Recipe, *, force: bool = False) -> NoReturn:
    """Tell what a transaction would find, in place of one."""
    from recon_cli.store import stage_status  # noqa: PLC0415

    raise DryRun(stage_status(work, recipe, force=force))


def _places(step: Step, config: RunConfig) -> Files:
    def in_work(names: Iterable[str]) -> Iterator[Path]:
        return (config.work / name for name in names)

    beyond = step.files(config)
    return Files((*in_work(step.reads), *beyond.reads), (*in_work(step.makes), *beyond.makes))


def _touch(one: Path, other: Path) -> bool:
    """Whether one of two paths is, or lies in, the other."""
    one, other = one.resolve(), other.resolve()
    return one == other or one in other.parents or other in one.parents
