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
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import TOPDOWN
from recon_cli.schema import Release
from recon_cli.store import Piece, Staging

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.histogram.domain import Histogram
    from recon_cli.histogram.hierarchy import Hierarchy
    from recon_cli.protect.topdown import Fixed, Product
    from recon_cli.sources.records import RecordFile


def make_microdata(run: Run) -> StageOutcome:
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
    from recon_cli.stages.unit_lists import list_files  # noqa: PLC0415

    config = run.config.section(Topdown)
    release = config.extended(run.release)
    products = _products(config, release, run.config.top.seed)
    path = config.records or run.work / "persons"
    records = open_records("topdown.records", path, release)
    slices = records.slices()
    recipe = run.recipe(
        TOPDOWN,
        {
            "strategies": [read_strategy(name)[0] for name in config.strategies],
            **config.model_dump(mode="json", include=_SETTINGS),
        },
        seed=products[0].seed,
        files=(
            *list_files("topdown.geounits", config.geounits),
            *list_files("topdown.geography", config.geography),
        ),
        # noise above the partitions depends on all of them
        shared={f"records/{name}": each.digest for name, each in slices.items()},
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(TOPDOWN, stage.current, skipped=True)
        plan = _plan(config, release, records, products, sorted(slices))
        pieces = [
            Piece(name, units=plan.units(name), people=slices[name].rows if name in slices else 0)
            for name in plan.partitions
        ]
        tops = plan.tops()
        context = TopdownContext(plan, tops, stage.staging)
        results = run.map_unfinished(stage, make_partition, lambda: context, pieces)
        used = plan.hierarchy.levels
        manifest = stage.publish(
            pieces,
            notes={"levels": list(used), "products": [_spent(each, used) for each in products]},
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(TOPDOWN, manifest)


_SETTINGS = {"levels", "features", "structural_zeros", "without", "invariant", "steps"}


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


def _products(config: Topdown, release: Release, seed: int) -> list[Product]:
    """The products in order.

    Raises:
        ConfigError: One cannot agree with the one before, or the last blurs a feature.
    """
    from recon_cli.histogram.domain import Domain  # noqa: PLC0415
    from recon_cli.histogram.projected_gradient import StoppingRule  # noqa: PLC0415
    from recon_cli.noise.strategy_file import load_strategy  # noqa: PLC0415 - loads polars
    from recon_cli.protect.topdown import Invariant, Product  # noqa: PLC0415

    products: list[Product] = []
    for name in config.strategies:
        strategy = load_strategy(name, release, config.without)
        domain = Domain.of(release, strategy)
        if products and not domain.refines(products[-1].domain):
            raise ConfigError(
                f"topdown.strategies: {strategy.name!r} tells less apart than "
                f"{products[-1].strategy.name!r}, which it must agree with"
            )
        invariant = None
        if config.invariant is not None and not products:
            query = strategy.queries.get(config.invariant.query)
            if query is None:
                known = ", ".join(strategy.queries)
                raise ConfigError(
                    f"topdown.invariant.query: strategy {strategy.name!r} has no query "
                    f"{config.invariant.query!r} (queries: {known})"
                )
            invariant = Invariant(query, frozenset(config.invariant.levels))
        own = seed if config.seed is None else config.seed
        products.append(Product(domain, strategy, own, invariant, StoppingRule(config.steps)))
    last = products[-1]
    if last.domain.blurred:
        raise ConfigError(
            f"topdown.strategies: {last.strategy.name!r} does not tell all values of "
            f"{last.domain.blurred[0]!r} apart, so its product is no records"
        )
    return products


def _plan(
    config: Topdown,
    release: Release,
    records: RecordFile,
    products: Sequence[Product],
    partitions: Sequence[str],
) -> TopdownPlan:
    """Read the records as histograms of units, and put the units into geounits."""
    import numpy as np  # noqa: PLC0415 - slow to load
    import polars as pl  # noqa: PLC0415

    from recon_cli.histogram.domain import add_up  # noqa: PLC0415
    from recon_cli.histogram.hierarchy import build_hierarchy  # noqa: PLC0415
    from recon_cli.stages.tabulate import record_columns, typed_records  # noqa: PLC0415
    from recon_cli.stages.unit_lists import read_units  # noqa: PLC0415

    column = release.geoid_column
    read = [
        typed_records(records.read(name, [*record_columns(release)]), records.path, release)
        for name in partitions
    ]
    people = pl.concat(read)
    units, named = people[column], None
    if config.geounits is not None:
        more = read_units("topdown.geounits", config.geounits, release)[column]
        units = pl.concat([units, more])
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
