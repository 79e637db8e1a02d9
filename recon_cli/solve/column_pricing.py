"""The relaxation's optimum over a dense domain, by columns that enter when they pay.

The program begins with the histogram cells that look best. Its duals give every other cell's
reduced cost, over the whole domain at once; those that could lower the cost enter, until there is
none. Then the optimum is that of all cells, though a few hundred were ever written down.

See *column pricing* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.model.dense_domain import BoolArray, FloatArray, Int32Array
from recon_cli.model.grain import IntArray
from recon_cli.model.priced_rows import PricedRows
from recon_cli.model.row_costs import CostProgram, RowCosts, cost_program
from recon_cli.solve.linear_relaxation import Vertex, solve_relaxation
from recon_cli.statement.costs import SCALE

#: Columns of a unit to begin with, and that enter at a time.
_FIRST, _ENTER = 100, 100
#: Columns of equal reduced cost that enter together: mostly interchangeable ones.
_ALIKE = 16
#: Columns that are put in order, for each that enters.
_ORDERED = 40
#: What a count that wants people is worth before there are duals.
_WORTH = 1.0
#: A reduced cost this small is none.
_TOLERANCE = 1e-7
_ROUNDS = 200
#: Deterministic seconds of one relaxation.
_LIMIT = 300.0


@dataclass(frozen=True)
class PricedVertex:
    """A vertex of the relaxation that is least over the whole domain.

    Attributes:
        unit: Of each column.
        cell: Of each column the number of the histogram cell.
        values: People in each column, whole or not.
        A: Sparse (rows × columns), of all rows.
        reduced: (units × cells) reduced costs.
        lacking: People that rows lack or have too many; above zero if the relaxation has no
            solution.
        cost: The least cost, without those.
        deterministic_time: Seconds.
    """

    unit: IntArray
    cell: IntArray
    values: FloatArray
    A: sparse.csr_array
    reduced: FloatArray
    lacking: float
    cost: float
    deterministic_time: float


@dataclass(frozen=True)
class OpenUnits:
    """Some units to be solved, while others stay as they are.

    Attributes:
        rows: Their rows.
        lower: (units × cells) least people.
        upper: (units × cells) most.
        base: What others add to each row.
        over: Rows that may have too many people, at `SHORTAGE` each.
    """

    rows: PricedRows
    lower: Int32Array
    upper: Int32Array
    base: IntArray
    over: BoolArray

    @property
    def idle_duals(self) -> FloatArray:
        """For each row what one more person saves, if these units were empty."""
        return -self.rows.marginal(self.base)

    def program(self, unit: IntArray, cell: IntArray, *, may_lack: bool) -> ColumnProgram:
        """The program over some histogram cells, given by unit and number.

        Args:
            unit: Of each column.
            cell: Its number in the unit.
            may_lack: Whether rows may lack people, at `SHORTAGE` each.
        """
        A = sparse.csr_array(self.rows.columns(unit, cell))
        wants = self.rows.used & (self.idle_duals > 0)
        used = np.flatnonzero(self.rows.used & ((np.diff(A.indptr) > 0) | wants))
        costs = self.rows.costs_of(used).less(self.base[used])
        least, most = (each[unit, cell].astype(np.int64) for each in (self.lower, self.upper))
        short = np.full(len(used), may_lack)
        over = self.over[used]
        program = cost_program(
            sparse.csr_array(A[used]), least, most, costs, short=short, over=over
        )
        return ColumnProgram(program, costs, A, used)


@dataclass(frozen=True)
class ColumnProgram:
    """A program over some columns.

    Attributes:
        program: The program.
        costs: Of its rows.
        A: Sparse (rows × columns), of all rows.
        used: The rows of the program.
    """

    program: CostProgram
    costs: RowCosts
    A: sparse.csr_array
    used: IntArray


def price_columns(units: OpenUnits, start: BoolArray) -> PricedVertex | None:
    """The relaxation's optimum, where any row may lack people.

    Args:
        units: The units.
        start: (units × cells) columns to begin with, besides those that look best.

    Returns:
        None where a relaxation was not solved in time.
    """
    rows, upper, idle_duals = units.rows, units.upper, units.idle_duals
    active = start | (units.lower > 0)
    _enter(rows.reduced_costs(np.minimum(idle_duals, _WORTH)), upper, active, _FIRST, np.inf)
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
        reduced = rows.reduced_costs(duals)
        if not _enter(reduced, upper, active, _ENTER, -_TOLERANCE):
            break
    lacking = vertex.values[program.columns + program.segments :].sum()
    inner = slice(0, program.columns + program.segments)
    return PricedVertex(
        unit=unit,
        cell=cell,
        values=vertex.values[: program.columns],
        A=columns.A,
        reduced=reduced,
        lacking=float(lacking),
        cost=float(vertex.values[inner] @ program.cost[inner]) / SCALE,
        deterministic_time=elapsed,
    )


def _duals(idle: FloatArray, columns: ColumnProgram, vertex: Vertex) -> FloatArray:
    """Duals of all rows: those of the vertex, but of rows without people the lowest there is.

    At a count of nobody that is the likeliest one, anything between the slopes on both sides is
    a dual. The lowest keeps most columns out, and no other row's changes.
    """
    used = columns.used
    nobody = columns.A[used] @ vertex.values[: columns.program.columns] < _TOLERANCE
    duals = idle.copy()
    duals[used] = np.where((columns.costs.likeliest == 0) & nobody, idle[used], vertex.duals)
    return duals


def _enter(
    reduced: FloatArray, upper: Int32Array, active: BoolArray, number: int, below: float
) -> int:
    """Make columns of each unit active, in place, those of least reduced cost; how many."""
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
