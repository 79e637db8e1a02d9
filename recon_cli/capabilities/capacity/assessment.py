"""How much the tables of a release reveal, level by level, and how much noise they need.

See *capacity* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.capacity.entropy import (
    MarginShare,
    count_covariance,
    eigenvalues,
    exact_bits,
    fit_prior,
    noise_for,
    noisy_bits,
    records_entropy,
)
from recon_cli.capabilities.capacity.indistinguishable import Farthest, farthest_records
from recon_cli.capabilities.capacity.rank import Rank, design_matrix, matrix_rank
from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError
from recon_cli.model.grain import Grain, refine
from recon_cli.model.margins import Margins, close_margins
from recon_cli.model.planning import pattern_columns
from recon_cli.model.predicates import Masks
from recon_cli.plurals import plural
from recon_cli.schema import Release, Table

#: Most histogram cells that are enumerated.
MOST_CELLS = 200_000


@dataclass(frozen=True)
class LevelTables:
    """The tables of a level.

    Attributes:
        people: (geounits,) published numbers of people; unknown ones are left out.
        margins: Margins of the pattern with the most cells; other geounits are assumed to have it,
            too.
        totals: (columns of `margins`,) counts summed over the geounits.
    """

    level: str
    people: IntArray
    margins: Margins
    totals: IntArray


@dataclass(frozen=True)
class LevelCapacity:
    """The capacity of one level's counts.

    Attributes:
        geounits: Number of geounits with a known number of people.
        cells: Number of published cells of a geounit.
        rank: Rank of these cells over all histogram cells.
        adds: Independent cells beyond those of finer levels.
        record_bits: Bits of all geounits' records.
        exact_bits: Upper bound of the bits that exact counts carry, at most `record_bits`.
        spectrum: Eigenvalues of what one person adds to the counts.
        bits: (geounits,) bits of each geounit's records.
        sizes: (geounits,) people.
    """

    level: str
    geounits: int
    people: int
    cells: int
    rank: Rank
    adds: int
    record_bits: float
    exact_bits: float
    spectrum: FloatArray
    bits: FloatArray
    sizes: IntArray

    def noisy_bits(self, sd: float) -> float:
        """Bound the bits that noisy counts carry, for each geounit at most those of its records."""
        through = np.minimum(noisy_bits(self.sizes, self.spectrum, sd), self.bits)
        return float(through.sum())

    def noise_for_share(self, share: float) -> float:
        """Find the standard deviation at which at most a share of the bits is carried."""
        return noise_for(self.noisy_bits, share * self.record_bits)


@dataclass(frozen=True)
class ReleaseCapacity:
    """The capacity of a release.

    Attributes:
        levels: Finest first.
        histogram: Histogram cells that the published cells tell apart.
        prior: (histogram cells,) probabilities, from sums over the whole release.
        unit_design: Sparse (cells of a unit × histogram cells).
        farthest: Largest distance of two records of a unit, in the counts of all levels.
        farthest_in_unit: Largest distance of two records of a unit, in the unit's own counts.
    """

    levels: tuple[LevelCapacity, ...]
    histogram: int
    prior: FloatArray
    unit_design: sparse.csr_array
    farthest: Farthest
    farthest_in_unit: Farthest

    @property
    def record_bits(self) -> float:
        return self.levels[0].record_bits

    def share_through(self, sd: float) -> float:
        """Bound the share of the records' bits that noisy counts carry; at most 1."""
        through = sum(level.noisy_bits(sd) for level in self.levels)
        return min(1.0, through / self.record_bits) if self.record_bits else 0.0

    def noise_for_share(self, share: float) -> float:
        """Find the standard deviation at which at most a share of the bits is carried."""
        return noise_for(self.share_through, share)


def assess(release: Release, levels: Sequence[LevelTables]) -> ReleaseCapacity:
    """Compute the capacity of the tables.

    Args:
        levels: Finest first.

    Raises:
        ConfigError: There are too many histogram cells, or nobody.
    """
    rows = [_cells(release, level.margins) for level in levels]
    grain = refine(
        release,
        [masks for cells in rows for masks, _ in cells],
        {tally for cells in rows for _, tally in cells if tally is not None},
    )
    histogram = math.prod(grain.sizes)
    if histogram > MOST_CELLS:
        raise ConfigError(
            f"capacity.tables: these tables tell {histogram:,} histogram cells apart; at most "
            f"{MOST_CELLS:,} are written out: choose fewer tables"
        )
    designs = [design_matrix(release, grain, cells) for cells in rows]
    prior = fit_prior(release, grain, _shares(release, levels))
    bits_of = {n: records_entropy(n, prior) for n in _sizes(levels)}
    minimal = [_minimal(release, grain, level.margins) for level in levels]
    carried: dict[tuple[tuple[str, int], ...], _Carried] = {}
    found, finer = [], 0
    for at, level in enumerate(levels):
        together = matrix_rank(sparse.csr_array(sparse.vstack(minimal[: at + 1]))).value
        columns = level.margins.columns
        if columns not in carried:
            carried[columns] = _Carried.of(designs[at], minimal[at], prior)
        found.append(_level(level, carried[columns], bits_of, together - finer))
        finer = together
    times = Counter(cell for cells in rows for cell in cells)
    every = design_matrix(release, grain, list(times))
    own = Counter(rows[0])
    unit = design_matrix(release, grain, list(own))
    return ReleaseCapacity(
        tuple(found),
        histogram,
        prior,
        designs[0],
        farthest_records(every, np.array(list(times.values()))),
        farthest_records(unit, np.array(list(own.values()))),
    )


def level_tables(
    release: Release,
    tables: Sequence[Table],
    coverage: Coverage,
    geounits: pl.DataFrame,
    sums: pl.DataFrame,
) -> list[LevelTables]:
    """Collect the tables of each level, finest first.

    Args:
        geounits: ``pattern`` and ``population`` of every geounit.
        sums: ``pattern, table, cell, count``: counts summed over the geounits of a pattern.

    Raises:
        ConfigError: No published cell gives the number of people of a level, or there are none.
    """
    found = []
    for level in release.geography.levels:
        patterns = {
            at: columns
            for at, pattern in enumerate(coverage)
            if pattern.level == level.name and (columns := pattern_columns(pattern, tables))
        }
        if not patterns:
            continue
        fullest = max(patterns.values(), key=len)
        here = geounits.filter(pl.col("pattern").is_in(list(patterns)))
        people = here["population"].drop_nulls().to_numpy().astype(np.int64)
        counted = sums.filter(pl.col("pattern").is_in(list(patterns)))
        by_cell = {
            (table, cell): count
            for table, cell, count in counted.group_by("table", "cell")
            .agg(pl.col("count").sum())
            .iter_rows()
        }
        totals = np.array([by_cell.get(column, 0) for column in fullest], dtype=np.int64)
        if not len(people):
            raise ConfigError(
                f"capacity: no published cell says how many {plural(release.record)} a "
                f"{level.name} has; that is needed"
            )
        if not people.sum():
            raise ConfigError(
                f"capacity: no {release.record} is in any {level.name}, so that the tables carry "
                "nothing to measure"
            )
        found.append(LevelTables(level.name, people, close_margins(release, fullest), totals))
    return found


def _cells(release: Release, margins: Margins) -> list[tuple[Masks, int | None]]:
    cells = (release.table_by_name[table].cells[number - 1] for table, number in margins.columns)
    return [(cell.masks, cell.tally) for cell in cells]


def _minimal(release: Release, grain: Grain, margins: Margins) -> sparse.csr_array:
    """Return minimal margins: they span the published cells, with few entries."""
    return design_matrix(release, grain, list(zip(margins.masks, margins.tally, strict=True)))


def _shares(release: Release, levels: Sequence[LevelTables]) -> list[MarginShare]:
    """List each margin once, from the coarsest level that has it."""
    found: dict[Masks, float] = {}
    for level in reversed(levels):
        counts = level.margins.combine @ level.totals
        everybody = level.people.sum()
        for masks, tally, count in zip(
            level.margins.masks, level.margins.tally, counts.tolist(), strict=True
        ):
            if tally is None:
                found.setdefault(masks, max(count, 0) / everybody)
    found.setdefault(release.full, 1.0)
    return [MarginShare(masks, share) for masks, share in found.items()]


def _sizes(levels: Sequence[LevelTables]) -> list[int]:
    people = np.unique(np.concatenate([level.people for level in levels]))
    return [int(n) for n in people]


@dataclass(frozen=True)
class _Carried:
    """The capacity of the counts of one geounit, for any population.

    Attributes:
        independent: Covariance of what one person adds to independent counts.
        spectrum: Eigenvalues of the covariance of what one person adds to all counts.
    """

    cells: int
    rank: Rank
    independent: FloatArray
    spectrum: FloatArray

    @classmethod
    def of(cls, design: sparse.csr_array, minimal: sparse.csr_array, prior: FloatArray) -> _Carried:
        rank = matrix_rank(minimal)
        independent = count_covariance(sparse.csr_array(minimal[rank.rows]), prior)
        spectrum = eigenvalues(count_covariance(design, prior))
        return cls(design.shape[0], rank, independent, spectrum)


def _level(
    level: LevelTables, carried: _Carried, bits_of: Mapping[int, float], adds: int
) -> LevelCapacity:
    bits = np.array([bits_of[n] for n in level.people.tolist()])
    exact = exact_bits(level.people, carried.independent)
    return LevelCapacity(
        level=level.level,
        geounits=len(level.people),
        people=int(level.people.sum()),
        cells=carried.cells,
        rank=carried.rank,
        adds=adds,
        record_bits=float(bits.sum()),
        exact_bits=float(np.minimum(exact, bits).sum()),
        spectrum=carried.spectrum,
        bits=bits,
        sizes=level.people,
    )
