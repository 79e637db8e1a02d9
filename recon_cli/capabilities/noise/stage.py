"""Noisy counts by a strategy: queries, levels and budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import polars as pl

from recon_cli.capabilities.account.account import Spend, spends_of
from recon_cli.capabilities.measurements.draws import cells_of, measurement_noise, opendp_noise
from recon_cli.capabilities.measurements.strategy import Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy, read_strategy
from recon_cli.capabilities.noise import measured
from recon_cli.capabilities.noise.budgets import NEIGHBOURS, budget_of, spent
from recon_cli.capabilities.noise.measured import (
    NoiseSource,
    measure_counts,
    noise_protection,
    release_text,
    strategy_rows,
    table_name,
)
from recon_cli.capabilities.noise.options import Noise
from recon_cli.capabilities.protect.counts_stage import CountsStage
from recon_cli.capabilities.protect.stage import Fact
from recon_cli.capabilities.protect.unit_lists import all_units
from recon_cli.chance import KeyedChance
from recon_cli.execute import OnProgress
from recon_cli.frames import COUNTS
from recon_cli.pipeline.run import Run
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, parse_release
from recon_cli.statement import Protection
from recon_cli.store import Manifest, Piece

#: Name of the schema file beside the counts.
SCHEMA = "release.yaml"


class NoiseStage(CountsStage[Noise, "KeyedChance | None"]):
    """The stage of `recon protect noise`."""

    section = Noise

    @cached_property
    def strategy(self) -> Strategy:
        config = self.config
        return load_strategy(config.strategy, self.true, config.without, config.scale)

    @cached_property
    def levels(self) -> Sequence[str]:
        release = self.true
        levels = self.config.levels or measured.published_levels(self.strategy, release)
        measured.require_publishable(self.strategy, release, levels)
        return levels

    @cached_property
    def schema(self) -> str | None:
        """Return the schema text with the queries as tables; None for the release's own tables."""
        if any(query.table for query in self.strategy.queries.values()):
            return None
        return release_text(self.strategy, self.true, self.levels)

    @cached_property
    def release(self) -> Release:
        if self.schema is None:
            return self.true
        return parse_release(self.schema, source=SCHEMA)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        names = {table_name(query) for query in self.strategy.queries.values()}
        return tuple(table for table in self.release.tables if table.name in names)

    @property
    def statements(self) -> Protection:
        return noise_protection(self.strategy, self.levels)

    @cached_property
    def units(self) -> pl.Series | None:
        return all_units(self.name, self.config, self.true)

    @property
    def described(self) -> Mapping[str, bytes]:
        return {} if self.schema is None else {SCHEMA: self.schema.encode()}

    @property
    def spends(self) -> Sequence[Spend]:
        return spends_of(self.strategy, self.release.features, self.levels)

    @property
    def invariants(self) -> Sequence[str]:
        """List which units have records, if no list of units is published."""
        return self.config.invariants.get("invariants", ())

    @property
    def draws_again(self) -> bool:
        """Report whether OpenDP draws the noise: it keeps no key."""
        return self.config.source == "opendp"

    def settings(self) -> Mapping[str, Any]:
        config, keys = self.config, self.true.attack
        return {
            "attack": None if keys is None or self.schema is None else keys.lists,
            "strategy": read_strategy(config.strategy)[0],
            "without": list(config.without),
            "levels": list(self.levels),
            "source": config.source,
            "units": config.units,
            "scale": str(config.scale),
        }

    @property
    def notes(self) -> Mapping[str, Any]:
        return {
            "strategy": self.strategy.name,
            **budget_of(self.strategy, self.levels),
            "measured": strategy_rows(self.strategy, self.levels),
            "whole_budget": float(self.strategy.budget()),
            "whole_epsilon": self.strategy.epsilon(),
            "source": self.config.source,
            **self.config.invariants,
        }

    @cached_property
    def inhabited(self) -> Mapping[str, Piece]:
        """Return the partitions with records."""
        return {piece.partition: piece for piece in self.origin.pieces(self.release)}

    def pieces(self) -> Sequence[Piece]:
        """Return the partitions of the records and of the list of all units."""
        pieces = dict(self.inhabited)
        if self.units is not None:
            names = self.release.geography.partition_level.enclosing(self.units).unique()
            pieces = {name: Piece(name) for name in names} | pieces
        return [pieces[name] for name in sorted(pieces)]

    def share(self, draw: Callable[[], KeyedChance]) -> KeyedChance | None:
        """Return the source of noise; None for OpenDP's own."""
        return draw() if self.config.source == "keyed" else None

    def truth(self, partition: str) -> tuple[Publication, pl.DataFrame | None]:
        """Return the true counts of a partition, including units without records."""
        if partition in self.inhabited:
            truth, records = super().truth(partition)
        else:
            truth, records = self.origin.nothing(self.release), None
        if self.units is None:
            return truth, records
        return self._with_empty(truth, self.units, partition), records

    def _with_empty(self, truth: Publication, units: pl.Series, partition: str) -> Publication:
        """Add units without records, and their geounits, to the publication."""
        geography = self.release.geography
        units = units.filter(geography.inside(units, partition))
        known, frames = set(truth.geounits["geoid"]), [truth.geounits]
        for number, pattern in enumerate(truth.coverage):
            geoids = geography.by_name[pattern.level].enclosing(units).unique().sort()
            empty = geoids.filter(~geoids.is_in(list(known)))
            frames.append(
                pl.DataFrame({"geoid": empty}).with_columns(
                    level=pl.lit(pattern.level),
                    population=pl.lit(0, truth.geounits["population"].dtype),
                    pattern=pl.lit(number, pl.Int16),
                )
            )
        geounits = pl.concat(frames, how="diagonal").select(truth.geounits.columns)
        return replace(truth, geounits=geounits)

    def publish(
        self,
        shared: KeyedChance | None,
        truth: Publication,
        records: pl.DataFrame | None,  # noqa: ARG002
        on_progress: OnProgress,  # noqa: ARG002
    ) -> pl.DataFrame:
        return measure_counts(self.strategy, tuple(self.levels), truth, self._source(shared))

    def _source(self, chance: KeyedChance | None) -> NoiseSource:
        name = self.strategy.name
        if chance is None:
            return lambda _, each, geoids: opendp_noise(each.law, (len(geoids), each.query.size))
        return lambda level, each, geoids: measurement_noise(
            chance.named(name, level), each, geoids, cells_of(each.query)
        )

    def tidy(self, truth: Publication, protected: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002
        """Return all cells: with noise a zero has no special meaning."""
        return protected.select(COUNTS.names())

    def totals(self, truth: Publication, protected: pl.DataFrame) -> Mapping[str, int]:  # noqa: ARG002
        return {"cells": protected.height, "negative": int((protected["count"] < 0).sum())}

    def table(self, manifest: Manifest) -> tuple[pl.DataFrame, list[str]]:
        unit = "ρ" if manifest.notes["mechanism"] == "gaussian" else "ε"
        rows = [
            (
                *(row["level"], row["query"], f"{row['cells']:,}"),
                *(f"{float(Fraction(row['budget'])):.6f}", f"{row['variance'] ** 0.5:.2f}"),
            )
            for row in manifest.notes["measured"]
        ]
        header = ["level", "query", "cells", unit, "σ"]
        return pl.DataFrame(rows, schema=header, orient="row"), header

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        totals, notes = manifest.totals, manifest.notes
        whole = {**notes, "budget": notes["whole_budget"], "epsilon": notes["whole_epsilon"]}
        yield "strategy", notes["strategy"]
        yield "neighbours", NEIGHBOURS[notes["neighbours"]]
        yield "spent", spent(notes)
        yield "whole strategy", spent(whole)
        yield "noise", notes["source"]
        yield self.people, totals["people"]
        yield "measurements", totals["cells"]
        yield "  below zero", (totals["negative"], totals["cells"])


def open_stage(run: Run) -> NoiseStage:
    """Open the protection of a run."""
    return NoiseStage(run)
