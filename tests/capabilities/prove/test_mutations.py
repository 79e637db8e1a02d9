"""Mutated proofs are refused, or what they still prove is true."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.proofs import change_of, least_total, outcome, outcome_of_change, with_other_counts
from tests.capabilities.prove.certificates import check, program
from tests.support.properties import draws


def test_no_mutated_proof_proves_what_is_false() -> None:
    outcomes = Counter(outcome(seed) for seed in draws(150, 400))
    assert set(outcomes) <= {"refused", "not proven", "true"}
    assert min(outcomes["refused"], outcomes["not proven"], outcomes["true"]) > 10


def test_no_proof_of_other_counts_proves_what_is_false() -> None:
    outcomes = Counter(outcome(seed, of_tables=True) for seed in draws(120, 300))
    assert set(outcomes) <= {"refused", "not proven", "true"}
    assert min(outcomes["refused"], outcomes["not proven"], outcomes["true"]) > 10


def test_no_mutated_change_is_more_than_the_least() -> None:
    outcomes = Counter(outcome_of_change(seed) for seed in draws(70, 200))
    assert set(outcomes) <= {"refused", "not proven", "true"}
    assert min(outcomes["refused"], outcomes["not proven"], outcomes["true"]) > 10


def test_least_changes_are_proven() -> None:
    """Of tiny tables nearly all, against all records that there may be; never more."""
    known = proven = 0
    for seed in range(150):
        random = np.random.default_rng(seed)
        text = with_other_counts(with_other_counts(program(random)[0], random), random)
        least = least_total(text)
        lines = change_of(text)
        assert not lines or check(text, "\n".join(lines)) == [True]
        found = int(lines[1].split()[1]) if lines else min(least, 1)
        assert found <= least
        known, proven = known + (least > 1), proven + (found == least > 1)
    assert known >= 20
    assert proven >= 0.9 * known
