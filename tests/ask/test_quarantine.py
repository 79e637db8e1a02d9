"""Before a solver starts on a part, the narrowest place that the part lies in is announced."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from recon_cli.ask.quarantine import BatchQuarantine, Quarantine
from recon_cli.model.components import Component
from recon_cli.model.program import IntegerProgram, LinearConstraints


def watched(said: list[tuple[str, str]], *excluded: str, is_over: bool = False) -> BatchQuarantine:
    """Units a and b of region S, which is split, and c and d of T, which is not."""
    quarantine = Quarantine(
        frozenset("S"), frozenset(excluded), lambda *each: said.append(each), is_over
    )
    return BatchQuarantine(quarantine, pl.Series(list("abcd")), pl.Series(list("SSTT")))


@pytest.mark.parametrize(
    ("unit", "announced"),
    [([0], ("a", "S")), ([1, 1], ("b", "S")), ([0, 1], ("S", "S")), ([2], ("T", "T"))],
)
def test_a_part_of_one_unit_is_announced_by_it_where_its_region_is_split(
    unit: list[int], announced: tuple[str, str]
) -> None:
    said: list[tuple[str, str]] = []
    assert watched(said).admits(np.array(unit))
    assert said == [announced]


@pytest.mark.parametrize(
    ("unit", "admitted"),
    [([0], False), ([1], True), ([0, 1], True), ([2], False), ([2, 3], False)],
)
def test_no_solver_starts_on_what_is_excluded(unit: list[int], *, admitted: bool) -> None:
    said: list[tuple[str, str]] = []
    assert watched(said, "a", "T").admits(np.array(unit)) == admitted
    assert bool(said) == admitted


def test_no_solver_starts_when_all_is_over() -> None:
    said: list[tuple[str, str]] = []
    assert not watched(said, is_over=True).admits(np.array([1]))
    assert not said


def test_unconnected_parts_of_a_split_region_are_asked_apart() -> None:
    """Rows hold variables 0 and 1, and 2 alone; 2 and 3 have one label."""
    A = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 0]]))
    rows = LinearConstraints(A, np.array([1, 1]), np.array([1, 1]))
    program = IntegerProgram(rows, np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64))
    whole = Component(program, np.arange(4), np.arange(2))
    label = np.array([0, 1, 2, 2])

    def parts(unit: list[int]) -> list[list[int]]:
        found = watched([]).parts([whole], np.array(unit), label)
        return [each.columns.tolist() for each in found]

    assert parts([0, 0, 1, 1]) == [[0, 1], [2, 3]]
    assert parts([2, 2, 3, 3]) == [[0, 1, 2, 3]]
