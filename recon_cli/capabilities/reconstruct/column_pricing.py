"""Column pricing: the relaxation's optimum over a dense domain, by adding profitable columns.

The program starts with the most promising histogram cells. Its duals give every other cell's
reduced cost, over the whole domain at once; cells that could lower the cost enter, until there is
none. Then the optimum is that of all cells, though only a few hundred were ever written down.

See *column pricing* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, Int32Array, IntArray
from recon_cli.capabilities.reconstruct.priced_rows import PricedRows
from recon_cli.capabilities.reconstruct.row_costs import (
    RECORD,
    SHORTAGE,
    CostProgram,
    RowCosts,
    cost_program,
)
from recon_cli.frames import OPEN
from recon_cli.solve.dual_bounds import EXACT, SAFE, whole_weights
from recon_cli.solve.linear_relaxation import Vertex, solve_relaxation
from recon_cli.statement.costs import SCALE

#: Columns of a unit to begin with, and that enter at a time.
_FIRST, _ENTER = 100, 100
#: Columns of equal reduced cost that enter together: mostly interchangeable ones.
_ALIKE = 16
#: Columns that are sorted for each column that enters.
_ORDERED = 40
#: Greatest dual of a row before the first relaxation.
_WORTH = 1.0
#: Reduced costs smaller than this are taken as zero.
_TOLERANCE = 1e-7
_ROUNDS = 200
#: Duals are rounded to multiples of 1/(`SCALE` · `_WEIGHT`).
_WEIGHT = 2520
#: Deterministic seconds of one relaxation.
_LIMIT = 300.0


@dataclass(frozen=True)
class PricedVertex:
    """A vertex of the relaxation that is optimal over the whole domain.

    Attributes:
        cell: Number of the histogram cell of each column.
        values: People in each column, whole or not.
        A: Sparse (rows × columns), of all rows.
        duals: For each row.
        reduced: (units × cells) reduced costs.
        lacking: People that rows lack or have too many; above zero if the relaxation has no
            solution.
        cost: The least cost, without that of lacking people.
        deterministic_time: Seconds.
    """

    unit: IntArray
    cell: IntArray
    values: FloatArray
    A: sparse.csr_array
    duals: FloatArray
    reduced: FloatArray
    lacking: float
    cost: float
    deterministic_time: float


@dataclass(frozen=True)
class OpenUnits:
    """Some units to solve, while others are fixed.

    Attributes:
        lower: (units × cells) least people.
        upper: (units × cells) most.
        base: Contribution of the others to each row.
        over: Rows that may have too many people.
        person: (units × cells) what each person costs, in 1/`SCALE`; None for `RECORD`.
        price: Cost of each person that a row lacks or has too many; None for `SHORTAGE`.
    """

    rows: PricedRows
    lower: Int32Array
    upper: Int32Array
    base: IntArray
    over: BoolArray
    person: IntArray | None = None
    price: IntArray | None = None

    @cached_property
    def costs(self) -> RowCosts:
        """Return the costs of the used rows, as functions of the people that these units add."""
        used = np.flatnonzero(self.rows.used)
        return self.rows.costs_of(used).less(self.base[used])

    @cached_property
    def idle_duals(self) -> FloatArray:
        """Return for each row the saving of one more person if these units were empty."""
        return -self.rows.marginal(self.base)

    def select(self, unit: int) -> OpenUnits:
        alone = np.array([unit])
        kept = self.rows.rows_of(alone)
        person = None if self.person is None else self.person[alone]
        ends = self.lower[alone], self.upper[alone]
        price = None if self.price is None else self.price[kept]
        here = self.base[kept], self.over[kept]
        return OpenUnits(self.rows.select(alone), *ends, *here, person, price)

    def program(self, unit: IntArray, cell: IntArray, *, may_lack: bool) -> ColumnProgram:
        """Build the program over some histogram cells, given by unit and number.

        Args:
            may_lack: Allow rows to lack people.
        """
        A = sparse.csr_array(self.rows.columns(unit, cell))
        wants = self.rows.used & (self.idle_duals > 0)
        is_in = (np.diff(A.indptr) > 0) | wants
        used = np.flatnonzero(self.rows.used & is_in)
        costs = self.costs.select(np.flatnonzero(is_in[self.rows.used]))
        least, most = (each[unit, cell].astype(np.int64) for each in (self.lower, self.upper))
        price = np.full(len(used), SHORTAGE) if self.price is None else self.price[used]
        short, over = price * may_lack, price * self.over[used]
        program = cost_program(
            sparse.csr_array(A[used]), least, most, costs, short=short, over=over
        )
        if self.person is not None:
            program.cost[: program.columns] = self.person[unit, cell]
        return ColumnProgram(program, costs, A, used)

    def reduced_costs(self, duals: FloatArray) -> FloatArray:
        """Return (units × cells) changes of the least cost by one more person in a cell.

        Args:
            duals: For each row the change of the cost if its bounds increase by one.
        """
        person = RECORD if self.person is None else self.person
        return person / SCALE - self.rows.weighted_sums(duals)


@dataclass(frozen=True)
class ColumnProgram:
    """A program over some columns.

    Attributes:
        A: Sparse (rows × columns), of all rows.
    """

    program: CostProgram
    costs: RowCosts
    A: sparse.csr_array
    used: IntArray


def price_columns(units: OpenUnits, start: BoolArray) -> PricedVertex | None:
    """Find the relaxation's optimum, where any row may lack people.

    Args:
        start: (units × cells) columns to begin with, besides those that look best.

    Returns:
        None where a relaxation was not solved in time.
    """
    upper, idle_duals = units.upper, units.idle_duals
    active = start | (units.lower > 0)
    _enter(units.reduced_costs(np.minimum(idle_duals, _WORTH)), upper, active, _FIRST, np.inf)
    elapsed = 0.0
    for _ in range(_ROUNDS):
        unit, cell = np.nonzero(active)
        columns = units.program(unit, cell, may_lack=True)
        program = columns.program
        vertex = solve_relaxation(program.program, program.cost / SCALE, _LIMIT)
        elapsed += vertex.deterministic_time
        if not len(vertex.values):
            return None
        duals = _duals(idle_duals, columns, vertex)
        reduced = units.reduced_costs(duals)
        if not _enter(reduced, upper, active, _ENTER, -_TOLERANCE):
            break
    lacking = vertex.values[program.columns + program.segments :].sum()
    inner = slice(0, program.columns + program.segments)
    return PricedVertex(
        unit=unit,
        cell=cell,
        values=vertex.values[: program.columns],
        A=columns.A,
        duals=duals,
        reduced=reduced,
        lacking=float(lacking),
        cost=float(vertex.values[inner] @ program.cost[inner]) / SCALE,
        deterministic_time=elapsed,
    )


@dataclass(frozen=True)
class CertifiedCosts:
    """Lower bounds of the cost of people: Eq. (dual), with the costs of rows as segments.

    Sums are in integers over all histogram cells and rows, so that any duals give valid bounds;
    nobody is outside these cells.

    Attributes:
        of_rows: Least contribution of each row, in 1/(`SCALE` · `_WEIGHT`).
        of_units: Least contribution of the histogram cells of each unit, in the same scale.
        rest: (units × cells) what each further person in a cell adds, in the same scale.
    """

    units: OpenUnits
    of_rows: IntArray
    of_units: IntArray
    rest: IntArray

    @classmethod
    def of(cls, units: OpenUnits, duals: FloatArray) -> CertifiedCosts | None:
        """Compute the bounds by the duals of a vertex.

        Args:
            units: The units; `OpenUnits.base` is not read.
            duals: For each row.

        Returns:
            None where a sum might not fit into 64 bits, or doubles might not add it exactly.
        """
        rows = units.rows
        used = np.flatnonzero(rows.used)
        costs = rows.costs_of(used)
        slope = _WEIGHT * costs.slope
        weight = whole_weights(duals[used], SCALE * _WEIGHT)
        # Where a row has no end, another person there must not pay.
        endless = costs.width >= OPEN
        np.maximum.at(weight, costs.row[endless], -slope[endless])
        room = np.where(endless, 0, costs.width)
        each = np.minimum(slope + costs.sign * weight[costs.row], 0)
        size = (np.abs(weight) * costs.likeliest.astype(np.float64)).sum()
        size -= (each * room.astype(np.float64)).sum()
        weights = np.zeros(len(rows.used), dtype=np.int64)
        weights[used] = weight
        person = RECORD if units.person is None else units.person
        largest = _WEIGHT * np.max(person)
        largest += rows.weighted_sums(np.abs(weights).astype(np.float64)).max(initial=0)
        if largest >= EXACT or size >= SAFE:
            return None
        rest = _WEIGHT * person - rows.weighted_sums(weights.astype(np.float64)).astype(np.int64)
        ends = np.where(rest > 0, units.lower, units.upper)
        if np.abs(rest * ends.astype(np.float64)).sum() >= SAFE:
            return None
        of_rows = np.zeros(len(rows.used), dtype=np.int64)
        of_rows[used] = weight * costs.likeliest
        np.add.at(of_rows, used[costs.row], each * room)
        return cls(units, of_rows, (rest * ends).sum(axis=1), rest)

    @property
    def total(self) -> int:
        """Return a lower bound of the total cost, in 1/`SCALE`."""
        return -(-int(self.of_rows.sum() + self.of_units.sum()) // _WEIGHT)

    @property
    def of_each_unit(self) -> IntArray:
        """Return a lower bound of each unit's cost, in 1/`SCALE`, if units share no used row."""
        return -(-(self.units.rows.sum_by_unit(self.of_rows) + self.of_units) // _WEIGHT)

    def may_be_below(self, cost: int) -> BoolArray:
        """Return (units × cells): where people may be in a solution cheaper than ``cost``."""
        left = _WEIGHT * cost - int(self.of_rows.sum() + self.of_units.sum())
        # The bound assumes that a cell is empty if each person in it adds to the cost.
        return (self.units.upper > 0) & ((self.units.lower > 0) | (self.rest < left))


def certified_least(units: OpenUnits, duals: FloatArray) -> IntArray:
    """Return for each unit a lower bound of the cost of its people.

    Args:
        units: Units that share no used row.
        duals: For each row.

    Returns:
        In 1/`SCALE`; 0 where `CertifiedCosts` holds none.
    """
    found = CertifiedCosts.of(units, duals)
    if found is None:
        return np.zeros(units.rows.domain.units, dtype=np.int64)
    return found.of_each_unit


def _duals(idle: FloatArray, columns: ColumnProgram, vertex: Vertex) -> FloatArray:
    """Return duals of all rows: those of the vertex, and the lowest ones for empty rows.

    At a likeliest count of zero, anything between the slopes on both sides is a dual. The lowest
    keeps most columns out, and changes the dual of no other row.
    """
    used = columns.used
    nobody = columns.A[used] @ vertex.values[: columns.program.columns] < _TOLERANCE
    duals = idle.copy()
    duals[used] = np.where((columns.costs.likeliest == 0) & nobody, idle[used], vertex.duals)
    return duals


def _enter(
    reduced: FloatArray, upper: Int32Array, active: BoolArray, number: int, below: float
) -> int:
    """Activate, in place, the columns of least reduced cost of each unit; return how many."""
    entered = 0
    for unit in range(len(reduced)):
        cell = np.flatnonzero((upper[unit] > 0) & ~active[unit] & (reduced[unit] < below))
        cost = reduced[unit, cell].round(7)
        if len(cell) > _ORDERED * number:
            best = np.argpartition(cost, _ORDERED * number)[: _ORDERED * number]
            cell, cost = cell[best], cost[best]
        order = np.lexsort((cell, cost))
        cell, cost = cell[order], cost[order]
        starts = np.flatnonzero(np.diff(cost, prepend=-np.inf))
        rank = np.arange(len(cost)) - np.repeat(starts, np.diff(starts, append=len(cost)))
        chosen = cell[rank < _ALIKE][:number]
        active[unit, chosen] = True
        entered += len(chosen)
    return entered
