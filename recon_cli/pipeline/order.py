"""The stages that a config asks for, sorted so that each follows those that it reads from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from recon_cli.config import RunConfig
from recon_cli.errors import ConfigError
from recon_cli.pipeline.stages import STAGES
from recon_cli.store import Stage

#: The parts of an absolute path.
_Parts = tuple[str, ...]


def stages_of(config: RunConfig) -> tuple[Stage, ...]:
    """Return the stages that a config has sections for, sorted by dependency.

    Stages that do not read from each other keep the order of the file.

    Raises:
        ConfigError: There are none, or they read from each other in a circle.
    """
    asked = [stage for name in config.sections for stage in STAGES if stage.section == name]
    if not asked:
        known = ", ".join(dict.fromkeys(stage.section for stage in STAGES))
        raise ConfigError(f"{config.source}: no stages configured; add a section (stages: {known})")
    by_name = {stage.short_name: stage for stage in asked}
    order = in_order(list(by_name), dependencies(asked, config), config.source)
    return tuple(by_name[name] for name in order)


def dependencies(stages: Sequence[Stage], config: RunConfig) -> dict[str, set[str]]:
    """Map each stage's short name to the stages that make its inputs."""
    reads = {stage.short_name: _paths_read(stage, config) for stage in stages}
    makes = {stage.short_name: _paths_made(stage, config) for stage in stages}
    return {
        reader: {
            maker
            for maker, made in makes.items()
            if maker != reader and any(_overlap(a, b) for a in read for b in made)
        }
        for reader, read in reads.items()
    }


def in_order(
    names: Sequence[str], dependencies: Mapping[str, Set[str]], source: str = "stages"
) -> tuple[str, ...]:
    """Sort stages by dependency; independent stages keep the given order.

    Args:
        dependencies: Stage → stages in ``names`` that make its inputs; a missing stage needs none.
        source: Name of their list in messages.

    Raises:
        ConfigError: There is no such order.

    >>> in_order(["solvar", "link", "ingest"], {"solvar": {"ingest"}})
    ('link', 'ingest', 'solvar')
    """
    sorter = TopologicalSorter({name: sorted(dependencies.get(name, ())) for name in names})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise ConfigError(f"{source}: stages read from each other in a circle: {circle}") from error
    ready: list[str] = []
    ordered: list[str] = []
    while sorter.is_active():
        ready += sorter.get_ready()
        ready.sort(key=names.index, reverse=True)
        ordered.append(ready.pop())
        sorter.done(ordered[-1])
    return tuple(ordered)


def _paths_read(stage: Stage, config: RunConfig) -> list[_Parts]:
    named = config.sections[stage.section].inputs(config.work)
    return [path.resolve().parts for path in (*_in_work(stage.reads, config), *named)]


def _paths_made(stage: Stage, config: RunConfig) -> list[_Parts]:
    named = config.sections[stage.section].outputs()
    return [path.resolve().parts for path in (*_in_work(stage.folders, config), *named)]


def _in_work(folders: Iterable[str], config: RunConfig) -> list[Path]:
    return [config.work / name for name in folders]


def _overlap(one: _Parts, other: _Parts) -> bool:
    """Test whether one of two absolute paths equals or contains the other."""
    return all(a == b for a, b in zip(one, other, strict=False))
