"""Hundreds of damaged inputs of every kind; `python -m benchmarks.mutations` tries thousands."""

from __future__ import annotations

import os

import pytest

from tests.support.mutated_inputs import all_inputs, read_damaged, run_case

CASES = int(os.environ.get("RECON_MUTATIONS", "155"))
SEED = 27


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", range(len(all_inputs())), ids=[each.name for each in all_inputs()])
def test_a_damaged_input_is_read_rightly_or_refused_in_a_line(kind: int) -> None:
    kinds = len(all_inputs())
    for number in range(kind, CASES, kinds):
        case = run_case(SEED, number)
        assert case.outcome in {"same", "right", "refused"}, f"{number}: {case}"
        assert case.seconds < 30


def test_what_is_not_damaged_is_read_as_before() -> None:
    for given in all_inputs():
        outcome, detail = read_damaged(given, given.files[given.file])
        assert outcome == "same", f"{given.name}: {detail}"
