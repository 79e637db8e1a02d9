"""The least number of each record over all solutions of a place's program."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.joint import least
from recon_cli.capabilities.joint.least import CaseSearch, Start, least_records
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort

#: Of five kinds any two have somebody: four people at least, by the relaxation three.
PAIRS = list(itertools.combinations(range(5), 2))
NOBODY: IntArray = np.empty(0, dtype=np.int64)


def in_pairs() -> IntegerProgram:
    A = np.zeros((len(PAIRS), 5), dtype=np.int64)
    for row, pair in enumerate(PAIRS):
        A[row, list(pair)] = 1
    ends = np.ones(len(PAIRS), dtype=np.int64), np.full(len(PAIRS), 2)
    rows = LinearConstraints(sparse.csr_array(A), *ends)
    return IntegerProgram(rows, np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64))


@pytest.mark.parametrize("known", [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
@pytest.mark.parametrize("by_cases", [True, False])
def test_engines_prove_what_cases_do_not(
    known: list[int], *, by_cases: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_cases:
        nothing = CaseSearch(None, NOBODY, 0.0)
        monkeypatch.setattr(least, "prove_by_cases", lambda *_: nothing)
    everybody = sparse.csr_array(np.ones((1, 5), dtype=np.int64))
    ledger = least_records(in_pairs(), everybody, Start([np.array(known)], NOBODY), Effort(1, 10.0))
    assert (ledger.lower.tolist(), ledger.least.tolist()) == ([4], [4])


def test_what_engines_do_not_agree_on_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least, "prove_by_cases", lambda *_: CaseSearch(None, NOBODY, 0.0))
    monkeypatch.setattr(least, "confirm_infeasible", lambda *_: False)
    everybody = sparse.csr_array(np.ones((1, 5), dtype=np.int64))
    start = Start([np.array([1, 1, 1, 1, 0])], NOBODY)
    ledger = least_records(in_pairs(), everybody, start, Effort(1, 10.0))
    assert (ledger.lower.tolist(), ledger.least.tolist()) == ([3], [4])
