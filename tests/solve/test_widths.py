"""What an engine's floating point, or 64 bits, cannot hold decides nothing."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from ortools.linear_solver.python import model_builder_helper
from ortools.sat.python import cp_model_helper
from scipy import sparse

from recon_cli.errors import DisagreementError
from recon_cli.model.program import ConnectedParts, IntegerProgram, LinearConstraints
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.dual_bounds import SCALE, WeightedRows, least_value


def one_number(coefficient: int, least: int, most: int, upper: int) -> IntegerProgram:
    """``least <= coefficient x <= most`` for one ``0 <= x <= upper``."""
    return IntegerProgram(
        LinearConstraints(
            sparse.csr_array(np.array([[coefficient]])), np.array([least]), np.array([most])
        ),
        np.zeros(1, dtype=np.int64),
        np.array([upper]),
    )


def test_a_bound_of_cp_sat_is_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^53 + 1 is no double: the engine's float bound is below the solution."""
    reached = 2**53 + 1
    engine = mock.Mock()
    engine.return_value.solve.return_value = SimpleNamespace(
        status=cp_model_helper.FEASIBLE,
        deterministic_time=0.1,
        solution=[reached],
        inner_objective_lower_bound=-(reached + 2),
        best_objective_bound=float(reached),
    )
    monkeypatch.setattr(cp_model_helper, "SolveWrapper", engine)
    answer = maximize(one_number(1, 0, 2**54, 2**54), np.array([1]), Effort(0, 1.0))
    assert (answer.status, answer.objective) == (Status.FEASIBLE, reached)
    assert answer.bound == reached + 2


def test_what_scip_takes_for_a_solution_is_looked_at_in_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2x = 2·10^8 + 1 is missed by less than SCIP sees: no disagreement, and no confirmation."""
    side = 2 * 10**8 + 1
    engine = mock.Mock()
    engine.return_value.status.return_value = model_builder_helper.SolveStatus.OPTIMAL
    engine.return_value.variable_values.return_value = np.array([1e8 + 0.5])
    monkeypatch.setattr(model_builder_helper, "ModelSolverHelper", engine)
    assert not confirm_infeasible(one_number(2, side, side, 10**9))
    with pytest.raises(DisagreementError):
        confirm_infeasible(one_number(2, side - 1, side - 1, 10**9))


def test_weights_whose_sums_do_not_fit_prove_nothing() -> None:
    side = np.array([2**31, 2**31])
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(np.array([[1, 1], [1, 0]])), side, side),
        np.zeros(2, dtype=np.int64),
        np.full(2, 2**31),
    )
    rows, functional = WeightedRows(program, ConnectedParts.whole(program)), np.array([1, 1])
    assert rows.bounds(functional, np.array([SCALE, 0])).tolist() == [2**31]
    assert rows.bounds(functional, np.array([2**40, -(2**40)])).tolist() == [0]


def test_ends_whose_sums_do_not_fit_prove_nothing() -> None:
    """What 2,520 times 2^57 wraps to is no bound."""
    program = one_number(-1, -(2**57), -(2**57) + 2, 2**57)
    functional = np.array([-1])
    assert least_value(program, functional, 1.0).bound == -(2**57)
    rows = WeightedRows(program)
    assert rows.bounds(functional, np.array([5_000])).tolist() == [-(2**57)]
    assert not rows.has_room(functional, np.array([1]))
