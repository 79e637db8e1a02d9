"""Least costs of rows: the program's are those of all numbers of people, tried one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from recon_cli.capabilities.reconstruct.row_costs import RECORD, SHORTAGE, cost_program, row_costs
from recon_cli.frames import OPEN
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.statement.costs import REACH, SCALE, CountCosts

#: Rows, columns, and people in a column at most.
ROWS, COLUMNS, MOST = 4, 3, 2


def costs(random: np.random.Generator) -> CountCosts:
    """Three kinds: costs fall to a likeliest count of 0 to 3, and rise after it."""
    slopes = np.sort(random.integers(1, 5 * SCALE, (3, 2 * REACH)), axis=1)
    slopes[:, :REACH] = -slopes[:, REACH - 1 :: -1]
    nothing = sparse.csr_array((0, 0), dtype=np.int64)
    none = np.empty((1, 0), dtype=np.int64)
    return CountCosts(random.integers(0, 4, 3), slopes, nothing, nothing, none, none[0])


@pytest.mark.parametrize("may_lack", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_least_costs_are_those_of_all_numbers_of_people(seed: int, *, may_lack: bool) -> None:
    random = np.random.default_rng(seed)
    A = random.integers(0, 2, (ROWS, COLUMNS))
    least = random.integers(0, 4, ROWS)
    most = np.where(random.random(ROWS) < 0.3, OPEN, least + random.integers(0, 3, ROWS))
    kinds = [random.integers(-1, 3, ROWS), random.integers(-1, 3, ROWS)]
    rows = row_costs(least, most, kinds, costs(random))
    end = np.full(ROWS, SHORTAGE if may_lack else 0)
    lower, upper = np.zeros(COLUMNS, dtype=np.int64), np.full(COLUMNS, MOST)
    made = cost_program(sparse.csr_array(A), lower, upper, rows, short=end, over=end)
    found = maximize(made.program, -made.cost, Effort(1, 10.0))

    expected = []
    for people in itertools.product(range(MOST + 1), repeat=COLUMNS):
        counts = A @ people
        inside = np.clip(counts, least, most)
        if may_lack or (inside == counts).all():
            missed = int(np.abs(counts - inside).sum())
            total = int(rows.cost(inside).sum()) + SHORTAGE * missed + RECORD * sum(people)
            expected.append(total)
    if expected:
        assert (found.status, -found.objective) == (Status.OPTIMAL, min(expected))
    else:
        assert found.status is Status.INFEASIBLE


@pytest.mark.parametrize("seed", range(15))
def test_costs_of_a_row_are_those_of_its_cells_but_for_a_constant(seed: int) -> None:
    random = np.random.default_rng(seed)
    made = costs(random)
    kinds = [np.array([0]), np.array([int(random.integers(-1, 3))])]
    low, high = sorted(int(each) for each in random.integers(0, 9, 2))
    rows = row_costs(np.array([low]), np.array([high]), kinds, made)
    of_cells = []
    for count in range(low, high + 1):
        total = 0
        for (kind,) in kinds:
            if kind >= 0:
                centre, slopes = int(made.likeliest[kind]), made.slopes[kind].tolist()
                steps = range(min(count, centre), max(count, centre))
                sign = 1 if count > centre else -1
                total += sum(sign * slopes[step - centre + REACH] for step in steps)
        of_cells.append(total)
    found = [int(rows.cost(np.array([count]))[0]) for count in range(low, high + 1)]
    assert found == [each - min(of_cells) for each in of_cells]
    assert of_cells[int(rows.likeliest[0]) - low] == min(of_cells)
