"""Run `recon joint`: the ``tables/`` of two runs → ``joint/`` and the folders beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recon_cli.capabilities.joint import JOINT
from recon_cli.capabilities.joint.options import Joint
from recon_cli.capabilities.joint.release import load_joint
from recon_cli.config import load_config
from recon_cli.coverage import select
from recon_cli.errors import StageError
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.published_input import input_digests, shared_digests
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release, Table
from recon_cli.stage import undisturbed
from recon_cli.store import Folder
from recon_cli.store.published import open_published, read_coverage

#: People that are worth a process: each takes some ten milliseconds.
_GRAIN = 500


def open_stage(run: Run) -> QuestionStage:
    """Open the stage of joint proofs.

    Raises:
        StageError: A folder is missing, damaged, or of another release or partition.
    """
    config = run.section(Joint)
    seed = config.fixed_seed
    others = [load_config(path) for path in (config.partner, *config.further)]
    releases = [_assumed(run.release, config)]
    releases += [_assumed(other.load_release(), config) for other in others]
    links = load_joint(config.links, releases)
    works = [run.work, *(other.work for other in others)]
    opened = [open_published(*each) for each in zip(works, releases, strict=True)]
    digests, shared = input_digests(*opened[0]), shared_digests(opened[0][0])
    for number, (work, folders) in enumerate(zip(works[1:], opened[1:], strict=True), 1):
        tables = folders[0]
        missing = sorted(set(digests) - set(tables.partitions))
        if missing:
            level = run.release.geography.partition
            raise StageError(f"joint: {work} has no {level} {missing[0]}")
        for name, said in digests.items():
            said.update({f"{number}/{each.path.name}": each.digest(name) for each in folders})
        shared |= {f"{number}/{name}": sha for name, sha in shared_digests(tables).items()}
    settings = {
        **config.model_dump(exclude={"seed", "partner", "further"}),
        "links": links.digest,
        "releases": [release.digest for release in releases],
    }
    return QuestionStage(
        run,
        run.recipe(JOINT, settings, seed=seed, shared=shared, partitions=digests),
        opened[0][1],
        arguments=lambda: {
            "joint": links,
            "parts": [
                _part(release, tables)
                for release, (tables, _) in zip(releases, opened, strict=True)
            ],
            "options": config,
        },
        partners=lambda: _partners(works[1:], releases[1:]),
        notes={
            "links": links.name,
            "parts": list(links.names),
            "compositions": config.compositions,
            "partners": [os.path.relpath(work, run.work) for work in works[1:]],
            "tables": [table.name for table in _selected(releases[0], opened[0][0])],
        },
        grain=_GRAIN,
    )


def _assumed(release: Release, config: Joint) -> Release:
    return release if config.assumptions else release.without_assumptions()


def _part(release: Release, tables: Folder) -> Any:
    with undisturbed():
        from recon_cli.capabilities.joint.part import PartInput

    return PartInput(release, _selected(release, tables), read_coverage(tables, release))


def _selected(release: Release, tables: Folder) -> tuple[Table, ...]:
    return select(release, None, read_coverage(tables, release)).tables


def _partners(works: Sequence[Path], releases: Sequence[Release]) -> list[Any]:
    with undisturbed():
        from recon_cli.pipeline.question_worker import Partner
    return [Partner(*each) for each in zip(works, releases, strict=True)]
