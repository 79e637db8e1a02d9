"""The sum of counts that is a bound is told where it is that bound, and only there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from recon_cli.capabilities.prove.refutation import Refutation, sum_text
from recon_cli.capabilities.prove.statements import Bound
from recon_cli.proof.derivation import GOAL

#: Two tables of a place: SEX 1 counts 9 people, AGES 2 from 3 to 4.
WRITTEN: Any = SimpleNamespace(
    tables=[SimpleNamespace(name="SEX"), SimpleNamespace(name="AGES")], places={"A1": 0}
)
PROVER: Any = SimpleNamespace(
    rows=SimpleNamespace(names=["0:0.1", "0:1.2"], least=[9, 3], most=[9, 4])
)


@pytest.mark.parametrize(
    ("terms", "bound", "text"),
    [
        # Signs are the prover's: rows are added to the contrary of the bound.
        ([(1, GOAL), (-1, 0), (1, 1)], Bound("e", 5, is_least=True), "SEX 1 (9) − AGES 2 (4)"),
        ([(1, GOAL), (1, 0), (-1, 1)], Bound("e", 6, is_least=False), "SEX 1 (9) − AGES 2 (3)"),
        (
            [(2, GOAL), (-1, 0), (1, 1)],
            Bound("e", 3, is_least=True),
            "(SEX 1 (9) − AGES 2 (4)) / 2",
        ),
        ([(2, GOAL), (1, 0)], Bound("e", 4, is_least=False), "(SEX 1 (9)) / 2"),
        ([(1, GOAL), (1, 0), (-1, 1)], Bound("e", 7, is_least=False), ""),
        ([(1, GOAL)], Bound("e", 0, is_least=True), ""),
    ],
)
def test_a_sum_is_told_where_it_is_the_bound(
    terms: list[tuple[int, int]], bound: Bound, text: str
) -> None:
    refutation = Refutation((), frozenset(), terms, "combination")
    assert sum_text(WRITTEN, PROVER, 0, bound, refutation) == text
