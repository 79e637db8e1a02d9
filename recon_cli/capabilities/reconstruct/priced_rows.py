"""Rows with costs over a dense domain, as column pricing needs them.

A dense domain is never written out as columns. Columns enter a linear program by their reduced
costs, which the duals of its rows give for all histogram cells at once.

See *column pricing* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain, DenseRows, geounits_of
from recon_cli.capabilities.reconstruct.row_costs import SHORTAGE, RowCosts, row_costs
from recon_cli.frames import OPEN
from recon_cli.model.lattice import layers_of
from recon_cli.model.plan import Plan
from recon_cli.statement.costs import SCALE, CountCosts


@dataclass(frozen=True)
class PricedRows:
    """The published cells of some units, and of the geounits that contain them, as rows.

    Rows are numbered over all strata: `offsets` has the start of each stratum, whose rows are
    ordered by geounit and lattice node.

    Attributes:
        least: Lower bound of each row.
        most: Upper bound of each row, `OPEN` where there is none.
        used: Whether a published cell bounds the row or gives it a cost; rows that only follow from
            others are not used.
        kinds: Kinds of the costs of the rows' cells; see `row_costs`.
        costs: Costs of the kinds; None if no count has a cost, or costs are ignored.
    """

    domain: DenseDomain
    least: IntArray
    most: IntArray
    used: BoolArray
    kinds: tuple[IntArray, ...]
    costs: CountCosts | None

    @classmethod
    def of(cls, plan: Plan, domain: DenseDomain, costs: CountCosts | None) -> PricedRows:
        """Build the rows of a domain; ``costs`` is None if any solution will do."""
        parts = [_of_stratum(plan, rows, costs) for rows in domain.strata]
        layers = max((len(part.kinds) for part in parts), default=0)
        nothing = [np.full(part.least.shape, -1) for part in parts]
        return cls(
            domain,
            np.concatenate([part.least for part in parts]),
            np.concatenate([part.most for part in parts]),
            np.concatenate([part.used for part in parts]),
            tuple(
                np.concatenate(
                    [
                        part.kinds[layer] if layer < len(part.kinds) else none
                        for part, none in zip(parts, nothing, strict=True)
                    ]
                )
                for layer in range(layers)
            ),
            costs,
        )

    @property
    def offsets(self) -> IntArray:
        """Return the number of the first row of each stratum."""
        sizes = [each.stratum.rhs.size for each in self.domain.strata]
        ends: IntArray = np.cumsum([0, *sizes], dtype=np.int64)
        return ends[:-1]

    @property
    def shared(self) -> BoolArray:
        """Return a mask of the rows of geounits with several units."""
        found = []
        for rows in self.domain.strata:
            of_unit = rows.stratum.of_unit
            number = np.bincount(of_unit[of_unit >= 0], minlength=len(rows.stratum.geounits))
            found.append(np.repeat(number > 1, rows.width))
        return np.concatenate([np.empty(0, dtype=bool), *found])

    @property
    def wanted(self) -> list[IntArray]:
        """Return for each stratum (geounits × rows) the required, or likeliest, counts."""
        count = self.least.copy()
        if self.costs is not None:
            for kind in self.kinds:
                count = np.maximum(count, np.where(kind >= 0, self.costs.likeliest[kind], 0))
        shapes = [each.stratum.rhs.shape for each in self.domain.strata]
        parts = np.split(count, self.offsets[1:])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    @property
    def is_coupled(self) -> bool:
        """Report whether a used row couples several units."""
        return bool((self.used & self.shared).any())

    def without_shared(self) -> PricedRows:
        """Drop the rows that several units share."""
        return replace(self, used=self.used & ~self.shared)

    def marginal(self, counts: IntArray) -> FloatArray:
        """Return the cost of one more person in each row at ``counts``.

        The cost is −`SHORTAGE` below a row's lower bound, and `SHORTAGE` at its upper bound.
        """
        slope = np.zeros(len(self.least), dtype=np.int64)
        if self.costs is not None:
            for kind in self.kinds:
                has = np.flatnonzero(kind >= 0)
                slope[has] += self.costs.slopes_at(kind[has], counts[has])
        slope[counts < self.least] = -SHORTAGE
        slope[counts >= self.most] = SHORTAGE
        return np.where(self.used, slope / SCALE, 0.0)

    def select(self, units: IntArray) -> PricedRows:
        """Select the rows of some units and of the geounits that contain them."""
        kept = self.rows_of(units)
        return PricedRows(
            self.domain.select(units),
            self.least[kept],
            self.most[kept],
            self.used[kept],
            tuple(kind[kept] for kind in self.kinds),
            self.costs,
        )

    def costs_of(self, rows: IntArray) -> RowCosts:
        kinds = [kind[rows] for kind in self.kinds]
        return row_costs(self.least[rows], self.most[rows], kinds, self.costs)

    def rows_of(self, units: IntArray) -> IntArray:
        """Return the rows of `select` as row numbers of this object."""
        rows = [np.empty(0, dtype=np.int64)]
        for offset, each in zip(self.offsets.tolist(), self.domain.strata, strict=True):
            geounits = geounits_of(each.stratum.of_unit[units])
            rows.append((offset + geounits[:, None] * each.width + np.arange(each.width)).ravel())
        return np.concatenate(rows)

    def columns(self, unit: IntArray, cell: IntArray) -> sparse.csc_array:
        """Return sparse (rows × columns) coefficients of histogram cells, by unit and number."""
        numbers, columns, values = [np.empty(0, dtype=np.int64)] * 3
        parts = [(numbers, columns, values)]
        for offset, rows in zip(self.offsets.tolist(), self.domain.strata, strict=True):
            parts += [
                (offset + row, column, coefficient)
                for row, column, coefficient in rows.entries(self.domain.sizes, unit, cell)
            ]
        numbers, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        kept = self.used[numbers]
        entries = values[kept], (numbers[kept], columns[kept])
        return sparse.csc_array(entries, shape=(len(self.least), len(unit)))

    def weighted_sums(self, weights: FloatArray) -> FloatArray:
        """Return (units × cells) sums over rows of weight times coefficient."""
        ends = [*self.offsets.tolist()[1:], len(weights)]
        values = [
            weights[start:end].reshape(rows.stratum.rhs.shape)
            for start, end, rows in zip(
                self.offsets.tolist(), ends, self.domain.strata, strict=True
            )
        ]
        return self.domain.sum_over_rows(values)

    def sum_by_unit(self, values: IntArray) -> IntArray:
        """Return (units,) sums over the rows of the geounits that contain each unit."""
        total = np.zeros(self.domain.units, dtype=np.int64)
        for offset, each in zip(self.offsets.tolist(), self.domain.strata, strict=True):
            stratum = each.stratum
            here = values[offset : offset + stratum.rhs.size]
            inside = np.flatnonzero(stratum.of_unit >= 0)
            total[inside] += here.reshape(stratum.rhs.shape).sum(axis=1)[stratum.of_unit[inside]]
        return total

    def holding(self, units: BoolArray) -> BoolArray:
        """Return a mask of the rows that contain people of some units."""
        found = [np.empty(0, dtype=bool)]
        for rows in self.domain.strata:
            held = np.zeros(len(rows.stratum.geounits), dtype=bool)
            held[geounits_of(rows.stratum.of_unit[units])] = True
            found.append(np.repeat(held, rows.width))
        return np.concatenate(found)


@dataclass(frozen=True)
class _StratumRows:
    """The part of `PricedRows` that belongs to one stratum."""

    least: IntArray
    most: IntArray
    used: BoolArray
    kinds: tuple[IntArray, ...]


def _of_stratum(plan: Plan, rows: DenseRows, costs: CountCosts | None) -> _StratumRows:
    stratum = rows.stratum
    pattern = plan.patterns[stratum.pattern]
    if pattern.lattice is None:
        raise ValueError("column pricing needs a plan for intervals")
    cells = np.array([plan.columns[cell] for cell in pattern.margins.columns])
    kinds: list[IntArray] = []
    if costs is not None:
        of_cell = costs.of(stratum.geounits)[:, cells]
        found = kinds_of_nodes(of_cell, pattern.lattice.node, stratum.rhs.shape[1])
        kinds = [kind.ravel() for kind in found]
    published = np.zeros(rows.width, dtype=bool)
    published[pattern.lattice.node] = True
    says: BoolArray = np.logical_or(stratum.least_or_rhs > 0, stratum.rhs < OPEN)
    for kind in kinds:
        says |= kind.reshape(says.shape) >= 0
    return _StratumRows(
        stratum.least_or_rhs.ravel(), stratum.rhs.ravel(), (says & published).ravel(), tuple(kinds)
    )


def kinds_of_nodes(of_cell: IntArray, node: IntArray, nodes: int) -> list[IntArray]:
    """Return (geounits × nodes) kinds of the first cell of each node, of the second, and so on.

    Args:
        of_cell: (geounits × cells) kinds of published cells, −1 without a cost.
        node: For each cell its node.
    """
    kinds = []
    for columns in layers_of(node):
        kind = np.full((len(of_cell), nodes), -1, dtype=np.int64)
        kind[:, node[columns]] = of_cell[:, columns]
        kinds.append(kind)
    return kinds
