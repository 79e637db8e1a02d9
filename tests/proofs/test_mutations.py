"""Mutated proofs are refused, or what they still prove is true."""

from __future__ import annotations

from collections import Counter

from benchmarks.proofs import outcome


def test_no_mutated_proof_proves_what_is_false() -> None:
    outcomes = Counter(outcome(seed) for seed in range(400))
    assert set(outcomes) <= {"refused", "not proven", "true"}
    assert min(outcomes["refused"], outcomes["not proven"], outcomes["true"]) > 10


def test_no_proof_of_other_counts_proves_what_is_false() -> None:
    outcomes = Counter(outcome(seed, of_tables=True) for seed in range(300))
    assert set(outcomes) <= {"refused", "not proven", "true"}
    assert min(outcomes["refused"], outcomes["not proven"], outcomes["true"]) > 10
