"""One integer program over one component: the only place that writes and reads CP-SAT models.

Every solve is repeatable: one thread, a fixed seed, and limits in the solver's deterministic time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from recon_cli.errors import SolverError
from recon_cli.model.components import Component
from recon_cli.model.grain import IntArray


class Status(Enum):
    """What one solve showed."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Answer:
    """The outcome of one solve.

    Attributes:
        status: What was shown.
        values: People in each cell of the component in the best solution; empty without one.
        objective: The objective of `values`, 0 without one.
        bound: No solution has a greater objective.
        work: Deterministic seconds.
    """

    status: Status
    values: IntArray
    objective: int
    bound: int
    work: float


_STATUS = {
    cp_model.OPTIMAL: Status.OPTIMAL,
    cp_model.FEASIBLE: Status.FEASIBLE,
    cp_model.INFEASIBLE: Status.INFEASIBLE,
    cp_model.UNKNOWN: Status.UNKNOWN,
}


class Program:
    """A component as a CP-SAT model, with what a question adds to it.

    Attributes:
        component: What it is about.
        cells: Variables of the component's cells.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self._model = cp_model.CpModel()
        self._proto: Any = self._model.proto
        self._size = 0
        self.cells = self.add_cells()

    def add_cells(self) -> range:
        """A set of cells that satisfies the component's rows; the first is `cells`."""
        component = self.component
        cells = self.add_variables(component.lower.tolist(), component.upper.tolist())
        A = component.rows.A
        indptr, indices, data = A.indptr.tolist(), A.indices, A.data.tolist()
        columns = (indices.astype(np.int64) + cells.start).tolist()
        sides = zip(component.rows.least.tolist(), component.rows.most.tolist(), strict=True)
        for row, (least, most) in enumerate(sides):
            entries = slice(indptr[row], indptr[row + 1])
            self.add_row(columns[entries], data[entries], least, most)
        return cells

    def add_variables(self, lower: Sequence[int], upper: Sequence[int]) -> range:
        """Integer variables between bounds."""
        for low, high in zip(lower, upper, strict=True):
            self._proto.variables.add().domain.extend([low, high])
        first = self._size
        self._size += len(lower)
        return range(first, self._size)

    def add_row(
        self,
        variables: Sequence[int],
        coefficients: Sequence[int],
        least: int,
        most: int,
        when: int | None = None,
    ) -> None:
        """``least <= Σ coefficient · variable <= most``, only if variable ``when`` is one."""
        row = self._proto.constraints.add()
        if when is not None:
            row.enforcement_literal.append(when)
        row.linear.vars.extend(variables)
        row.linear.coeffs.extend(coefficients)
        row.linear.domain.extend([least, most])

    def maximize(self, variables: Sequence[int], coefficients: Sequence[int]) -> None:
        """Set the objective, in place of any before."""
        self._proto.clear_objective()
        # CP-SAT minimises; a negative scaling factor turns what it reports around again.
        self._proto.objective.vars.extend(variables)
        self._proto.objective.coeffs.extend([-c for c in coefficients])
        self._proto.objective.scaling_factor = -1.0

    def hint(self, variables: Sequence[int], values: Sequence[int]) -> None:
        """Start from a known solution."""
        self._proto.clear_solution_hint()
        self._proto.solution_hint.vars.extend(variables)
        self._proto.solution_hint.values.extend(values)

    def solve(self, seed: int, limit: float, *, interleave: bool = False) -> Answer:
        """Solve within ``limit`` deterministic seconds.

        Raises:
            SolverError: The solver rejected the model, or returned values that do not satisfy it.
        """
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = seed % 2**31
        solver.parameters.interleave_search = interleave
        solver.parameters.max_deterministic_time = limit
        code = solver.solve(self._model)
        if code not in _STATUS:
            raise SolverError(f"CP-SAT rejects the model: {self._model.validate()}")
        status = _STATUS[code]
        work = float(solver.response_proto.deterministic_time)
        if status not in {Status.OPTIMAL, Status.FEASIBLE}:
            return Answer(status, np.empty(0, dtype=np.int64), 0, 0, work)
        values = np.array(solver.response_proto.solution, dtype=np.int64)[: len(self.cells)]
        self._check(values)
        objective = round(solver.objective_value) if self._proto.has_objective() else 0
        bound = round(solver.best_objective_bound) if self._proto.has_objective() else 0
        return Answer(status, values, objective, bound, work)

    def _check(self, values: IntArray) -> None:
        component = self.component
        if (
            (values < component.lower).any()
            or (values > component.upper).any()
            or not component.rows.are_met_by(values)
        ):
            raise SolverError("CP-SAT returned values that do not satisfy the model")
