"""Printed statistics of one place, read as rows over its histogram cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import Middle
from recon_cli.model.grain import Grain
from recon_cli.model.predicates import Masks
from recon_cli.model.program import LinearConstraints
from recon_cli.model.statistic_rows import (
    Measured,
    Pair,
    Row,
    Span,
    cut_at,
    impossible,
    maximum_rows,
    mean_rows,
    median_rows,
    middle_pairs,
    minimum_rows,
    mode_rows,
    nobody,
    outwards,
    pair_rows,
    quantile_cases,
    quantile_rows,
    share_rows,
    widened,
)
from recon_cli.schema import Table
from recon_cli.schema.statistics import Statistic
from recon_cli.statement.printed import Ends, printed_value
from recon_cli.statement.statistics import Printed

#: Most pairs of middle values for which a program chooses among the pairs that stand for all.
_MOST_PAIRS: Final = 200
#: Number of pairs that are tried first, since a program with all of them is slow.
_FEW: Final = 5


@dataclass(frozen=True)
class KnownCounts:
    """The least and the greatest number of people in sets of histogram cells, by counts alone.

    Attributes:
        spans: Least and greatest number of people, by the sorted cell numbers as bytes.
    """

    spans: Mapping[bytes, Span]

    @classmethod
    def of_rows(cls, rows: Sequence[LinearConstraints]) -> KnownCounts:
        """Collect the bounds of rows that sum people of histogram cells; skip other rows."""
        spans: dict[bytes, Span] = {}
        for each in rows:
            A, sides = each.A, (each.least.tolist(), each.most.tolist())
            A.sort_indices()
            cells, starts = A.indices.astype(np.int64), A.indptr.tolist()
            is_sum = np.minimum.reduceat(np.append(A.data == 1, True), A.indptr[:-1])
            for row in np.flatnonzero(is_sum & (np.diff(A.indptr) > 0) & (each.most < OPEN)):
                key = cells[starts[row] : starts[row + 1]].tobytes()
                least, most = spans.get(key, (0, OPEN))
                spans[key] = max(least, sides[0][row]), min(most, sides[1][row])
        return cls(spans)

    def of(self, cells: IntArray) -> Span | None:
        return self.spans.get(np.sort(cells).astype(np.int64).tobytes())


@dataclass(frozen=True)
class StatisticRows:
    """The rows of a text over some histogram cells.

    Attributes:
        rows: People who print the text meet all of them.
        is_exact: Whether the rows are necessary and sufficient for the text. Rows of the nearest
            middle values are only sufficient.
        choices: Sets of rows, one of which must hold besides; empty if there is no choice.
        pairs: Pairs of middle values that print the text; `among` makes choices of them.
        most: Most pairs among which to choose; if none is left out the rows are exact.
        codes: For each histogram cell a number that is the same for cells which the rows of all
            pairs treat alike.
        rows_of: Makes the rows of a pair.
    """

    rows: list[Row]
    is_exact: bool = True
    choices: tuple[list[Row], ...] = ()
    pairs: tuple[Pair, ...] = ()
    most: int = 0
    codes: IntArray | None = None
    rows_of: Callable[[Pair], list[Row]] | None = None

    def among(self, kept: Sequence[int]) -> StatisticRows:
        """Make choices of the first `most` of the kept pairs, which stand for all.

        Raises:
            ValueError: There are no pairs.
        """
        if self.rows_of is None:
            raise ValueError("a statistic without pairs of middle values has no choices")
        pairs = tuple(self.pairs[at] for at in kept[: self.most])
        is_exact = self.is_exact and len(pairs) == len(kept)
        return replace(
            self, is_exact=is_exact, choices=tuple(map(self.rows_of, pairs)), pairs=pairs
        )


@dataclass(frozen=True)
class CellVectors:
    """The histogram cells of a batch that enter the statistic of a table's cell.

    Attributes:
        counted: Mask of the cells that the numerator counts.
        base: Mask of the cells that the denominator counts.
        measured: Values of the cells; zeros if the statistic has no feature with values.
    """

    of: Statistic
    counted: BoolArray
    base: BoolArray
    measured: Measured

    @classmethod
    def of_cell(
        cls, grain: Grain, table: Table, number: int, candidates: Candidates
    ) -> CellVectors:
        of, masks = statistic_of(table), table.cells[number - 1].masks
        counted, base = (
            is_inside(grain, each, candidates) for each in (of.counted(masks), of.based(masks))
        )
        return cls(of, counted, base, measured_cells(grain, of, candidates))

    def of_place(self, cells: IntArray) -> PlaceVectors:
        cells = cells[self.counted[cells] | self.base[cells]]
        here = Measured(self.measured.values[cells], self.measured.unit)
        return PlaceVectors(self.of, cells, self.counted[cells], self.base[cells], here)


@dataclass(frozen=True)
class PlaceVectors:
    """The histogram cells of one place that enter a statistic, as in `CellVectors`."""

    of: Statistic
    cells: IntArray
    counted: BoolArray
    base: BoolArray
    measured: Measured

    def read(self, law: Printed, text: str, middle: Middle, counts: KnownCounts) -> StatisticRows:
        """Return the rows of a text.

        Args:
            middle: As for `recon_cli.model.counts.StatisticTexts`.
            counts: Bounds of people in sets of histogram cells, by counts alone.
        """
        people = counts.of(self.cells[self.base])
        ends = law.ends(text)
        if ends is None:
            return StatisticRows(nobody(self.base))
        match self.of.kind:
            case "share" | "ratio":
                known = counts.of(self.cells[self.counted]), people
                rows = share_rows(self.counted, self.base, ends, self.of.times, known)
                return StatisticRows(rows, widened(ends) == ends)
            case "mean":
                rows = mean_rows(self.base, ends, self.measured.unit, people)
                return StatisticRows(rows, widened(ends) == ends)
            case "median" | "quantile":
                return self._ordered(ends, middle, people)
        exact = printed_value(law.plain(text))
        build = {"minimum": minimum_rows, "maximum": maximum_rows, "mode": mode_rows}
        return StatisticRows(build[self.of.kind](self.measured, self.base, exact))

    def _ordered(self, ends: Ends, middle: Middle, people: Span | None) -> StatisticRows:
        of, measured, base = self.of, self.measured, self.base
        if of.kind == "quantile":
            if middle == "all":
                return StatisticRows(quantile_rows(measured, base, ends, of.order), is_exact=False)
            cases = quantile_cases(measured, base, ends, of.order)
            return StatisticRows(cases[0] if cases else impossible(base), is_exact=False)
        pairs = middle_pairs(measured, base, ends, of.definition)
        if people is not None and people[0] == people[1] and people[0] % 2:
            # An odd number of people has one middle value.
            pairs = [(a, b) for a, b in pairs if a == b] or pairs

        def rows_of(pair: Pair) -> list[Row]:
            return pair_rows(measured, base, pair, of.definition)

        is_declared = of.definition != "any"
        if is_declared and len(pairs) == 1:
            return StatisticRows(rows_of(pairs[0]))
        if middle == "nearest" or (middle != "all" and not 1 < len(pairs) <= _MOST_PAIRS):
            nearest = rows_of(pairs[0]) if pairs else impossible(base)
            return StatisticRows(nearest, is_exact=False)
        rows = median_rows(measured, base, ends if is_declared else outwards(ends))
        if middle == "all":
            return StatisticRows(rows, is_exact=False)
        codes = np.where(base, 1 + cut_at(pairs, of.definition, measured.values), 0)
        most = len(pairs) if middle == "one" else _FEW
        return StatisticRows(
            rows, is_declared, pairs=tuple(pairs), most=most, codes=codes, rows_of=rows_of
        )


def is_inside(grain: Grain, masks: Masks, candidates: Candidates) -> BoolArray:
    """Test which histogram cells a predicate counts."""
    found = np.ones(len(candidates.unit), dtype=bool)
    for feature, mask in enumerate(masks):
        atoms = grain.within(feature, mask)
        if len(atoms) < grain.sizes[feature]:
            found &= np.isin(candidates.atoms[:, feature], atoms)
    return found


def measured_cells(grain: Grain, of: Statistic, candidates: Candidates) -> Measured:
    """Return the values of histogram cells in whole numbers."""
    if of.feature is None:
        return Measured(np.zeros(len(candidates.unit), dtype=np.int64))
    unit = math.lcm(*(value.denominator for value in of.values))
    whole = np.array([int(value * unit) for value in of.values], dtype=np.int64)
    of_atom = whole[grain.lowest[of.feature]]
    return Measured(of_atom[candidates.atoms[:, of.feature]], unit)


def statistic_of(table: Table) -> Statistic:
    """Return the statistic of a table that has one.

    Raises:
        ValueError: The table's cells are counts.
    """
    if table.statistic is None:
        raise ValueError(f"table {table.name} has counts")
    return table.statistic
