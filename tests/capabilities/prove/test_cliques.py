"""Counts are proven over cliques of features as over all kinds of records, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recon_cli import reconcheck
from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.reconstruct.junction_tree import JunctionTree
from recon_cli.proof.derivation import Budget, ScopeProver
from recon_cli.proof.scope_rows import RowSource
from tests.capabilities.prove.certificates import check, derived

#: Values of three features; cells cross the first two, and the last two.
VALUES = np.array(list(np.ndindex(2, 2, 2)))
CELLS = [("*", "*", "*")]
CELLS += [(a, b, "*") for a in "12" for b in "12"] + [("*", b, c) for b in "12" for c in "12"]


def inside(cell: tuple[str, ...]) -> BoolArray:
    """Which kinds of records a cell counts."""
    wanted = [(0, 1) if mask == "*" else (int(mask) - 1,) for mask in cell]
    result: BoolArray = np.ones(len(VALUES), dtype=bool)
    for at, each in enumerate(wanted):
        result &= np.isin(VALUES[:, at], each)
    return result


def tables(random: np.random.Generator) -> tuple[str, IntArray]:
    """A unit that publishes all cells, some as intervals, and all its solutions."""
    truth = random.integers(0, 3, 8) * random.integers(0, 2, 8)
    counts = [int(truth[inside(cell)].sum()) for cell in CELLS]
    widths = [0, *random.choice([0, 1, 2], len(CELLS) - 1).tolist()]
    lines = [*(f"feature {name} 2" for name in "abc"), "table T"]
    lines += [f"cell 0 {at} {' '.join(cell)}" for at, cell in enumerate(CELLS)]
    lines += [f"pattern 0.0-{len(CELLS) - 1}", "unit U 0"]
    found = np.indices((3,) * 8).reshape(8, -1).T
    for at, (cell, n, width) in enumerate(zip(CELLS, counts, widths, strict=True)):
        low, high = max(n - width, 0), n + width
        lines.append(f"count 0 0 {at} {low} {high}")
        total = found[:, inside(cell)].sum(axis=1)
        found = found[(total >= low) & (total <= high)]
    # No kind has more than two records: a further table says so.
    lines[lines.index("table T")] = "table T\ntable MOST"
    kinds = [" ".join(format(1 << v, "x") for v in values) for values in VALUES.tolist()]
    at = next(n for n, line in enumerate(lines) if line.startswith("pattern"))
    lines[at:at] = [f"cell 1 {n} {kind}" for n, kind in enumerate(kinds)]
    lines[lines.index(f"pattern 0.0-{len(CELLS) - 1}")] += " 1.0-7"
    lines += [f"count 0 1 {n} 0 2" for n in range(8)]
    return "\n".join(lines), found


def clique_prover(text: str) -> ScopeProver:
    read: Any = reconcheck.Tables(text.splitlines())
    tree = JunctionTree.of([2, 2, 2], [{0, 1}, {1, 2}])
    atoms = [[1, 2]] * 3
    cliques: list[Any] = [reconcheck.Clique(read, atoms, each) for each in tree.cliques]
    shared = [(each.before, each.clique, each.features) for each in tree.separators]
    scope: Any = reconcheck.Scope(read, cliques, {0})
    found = ScopeProver.of(RowSource(read, cliques, shared), scope, Budget(10.0))
    found.propagate()
    return found


@pytest.mark.parametrize("seed", range(12))
def test_ends_over_cliques_are_true(seed: int) -> None:
    """Nothing beyond an end is found; what is found the checker accepts."""
    text, solutions = tables(np.random.default_rng(seed))
    found = clique_prover(text)
    tree = JunctionTree.of([2, 2, 2], [{0, 1}, {1, 2}])
    header = [f"clique {' '.join(map(str, each))}" for each in tree.cliques]
    missing = total = 0
    for cell in CELLS[1:]:
        values = solutions[:, inside(cell)].sum(axis=1)
        for is_least, end in ((True, int(values.min())), (False, int(values.max()))):
            beyond = end + 1 if is_least else end - 1
            masks = " ".join(cell)
            if beyond >= 0:
                assert derived(found, masks, beyond, is_least=is_least) is None
            lines = derived(found, masks, end, is_least=is_least)
            total, missing = total + 1, missing + (lines is None)
            if lines is not None:
                assert check(text, "\n".join([*header, *lines])) == [True]
    # Cliques do not know that no kind has more than two records.
    assert missing <= total // 4


def test_what_crosses_cliques_is_joined() -> None:
    """Separators are used: people of one value of b are as many in both tables."""
    text, _ = tables(np.random.default_rng(1))
    names = clique_prover(text).rows.names
    assert [name for name in names if "=" in name] == ["0=0,1:3,1,3", "0=0,1:3,2,3"]
