"""Run `recon data attacker`: ``persons/`` → ``comrcl/`` and ``cef_atkr/``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.capabilities.attacker import ATTACKER
from recon_cli.capabilities.attacker.attacker_files import bins_of, commercial_file, exact_columns
from recon_cli.capabilities.synth import SYNTH
from recon_cli.capabilities.synth.ages import OLDEST
from recon_cli.capabilities.synth.options import Synth
from recon_cli.capabilities.synth.parameters import Nation
from recon_cli.capabilities.synth.stage import nation_of
from recon_cli.errors import ConfigError
from recon_cli.execute import OnProgress
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.published_input import input_digests
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.schema import Release
from recon_cli.seeding import generator
from recon_cli.store import Manifest, Piece, Staging, Transaction, open_folder

_AGE, _BINS = "age", "agebin"


def open_stage(run: Run) -> MadeStage:
    """Open the stage that makes the attackers' files of the nation.

    Raises:
        ConfigError: The parameters are wrong.
    """
    config = run.section(Synth)
    seed = config.fixed_seed
    nation = nation_of(config)
    folders = [open_folder(run.work, SYNTH, name) for name in ("persons", "places")]
    recipe = run.recipe(
        ATTACKER,
        {"attacker": nation.attacker.model_dump(mode="json")},
        seed=seed,
        partitions=input_digests(*folders),
    )

    def make(stage: Transaction) -> Manifest:
        pieces = pieces_of(folders[0].manifest)
        context = AttackerContext(nation, years_or_bins(run.release), run.work, stage.staging, seed)
        results = run.map_unfinished(stage, attacker_partition, lambda: context, pieces)
        return stage.publish(pieces, usages=results.usages, workers=results.workers)

    return MadeStage(recipe, make)


def years_or_bins(release: Release) -> IntArray:
    """Return the bins of `age_bins`, or single years for a release without bins.

    With single years, no record is correct in its bin alone.
    """
    if _is_binned(release):
        return age_bins(release)
    return np.arange(OLDEST + 1)


def age_bins(release: Release) -> IntArray:
    """Return the bin of each age; see `capabilities.attacker.attacker_files.bins_of`.

    Raises:
        ConfigError: The release knows no ages or no bins of them.
    """
    if not _is_binned(release):
        raise ConfigError(f"release {release.name!r} has no {_AGE!r} with a recode {_BINS!r}")
    feature = release.features[release.feature_index[_AGE]]
    return bins_of(feature, release.column_groups(_BINS))


def _is_binned(release: Release) -> bool:
    return _AGE in release.feature_index and _BINS in release.microdata


@dataclass(frozen=True)
class AttackerContext:
    """The inputs that all counties share."""

    nation: Nation
    agebin: IntArray
    work: Path
    staging: Staging
    seed: int


def attacker_partition(context: AttackerContext, piece: Piece, tick: OnProgress) -> None:
    """Make and write one county's files; runs in a worker."""
    started, partition = time.perf_counter(), piece.partition
    persons = open_folder(context.work, SYNTH, "persons").read(partition)
    places = open_folder(context.work, SYNTH, "places").read(partition)
    rng = generator(context.seed, "attacker", partition)
    comrcl = commercial_file(
        context.nation, persons, places, agebin=context.agebin, county=int(partition), rng=rng
    )
    exact = exact_columns(persons)
    context.staging.write(
        piece,
        {"comrcl": comrcl, "cef_atkr": exact},
        statuses=dict(comrcl["truth"].value_counts().iter_rows()),
        totals={
            "units": len(places),
            "people": len(persons),
            "comrcl": len(comrcl),
            "cef_atkr": len(exact),
        },
        started=started,
    )
    tick(len(places), len(persons))
