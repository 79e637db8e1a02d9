"""Records made from noisy measurements.

The levels above the partitions are made first, in one process; then every partition by itself from
its own histogram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from recon_cli.capabilities.account.account import Spend, spends_of
from recon_cli.capabilities.measurements.domain import Domain, Histogram, add_up, merge
from recon_cli.capabilities.measurements.hierarchy import Hierarchy, build_hierarchy
from recon_cli.capabilities.measurements.least_squares import StoppingRule
from recon_cli.capabilities.measurements.strategy import NATION, Query, Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy, read_strategy
from recon_cli.capabilities.noise.budgets import NEIGHBOURS, budget_of, spent
from recon_cli.capabilities.protect.stage import Fact, Ingredients, Protected, ProtectionStage
from recon_cli.capabilities.protect.unit_lists import (
    all_units,
    list_files,
    read_units,
    require_listed,
)
from recon_cli.capabilities.records.files import RecordFile, open_records
from recon_cli.capabilities.tabulate.stage import record_columns, typed_records
from recon_cli.capabilities.topdown.options import Topdown
from recon_cli.capabilities.topdown.topdown import Fixed, Invariant, Product, estimate
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.execute import OnProgress
from recon_cli.pipeline.run import Run
from recon_cli.plurals import plural
from recon_cli.schema import Release
from recon_cli.store import Manifest, Piece

_SETTINGS = {
    "levels",
    "features",
    "structural_zeros",
    "without",
    "invariant",
    "steps",
    "units",
    "scale",
}
#: Key of the config with the exact query.
_INVARIANT = "topdown.invariant.query"


@dataclass(frozen=True, eq=False)
class Walk:
    """The inputs that the walks of all partitions share.

    Attributes:
        products: Products in order, each of which agrees with the one before.
        tops: For each partition its histogram in each product; None where walks start below.
    """

    products: tuple[Product, ...]
    tops: Mapping[str, Sequence[Histogram]] | None


class TopdownStage(ProtectionStage[Topdown, Walk]):
    """The stage of `recon protect topdown`."""

    section = Topdown

    @cached_property
    def release(self) -> Release:
        """Return the schema with the records' further features."""
        return self.config.extended(self.true)

    @cached_property
    def strategies(self) -> Sequence[tuple[Domain, Strategy]]:
        """Return the strategy of each product, in order, and the distinctions of its records.

        Raises:
            ConfigError: Two strategies have the same name, by which noise is drawn; a strategy
                cannot agree with the one before; or the last blurs a feature.
        """
        found: list[tuple[Domain, Strategy]] = []
        for name in self.config.strategies:
            strategy = load_strategy(name, self.release, self.config.without, self.config.scale)
            if strategy.name in {earlier.name for _, earlier in found}:
                raise ConfigError(
                    f"topdown.strategies: two are named {strategy.name!r}, and noise is drawn by "
                    "name: they would share it; give one another name (`strategy:` in its file)"
                )
            domain = Domain.of(self.release, strategy)
            if found and not domain.refines(found[-1][0]):
                raise ConfigError(
                    f"topdown.strategies: {strategy.name!r} tells less apart than "
                    f"{found[-1][1].name!r}, which it must agree with"
                )
            if not found and self.config.invariant is not None:
                invariant_query(_INVARIANT, self.config.invariant.query, strategy)
            found.append((domain, strategy))
        domain, strategy = found[-1]
        if domain.blurred:
            raise ConfigError(
                f"topdown.strategies: {strategy.name!r} does not tell all values of "
                f"{domain.blurred[0]!r} apart, so its product is no records"
            )
        return found

    @cached_property
    def units(self) -> pl.Series | None:
        """Return all units that people may be placed in; None for the units with records."""
        return all_units(self.name, self.config, self.release)

    @cached_property
    def records(self) -> RecordFile:
        path = self.config.records or self.run.work / "persons"
        return open_records("topdown.records", path, self.release)

    def ingredients(self) -> Ingredients:
        """Return strategies, lists and records; noise above the partitions depends on all of them.

        Raises:
            ConfigError: A strategy is wrong, or there is no list of units.
        """
        config = self.config
        _ = self.strategies, self.units  # refused before anything is read
        return Ingredients(
            {
                "strategies": [read_strategy(name)[0] for name in config.strategies],
                **config.model_dump(mode="json", include=_SETTINGS),
            },
            files=(
                *list_files("topdown.geounits", config.geounits),
                *list_files("topdown.geography", config.geography),
            ),
            shared={f"records/{n}": each.digest for n, each in self.records.slices().items()},
        )

    @cached_property
    def truth(self) -> tuple[Hierarchy, Sequence[Sequence[Histogram]]]:
        """Return the geounits, and for each product the people of each unit.

        Raises:
            ConfigError: Levels do not nest, or cannot be walked.
        """
        release, records, column = self.release, self.records, self.release.geoid_column
        read = [
            typed_records(records.read(name, [*record_columns(release)]), records.path, release)
            for name in sorted(records.slices())
        ]
        people = pl.concat(read)
        units, named = people[column], None
        if self.units is not None:
            require_listed("topdown.geounits", units.unique(), self.units)
            units = self.units
        if self.config.geography is not None:
            named = read_units("topdown.geography", self.config.geography, release)
        unit = release.geography.unit.name
        down = self.levels if unit in self.levels else (*self.levels, unit)
        whole = build_hierarchy(release, down, units, named)
        hierarchy = whole.above(self.levels[-1])
        self._require_levels(hierarchy)
        geoids = whole.geoids[-1]
        place = people[column].replace_strict(geoids, np.arange(len(geoids)), return_dtype=pl.Int64)
        found = whole.place(len(hierarchy.levels) - 1)[place.to_numpy()]
        ones = np.ones(len(people), dtype=np.int64)
        return hierarchy, [
            add_up(found, domain.cells(people), ones, len(hierarchy.geoids[-1]))
            for domain, _ in self.strategies
        ]

    @property
    def levels(self) -> Sequence[str]:
        """Return the levels that are walked, from the top."""
        known = [NATION, *(level.name for level in reversed(self.release.geography.levels))]
        measured = self.strategies[-1][1].levels
        return self.config.levels or [level for level in known if level in measured]

    def _require_levels(self, hierarchy: Hierarchy) -> None:
        """Refuse levels that cannot be walked.

        Raises:
            ConfigError: Names the level.
        """
        for level in hierarchy.levels:
            self.strategies[-1][1].at(level)
        for _, strategy in self.strategies:
            strategy.at(hierarchy.levels[-1])
        geography = self.release.geography
        partition, known = geography.partition, geography.by_name
        first = hierarchy.levels[0]
        coarse = first not in known or known[first] not in geography.inside_partitions
        if coarse and partition not in hierarchy.levels:
            raise ConfigError(
                f"topdown.levels: {partition!r} is missing: partitions are made one by one from "
                "there"
            )
        last = hierarchy.levels[-1]
        if last not in known or known[last] not in geography.inside_partitions:
            raise ConfigError(f"topdown.levels: {last!r}: the last must lie in one {partition}")
        asked = self.config.invariant
        invariant = [] if asked is None else asked.of(hierarchy.levels)
        if invariant != list(hierarchy.levels[: len(invariant)]):
            raise ConfigError(
                f"topdown.invariant.levels: {invariant}: expected the first of "
                f"{list(hierarchy.levels)}, in order: what is exact below is exact above"
            )

    @property
    def notes(self) -> Mapping[str, Any]:
        levels = self.levels
        products = [
            {
                "strategy": strategy.name,
                **budget_of(strategy, [level for level in levels if level in strategy.levels]),
            }
            for _, strategy in self.strategies
        ]
        return {"levels": list(levels), "products": products, **self.config.invariants}

    @property
    def spends(self) -> Sequence[Spend]:
        levels, features = self.levels, self.release.features
        return [
            spend
            for _, strategy in self.strategies
            for spend in spends_of(strategy, features, [n for n in levels if n in strategy.levels])
        ]

    @property
    def invariants(self) -> Sequence[str]:
        """List exact counts, and which units have records, if no list of units is published."""
        asked, units = self.config.invariant, self.config.invariants.get("invariants", [])
        exact = (
            [] if asked is None else [f"{asked.query} of every {', '.join(asked.of(self.levels))}"]
        )
        return [*exact, *units]

    def pieces(self) -> Sequence[Piece]:
        geoids, geography = self.truth[0].geoids[-1], self.release.geography
        rows = {name: each.rows for name, each in self.records.slices().items()}
        return [
            Piece(name, units=int(geography.inside(geoids, name).sum()), people=rows.get(name, 0))
            for name in geography.partition_level.enclosing(geoids).unique().sort().to_list()
        ]

    def share(self, draw: Callable[[], KeyedChance]) -> Walk:
        """Make the products, and the levels above the partitions.

        Raises:
            SolverError: The exact counts contradict each other.
        """
        products, (hierarchy, truth) = self._products(draw()), self.truth
        level = self.release.geography.partition
        if level not in hierarchy.levels:
            return Walk(products, None)
        upper, depth = hierarchy.above(level), hierarchy.levels.index(level)
        geoids, place = upper.geoids[-1], hierarchy.place(depth)
        made = walk(products, upper, [merge(each, place, len(geoids)) for each in truth])
        tops = {geoid: [each[i] for each in made] for i, geoid in enumerate(geoids)}
        return Walk(products, tops)

    def _products(self, chance: KeyedChance) -> tuple[Product, ...]:
        """Return the products in order; exact counts are exact in the first."""
        asked, invariant = self.config.invariant, None
        if asked is not None:
            query = invariant_query(_INVARIANT, asked.query, self.strategies[0][1])
            invariant = Invariant(query, frozenset(asked.of(self.levels)))
        stop = StoppingRule(self.config.steps)
        return tuple(
            Product(domain, strategy, chance, None if number else invariant, stop)
            for number, (domain, strategy) in enumerate(self.strategies)
        )

    def protect(
        self,
        shared: Walk,
        piece: Piece,
        on_progress: OnProgress,  # noqa: ARG002
    ) -> Iterator[Protected]:
        """Make the records of a partition.

        Raises:
            SolverError: The exact counts contradict each other.
        """
        whole, truth = self.truth
        hierarchy, tops = self._inside(shared, piece.partition)
        inside = whole.geoids[-1].is_in(hierarchy.geoids[-1].implode()).arg_true().to_list()
        people = [[each[i] for i in inside] for each in truth]
        made = walk(shared.products, hierarchy, people, tops)[-1]
        records = records_of(shared.products[-1], hierarchy.geoids[-1], made)
        totals = {
            "units": records[self.release.geoid_column].n_unique(),
            "people": len(records),
            "true_people": sum(int(each.people.sum()) for each in people[-1]),
        }
        yield Protected(piece, {"mdf": records}, totals, done=(len(inside), len(records)))

    def _inside(self, shared: Walk, partition: str) -> tuple[Hierarchy, Sequence[Histogram] | None]:
        """Return the geounits of a partition, and its histograms if it is a geounit itself."""
        hierarchy, geography = self.truth[0], self.release.geography
        if shared.tops is not None:
            return hierarchy.inside(geography.partition, partition), shared.tops[partition]
        units = geography.inside(hierarchy.geoids[-1], partition)
        return hierarchy.around(units.to_numpy()), None

    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        totals, notes = manifest.totals, manifest.notes
        yield "levels", ", ".join(notes["levels"])
        for each in notes["products"]:
            yield each["strategy"], spent(each)
        yield "neighbours", NEIGHBOURS[notes["products"][0]["neighbours"]]
        yield self.people, f"{totals['people']:,}, of {totals['true_people']:,}"
        yield f"{plural(notes['levels'][-1])} with {self.people}", totals["units"]


def invariant_query(key: str, name: str, strategy: Strategy) -> Query:
    """Return the exact query that a key of the config names.

    Raises:
        ConfigError: The strategy has no such query.
    """
    query = strategy.queries.get(name)
    if query is None:
        known = ", ".join(strategy.queries)
        raise ConfigError(
            f"{key}: strategy {strategy.name!r} has no query {name!r} (queries: {known})"
        )
    return query


def walk(
    products: Sequence[Product],
    hierarchy: Hierarchy,
    truth: Sequence[Sequence[Histogram]],
    tops: Sequence[Histogram] | None = None,
) -> list[list[Histogram]]:
    """Make the histograms of all units in every product; each agrees with the one before."""
    made: list[list[Histogram]] = []
    fixed: Fixed | None = None
    for number, product in enumerate(products):
        levels = hierarchy.only(product.strategy.levels)
        top = None if tops is None else tops[number]
        made.append(estimate(product, levels, truth[number], fixed, top))
        fixed = Fixed(product.domain, made[-1])
    return made


def records_of(product: Product, geoids: pl.Series, made: Sequence[Histogram]) -> pl.DataFrame:
    """Make a row for each person of the units' histograms."""
    unit = np.repeat(np.arange(len(made)), [len(each.cells) for each in made])
    cells = np.concatenate([each.cells for each in made])
    people = np.concatenate([each.people for each in made])
    return product.domain.records(geoids.gather(unit), cells, people)


def open_stage(run: Run) -> TopdownStage:
    """Open the protection of a run."""
    return TopdownStage(run)
