"""The study's program through CP-SAT: ``python -m benchmarks.peer.cpsat WORK TRACT OUT …``."""

from __future__ import annotations

from typing import Any

import numpy as np
from ortools.sat.python import cp_model
from scipy import sparse

from benchmarks.peer.engine import Answer, Limits, run
from benchmarks.peer.formulation import Program
from benchmarks.peer.laps import Laps


def solve(program: Program, limits: Limits, laps: Laps) -> Answer:
    """Any solution: no objective, every row an equality."""
    model = _model(program)
    laps.lap("pass")
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.threads
    solver.parameters.max_time_in_seconds = limits.seconds
    status = solver.solve(model)
    laps.lap("solve")
    words = solver.status_name(status).lower()
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return Answer(words, None)
    return Answer(words, np.flatnonzero(solver.response_proto.solution))


def _model(program: Program) -> Any:
    """Filled from arrays: an expression at a time would cost more than solving."""
    shape = (len(program.counts), len(program.kind))
    A = sparse.csc_array((program.weights, program.rows, program.starts), shape=shape).tocsr()
    model = cp_model.CpModel()
    proto: Any = model.proto
    for _ in range(shape[1]):
        proto.variables.add().domain.extend([0, 1])
    for row, count in enumerate(program.counts.tolist()):
        entries = slice(A.indptr[row], A.indptr[row + 1])
        linear = proto.constraints.add().linear
        linear.vars.extend(A.indices[entries].tolist())
        linear.coeffs.extend(A.data[entries].tolist())
        linear.domain.extend([count, count])
    return model


if __name__ == "__main__":
    run(solve, __doc__)
