"""`recon protect topdown`: records → noisy measurements → ``mdf/``, records again.

What lies above the partitions is made first, in this process; then every partition by itself from
its own histogram.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recon_cli.config.sections.topdown import Topdown
from recon_cli.errors import ConfigError
from recon_cli.execute import OnProgress
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import TOPDOWN
from recon_cli.schema import Release
from recon_cli.stages.drawing import chance_of
from recon_cli.store import Manifest, Piece, Staging, Transaction

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.chance import KeyedChance
    from recon_cli.histogram.domain import Domain, Histogram
    from recon_cli.histogram.hierarchy import Hierarchy
    from recon_cli.noise.strategy import Query, Strategy
    from recon_cli.protect.topdown import Fixed, Product
    from recon_cli.sources.records import RecordFile


def make_microdata(run: Run) -> MadeStage:
    """Measure records with noise, and make others of the measurements.

    Raises:
        ConfigError: A strategy or level is wrong, or levels do not nest.
        SourceError: The records or geounits cannot be read.
        SolverError: What is held exactly contradicts itself.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.noise.strategy_file import read_strategy  # noqa: PLC0415 - loads polars
    from recon_cli.sources.records import open_records  # noqa: PLC0415
    from recon_cli.stages.unit_lists import (  # noqa: PLC0415
        all_units,
        invariant_units,
        list_files,
    )

    config = run.config.section(Topdown)
    release = config.extended(run.release)
    strategies = _strategies(config, release)
    files = (
        *list_files("topdown.geounits", config.geounits),
        *list_files("topdown.geography", config.geography),
    )
    listed = all_units("topdown", config, release)
    path = config.records or run.work / "persons"
    records = open_records("topdown.records", path, release)
    slices = records.slices()
    recipe = run.recipe(
        TOPDOWN,
        {
            "strategies": [read_strategy(name)[0] for name in config.strategies],
            **config.model_dump(mode="json", include=_SETTINGS),
        },
        seed=config.study_seed,
        is_study=config.study_seed is not None,
        files=files,
        # noise above the partitions depends on all of them
        shared={f"records/{name}": each.digest for name, each in slices.items()},
    )

    def make(stage: Transaction) -> Manifest:
        products = _products(strategies, config, chance_of(stage, config.study_seed))
        plan = _plan(config, release, records, products, listed)
        pieces = [
            Piece(name, units=plan.units(name), people=slices[name].rows if name in slices else 0)
            for name in plan.partitions
        ]
        tops = plan.tops()
        context = TopdownContext(plan, tops, stage.staging)
        results = run.map_unfinished(stage, make_partition, lambda: context, pieces)
        used = plan.hierarchy.levels
        return stage.publish(
            pieces,
            notes={
                "levels": list(used),
                "products": [_spent(each, used) for each in products],
                **invariant_units(config),
            },
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make)


_SETTINGS = {"levels", "features", "structural_zeros", "without", "invariant", "steps", "units"}


def _spent(product: Product, levels: Sequence[str]) -> Mapping[str, object]:
    strategy = product.strategy
    used = [level for level in levels if level in strategy.levels]
    return {
        "strategy": strategy.name,
        "mechanism": strategy.mechanism,
        "neighbours": strategy.neighbours,
        "delta": float(strategy.delta),
        "budget": float(strategy.budget(used)),
        "epsilon": strategy.epsilon(used),
    }


def _strategies(config: Topdown, release: Release) -> list[tuple[Domain, Strategy]]:
    """What is measured for each product, in order, and what its records tell apart.

    Raises:
        ConfigError: One cannot agree with the one before, or the last blurs a feature.
    """
    from recon_cli.histogram.domain import Domain  # noqa: PLC0415
    from recon_cli.noise.strategy_file import load_strategy  # noqa: PLC0415 - loads polars

    found: list[tuple[Domain, Strategy]] = []
    for name in config.strategies:
        strategy = load_strategy(name, release, config.without)
        domain = Domain.of(release, strategy)
        if found and not domain.refines(found[-1][0]):
            raise ConfigError(
                f"topdown.strategies: {strategy.name!r} tells less apart than "
                f"{found[-1][1].name!r}, which it must agree with"
            )
        if not found and config.invariant is not None:
            _invariant_query(config.invariant.query, strategy)
        found.append((domain, strategy))
    domain, strategy = found[-1]
    if domain.blurred:
        raise ConfigError(
            f"topdown.strategies: {strategy.name!r} does not tell all values of "
            f"{domain.blurred[0]!r} apart, so its product is no records"
        )
    return found


def _invariant_query(name: str, strategy: Strategy) -> Query:
    """The query that is exact.

    Raises:
        ConfigError: The strategy has no such query.
    """
    query = strategy.queries.get(name)
    if query is None:
        known = ", ".join(strategy.queries)
        raise ConfigError(
            f"topdown.invariant.query: strategy {strategy.name!r} has no query {name!r} "
            f"(queries: {known})"
        )
    return query


def _products(
    strategies: Sequence[tuple[Domain, Strategy]], config: Topdown, chance: KeyedChance
) -> list[Product]:
    """The products in order; what is exact is so in the first."""
    from recon_cli.histogram.projected_gradient import StoppingRule  # noqa: PLC0415
    from recon_cli.protect.topdown import Invariant, Product  # noqa: PLC0415 - loads polars

    asked, invariant = config.invariant, None
    if asked is not None:
        query = _invariant_query(asked.query, strategies[0][1])
        invariant = Invariant(query, frozenset(asked.levels))
    return [
        Product(
            domain, strategy, chance, invariant if not number else None, StoppingRule(config.steps)
        )
        for number, (domain, strategy) in enumerate(strategies)
    ]


def _plan(
    config: Topdown,
    release: Release,
    records: RecordFile,
    products: Sequence[Product],
    listed: pl.Series | None,
) -> TopdownPlan:
    """Read the records as histograms of units, and put the units into geounits."""
    import numpy as np  # noqa: PLC0415 - slow to load
    import polars as pl  # noqa: PLC0415

    from recon_cli.histogram.domain import add_up  # noqa: PLC0415
    from recon_cli.histogram.hierarchy import build_hierarchy  # noqa: PLC0415
    from recon_cli.stages.tabulate import record_columns, typed_records  # noqa: PLC0415
    from recon_cli.stages.unit_lists import read_units, require_listed  # noqa: PLC0415

    column = release.geoid_column
    read = [
        typed_records(records.read(name, [*record_columns(release)]), records.path, release)
        for name in sorted(records.slices())
    ]
    people = pl.concat(read)
    units, named = people[column], None
    if listed is not None:
        require_listed("topdown.geounits", units.unique(), listed)
        units = listed
    if config.geography is not None:
        named = read_units("topdown.geography", config.geography, release)
    levels = config.levels or _default_levels(release, products[-1])
    hierarchy = build_hierarchy(release, levels, units, named)
    _require_levels(release, products, hierarchy, config)
    geoids = hierarchy.geoids[-1]
    place = people[column].replace_strict(geoids, np.arange(len(geoids)), return_dtype=pl.Int64)
    ones = np.ones(len(people), dtype=np.int64)
    truth = [
        add_up(place.to_numpy(), each.domain.cells(people), ones, len(geoids)) for each in products
    ]
    return TopdownPlan(release, hierarchy, tuple(products), tuple(map(tuple, truth)))


def _default_levels(release: Release, product: Product) -> list[str]:
    from recon_cli.noise.strategy import NATION  # noqa: PLC0415 - loads polars

    known = [NATION, *(level.name for level in reversed(release.geography.levels))]
    return [level for level in known if level in product.strategy.levels]


def _require_levels(
    release: Release, products: Sequence[Product], hierarchy: Hierarchy, config: Topdown
) -> None:
    """Refuse levels that cannot be walked.

    Raises:
        ConfigError: Names the level.
    """
    for level in hierarchy.levels:
        products[-1].strategy.at(level)
    for product in products:
        product.strategy.at(hierarchy.levels[-1])
    partition, known = release.geography.partition, release.geography.by_name
    first = hierarchy.levels[0]
    coarse = first not in known or known[first] not in release.geography.inside_partitions
    if coarse and partition not in hierarchy.levels:
        raise ConfigError(
            f"topdown.levels: {partition!r} is missing: partitions are made one by one from there"
        )
    invariant = [] if config.invariant is None else list(config.invariant.levels)
    if invariant != list(hierarchy.levels[: len(invariant)]):
        raise ConfigError(
            f"topdown.invariant.levels: {invariant}: expected the first of "
            f"{list(hierarchy.levels)}, in order: what is exact below is exact above"
        )


@dataclass(frozen=True, eq=False)
class TopdownPlan:
    """What is made.

    Attributes:
        release: The schema.
        hierarchy: The geounits.
        products: In order; each agrees with the one before.
        truth: For each product the people of each unit.
    """

    release: Release
    hierarchy: Hierarchy
    products: tuple[Product, ...]
    truth: tuple[tuple[Histogram, ...], ...]

    @property
    def partitions(self) -> list[str]:
        """Their geoids."""
        partition = self.release.geography.partition_level
        return partition.enclosing(self.hierarchy.geoids[-1]).unique().sort().to_list()

    def units(self, partition: str) -> int:
        """How many there are in a partition."""
        return int(self.release.geography.inside(self.hierarchy.geoids[-1], partition).sum())

    def tops(self) -> dict[str, list[Histogram]] | None:
        """For each partition its histogram in each product; None where the walk starts below."""
        from recon_cli.histogram.domain import merge  # noqa: PLC0415 - loads polars

        level = self.release.geography.partition
        if level not in self.hierarchy.levels:
            return None
        upper, depth = self.hierarchy.above(level), self.hierarchy.levels.index(level)
        geoids = upper.geoids[-1]
        place = self.hierarchy.place(depth)
        truth = [merge(each, place, len(geoids)) for each in self.truth]
        made = walk(self.products, upper, truth)
        return {geoid: [each[i] for each in made] for i, geoid in enumerate(geoids)}


def walk(
    products: Sequence[Product],
    hierarchy: Hierarchy,
    truth: Sequence[Sequence[Histogram]],
    tops: Sequence[Histogram] | None = None,
) -> list[list[Histogram]]:
    """The histograms of all units in every product, each held to the one before."""
    from recon_cli.protect.topdown import Fixed, estimate  # noqa: PLC0415 - loads polars

    made: list[list[Histogram]] = []
    fixed: Fixed | None = None
    for number, product in enumerate(products):
        levels = hierarchy.only(product.strategy.levels)
        top = None if tops is None else tops[number]
        made.append(estimate(product, levels, truth[number], fixed, top))
        fixed = Fixed(product.domain, made[-1])
    return made


@dataclass(frozen=True, eq=False)
class TopdownContext:
    """What all partitions share."""

    plan: TopdownPlan
    tops: dict[str, list[Histogram]] | None
    staging: Staging


def make_partition(context: TopdownContext, piece: Piece, tick: OnProgress) -> None:
    """Make and write the records of one partition; runs in a worker."""
    started, plan = time.perf_counter(), context.plan
    hierarchy, tops = _of_partition(context, piece.partition)
    geoids = plan.hierarchy.geoids[-1]
    inside = geoids.is_in(hierarchy.geoids[-1].implode()).arg_true().to_list()
    truth = [[each[i] for i in inside] for each in plan.truth]
    made = walk(plan.products, hierarchy, truth, tops)[-1]
    records = _records(plan.products[-1], hierarchy.geoids[-1], made)
    people = sum(int(each.people.sum()) for each in truth[-1])
    context.staging.write(
        piece,
        {"mdf": records},
        totals={
            "units": records[plan.release.geoid_column].n_unique(),
            "people": len(records),
            "true_people": people,
        },
        started=started,
    )
    tick(len(inside), len(records))


def _of_partition(
    context: TopdownContext, partition: str
) -> tuple[Hierarchy, list[Histogram] | None]:
    """The geounits of a partition, and its histograms if it is a geounit itself."""
    hierarchy = context.plan.hierarchy
    if context.tops is not None:
        level = context.plan.release.geography.partition
        return hierarchy.inside(level, partition), context.tops[partition]
    units = context.plan.release.geography.inside(hierarchy.geoids[-1], partition)
    return hierarchy.around(units.to_numpy()), None


def _records(product: Product, geoids: pl.Series, made: Sequence[Histogram]) -> pl.DataFrame:
    import numpy as np  # noqa: PLC0415 - slow to load

    unit = np.repeat(np.arange(len(made)), [len(each.cells) for each in made])
    cells = np.concatenate([each.cells for each in made])
    people = np.concatenate([each.people for each in made])
    return product.domain.records(geoids.gather(unit), cells, people)
