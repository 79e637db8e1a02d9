"""All histogram cells of some units as arrays: rows are look-ups, and nothing is listed.

Where published zeros rule nobody out, nearly every histogram cell of every unit is a candidate, and
a sparse matrix of them would take gigabytes. Here a row is defined by a look-up from atoms to rows
(`RowGroup`), and sums and minima over the rows that contain a cell are computed for all cells at
once, feature by feature.

See *dense domain* in docs/glossary.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, Int32Array, IntArray
from recon_cli.errors import SolverError
from recon_cli.model.grain import RowGroup, enumerate_domain, unravel
from recon_cli.model.plan import Plan
from recon_cli.model.strata import Stratum

_Whole = npt.NDArray[np.int32] | npt.NDArray[np.int64]

#: More than any count: the room of a row without upper bound.
NO_LIMIT: Final = 2**30
#: Units that are worked on at a time: their arrays stay in the processor's cache.
_UNITS: Final = 32
#: Upper bound of what one person adds to any row.
_COEFFICIENT: Final = 64
#: Atoms of a feature that is summed atom by atom.
_SHORT: Final = 8


#: Histogram cells of some units that are held as arrays.
MOST_CELLS = 60_000_000


def has_room(plan: Plan, units: int) -> bool:
    """Report whether the histogram cells of some units fit into memory."""
    return math.prod(plan.grain.sizes) * units <= MOST_CELLS


def require_room(plan: Plan, units: int) -> None:
    """Refuse units with more histogram cells than fit into memory.

    Raises:
        SolverError: The cells do not fit.
    """
    if not has_room(plan, units):
        cells = math.prod(plan.grain.sizes)
        number = f"{units:,} unit has" if units == 1 else f"each of {units:,} units has"
        raise SolverError(
            f"{number} {cells:,} histogram cells, at most {MOST_CELLS:,} can be held; zeros "
            "rule out too few of them: choose tables that tell fewer values apart"
        )


@dataclass(frozen=True)
class GroupLookup:
    """The rows of a group by the codes of its features.

    Attributes:
        shape: Numbers of atoms of all features, 1 for those that are not of the group.
        rows: (layers × codes) row of each code; the number of rows where there is none.
        coefficients: (layers × codes) what one person adds to it; None where it is always one.
        matrix: Sparse (rows × codes) coefficients.
    """

    features: tuple[int, ...]
    shape: tuple[int, ...]
    rows: IntArray
    coefficients: Int32Array | None
    matrix: sparse.csr_array

    @classmethod
    def of(cls, plan: Plan, pattern: int, group: RowGroup) -> GroupLookup:
        """Build the look-up of a group of a pattern's rows."""
        tally = plan.patterns[pattern].tally
        sizes = plan.grain.sizes
        layers, codes = np.nonzero(group.layers >= 0)
        rows = group.layers[layers, codes]
        coefficients = np.ones(group.layers.shape, dtype=np.int32)
        for at, feature in enumerate(group.features):
            tallied = np.array([each == feature for each in tally], dtype=bool)[rows]
            if tallied.any():
                picked = plan.grain.picked(plan.release, feature)
                stride = math.prod(group.sizes[at + 1 :])
                atom = codes[tallied] // stride % group.sizes[at]
                coefficients[layers[tallied], codes[tallied]] = picked[atom]
        matrix = sparse.csr_array(
            (coefficients[layers, codes].astype(np.int64), (rows, codes)),
            shape=(len(tally), math.prod(group.sizes)),
        )
        return cls(
            features=group.features,
            shape=tuple(n if f in group.features else 1 for f, n in enumerate(sizes)),
            rows=np.where(group.layers >= 0, group.layers, len(tally)),
            coefficients=None if (coefficients == 1).all() else coefficients,
            matrix=matrix.astype(np.int32),
        )

    def least(self, room: Int32Array) -> Int32Array:
        """Return (geounits × codes) minima: the number of people that every row of a code allows.

        Args:
            room: (geounits × rows and one more without limit) people that the rows have room for.
        """
        found: Int32Array | None = None
        for layer, rows in enumerate(self.rows):
            here = room[:, rows]
            if self.coefficients is not None:
                is_limit = here < NO_LIMIT
                here = np.where(is_limit, here // self.coefficients[layer], NO_LIMIT)
            found = here if found is None else np.minimum(found, here, out=found)
        if found is None:
            raise ValueError("a group has rows")
        return found


@dataclass(frozen=True)
class DenseRows:
    """The rows of one stratum over all histogram cells of its units.

    Attributes:
        stratum: The geounits and their counts.
        lookups: The rows, by the features that they constrain.
    """

    stratum: Stratum
    lookups: tuple[GroupLookup, ...]

    @property
    def width(self) -> int:
        """Return the number of rows of a geounit."""
        return int(self.stratum.rhs.shape[1])

    @cached_property
    def into(self) -> tuple[int | None, ...]:
        """Return for each look-up the index of the smallest one that has its features and more."""
        features = [set(lookup.features) for lookup in self.lookups]

        found: list[int | None] = []
        for mine in features:
            wider = [(len(other), j) for j, other in enumerate(features) if mine < other]
            found.append(min(wider)[1] if wider else None)
        return tuple(found)

    @cached_property
    def order(self) -> list[int]:
        """Sort the look-ups by number of features."""
        return sorted(range(len(self.lookups)), key=lambda i: len(self.lookups[i].features))

    def entries(
        self, sizes: Sequence[int], unit: IntArray, cell: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Yield rows of some histogram cells, the indices of the cells, and coefficients.

        Args:
            sizes: Number of atoms of each feature.
            unit: The cells' units.
            cell: The cells' numbers in their units.

        Yields:
            Row numbers are by geounit and node.
        """
        place = self.stratum.of_unit[unit]
        atoms = unravel(cell, sizes)
        for lookup in self.lookups:
            code = np.zeros(len(cell), dtype=np.int64)
            for f in lookup.features:
                code = code * sizes[f] + atoms[:, f]
            for layer, rows in enumerate(lookup.rows):
                row = rows[code]
                column = np.flatnonzero((row < self.width) & (place >= 0))
                coefficient = np.ones(len(column), dtype=np.int64)
                if lookup.coefficients is not None:
                    coefficient[:] = lookup.coefficients[layer, code[column]]
                yield place[column] * self.width + row[column], column, coefficient

    def folded(self, values: list[npt.NDArray[np.generic]], join: np.ufunc) -> Iterator[object]:
        """Combine arrays by code into few arrays over more features; see `DenseDomain`."""
        held = list(values)
        for i in self.order:
            to = self.into[i]
            if to is None:
                yield held[i]
            else:
                held[to] = join(held[to], held[i])


@dataclass(frozen=True)
class DenseDomain:
    """Every histogram cell of some units.

    Arrays over it are (units × histogram cells), the cells in mixed-radix order.

    Attributes:
        sizes: Number of atoms of each feature.
        strata: The rows over them.
        possible: For each cell whether no structural zero rules it out.
    """

    sizes: tuple[int, ...]
    units: int
    strata: tuple[DenseRows, ...]
    possible: BoolArray

    @classmethod
    def of(cls, plan: Plan, strata: Sequence[Stratum], units: int) -> DenseDomain:
        lookups = {
            stratum.pattern: tuple(
                GroupLookup.of(plan, stratum.pattern, group) for group in stratum.groups
            )
            for stratum in strata
        }
        rows = tuple(DenseRows(stratum, lookups[stratum.pattern]) for stratum in strata)
        possible = np.ones(math.prod(plan.grain.sizes), dtype=bool)
        if plan.impossible:
            everything = enumerate_domain(plan.grain.sizes)
            for group in plan.impossible:
                possible &= ~group.holds(everything)
        return cls(plan.grain.sizes, units, rows, possible)

    def select(self, units: IntArray) -> DenseDomain:
        """Select some units, sorted, and the geounits that contain them."""
        strata = tuple(
            replace(rows, stratum=_selected(rows.stratum, units))
            for rows in self.strata
            if (rows.stratum.of_unit[units] >= 0).any()
        )
        return replace(self, units=len(units), strata=strata)

    def without_parts(self, units: IntArray) -> DenseDomain:
        """Select some sorted units, with the rows of geounits all of whose units are among them."""
        chosen = self.select(units)
        before = {rows.stratum.pattern: rows.stratum for rows in self.strata}

        def with_whole(rows: DenseRows) -> DenseRows:
            stratum = rows.stratum
            whole = before[stratum.pattern]
            places = geounits_of(whole.of_unit[units])
            is_whole = _sizes(stratum) == _sizes(whole)[places]
            if is_whole.all():
                return rows
            needed = np.logical_and(stratum.is_needed, is_whole[:, None])
            return replace(rows, stratum=replace(stratum, needed=needed))

        return replace(chosen, strata=tuple(with_whole(rows) for rows in chosen.strata))

    def related(self, units: BoolArray) -> IntArray:
        """Return ``units`` and all units that share a row with one of them, sorted."""
        found = units.copy()
        for rows in self.strata:
            of_unit = rows.stratum.of_unit
            found |= (of_unit >= 0) & np.isin(of_unit, geounits_of(of_unit[units]))
        return np.flatnonzero(found)

    @property
    def cells(self) -> int:
        """Return the number of histogram cells of a unit."""
        return math.prod(self.sizes)

    def least_over_rows(self, values: Sequence[IntArray]) -> Int32Array:
        """Return for each cell the least ``value // coefficient`` over the rows that contain it.

        Args:
            values: For each stratum (geounits × rows) numbers.

        Returns:
            `NO_LIMIT` where no row holds a cell.
        """
        found = np.full((self.units, *self.sizes), NO_LIMIT, dtype=np.int32)
        for rows, numbers in zip(self.strata, values, strict=True):
            for units, places in _slabs(rows.stratum.of_unit):
                geounits, back = np.unique(places, return_inverse=True)
                room = np.full((len(geounits), rows.width + 1), NO_LIMIT, dtype=np.int32)
                room[:, :-1] = np.clip(numbers[geounits], -NO_LIMIT, NO_LIMIT)
                by_code: list[npt.NDArray[np.generic]] = [
                    lookup.least(room).reshape(-1, *lookup.shape) for lookup in rows.lookups
                ]
                for each in rows.folded(by_code, np.minimum):
                    slab = _spread(np.asarray(each), back)
                    found[units] = np.minimum(found[units], slab)
        return found.reshape(self.units, self.cells)

    def sum_over_rows(self, values: Sequence[FloatArray]) -> FloatArray:
        """Return for each cell the sum of ``value × coefficient`` over the rows that contain it.

        Args:
            values: For each stratum (geounits × rows) numbers.
        """
        found = np.zeros((self.units, *self.sizes))
        for rows, numbers in zip(self.strata, values, strict=True):
            for units, places in _slabs(rows.stratum.of_unit):
                geounits, back = np.unique(places, return_inverse=True)
                by_row = np.ascontiguousarray(numbers[geounits].T)
                by_code: list[npt.NDArray[np.generic]] = [
                    (lookup.matrix.T @ by_row).T.reshape(-1, *lookup.shape)
                    for lookup in rows.lookups
                ]
                for each in rows.folded(by_code, np.add):
                    found[units] += _spread(np.asarray(each), back)
        return found.reshape(self.units, self.cells)

    def row_sums(self, values: Int32Array) -> list[IntArray]:
        """Return for each stratum (geounits × rows) sums of an array over the domain."""
        return [self._row_sums(rows, values) for rows in self.strata]

    def _row_sums(self, rows: DenseRows, values: Int32Array) -> IntArray:
        total = np.zeros((len(rows.stratum.geounits), rows.width), dtype=np.int64)
        is_small = int(values.max(initial=0)) * self.cells * _UNITS * _COEFFICIENT < NO_LIMIT
        number = np.dtype(np.int32 if is_small else np.int64)
        for units, places in _slabs(rows.stratum.of_unit):
            here = np.asarray(values[units], dtype=number)
            if not here.any():
                continue
            geounits, back = np.unique(places, return_inverse=True)
            if (np.diff(back) < 0).any():  # areas that do not nest
                order = np.argsort(back, kind="stable")
                here, back = here[order], back[order]
            if len(geounits) < len(units):
                starts = np.flatnonzero(np.diff(back, prepend=-1))
                here = np.add.reduceat(here, starts, axis=0, dtype=number)
            sums = _Marginals(here.reshape(-1, *self.sizes))
            for lookup in rows.lookups:
                by_code = sums.over(lookup.features)
                total[geounits] += (lookup.matrix @ by_code.T).T
        return total


def _sizes(stratum: Stratum) -> IntArray:
    """Count the units of each geounit."""
    inside = stratum.of_unit[stratum.of_unit >= 0]
    sizes: IntArray = np.bincount(inside, minlength=len(stratum.geounits))
    return sizes


def geounits_of(of_unit: IntArray) -> IntArray:
    """Return the geounits that contain some units, sorted."""
    return np.unique(of_unit[of_unit >= 0])


def _selected(stratum: Stratum, units: IntArray) -> Stratum:
    places = stratum.of_unit[units]
    geounits = geounits_of(places)
    return replace(
        stratum,
        geounits=stratum.geounits[geounits],
        of_unit=np.where(places >= 0, np.searchsorted(geounits, places), -1),
        rhs=stratum.rhs[geounits],
        screen_counts=stratum.screen_counts[geounits],
        least=None if stratum.least is None else stratum.least[geounits],
        needed=None if stratum.needed is None else stratum.needed[geounits],
    )


class _Marginals:
    """Sums of an array over all but some axes, each computed from the smallest known one."""

    def __init__(self, every: _Whole) -> None:
        self._known = {tuple(range(every.ndim - 1)): every}

    def over(self, features: tuple[int, ...]) -> _Whole:
        """Return (geounits × codes of the features) sums."""
        if features not in self._known:
            wider = min(
                (known for known in self._known if set(features) < set(known)),
                key=lambda known: self._known[known].size,
            )
            sums = self._known[wider]
            for at in reversed([at for at, f in enumerate(wider) if f not in features]):
                sums = _sum_over(sums, 1 + at)
            self._known[features] = sums
        known = self._known[features]
        return known.reshape(len(known), -1)


def _sum_over(values: _Whole, axis: int) -> _Whole:
    """Sum over an axis; a short axis is summed slice by slice, which keeps the inner loops long."""
    if values.shape[axis] > _SHORT:
        return np.asarray(values.sum(axis=axis, dtype=values.dtype))
    sums: _Whole = functools.reduce(np.add, np.moveaxis(values, axis, 0))
    return sums


def _spread(slab: FloatArray, back: IntArray) -> FloatArray:
    """Expand rows of geounits to their units; no copy if each has one, in order."""
    if len(slab) == len(back) and (back == np.arange(len(back))).all():
        return slab
    return slab[back]


def _slabs(of_unit: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield batches of units that lie in the stratum, with the indices of their geounits."""
    inside = np.flatnonzero(of_unit >= 0)
    for start in range(0, len(inside), _UNITS):
        units = inside[start : start + _UNITS]
        yield units, of_unit[units]
