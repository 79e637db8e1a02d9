"""The rows of printed statistics of places, put together over the histogram cells of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.model.distinct_rows import distinct_rows
from recon_cli.model.middle_pairs import distinct_columns_of, representatives
from recon_cli.model.program import LinearConstraints
from recon_cli.model.statistic_rows import Row
from recon_cli.model.statistic_texts import StatisticRows
from recon_cli.schema.statistics import Statistic


@dataclass(frozen=True)
class PlaceRows:
    """The rows of one statistic of one place.

    Attributes:
        geounit: Row number of the place.
        number: Index of the text among all texts of the partition.
        cells: The histogram cells of the people whom the statistic summarises.
        values: The values of these cells, in whole numbers; empty for a share or ratio.
        read: The rows over these cells.
    """

    geounit: int
    number: int
    of: Statistic
    cells: IntArray
    values: IntArray
    read: StatisticRows


@dataclass(frozen=True)
class MostPeople:
    """Upper bounds of the people in histogram cells, from rows of counts.

    Attributes:
        by_cell: Sparse (sums × cells), nonnegative.
        most: Most people in each sum.
        of_cell: Most people in each cell.
    """

    by_cell: sparse.csc_array
    most: IntArray
    of_cell: IntArray

    @classmethod
    def of(cls, rows: LinearConstraints, upper: IntArray | None = None) -> MostPeople:
        """Collect bounds from rows of counts; skip rows with negative coefficients.

        Args:
            upper: Most people in each cell; by default the tightest bound by a single row.
        """
        A = rows.A
        is_sum = np.minimum.reduceat(np.append(A.data >= 0, True), A.indptr[:-1])
        sums = np.flatnonzero(is_sum & (np.diff(A.indptr) > 0))
        inside, most = sparse.csr_array(A[sums]), rows.most[sums]
        if upper is None:
            upper = np.full(A.shape[1], OPEN)
            entries = inside.tocoo()
            np.minimum.at(upper, entries.col, most[entries.row])
        return cls(sparse.csc_array(inside), most, upper)

    def among(self, cells: IntArray) -> int:
        """Bound the people in some cells together: by a row with all cells, or cell by cell."""
        inside = sparse.csr_array(self.by_cell[:, cells])
        of_all = self.most[np.diff(inside.indptr) == len(cells)]
        if len(of_all) and of_all.min() < OPEN:
            return int(of_all.min())
        return int(self.of_cell[cells].sum())


@dataclass(frozen=True)
class AssembledRows:
    """Rows over all histogram cells of a batch, then over choices, as in `ValueRows`.

    Attributes:
        first_cell: For each choice a histogram cell of its place.
    """

    plain: sparse.csr_array
    by_value: sparse.csr_array
    least: IntArray
    geounit: IntArray
    statistic: IntArray
    first_cell: IntArray


def assemble(
    found: Sequence[PlaceRows], main: Statistic | None, width: int, people: MostPeople
) -> AssembledRows:
    """Stack the rows of places; values on another scale than ``main``'s are multiplied out."""
    none = np.empty(0, dtype=np.int64)
    line, column, plain, by_value = [none], [none], [none], [none]
    least: list[int] = []
    geounit: list[int] = []
    statistic: list[int] = []
    first_cell: list[int] = []
    for each in found:
        for cells, coefficients, side in _chosen(each, width + len(first_cell), people):
            line.append(np.full(len(cells), len(least)))
            column.append(cells)
            plain.append(coefficients)
            by_value.append(np.zeros_like(coefficients))
            least.append(side)
            geounit.append(each.geounit)
            statistic.append(each.number)
        first_cell += [int(each.cells[0])] * len(each.read.choices)
        for row in each.read.rows:
            is_main = main is not None and each.of.scale == main.scale
            line.append(np.full(len(each.cells), len(least)))
            column.append(each.cells)
            plain.append(row.plain if is_main else row.coefficients(each.values))
            by_value.append(row.by_value if is_main else np.zeros_like(row.by_value))
            least.append(row.least)
            geounit.append(each.geounit)
            statistic.append(each.number)
    at = np.concatenate(line), np.concatenate(column)
    shape = (len(least), width + len(first_cell))
    own, weights = (
        sparse.csr_array((np.concatenate(part), at), shape=shape) for part in (plain, by_value)
    )
    own.eliminate_zeros()
    weights.eliminate_zeros()
    sides = (np.array(each, dtype=np.int64) for each in (least, geounit, statistic, first_cell))
    return AssembledRows(own, weights, *sides)


def _chosen(
    each: PlaceRows, first: int, people: MostPeople
) -> Iterator[tuple[IntArray, IntArray, int]]:
    """Yield columns, coefficients and least of the rows of a choice, in which one case is 1.

    Unless a case that is 1 implies a row, the row is loosened until any people meet it.

    Args:
        first: Column of the first case.
    """
    if not each.read.choices:
        return
    columns = first + np.arange(len(each.read.choices))
    ones = np.ones(len(columns), dtype=np.int64)
    yield columns, ones, 1
    yield columns, -ones, -1
    most = people.among(each.cells)
    for plain, least, cases in _shared_rows(each.read.choices):
        loose = least - min(int(plain.min()), 0) * most
        if loose > 0:
            cells = np.append(each.cells, columns[cases])
            yield cells, np.append(plain, np.full(len(cases), -loose)), least - loose


def _shared_rows(choices: Sequence[Sequence[Row]]) -> Iterator[tuple[IntArray, int, IntArray]]:
    """Yield coefficients and least of each distinct row of some cases, and the cases that imply it.

    A row implies every row whose coefficients are all at least as great and whose least is no
    higher. Rows of middle values that lie closer together or farther apart are examples.
    """
    rows = list(
        dict.fromkeys((tuple(row.plain.tolist()), row.least) for of in choices for row in of)
    )
    number = {row: at for at, row in enumerate(rows)}
    plain = np.array([row for row, _ in rows], dtype=np.int64)
    least = np.array([side for _, side in rows], dtype=np.int64)
    has = np.zeros((len(choices), len(rows)), dtype=bool)
    for case, of in enumerate(choices):
        has[case, [number[tuple(row.plain.tolist()), row.least] for row in of]] = True
    for at in range(len(rows)):
        implies = (plain <= plain[at]).all(axis=1) & (least >= least[at])
        yield plain[at], int(least[at]), np.flatnonzero(has[:, implies].any(axis=1))


def represent(
    found: Sequence[PlaceRows],
    main: Statistic | None,
    counts: sparse.csr_array,
    summed: IntArray,
    unit: IntArray,
) -> list[PlaceRows]:
    """Keep, in each choice among pairs of middle values, the pairs that stand for all.

    Args:
        found: The rows of all statistics.
        main: A statistic of the feature whose values are summed.
        counts: Sparse (rows × cells): the rows of counts, and functionals of later questions.
        summed: The value of each histogram cell by that feature.
        unit: The unit of each histogram cell.
    """
    if not any(each.read.pairs for each in found):
        return list(found)
    _, alike = distinct_rows(sparse.csr_array(counts.T), unit)
    classes = [sparse.csr_array((alike + 1)[np.newaxis])]
    by_value = []
    for each in found:
        rows, is_main = each.read.rows, main is not None and each.of.scale == main.scale
        own = [row.plain if is_main else row.coefficients(each.values) for row in rows]
        # Cells with the same code are alike to the rows of all pairs.
        own += [] if each.read.codes is None else [each.read.codes]
        classes.append(_spread([_classes(own)], each.cells, len(unit)))
        times = [row.by_value for row in rows] if is_main else []
        by_value.append(_spread(times, each.cells, len(unit)))
    every = sparse.csc_array(sparse.vstack(classes))
    sums = sparse.csc_array(sparse.vstack(by_value))

    def kept(at: int, each: PlaceRows) -> PlaceRows:
        if not each.read.pairs:
            return each
        base = each.cells
        here = sparse.csr_array(every[:, base])
        others = np.flatnonzero(np.diff(here.indptr) > 0)
        some = representatives(
            each.read.pairs,
            each.values,
            unit[base],
            here[others[others != at + 1]],
            (sparse.csr_array(sums[:, base]), summed[base]),
        )
        return replace(each, read=each.read.among(some))

    return [kept(at, each) for at, each in enumerate(found)]


def _classes(rows: Sequence[IntArray]) -> IntArray:
    """Number cells by their coefficients in some rows; 0 for those that are in none."""
    dense = np.stack(rows)
    return np.where(dense.any(axis=0), distinct_columns_of(dense) + 1, 0)


def _spread(rows: Sequence[IntArray], cells: IntArray, width: int) -> sparse.csr_array:
    """Return sparse (rows × all cells) from coefficients over some cells."""
    if not rows:
        return sparse.csr_array((0, width), dtype=np.int64)
    dense = np.stack(rows)
    line, column = np.nonzero(dense)
    entries = (dense[line, column], (line, cells[column]))
    return sparse.csr_array(entries, shape=(len(rows), width))
