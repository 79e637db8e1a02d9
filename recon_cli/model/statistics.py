"""Printed statistics of some regions, joined to the rows of their counts.

The rows of statistics come after the rows of margins and of the lattice, which have only counts:
Eq. (printed) of docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.errors import SolverError
from recon_cli.frames import OPEN
from recon_cli.model.bounds import Bounds, propagate, propagate_signed
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.program import LinearConstraints, connected_parts
from recon_cli.model.statistic_assembly import MostPeople, PlaceRows, assemble, represent
from recon_cli.model.statistic_texts import CellVectors, KnownCounts, measured_cells, statistic_of
from recon_cli.model.summed_columns import SummedColumns, ValueRows, sum_columns
from recon_cli.schema import Release, Table
from recon_cli.statement.statistics import Printed

#: Function that returns the columns of a batch that enter the statistic of a table's cell.
Vectors = Callable[[Table, int, Candidates], CellVectors]
#: Most connected pairs of middle values among which a solver chooses in seconds.
_MOST_CHOICES: Final = 250


@dataclass(frozen=True)
class JoinedRows:
    """The rows of counts and statistics of a batch.

    Attributes:
        columns: Rows over the people and excesses of histogram cells, then over choices.
        cells: Number of histogram cells.
        row_geounit: For each row the row number of its geounit, −1 for those of excesses.
        row_statistic: For each row the place of its text in the partition's
            `StatisticTexts.frame`, −1 where it is of no statistic.
        values: The same rows, over single cells and choices.
        suspects: Row numbers of geounits with a statistic of nobody.
        is_exact: Whether the rows are necessary and sufficient for the texts. They are not for a
            median whose definition, or whose middle values, are not known.
    """

    columns: SummedColumns
    cells: int
    row_geounit: IntArray
    row_statistic: IntArray
    values: ValueRows
    suspects: IntArray
    is_exact: bool

    @property
    def has_many_choices(self) -> bool:
        """Report whether more pairs of middle values are connected than are worth a search."""
        choices = self.choices
        if len(choices) <= _MOST_CHOICES:
            return False
        _, part = connected_parts(self.columns.rows.A)
        return int(np.bincount(part[choices]).max()) > _MOST_CHOICES

    @property
    def choices(self) -> IntArray:
        return self.columns.people[self.cells :]

    @property
    def people(self) -> IntArray:
        """Return the column of the people of each histogram cell."""
        return self.columns.people[: self.cells]

    def placed(self, values: IntArray) -> IntArray:
        """Return people in single histogram cells, from values of the columns."""
        return self.columns.placed(values)[: self.cells]

    def encoded(self, people: IntArray) -> IntArray:
        """Return values of the columns from people in single histogram cells.

        In each choice the first case that holds for these people gets 1; if none holds, no case.
        """
        columns = self.columns
        found = np.zeros(columns.rows.A.shape[1], dtype=np.int64)
        np.add.at(found, self.people, people)
        excess = columns.excess[: self.cells]
        has = excess >= 0
        np.add.at(found, excess[has], (columns.offset[: self.cells] * people)[has])
        rows, is_taken = columns.rows, set[int]()
        made, by_column = rows.A @ found, sparse.csc_array(rows.A)
        for column in self.choices.tolist():
            entries = slice(*by_column.indptr[column : column + 2].tolist())
            at, weight = by_column.indices[entries], by_column.data[entries]
            of_choice = int(at[weight > 0][0])
            if (
                of_choice not in is_taken
                and (made[at] + weight >= rows.least[at])[weight < 0].all()
            ):
                is_taken.add(of_choice)
                found[column] = 1
        return found

    def functionals(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return functionals over the columns from functionals over histogram cells."""
        further = len(self.columns.people) - self.cells
        nothing = sparse.csr_array((counts.shape[0], further), dtype=np.int64)
        return self.columns.functionals(sparse.csr_array(sparse.hstack([counts, nothing])))

    def bounds(self, counts: LinearConstraints) -> Bounds:
        """Tighten the bounds of all columns: by the counts, then by all rows.

        Args:
            counts: The rows of counts, over single histogram cells.

        Raises:
            SolverError: A sum of values has no finite upper bound.
        """
        rows, number = self.columns.rows, len(counts.least)
        people = np.unique(self.people)
        own = LinearConstraints(
            sparse.csr_array(rows.A[:number][:, people]), rows.least[:number], rows.most[:number]
        )
        first = propagate(own)
        upper = np.full(rows.A.shape[1], OPEN)
        upper[people] = first.upper
        upper[self.choices] = 1
        is_open = np.zeros(rows.A.shape[1], dtype=bool)
        is_open[people] = first.is_open
        found = propagate_signed(rows, upper)
        if (found.upper >= OPEN).any() and not found.conflict.any():
            raise SolverError(
                "printed statistics of more people than fit in a sum of values: take the "
                "statistics of such large places out"
            )
        return Bounds(found.lower, found.upper, is_open, found.conflict)


def statistic_predicates(release: Release) -> Iterator[Masks]:
    """Yield the predicates that the grain must resolve for the statistics of a release."""
    yield from _counted_predicates(release)
    for table in release.statistics:
        of = statistic_of(table)
        if of.feature is not None:
            masks: dict[Fraction, int] = {}
            for at, value in enumerate(of.values):
                masks[value] = masks.get(value, 0) | 1 << at
            for _, mask in sorted(masks.items()):
                yield (*release.full[: of.feature], mask, *release.full[of.feature + 1 :])


def _counted_predicates(release: Release) -> Iterator[Masks]:
    for table in release.statistics:
        of = statistic_of(table)
        for cell in table.cells:
            yield of.counted(cell.masks)
            yield of.based(cell.masks)


def statistic_features(release: Release) -> frozenset[int]:
    """Return the indices of features whose values some statistic tells apart."""
    masks = list(_counted_predicates(release))
    differing = (f for f, full in enumerate(release.full) if any(m[f] != full for m in masks))
    return averaged_features(release) | {*differing}


def averaged_features(release: Release) -> frozenset[int]:
    """Return the indices of features whose values enter some statistic, such as a mean age."""
    found = {statistic_of(table).feature for table in release.statistics}
    return frozenset(f for f in found if f is not None)


def join_statistics(
    plan: Plan,
    counts: PartitionCounts,
    batch: slice,
    *,
    candidates: Candidates,
    rows: LinearConstraints,
    row_geounit: IntArray,
    apart: sparse.csr_array,
    known: KnownCounts,
    is_whole: BoolArray,
    vectors: Vectors | None = None,
    upper: IntArray | None = None,
) -> JoinedRows:
    """Join the statistics of a batch to the rows of its counts.

    Args:
        batch: Whole regions.
        candidates: Its histogram cells, all listed.
        row_geounit: For each row the row number of its geounit.
        apart: Sparse (counts × cells): counts of later questions, which tell cells apart.
        known: Bounds of people in sets of cells, by counts alone.
        is_whole: For each unit whether all its possible people are candidates, and bounded.
        vectors: Finds the candidates that enter a statistic; by default they are histogram cells.
        upper: Most people in each candidate, if more is known than single rows prove.

    Raises:
        SolverError: Nothing bounds the people of a statistic.
    """
    found = list(
        _statistic_rows(
            plan,
            counts,
            batch,
            candidates=candidates,
            known=known,
            is_whole=is_whole,
            vectors=vectors or partial(CellVectors.of_cell, plan.grain),
        )
    )
    suspects = [
        each.geounit
        for each in found
        if not len(each.cells) and any(row.least > 0 for row in each.read.rows)
    ]
    main = next((each.of for each in found if each.of.kind == "mean"), None)
    width = len(candidates.unit)
    most = MostPeople.of(rows, upper)
    summed = np.zeros(len(candidates.unit), dtype=np.int64)
    if main is not None:
        summed = measured_cells(plan.grain, main, candidates).values
    found = represent(
        [each for each in found if len(each.cells)],
        main,
        sparse.csr_array(sparse.vstack([rows.A, apart])),
        summed,
        candidates.unit,
    )
    own = assemble(found, main, width, most)
    # A choice is one more column, of a unit of its place.
    further = own.plain.shape[1] - width
    wide = sparse.csr_array((rows.A.shape[0], further), dtype=np.int64)
    empty = sparse.csr_array((rows.A.shape[0], width + further), dtype=np.int64)
    values = ValueRows(
        plain=sparse.csr_array(sparse.vstack([sparse.hstack([rows.A, wide]), own.plain])),
        by_value=sparse.csr_array(sparse.vstack([empty, own.by_value])),
        values=np.append(summed, np.zeros(further, int)),
        least=np.concatenate([rows.least, own.least]),
        most=np.concatenate([rows.most, np.full(len(own.least), OPEN)]),
    )
    unit = np.append(candidates.unit, candidates.unit[own.first_cell])
    nowhere = sparse.csr_array((apart.shape[0], further), dtype=np.int64)
    columns = sum_columns(values, unit, sparse.csr_array(sparse.hstack([apart, nowhere])))
    of_row = np.concatenate([row_geounit, own.geounit])
    extra = np.full(columns.rows.A.shape[0] - len(of_row), -1)
    return JoinedRows(
        columns,
        width,
        np.concatenate([of_row, extra]),
        np.concatenate([np.full(len(row_geounit), -1), own.statistic, extra]),
        values,
        np.unique(np.array(suspects, dtype=np.int64)),
        is_exact=all(each.read.is_exact for each in found),
    )


def _statistic_rows(
    plan: Plan,
    counts: PartitionCounts,
    batch: slice,
    *,
    candidates: Candidates,
    known: KnownCounts,
    is_whole: BoolArray,
    vectors: Vectors,
) -> Iterator[PlaceRows]:
    texts = counts.statistics
    if texts is None:
        return
    for level in plan.release.geography.levels:
        of_unit = counts.parent[level.name][batch]
        here = texts.at(of_unit)
        of_cell = of_unit[candidates.unit]
        order = np.argsort(of_cell, kind="stable")
        ordered = of_cell[order]
        for (name, cell), rows in here.group_by("table", "cell", maintain_order=True):
            table, number = plan.release.statistic_by_name[str(name)], int(str(cell))
            kind = vectors(table, number, candidates)
            for at, geounit, text in rows.select("number", "geounit", "text").iter_rows():
                if not is_whole[of_unit == geounit].all():
                    raise SolverError(
                        f"{counts.geoids[geounit]} table {table.name} cell {number}: no count "
                        "bounds the people of this statistic; publish or bound how many there "
                        "are (low, high), or take the statistic out"
                    )
                law = texts.protection.printing(table.name, level.name, text)
                if isinstance(law, Printed):
                    first, last = np.searchsorted(ordered, [geounit, geounit + 1])
                    part = kind.of_place(order[first:last])
                    read = part.read(law, text, texts.middle, known)
                    values = part.measured.values
                    yield PlaceRows(geounit, at, kind.of, part.cells, values, read)
