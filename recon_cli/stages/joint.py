"""`recon joint`: the ``tables/`` of two runs → ``joint/``, ``joint_partner/``, ``joint_units/``."""

from __future__ import annotations

from typing import Any

from recon_cli.attack.options import JointOptions
from recon_cli.config import load_config
from recon_cli.config.sections.joint import Joint
from recon_cli.errors import StageError
from recon_cli.model.selection import select
from recon_cli.pipeline.declaration import QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import JOINT
from recon_cli.schema import Release
from recon_cli.schema.joint import load_joint
from recon_cli.stage import load
from recon_cli.stages.reconstruct import input_digests, shared_digests
from recon_cli.store import Folder
from recon_cli.store.published import open_published, read_coverage

#: People that are worth a process: each takes some ten milliseconds.
_GRAIN = 500


def joint(run: Run) -> QuestionStage:
    """Ask what two releases prove together.

    Raises:
        ConfigError: There are no such links, or they are of other releases.
        SchemaError: They are malformed.
        SourceError: Some counts are not exact.
        StageError: A folder is missing, damaged, or of another release or partition.
    """
    config = run.config.section(Joint)
    seed = run.seed_of(config)
    other = load_config(config.partner)
    their_release = _assumed(other.load_release(), config)
    release = _assumed(run.release, config)
    links = load_joint(config.links, release, their_release)
    tables, geounits = open_published(run.work, release)
    theirs, their_geounits = open_published(other.work, their_release)
    missing = sorted(set(tables.partitions) - set(theirs.partitions))
    if missing:
        level = release.geography.partition
        raise StageError(f"joint.partner: {other.work} has no {level} {missing[0]}")
    digests = input_digests(tables, geounits)
    for name, folders in digests.items():
        for folder in (theirs, their_geounits):
            folders[f"partner/{folder.path.name}"] = folder.digest(name)
    settings = {
        **config.model_dump(exclude={"seed", "partner"}),
        "links": links.digest,
        "partner": their_release.digest,
    }
    return QuestionStage(
        run,
        run.recipe(
            JOINT,
            settings,
            seed=seed,
            shared={
                **shared_digests(tables),
                **{f"partner/{name}": sha for name, sha in shared_digests(theirs).items()},
            },
            partitions=digests,
        ),
        geounits,
        question="recon_cli.attack.joint.question:JointQuestion",
        arguments=lambda: {
            "joint": links,
            "first": _part(release, tables),
            "second": _part(their_release, theirs),
            "options": JointOptions(seed, config.unit_seconds),
        },
        partner=lambda: load("recon_cli.pipeline.partner:Partner")(other.work, their_release),
        notes={"links": links.name, "parts": list(links.names)},
        grain=_GRAIN,
    )


def _assumed(release: Release, config: Joint) -> Release:
    return release if config.assumptions else release.without_assumptions()


def _part(release: Release, tables: Folder) -> Any:
    """All published tables of a part."""
    coverage = read_coverage(tables, release)
    part = load("recon_cli.attack.joint.part:PartInput")
    return part(release, select(release, None, coverage).tables, coverage)
