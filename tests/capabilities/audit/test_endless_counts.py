"""Counts that nothing bounds, over clique tables, beside all solutions up to a cap."""

from __future__ import annotations

import itertools
from collections import Counter
from unittest import mock

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import sparse

import recon_cli as recon
from benchmarks.office.publication import Office, PublishedTable, exact_counts
from recon_cli.capabilities.audit.joint_audit import JointAudit
from recon_cli.capabilities.audit.rays import endless_variables
from recon_cli.frames import OPEN
from recon_cli.model.ledger import Ledger
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.near_vertices import BlockView, best_combination
from recon_cli.statement import Protection, Statement, parse_law

#: The cells of both tables over sex × age, a row each.
MARGINS = np.array([[1] * 4, [1, 1, 0, 0], [0, 0, 1, 1], [1] * 4, [1, 0, 1, 0], [0, 1, 0, 1]])
#: More people in a place than are there; more in a cell than any count that is bounded.
PEOPLE, CAP = 3, 7


def office(seed: int) -> Office:
    tables = (
        PublishedTable("A", "[total, {by: sex}]", (3,)),
        PublishedTable("B", "[total, {by: age}]", (3,)),
    )
    features: dict[str, tuple[str, ...]] = {"sex": ("f", "m"), "age": ("young", "old")}
    return Office("tiny", features, tables, 2, 0, seed=seed, law="stars")


def possible(ends: dict[str, npt.NDArray[np.int64]], cap: int) -> dict[str, npt.NDArray[np.int64]]:
    """The counts of each place in all solutions with at most so many people in a cell."""
    people = np.array(list(itertools.product(range(cap + 1), repeat=4))) @ MARGINS.T
    units = []
    for place in ("W000", "W001"):
        low, high = ends[place]
        inside = ((people >= low) & (people <= high)).all(axis=1)
        units.append(np.unique(people[inside], axis=0))
    both = units[0][:, None] + units[1][None]
    low, high = ends["W"]
    one, other = np.nonzero(((both >= low) & (both <= high)).all(axis=2))
    return {"W000": units[0][one], "W001": units[1][other], "W": both[one, other]}


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_ends_are_those_of_all_solutions(first: int) -> None:
    told: Counter[str] = Counter()
    for seed in range(first, first + 10):
        random = np.random.default_rng(seed)
        tiny = office(seed)
        exact = exact_counts(tiny, random.multinomial(PEOPLE, [0.25] * 4, 2))
        assert {"W000", "W001", "W"} == set(exact["geoid"])
        share = random.choice([0.4, 0.7, 0.9])
        withheld = pl.Series(random.random(exact.height) < share)
        shown = exact["count"].cast(pl.String).set(withheld, "c")
        law = parse_law({"suppressed": {"flagged": "may-be-zero"}})
        published = recon.publish(
            tiny.release(),
            exact.with_columns(count=shown),
            geounits=["W000", "W001", "W"],
            protection=Protection((Statement(law, markers=("c",)),)),
        )
        if not withheld.any():
            continue
        with mock.patch.object(JointAudit, "ends", side_effect=AssertionError):
            audited = recon.audit_counts(tiny.release(), published, seed=1)
        count = exact["count"].to_numpy()
        high = np.where(withheld.to_numpy(), OPEN, count)
        low = np.where(withheld.to_numpy(), 0, count)
        geoid = exact["geoid"].to_numpy()
        ends = {place: np.stack([low, high])[:, geoid == place] for place in set(geoid)}
        solutions, fewer = possible(ends, CAP), possible(ends, CAP - 1)
        for row in audited.iter_rows(named=True):
            at = "AB".index(row["table"]) * 3 + int(row["cell"]) - 1
            values, before = solutions[row["geoid"]][:, at], fewer[row["geoid"]][:, at]
            assert row["least"] == values.min()
            is_endless = values.max() > before.max()
            assert (row["greatest"] is None) == is_endless
            told["endless" if is_endless else "bounded"] += 1
            if is_endless:
                assert row["status"] == "safe"
                assert not row["is_exact"]
            else:
                assert row["is_exact"]
                assert row["greatest"] == values.max()
    assert min(told["endless"], told["bounded"]) > 20


def test_what_more_than_one_row_bounds_is_not_endless() -> None:
    # a + b, b + c and a + c are at least 1 and withheld above; a - b is 0, and c at most 4.
    A = sparse.csr_array([[1, 1, 0], [1, -1, 0], [0, 0, 1]])
    rows = LinearConstraints(A, np.array([1, 0, 0]), np.array([OPEN, 0, 4]))
    assert endless_variables(rows, np.array([OPEN, OPEN, 4])).tolist() == [True, True, False]
    held = LinearConstraints(A, np.array([1, 0, 0]), np.array([9, 0, 4]))
    assert not endless_variables(held, np.array([OPEN, OPEN, 4])).any()


def test_nothing_is_asked_or_proven_of_an_end_that_is_none() -> None:
    rows = LinearConstraints(sparse.csr_array(np.array([[1, 1]])), np.array([2]), np.array([OPEN]))
    program = IntegerProgram(rows, np.zeros(2, dtype=np.int64), np.full(2, OPEN))
    functionals = sparse.csr_array(np.eye(2, dtype=np.int64))
    known, endless = np.array([2, 0]), np.array([True, True])
    ledger = Ledger(program, functionals, [known], is_endless=endless)
    assert not ledger.is_open_above.any()
    assert not ledger.is_undecided.any()
    assert ledger.is_open_below.tolist() == [True, False]
    assert not ledger.is_open(0, -1)
    ledger.recheck()


@pytest.mark.parametrize("upper", [OPEN, OPEN - 1])
def test_no_sum_rests_on_an_end_that_is_none(upper: int) -> None:
    # 720 times the first is the second: with an end of the second, the first has one.
    rows = LinearConstraints(
        sparse.csr_array(np.array([[720, -1]])), np.zeros(1, int), np.zeros(1, int)
    )
    program = IntegerProgram(rows, np.zeros(2, dtype=np.int64), np.array([10**7, upper]))
    known = np.zeros(2, dtype=np.int64)
    total = program.constraints.A @ known
    block = BlockView.of(program).around(known, total, np.arange(2))
    most = best_combination(block, np.array([-1, 0]), np.array([-1 / 720]), -2_982_616)
    if upper == OPEN:
        assert most is None or most[0] <= -(10**7)
    else:
        assert most is not None
        assert most[0] == -2_982_616
    alone = BlockView.of(program).around(known, total, np.array([0]))
    assert (alone.outer[1] >= OPEN * 2).all() == (upper == OPEN)
