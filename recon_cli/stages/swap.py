"""`recon protect swap`: persons and households → ``hdf/``, ``hdf_households/``, the pairs apart.

Partners live in one state, so a state is done at a time; its counties are written as they are
finished.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recon_cli.config.sections.swap import Swap as SwapSection
from recon_cli.errors import ConfigError
from recon_cli.execute import OnProgress
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.pipeline.stages import SWAP, SYNTH
from recon_cli.protect import Swap, Targeted, load_swap
from recon_cli.schema import Level, Release
from recon_cli.stages.drawing import chance_of
from recon_cli.store import Folder, Manifest, Piece, Staging, Transaction, open_folder

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.chance import KeyedChance

_LEVELS = ("tract", "county", "state")
#: The folder of the pairs, which are nobody else's business.
PAIRS = SWAP.folders[2]
_SOURCES = ("persons", "households")


def swap(run: Run) -> MadeStage:
    """Swap households between blocks.

    Raises:
        ConfigError: The release has no tracts, counties and states, or the settings are wrong.
        StageError: There is no nation, or the work folder is in use.
        WorkerError: A worker died.
    """
    config = run.config.section(SwapSection)
    given = config.setting
    settings = load_swap(given) if isinstance(given, str) else given
    levels = _swap_levels(run.release)
    home = config.population or run.work
    folders = [open_folder(home, SYNTH, name) for name in _SOURCES]
    pieces = pieces_of(folders[0].manifest)
    states = _by_state(pieces, levels["state"])
    recipe = run.recipe(
        SWAP,
        {"settings": settings.model_dump(mode="json")},
        seed=config.study_seed,
        is_study=config.study_seed is not None,
        partitions=_inputs(states, folders),
    )

    def make(stage: Transaction) -> Manifest:
        todo = [
            Piece(state, units=sum(p.units for p in inside), people=sum(p.people for p in inside))
            for state, inside in states.items()
            if not all(stage.is_done(piece) for piece in inside)
        ]
        chance = chance_of(stage, config.study_seed)
        context = SwapContext(settings, states, levels, home, stage.staging, chance)
        results = run.map_pieces("swap", swap_state, lambda: context, todo)
        return stage.publish(
            pieces,
            notes={
                "setting": config.setting if isinstance(config.setting, str) else "in the config"
            },
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make)


def _swap_levels(release: Release) -> dict[str, Level]:
    levels = release.geography.by_name
    missing = [name for name in _LEVELS if name not in levels]
    if missing:
        raise ConfigError(f"release {release.name!r} has no level {missing[0]!r} to swap within")
    return {name: levels[name] for name in _LEVELS}


def _by_state(counties: Sequence[Piece], state: Level) -> dict[str, list[Piece]]:
    states: dict[str, list[Piece]] = {}
    for county in counties:
        states.setdefault(state.enclosing(county.partition), []).append(county)
    return states


def _inputs(
    states: Mapping[str, Sequence[Piece]], folders: Sequence[Folder]
) -> dict[str, dict[str, str]]:
    """Each county depends on every county of its state."""
    return {
        county.partition: {
            f"{folder.path.name}/{other.partition}": folder.digest(other.partition)
            for folder in folders
            for other in inside
        }
        for inside in states.values()
        for county in inside
    }


@dataclass(frozen=True)
class SwapContext:
    """What all states share."""

    settings: Swap
    counties: Mapping[str, Sequence[Piece]]
    levels: Mapping[str, Level]
    population: Path
    staging: Staging
    chance: KeyedChance


def swap_state(context: SwapContext, piece: Piece, tick: OnProgress) -> None:
    """Swap within one state and write its counties; runs in a worker."""
    from recon_cli.protect import swap as core  # noqa: PLC0415 - loads polars

    started, state = time.perf_counter(), piece.partition
    persons, households = (_read(context, name, state) for name in _SOURCES)
    occupied = households.filter(households["people"] > 0).select(core.NEEDED)
    if isinstance(context.settings, Targeted):
        known = persons.select("geoid_block", "household", "race", "hispanic")
        occupied = core.with_disclosure_risk(occupied, known)
    swaps = core.choose_swaps(
        occupied,
        context.settings,
        context.chance.named(state),
        (context.levels["tract"], context.levels["county"]),
    )
    moves = core.list_moves(swaps)
    frames = {
        "hdf": core.apply_moves(persons, moves),
        "hdf_households": core.apply_moves(households, moves),
        PAIRS: swaps,
    }
    split = {name: _split(frame, context.levels["county"]) for name, frame in frames.items()}
    for county in context.counties[state]:
        of_county = {
            name: parts.get(county.partition, frames[name].clear()) for name, parts in split.items()
        }
        context.staging.write(
            county,
            of_county,
            statuses=dict(of_county[PAIRS]["reach"].value_counts().iter_rows()),
            totals={
                "units": of_county["hdf"]["geoid_block"].n_unique(),
                "people": len(of_county["hdf"]),
                "households": int((of_county["hdf_households"]["people"] > 0).sum()),
                "pairs": len(of_county[PAIRS]),
            },
            started=started,
        )
        tick(1, len(of_county["hdf"]))


def _read(context: SwapContext, name: str, state: str) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - slow to load, and not needed to declare a stage

    folder = open_folder(context.population, SYNTH, name)
    return pl.concat([folder.read(county.partition) for county in context.counties[state]])


def _split(frame: pl.DataFrame, county: Level) -> dict[str, pl.DataFrame]:
    """Rows by county, in order of block and household."""
    import polars as pl  # noqa: PLC0415 - see `_read`

    order = ["geoid_block", "household"]
    prefixed = frame.sort(order, nulls_last=True, maintain_order=True).with_columns(
        county.enclosing(pl.col("geoid_block")).alias("_county")
    )
    parts = prefixed.partition_by("_county", include_key=False, as_dict=True)
    return {str(county): rows for (county,), rows in parts.items()}
