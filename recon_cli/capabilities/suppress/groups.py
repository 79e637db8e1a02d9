"""Groups of a large region that are suppressed one by one, and keep the counts above them.

A change of the records of some districts that keeps all sums over them keeps the counts of the
nation. So a large region is suppressed group by group, in a time and a memory that grow with the
places. Counts of coarser geounits are suppressed only where nothing else protects a count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.capabilities.suppress.linked_cells import LinkedCells
from recon_cli.publication import Publication
from recon_cli.schema import Level, Release

#: Units of a group: as many districts as can change for one of their own counts, and more.
UNITS: Final = 600


@dataclass(frozen=True)
class Group:
    """Places that are suppressed together.

    Attributes:
        name: Distinguishes the groups of a region; empty for whole regions.
        truth: The true counts; those of `coarse` geounits are sums over the group.
        coarse: Geoids of geounits that are in other groups, too.
    """

    name: str
    truth: Publication
    coarse: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """Return about how many units it has."""
        return self.truth.geounits.height

    def separated(self, linked: LinkedCells) -> LinkedCells:
        """Keep cells of `coarse` geounits apart from cells that are equal in this group alone."""
        if not self.coarse:
            return linked
        is_coarse = linked.names["geoid"].is_in(self.coarse).to_numpy()
        distinct = linked.names["distinct"].to_numpy().copy()
        parts, height = [], 0
        for some in (~is_coarse, is_coarse):
            used, place = np.unique(distinct[some], return_inverse=True)
            distinct[some] = height + place.ravel()
            parts.append(linked.coefficients[used])
            height += len(used)
        names = linked.names.with_columns(distinct=pl.Series(distinct, dtype=pl.Int64))
        rows = sparse.csr_array(sparse.vstack(parts))
        return replace(linked, names=names, coefficients=rows)


def groups_of(
    release: Release,
    truth: Publication,
    primary: pl.DataFrame,
    size: int = UNITS,
    *,
    zeros_hidden: bool = False,
) -> Iterator[Group]:
    """Yield the groups of a partition that is one large region; else the whole.

    The region is divided if it has at least twice ``size`` units, each cell of its coarser geounits
    is published inside the groups, too, and none of these cells is primary.

    Args:
        truth: Exact counts of one partition.
        primary: ``geoid, table, cell`` of the primary cells.
        size: Units of a group.
        zeros_hidden: Whether cells of zero people are primary, too.

    >>> import recon_cli as recon
    >>> from recon_cli.capabilities.protect.counts import count_records
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> truth = count_records(release, patients)
    >>> [group.name for group in groups_of(release, truth, truth.counts.clear())]
    ['']
    """
    units = truth.geounits.filter(level=release.geography.unit.name)["geoid"]
    level = _level_of_groups(release, truth, units, size)
    if level is not None:
        coarse = truth.geounits.filter(release.geography.ranks(pl.col("geoid")) < level.rank)
        counts = truth.counts.join(coarse, on="geoid", how="semi")
        has_all = not zeros_hidden or counts.height == _cells_of(truth, coarse)
        if has_all and primary.join(coarse, on="geoid", how="semi").is_empty():
            yield from _divided(release, truth, level, coarse, size)
            return
    yield Group("", truth)


def _level_of_groups(
    release: Release, truth: Publication, units: pl.Series, size: int
) -> Level | None:
    """Return the coarsest level whose geounits are small, with all cells of coarser ones."""
    cells = {
        pattern.level: {(table, cell) for table, some in pattern.cells.items() for cell in some}
        for pattern in truth.coverage
    }
    geography = release.geography
    is_one = geography.is_nested and release.region.enclosing(units).n_unique() == 1
    if not is_one or len(units) < 2 * size or len(cells) < len(truth.coverage):
        return None
    used = [level for level in geography.levels if level.name in cells]
    found = None
    for at, level in enumerate(used[:-1]):
        sizes = level.enclosing(units).value_counts()["count"].to_numpy()
        above = (cells[each.name] for each in used[at + 1 :])
        if sizes.max() <= size and all(each <= cells[level.name] for each in above):
            found = level
    return found


def _cells_of(truth: Publication, geounits: pl.DataFrame) -> int:
    """Count the published cells of some geounits."""
    cells = [sum(map(len, pattern.cells.values())) for pattern in truth.coverage]
    return sum(cells[pattern] for pattern in geounits["pattern"].to_list())


def _divided(
    release: Release, truth: Publication, level: Level, coarse: pl.DataFrame, size: int
) -> Iterator[Group]:
    """Yield groups of consecutive geounits of a level.

    Args:
        coarse: The coarser geounits.
    """
    geography = release.geography
    units = truth.geounits.filter(level=geography.unit.name)["geoid"]
    sizes = level.enclosing(units).alias("geoid").value_counts(name="units").sort("geoid")
    before = sizes["units"].cum_sum() - sizes["units"]
    place = before * (len(units) // size) // len(units)
    group = dict(zip(sizes["geoid"], place, strict=True))
    of_geoid = level.enclosing(pl.col("geoid")).replace_strict(group, default=None)
    geounits, counts = (
        frame.with_columns(group=of_geoid).partition_by("group", as_dict=True, include_key=False)
        for frame in (truth.geounits, truth.counts)
    )
    for number in sorted(set(group.values())):
        here = counts.pop((number,))
        own = here.filter(geography.level_names(pl.col("geoid")) == level.name)
        sums = [
            own.with_columns(geography.by_name[name].enclosing(pl.col("geoid")))
            .group_by("geoid", "table", "cell")
            .agg(pl.col("count").sum())
            .select(here.columns)
            .cast(here.schema)
            for name in coarse["level"].unique().sort()
        ]
        part = replace(
            truth,
            geounits=pl.concat([geounits.pop((number,)), coarse]),
            counts=pl.concat([here, *sums]),
        )
        yield Group(f"{level.name} group {number}", part, tuple(coarse["geoid"]))
