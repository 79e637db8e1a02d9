"""The linear relaxation of an integer program, by HiGHS's dual simplex.

Counts in margins are nearly network flows, so the vertices of the relaxation are mostly integral.
Floating point only proposes: solutions are checked in integers, and finding none proves nothing.

See *linear relaxation* and *dual* in docs/glossary.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints

#: Deterministic seconds for one non-zero coefficient in one pivot, about as CP-SAT counts.
_PIVOT = 1e-9
#: Fixed effort of a pivot, in non-zero coefficients.
_OVERHEAD = 15_000
#: Effort of setting up, in pivots.
_SETTING_UP = 200
#: Strategies of the simplex, as HiGHS numbers them.
_DUAL, _PRIMAL = 1, 4
#: Edge weights of the dual simplex, as HiGHS numbers them.
_DEVEX = 1
_CORE = "scipy.optimize._highspy._core"
#: A matrix in columns, and the sense of minimisation, as HiGHS numbers them.
_BY_COLUMN, _MINIMISE = 1, 1
#: More pivots than any program takes; the engine counts them in 32 bits.
_MOST_PIVOTS = 10**9
#: Values of a vertex at most this far from a whole number count as whole.
WHOLE: Final = 1e-6


@dataclass(frozen=True)
class Vertex:
    """A vertex of the relaxation with its duals.

    Attributes:
        values: A value of each variable, whole or not; empty if nothing was found.
        duals: For each row the change of the cost if its bounds rise by 1; empty likewise.
        deterministic_time: Seconds, counted in pivots.
    """

    values: FloatArray
    duals: FloatArray
    deterministic_time: float


def solve_relaxation(program: IntegerProgram, cost: FloatArray, limit: float) -> Vertex:
    """Find the vertex of the relaxation with the least ``cost @ x``.

    Args:
        cost: Not negative, so that the simplex can begin with all variables at their lower bounds.
        limit: Deterministic seconds.
    """
    return LinearRelaxation(program).solve(cost, limit)


def pivot_seconds(program: IntegerProgram) -> float:
    """Return the deterministic seconds of one pivot of the simplex."""
    return _PIVOT * (program.constraints.A.nnz + _OVERHEAD)


def _with_own_bounds(program: IntegerProgram, lower: IntArray, upper: IntArray) -> IntegerProgram:
    """Replace the bounds by copies, to which later bounds can be compared."""
    return replace(program, lower=lower.copy(), upper=upper.copy())


class LinearRelaxation:
    """The relaxation of one program, solved for one cost after the other.

    The first vertex is found by the dual simplex, further ones by the primal simplex from the
    vertex before, which is feasible for any cost: this takes a twentieth of the time.
    """

    def __init__(self, program: IntegerProgram) -> None:
        self._program = _with_own_bounds(program, program.lower, program.upper)
        self._pivot = pivot_seconds(program)
        self._engine: Any = None
        self._cost: FloatArray | None = None
        self._sent = np.empty(0)
        self._has_vertex = False

    def bound(self, lower: IntArray, upper: IntArray) -> None:
        """Replace the bounds of the variables; the next solve starts from scratch.

        The set-up, which takes as long as solving, is reused.
        """
        self.narrow(lower, upper)
        self.begin_anew()

    def narrow(self, lower: IntArray, upper: IntArray) -> None:
        """Tighten the bounds of the variables; the next solve starts at the last vertex."""
        before = self._program
        self._program = _with_own_bounds(before, lower, upper)
        self._has_vertex = False
        if self._engine is not None:
            moved = np.flatnonzero((lower != before.lower) | (upper != before.upper))
            ends = lower[moved].astype(np.float64), upper[moved].astype(np.float64)
            self._engine.changeColsBounds(len(moved), moved.astype(np.int32), *ends)

    def refutation(self) -> FloatArray:
        """Return weights of rows that exclude every point within the bounds: a dual ray.

        Empty if the last program has a point, or the engine returns no such weights.
        """
        if self._engine is None or not self._engine.getDualRayExist()[1]:
            return np.empty(0)
        return np.array(self._engine.getDualRay()[2], dtype=np.float64)

    def begin_anew(self) -> None:
        """Start the next solve from scratch: faster if its cost is unrelated to the last."""
        self._has_vertex = False
        if self._engine is not None:
            self._engine.setBasis()

    def begin_with(self, rows: IntArray, columns: IntArray) -> None:
        """Start the next solve from a basis in which variables replace the slacks of some rows.

        Args:
            rows: The rows; the bounds of each are equal.
            columns: For each row its variable; all other variables begin at their lower bounds.
        """
        core = highs_core()
        if self._engine is None:
            self._engine = highs_engine(core, self._program)
        status, (height, width) = core.HighsBasisStatus, self._program.constraints.A.shape
        ends = np.array([status.kLower, status.kBasic], dtype=object)
        of_columns, of_rows = np.zeros(width, dtype=np.int8), np.ones(height, dtype=np.int8)
        of_columns[columns], of_rows[rows] = 1, 0
        basis = core.HighsBasis()
        basis.col_status, basis.row_status = ends[of_columns].tolist(), ends[of_rows].tolist()
        basis.valid, self._has_vertex = True, False
        # The weights of steepest edges would take longer to compute than the pivots.
        self._engine.setOptionValue("simplex_dual_edge_weight_strategy", _DEVEX)
        self._engine.setBasis(basis)

    def bound_row(self, row: int, least: int, most: int) -> None:
        """Replace the bounds of a row; the next solve starts from scratch.

        If few rows are violated at the start, this is nearer than the last vertex.
        """
        if self._engine is None:
            self._engine = highs_engine(highs_core(), self._program)
        self.begin_anew()
        self._engine.changeRowBounds(row, float(least), float(most))

    def append(self, columns: sparse.csr_array, upper: IntArray) -> None:
        """Append variables, from 0 up; the next solve starts at the last vertex.

        Args:
            columns: Sparse (variables × rows) coefficients.
            upper: The greatest value of each.
        """
        old, number = self._program, len(upper)
        whole = sparse.csr_array(columns.T.astype(np.int64))
        A = sparse.csr_array(sparse.hstack([old.constraints.A, whole]))
        self._program = IntegerProgram(
            LinearConstraints(A, old.constraints.least, old.constraints.most),
            np.concatenate([old.lower, np.zeros(number, dtype=np.int64)]),
            np.concatenate([old.upper, upper]),
        )
        self._pivot = pivot_seconds(self._program)
        if self._engine is not None:
            ends = np.zeros(number), upper.astype(np.float64)
            starts, rows = (each.astype(np.int32) for each in (columns.indptr, columns.indices))
            entries = (columns.nnz, starts[:-1], rows, columns.data.astype(np.float64))
            self._engine.addCols(number, np.zeros(number), *ends, *entries)

    def solve(self, cost: FloatArray, limit: float, ceiling: float = np.inf) -> Vertex:
        """Find a vertex with the least ``cost @ x``.

        Args:
            cost: A cost of each variable; the same array is taken for the same cost.
            limit: Deterministic seconds.
            ceiling: Cost at which the search gives up; a vertex that is found may cost more.
        """
        first = not self._has_vertex
        setting_up = _SETTING_UP if self._engine is None else _SETTING_UP // 20
        pivots = int(min(limit / self._pivot - setting_up, _MOST_PIVOTS))
        if pivots <= 0 or not len(cost):
            return Vertex(np.empty(0), np.empty(0), 0.0)
        core = highs_core()
        if self._engine is None:
            self._engine = highs_engine(core, self._program)
        engine = self._engine
        engine.setOptionValue("simplex_strategy", _DUAL if first else _PRIMAL)
        engine.setOptionValue("simplex_iteration_limit", pivots)
        engine.setOptionValue("objective_bound", ceiling)
        if cost is not self._cost:
            new = np.zeros(len(cost) - len(self._sent))  # as appended variables begin
            moved = np.flatnonzero(np.append(self._sent, new) != cost)
            self._cost, self._sent = cost, cost.astype(np.float64)
            engine.changeColsCost(len(moved), moved.astype(np.int32), self._sent[moved])
        engine.run()
        used = max(engine.getInfo().simplex_iteration_count, 0)
        elapsed = round((used + setting_up) * self._pivot, 9)
        status, statuses = engine.getModelStatus(), core.HighsModelStatus
        if status != statuses.kOptimal:
            self._has_vertex = False
            if status not in (statuses.kInfeasible, statuses.kObjectiveBound):
                self._engine, self._cost, self._sent = None, None, np.empty(0)
            return Vertex(np.empty(0), np.empty(0), elapsed)
        self._has_vertex = True
        solution = engine.getSolution()
        return Vertex(
            np.array(solution.col_value, dtype=np.float64),
            np.array(solution.row_dual, dtype=np.float64),
            elapsed,
        )


@cache
def highs_core() -> Any:
    """Load the HiGHS core of scipy; its names are private, so scipy's version is capped.

    The extension is loaded without `scipy.optimize` around it, which takes fifty times as long and
    30 MB; under its own name, so that scipy finds it later.
    """
    if _CORE not in sys.modules:
        folder = Path(scipy.__file__).parent.joinpath(*_CORE.split(".")[1:-1])
        spec = PathFinder.find_spec(_CORE, [str(folder)])
        if spec is None or spec.loader is None:
            raise ImportError(f"scipy {scipy.__version__} has no {_CORE}")
        sys.modules[_CORE] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[_CORE])
    return sys.modules[_CORE]


def highs_engine(core: Any, program: IntegerProgram) -> Any:
    """Return an engine with the program, without a cost."""
    rows = program.constraints
    A = sparse.csc_array(rows.A)
    height, width = A.shape
    ends = (program.lower, program.upper, rows.least, rows.most)
    engine = core._Highs()  # noqa: SLF001
    # Presolving takes longer than solving, and would lose the beginning.
    for option, value in (
        *(("output_flag", False), ("presolve", "off"), ("solver", "simplex")),
        *(("threads", 1), ("parallel", "off")),
    ):
        engine.setOptionValue(option, value)
    engine.passModel(
        *(width, height, A.nnz, _BY_COLUMN, _MINIMISE, 0.0),
        *(each.astype(np.float64) for each in (np.zeros(width), *ends)),
        *(A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data.astype(np.float64)),
        np.zeros(width, dtype=np.int32),  # continuous variables
    )
    return engine
