"""Swapping of households, state by state.

Partners live in one state, so a state is processed at a time; its counties are written as they are
finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from recon_cli.capabilities.protect.stage import (
    Fact,
    Ingredients,
    Protected,
    ProtectionStage,
    protect_piece,
)
from recon_cli.capabilities.swap import swap as core
from recon_cli.capabilities.swap.options import Swap
from recon_cli.capabilities.swap.settings import Swap as Settings
from recon_cli.capabilities.swap.settings import Targeted, load_swap
from recon_cli.capabilities.synth import SYNTH
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.execute import OnProgress, Results
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.schema import Level
from recon_cli.store import Folder, Manifest, Piece, Transaction, open_folder

_LEVELS = ("tract", "county", "state")
_SOURCES = ("persons", "households")


class SwapStage(ProtectionStage[Swap, "KeyedChance"]):
    """The stage of `recon protect swap`."""

    section = Swap

    @cached_property
    def settings(self) -> Settings:
        given = self.config.setting
        return load_swap(given) if isinstance(given, str) else given

    @cached_property
    def levels(self) -> Mapping[str, Level]:
        """Return the levels within which households are swapped.

        Raises:
            ConfigError: The release lacks a level.
        """
        levels = self.release.geography.by_name
        missing = [name for name in _LEVELS if name not in levels]
        if missing:
            raise ConfigError(
                f"release {self.release.name!r} has no level {missing[0]!r} to swap within"
            )
        return {name: levels[name] for name in _LEVELS}

    @cached_property
    def population(self) -> Mapping[str, Folder]:
        home = self.config.population or self.run.work
        return {name: open_folder(home, SYNTH, name) for name in _SOURCES}

    def pieces(self) -> Sequence[Piece]:
        return pieces_of(self.population["persons"].manifest)

    @cached_property
    def states(self) -> Mapping[str, Sequence[Piece]]:
        states: dict[str, list[Piece]] = {}
        for county in self.pieces():
            states.setdefault(self.levels["state"].enclosing(county.partition), []).append(county)
        return states

    def ingredients(self) -> Ingredients:
        """Return settings and population: each county depends on every county of its state.

        Raises:
            ConfigError: The release has no tracts, counties and states, or the settings are wrong.
        """
        settings = self.settings.model_dump(mode="json")
        return Ingredients(
            {"settings": settings},
            partitions={
                county.partition: {
                    f"{name}/{other.partition}": folder.digest(other.partition)
                    for name, folder in self.population.items()
                    for other in inside
                }
                for inside in self.states.values()
                for county in inside
            },
        )

    @property
    def notes(self) -> Mapping[str, Any]:
        given = self.config.setting
        return {"setting": given if isinstance(given, str) else "in the config"}

    def share(self, draw: Callable[[], KeyedChance]) -> KeyedChance:
        return draw()

    def work_on(
        self,
        stage: Transaction,
        pieces: Sequence[Piece],  # noqa: ARG002
        prepare: Callable[[], Any],
    ) -> Results[None]:
        """Process the states that have unfinished counties."""
        todo = [
            Piece(state, units=sum(p.units for p in inside), people=sum(p.people for p in inside))
            for state, inside in self.states.items()
            if not all(stage.is_done(piece) for piece in inside)
        ]
        return self.run.map_pieces(self.name, protect_piece, prepare, todo)

    def protect(
        self,
        shared: KeyedChance,
        piece: Piece,
        on_progress: OnProgress,  # noqa: ARG002
    ) -> Iterator[Protected]:
        """Swap within one state; yield its counties."""
        state, county = piece.partition, self.levels["county"]
        persons, households = (self._read(name, state) for name in _SOURCES)
        occupied = households.filter(households["people"] > 0).select(core.NEEDED)
        if isinstance(self.settings, Targeted):
            known = persons.select("geoid_block", "household", "race", "hispanic")
            occupied = core.with_disclosure_risk(occupied, known)
        swaps = core.choose_swaps(
            occupied, self.settings, shared.named(state), (self.levels["tract"], county)
        )
        moves = core.list_moves(swaps)
        moved = core.apply_moves(persons, moves), core.apply_moves(households, moves)
        made = (*core.without_traces(*moved, shared.named(state)), swaps)
        frames = dict(zip(self.stage.folders, made, strict=True))
        split = {name: _split(frame, county) for name, frame in frames.items()}
        for each in self.states[state]:
            rows = [parts.get(each.partition, frames[n].clear()) for n, parts in split.items()]
            people, homes, pairs = rows
            totals = {
                "units": people["geoid_block"].n_unique(),
                "people": len(people),
                "households": int((homes["people"] > 0).sum()),
                "pairs": len(pairs),
            }
            reaches = dict(pairs["reach"].value_counts().iter_rows())
            written = dict(zip(frames, rows, strict=True))
            yield Protected(each, written, totals, reaches, done=(1, len(people)))

    def _read(self, name: str, state: str) -> pl.DataFrame:
        folder = self.population[name]
        return pl.concat([folder.read(county.partition) for county in self.states[state]])

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        totals, pairs = manifest.totals, manifest.totals["pairs"]
        yield "setting", manifest.notes["setting"]
        yield self.people, totals["people"]
        yield "households", totals["households"]
        yield "  swapped", (2 * pairs, totals["households"])
        for name, count in manifest.statuses.items():
            yield f"  pairs met in {name}", (count, pairs)


def _split(frame: pl.DataFrame, county: Level) -> dict[str, pl.DataFrame]:
    """Split rows by county, sorted by block and household."""
    order = ["geoid_block", "household"]
    prefixed = frame.sort(order, nulls_last=True, maintain_order=True).with_columns(
        county.enclosing(pl.col("geoid_block")).alias("_county")
    )
    parts = prefixed.partition_by("_county", include_key=False, as_dict=True)
    return {str(county): rows for (county,), rows in parts.items()}


def open_stage(run: Run) -> SwapStage:
    """Open the protection of a run."""
    return SwapStage(run)
