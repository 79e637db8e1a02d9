"""Noisy counts of a hierarchy of geounits, as linear measurements of their histograms."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.measurements.domain import Domain
from recon_cli.capabilities.measurements.hierarchy import Hierarchy, build_hierarchy
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import SourceError
from recon_cli.model.margins import cells_of, count_matrix
from recon_cli.publication import Publication
from recon_cli.schema import Cell, Release, Table
from recon_cli.statement.noise import Gaussian, Geometric
from recon_cli.statement.protection import is_noise

#: A histogram of more cells is not fitted.
MOST_CELLS: Final = 200_000


@dataclass(frozen=True, eq=False)
class LevelMeasurements:
    """The measurements of one level.

    Attributes:
        counted: (table, cell number) of each row.
        operator: (rows × histogram cells) how much a person of a cell adds to a count.
        noisy: (rows × geounits) the counts.
        weight: (rows,) one over the variance of each.
    """

    counted: tuple[tuple[str, int], ...]
    operator: sparse.csr_array
    noisy: FloatArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class Measurements:
    """All measurements of one partition.

    Attributes:
        domain: The histogram cells that they tell apart.
        hierarchy: The geounits measured, from above.
    """

    domain: Domain
    hierarchy: Hierarchy
    levels: tuple[LevelMeasurements, ...]


def read_measurements(
    release: Release, published: Publication, tables: Sequence[Table] | None = None
) -> Measurements:
    """Read the noisy counts of one partition.

    Args:
        published: Its counts; a cell without a row is a published 0.
        tables: Tables to read; default all.

    Raises:
        SourceError: Some counts have no noise, the units are not measured, geounits of a level
            differ in what is measured, or the queries tell too many histogram cells apart.
    """
    chosen = release.tables if tables is None else tables
    if not is_noise(published.protection, published.coverage, chosen):
        raise SourceError("measurements: every count must have Gaussian or geometric noise")
    patterns = _by_level(published, {table.name for table in chosen})
    unit = release.geography.unit.name
    if unit not in patterns:
        raise SourceError(f"measurements: none of level {unit!r}, the finest")
    levels = [level.name for level in reversed(release.geography.levels) if level.name in patterns]
    units = _listed_units(published, unit)
    hierarchy = build_hierarchy(release, levels, units)
    cells = [
        cell for pattern in patterns.values() for _, cell in pattern.published_cells(release.tables)
    ]
    domain = Domain.of_cells(release, cells)
    if domain.size > MOST_CELLS:
        raise SourceError(
            f"measurements: the queries tell {domain.size:,} histogram cells apart, at most "
            f"{MOST_CELLS:,} can be fitted; use fewer tables"
        )
    found = tuple(
        _level(release, published, domain, geoids, patterns[level])
        for level, geoids in zip(levels, hierarchy.geoids, strict=True)
    )
    return Measurements(domain, hierarchy, found)


def _listed_units(published: Publication, unit: str) -> pl.Series:
    """Return the geoids of the units that the files list.

    A unit that stands for all others is not listed: noisy counts have rows for every unit, zeros
    too, so nobody is there.
    """
    listed = [number for number, each in enumerate(published.coverage) if each.is_listed]
    of_level = published.geounits.filter(pl.col("level") == unit)
    return of_level.filter(pl.col("pattern").is_in(listed))["geoid"]


def _by_level(published: Publication, names: Collection[str]) -> dict[str, CoveragePattern]:
    """Return the coverage pattern of the measured cells of each level."""
    found: dict[str, CoveragePattern] = {}
    for number, pattern in enumerate(published.coverage):
        cells = {name: some for name, some in pattern.cells.items() if name in names}
        if not cells or published.geounits.filter(pattern=number).is_empty():
            continue
        if pattern.level in found:
            raise SourceError(f"measurements: not every {pattern.level} has the same ones")
        found[pattern.level] = replace(pattern, cells=cells)
    return found


def _level(
    release: Release,
    published: Publication,
    domain: Domain,
    geoids: pl.Series,
    pattern: CoveragePattern,
) -> LevelMeasurements:
    known = published.geounits.filter(level=pattern.level)["geoid"]
    missing = geoids.filter(~geoids.is_in(known.implode()))
    if len(missing):
        raise SourceError(f"measurements: {pattern.level} {missing[0]!r} is not measured")
    counted = cells_of(pattern)
    cells = [release.table_by_name[table].cells[cell - 1] for table, cell in counted]
    protection, weight = published.protection, []
    for table, _ in counted:
        law = protection.laws[protection.number(table, pattern.level)]
        assert isinstance(law, Gaussian | Geometric)  # noqa: S101 - see is_noise
        weight.append(1 / law.noise_variance)
    noisy = count_matrix(pattern, geoids, published.counts).toarray().T.astype(np.float64)
    return LevelMeasurements(tuple(counted), membership(domain, cells), noisy, np.array(weight))


def membership(domain: Domain, cells: Sequence[Cell]) -> sparse.csr_array:
    """Return (cells × histogram cells): the contribution of a person to each published cell."""
    strides = [math.prod(domain.sizes[f + 1 :]) for f in range(len(domain.sizes))]
    rows = []
    for cell in cells:
        inside = [domain.classes_in(f, mask) for f, mask in enumerate(cell.masks)]
        places = np.zeros(1, dtype=np.int64)
        for stride, classes in zip(strides, inside, strict=True):
            places = (places[:, None] + stride * classes).ravel()
        added = np.ones(len(places))
        if cell.tally is not None:
            added = domain.picked(cell.tally, places).astype(np.float64)
        rows.append((places, added))
    ends = np.cumsum([0, *(len(places) for places, _ in rows)])
    indices = np.concatenate([places for places, _ in rows])
    data = np.concatenate([added for _, added in rows])
    return sparse.csr_array((data, indices, ends), shape=(len(cells), domain.size))


def chain(hierarchy: Hierarchy) -> list[sparse.csr_array]:
    """Return for each level the (units × geounits) membership matrix."""
    units = np.arange(len(hierarchy.geoids[-1]))
    found = []
    for depth, geoids in enumerate(hierarchy.geoids):
        at = (units, hierarchy.place(depth))
        shape = (len(units), len(geoids))
        found.append(sparse.csr_array((np.ones(len(units)), at), shape=shape))
    return found
