"""Suppression: primary cells, and complementary ones that prevent their computation.

Over all tables and levels of a region together: for every primary cell records are known that have
all published counts, true flags, and another count there, at least the safety range away.

Limits: somebody who knows the rules and the suppressed cells of other years may know more, and a
complementary cell may be recovered.

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.protect.counts import PROTECTED
from recon_cli.capabilities.suppress.complementary import choose_complementary
from recon_cli.capabilities.suppress.groups import UNITS, Group, groups_of
from recon_cli.capabilities.suppress.least_change import SensitiveCells
from recon_cli.capabilities.suppress.linked_cells import LinkedCells, Neighbourhoods, linked_cells
from recon_cli.capabilities.suppress.primary import PrimaryRules, primary_cells
from recon_cli.errors import SolverError
from recon_cli.frames import OPEN
from recon_cli.model.bounds import Bounds, propagate_signed
from recon_cli.model.components import split_components
from recon_cli.model.program import LinearConstraints
from recon_cli.progress import OnProgress, ProgressSoFar, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed, generator
from recon_cli.solve.feasibility import Feasibility, solve_program
from recon_cli.statement import Protection, Statement
from recon_cli.statement.suppression import Suppressed

#: Published counts after suppression: ``count`` null where it is suppressed, and ``primary``.
SUPPRESSED: Final = pl.Schema([*PROTECTED.items(), ("primary", pl.Boolean)])
_KEY: Final = ["geoid", "table", "cell"]
_COST: Final = pl.Schema(
    {"geoid": pl.String, "table": pl.String, "cell": pl.Int16, "cost": pl.Int32}
)
#: The cells of a group: their true counts, and which are suppressed.
_CHOSEN: Final = pl.Schema(
    {
        "geoid": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "true": pl.Int32,
        "primary": pl.Boolean,
        "hidden": pl.Boolean,
    }
)
#: Variables of unconnected parts that are solved together.
_PACK: Final = 2000


@dataclass(frozen=True)
class SuppressionOptions:
    """The options of suppression.

    Attributes:
        rules: Rules for sensitive cells.
        safety: Required distance between two possible counts of a primary cell; None for the
            range that the audit of the result requires.
        seed: Seed of the solvers.
        effort: Deterministic seconds for each region, or group of a large region; if they run
            out, primary cells are still protected, but more cells than needed are suppressed.
        group_units: Units of a group of a large region.
    """

    rules: PrimaryRules
    safety: int | None = None
    seed: int = 0
    effort: float = 600.0
    group_units: int = UNITS

    @property
    def safety_range(self) -> int:
        """Return the range that the law of the result requires; see the audit's `statuses`."""
        return self.rules.below if self.safety is None else self.safety

    @property
    def least(self) -> int:
        """Return the least count that a flag states."""
        return 0 if self.rules.zeros_hidden else 1


@dataclass(frozen=True)
class SuppressionTask:
    """Parts that all groups of a partition share.

    Attributes:
        zeros_primary: Whether cells without people are primary.
    """

    release: Release
    tables: tuple[Table, ...]
    options: SuppressionOptions
    zeros_primary: bool


@dataclass(frozen=True)
class SuppressedGroup:
    """A group, and what is known of its cells.

    Attributes:
        primary: ``geoid, table, cell`` of the primary cells.
        cost: ``geoid, table, cell, cost``: the cost of suppressing a cell; default its count.
    """

    group: Group
    primary: pl.DataFrame
    cost: pl.DataFrame = field(default_factory=_COST.to_frame)


#: Calls `suppress_group` for some groups, here or in other processes; results are in their order.
ForEach = Callable[[SuppressionTask, Sequence[SuppressedGroup], OnProgress], Sequence[pl.DataFrame]]


def suppress_in_order(
    task: SuppressionTask, groups: Sequence[SuppressedGroup], on_progress: OnProgress
) -> Sequence[pl.DataFrame]:
    """Suppress one group after the other, in this process."""
    return [suppress_group(task, group, on_progress) for group in groups]


def suppress_counts(
    release: Release,
    truth: Publication,
    options: SuppressionOptions,
    *,
    records: pl.DataFrame | None = None,
    tables: Sequence[Table] | None = None,
    sensitive: pl.DataFrame | None = None,
    on_progress: OnProgress = ignore_progress,
    for_each: ForEach = suppress_in_order,
) -> pl.DataFrame:
    """Suppress the cells that rules call sensitive, and all that would reveal them.

    Args:
        truth: Exact counts of one partition.
        records: Records behind the counts; only rules about values need them.
        tables: Published tables; default all.
        sensitive: ``geoid, table, cell`` of the sensitive cells; default by the rules.
        on_progress: Told of units and people, as the work on their region goes on.
        for_each: Suppresses the groups of a large region.

    Returns:
        Columns of `SUPPRESSED`: a row per true count above zero, and with ``zeros_hidden`` a row
        per published cell; by geoid, table and cell.

    Raises:
        ConfigError: The records lack the value column.
        SolverError: A region is too large, or a solver could not decide.
    """
    used = tuple(release.tables if tables is None else tables)
    counts = truth.counts.select(*_KEY, "count")
    if sensitive is None:
        is_primary = primary_cells(release, counts, records, options.rules, used)
        primary = counts.filter(is_primary).select(_KEY)
    else:
        primary = sensitive.select(_KEY)
    hides = options.rules.zeros_hidden
    groups = [
        SuppressedGroup(group, primary.join(group.truth.geounits, on="geoid", how="semi"))
        for group in groups_of(release, truth, primary, options.group_units, zeros_hidden=hides)
    ]
    task = SuppressionTask(release, used, options, zeros_primary=sensitive is None)
    first, *others = groups
    found = [suppress_group(task, first, on_progress)]
    if coarse := first.group.coarse:
        # Coarse counts that the first group suppresses cost the other groups nothing.
        above = counts.filter(pl.col("geoid").is_in(coarse))
        hidden = found[0].filter("hidden").select(*_KEY, cost=pl.lit(0, pl.Int32))
        cost = above.rename({"count": "cost"}).update(hidden, on=_KEY).cast(_COST)
        others = [replace(group, cost=cost) for group in others]
        found = [_joined(pl.concat([*found, *for_each(task, others, on_progress)]), above)]
    return (
        pl.concat(found)
        .with_columns(
            level=release.geography.level_names(pl.col("geoid")),
            count=pl.when(~pl.col("hidden")).then("true"),
            primary=pl.col("primary") & pl.col("hidden"),
        )
        .select(SUPPRESSED.names())
        .sort(_KEY)
        .cast(SUPPRESSED)
    )


def _joined(found: pl.DataFrame, coarse: pl.DataFrame) -> pl.DataFrame:
    """Join the cells of all groups: a coarse one is suppressed if any group needs that.

    Args:
        found: The cells of the groups, with the coarse ones in each.
        coarse: The coarse geounits' true counts.

    Raises:
        SolverError: The counts are not the sums of the groups.
    """
    parts = found.join(coarse, on="geoid", how="semi")
    sums = parts.group_by(_KEY).agg(pl.col("true").sum(), pl.col("primary", "hidden").any())
    compared = sums.filter(pl.col("true") > 0).join(coarse, on=_KEY, how="full")
    if not compared.select(pl.col("true").eq_missing(pl.col("count")).all()).item():
        raise SolverError(f"{coarse['geoid'][0]}: no records have the true counts")
    return pl.concat([found.join(coarse, on="geoid", how="anti"), sums.select(found.columns)])


def suppress_group(
    task: SuppressionTask, suppressed: SuppressedGroup, on_progress: OnProgress
) -> pl.DataFrame:
    """Suppress the cells of one group, region by region.

    Returns:
        Columns of `_CHOSEN`.
    """
    release, group, rules = task.release, suppressed.group, task.options.rules
    frames, progress = [_CHOSEN.to_frame()], _Progress(release, group.truth, on_progress)
    counts = group.truth.counts.select(*_KEY, true="count")
    primary = suppressed.primary.with_columns(primary=pl.lit(value=True))
    for whole in linked_cells(release, group.truth, task.tables, zeros_hidden=rules.zeros_hidden):
        linked = group.separated(whole)
        here = (
            linked.names.join(counts, on=_KEY, how="left", maintain_order="left")
            .join(primary, on=_KEY, how="left", maintain_order="left")
            .join(suppressed.cost, on=_KEY, how="left", maintain_order="left")
            .with_columns(
                pl.col("true").fill_null(0),
                pl.col("cost").fill_null(pl.col("true")).fill_null(0),
                rank=release.geography.ranks(pl.col("geoid")),
            )
        )
        is_zero = (pl.col("true") == 0) & task.zeros_primary & ~pl.col("geoid").is_in(group.coarse)
        here = here.with_columns(primary=pl.col("primary").fill_null(value=False) | is_zero)
        with progress.region(linked.region) as on_share:
            chosen = _suppressed(linked, here, group.name, task.options, on_share)
        hidden = pl.Series(chosen).gather(here["distinct"])
        frames.append(here.with_columns(hidden=hidden).select(_CHOSEN.names()).cast(_CHOSEN))
    progress.end()
    return pl.concat(frames)


def suppression_protection(rules: PrimaryRules) -> Protection:
    """Return the law of suppressed counts: a flag may hide any count that zeros do not exclude."""
    law = Suppressed(
        below=rules.below,
        flagged="may-be-zero" if rules.zeros_hidden else "positive",
        complementary=True,
    )
    return Protection((Statement(law),))


class _Progress:
    """Reports progress on regions as if they were done unit by unit."""

    def __init__(self, release: Release, truth: Publication, on_progress: OnProgress) -> None:
        units = truth.geounits.filter(level=release.geography.unit.name)
        self._units = units.select(
            release.region.enclosing(pl.col("geoid")).alias("region"), "population"
        )
        self._so_far = ProgressSoFar(on_progress)
        self._done = (0, 0)

    @contextmanager
    def region(self, region: str) -> Iterator[Callable[[float], None]]:
        """Yield a callback for the finished share of a region's work."""
        here = self._units.filter(region=region)
        size = (here.height, int(here["population"].sum()))
        done = self._done
        yield lambda share: self._so_far.tell(
            done[0] + int(share * size[0]), done[1] + int(share * size[1])
        )
        self._done = (done[0] + size[0], done[1] + size[1])

    def end(self) -> None:
        """Report all remaining work as finished."""
        self._so_far.tell(self._units.height, int(self._units["population"].sum()))


def _suppressed(
    linked: LinkedCells,
    cells: pl.DataFrame,
    group: str,
    options: SuppressionOptions,
    on_share: Callable[[float], None],
) -> BoolArray:
    """Return which distinct cells of a region are suppressed.

    Args:
        linked: The region, or a group of it.
        cells: Its cells with ``true``, ``primary``, ``cost``, ``distinct`` and ``rank`` of the
            level.
        group: The name of the group.
        on_share: Called from time to time with the finished share of the work.
    """
    distinct = (
        cells.group_by("distinct")
        .agg(
            pl.col("true").first(),
            pl.col("primary").any(),
            pl.col("rank").max(),
            pl.col("cost").cast(pl.Float64).sum(),
        )
        .sort("distinct")
    )
    values = distinct["true"].cast(pl.Int64).to_numpy()
    primary = distinct["primary"].to_numpy()
    known = known_records(linked, values, options.seed)
    sensitive = SensitiveCells(
        linked.coefficients,
        values,
        primary,
        known,
        options.least,
        options.safety_range,
        linked.agreement if linked.agreement.shape[0] else None,
    )
    _, level = np.unique(-distinct["rank"].cast(pl.Int64).to_numpy(), return_inverse=True)
    level = np.append(level.ravel(), np.zeros(linked.agreement.shape[0], dtype=np.int64))
    units = Neighbourhoods.of(linked.rows, level, known)
    cost = distinct["cost"].to_numpy()
    random = generator(options.seed, "suppress", linked.region, *([group] if group else []))
    hidden: BoolArray = primary | choose_complementary(
        sensitive, units, cost, random, effort=options.effort, on_share=on_share
    )
    return hidden


def known_records(linked: LinkedCells, values: IntArray, seed: int) -> IntArray:
    """Find people in each column that have the true counts.

    Raises:
        SolverError: No people have them.
    """
    values = np.append(values, np.zeros(linked.agreement.shape[0], dtype=np.int64))
    rows = LinearConstraints(linked.rows, values, values)
    width = linked.rows.shape[1]
    signed = propagate_signed(rows, np.full(width, OPEN, dtype=np.int64))
    bounds = Bounds(signed.lower, signed.upper, signed.upper == OPEN, signed.conflict)
    people: IntArray = bounds.lower.copy()
    region = np.zeros(len(people), dtype=np.int64)
    for component in split_components(rows, bounds, region, pack=_PACK):
        found = solve_program(component.program, digest_seed(seed, "suppress", linked.region))
        if found.outcome is Feasibility.UNDECIDED:
            raise SolverError(f"region {linked.region}: no records with the true counts were found")
        if found.outcome is Feasibility.INFEASIBLE:
            raise SolverError(f"region {linked.region}: no records have the true counts")
        people[component.columns] = found.values
    return people
