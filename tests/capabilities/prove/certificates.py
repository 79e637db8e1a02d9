"""The checker in process, as it is or with some of its text replaced."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from recon_cli import reconcheck
from recon_cli.capabilities.prove.refutation import refute
from recon_cli.proof.derivation import Budget, Count, ScopeProver
from recon_cli.proof.scope_rows import RowSource

SOURCE = Path(reconcheck.__file__).read_text(encoding="utf-8")


def patched(old: str, new: str) -> ModuleType:
    """The checker with some of its text replaced."""
    assert SOURCE.count(old) == 1, f"{SOURCE.count(old)} times: {old}"
    module = ModuleType("patched")
    exec(compile(SOURCE.replace(old, new), "patched", "exec"), module.__dict__)  # noqa: S102
    return module


def check(tables: str, proof: str, checker: Any = reconcheck) -> list[bool]:
    """What a checker says of each statement but sets of records.

    Raises:
        Refused: The checker's own: a line is refused.
    """
    read = checker.Tables(tables.splitlines())
    results = checker.Proof(read, proof.splitlines()).results
    return [proven for _, words, proven in results if words.split()[0] not in ("set", "part")]


def prover(tables: str, seconds: float = 10.0) -> ScopeProver:
    """A prover of the bounds that single cells leave in a scope of everything."""
    read: Any = reconcheck.Tables(tables.splitlines())
    atoms = [[1 << value for value in range(size)] for size in read.sizes]
    clique: Any = reconcheck.Clique(read, atoms, range(len(atoms)))
    scope: Any = reconcheck.Scope(read, [clique], set(range(len(read.counts))))
    found = ScopeProver.of(RowSource(read, [clique]), scope, Budget(seconds))
    found.propagate()
    return found


def derived(found: ScopeProver, masks: str, bound: int, *, is_least: bool) -> list[str] | None:
    """A proof that place 0 has at least, or at most, so many records, if one is found."""
    count = Count(*found.scope.count(0, (found.scope.tables.masks(masks.split()),)))
    refutation = refute(found, count, bound, is_least=is_least)
    if refutation is None:
        return None
    shared = [found.text(found.log[at]) for at in sorted(found.closure(refutation.shared))]
    word = "least" if is_least else "most"
    return ["in all", *shared, f"{word} {bound} 0 {masks}", *refutation.lines]


def program(random: np.random.Generator) -> tuple[str, list[tuple[int, ...]], int]:
    """Tables of one unit whose records have one feature, all their solutions, and its size."""
    size = int(random.integers(2, 6))
    truth = random.integers(0, 3, size)
    cells = [(1 << size) - 1, *random.integers(1, 1 << size, 3).tolist()]
    counts = [int(sum(truth[k] for k in range(size) if mask >> k & 1)) for mask in cells]
    widths = random.choice([0, 0, 1], len(cells)).tolist()
    lines = [f"feature kind {size}", "table T", *(f"cell 0 {n} {m:x}" for n, m in enumerate(cells))]
    lines += ["pattern 0.0-3", "unit U 0"]
    ends = [(max(n - width, 0), n + width) for n, width in zip(counts, widths, strict=True)]
    lines += [f"count 0 0 {n} {low} {high}" for n, (low, high) in enumerate(ends)]
    text = "\n".join(lines)
    return text, solutions(text), size


def solutions(tables: str) -> list[tuple[int, ...]]:
    """All solutions of tables of one unit and one feature, whose cell 0 counts everybody."""
    read: Any = reconcheck.Tables(tables.splitlines())
    (size,), cells = read.sizes, sorted(read.cells)
    ends = [read.counts[0].get(cell, (0, 0)) for cell in cells]
    grid = np.indices((ends[0][1] + 1,) * size).reshape(size, -1).T
    for cell, (low, high) in zip(cells, ends, strict=True):
        mask = read.cells[cell][0][0]
        total = grid[:, [k for k in range(size) if mask >> k & 1]].sum(axis=1)
        grid = grid[(low <= total) & (total <= high)]
    return [tuple(row) for row in grid.tolist()]


def ends(seed: int) -> Counter[str]:
    """What comes of both ends of every sum of kinds of a tiny table, and of the next beyond.

    Returns:
        How many are certified, some of them by cases, not found, or FALSE.
    """
    text, possible, size = program(np.random.default_rng(seed))
    found, outcomes = prover(text), Counter[str]()
    for mask in range(1, 1 << size):
        values = [sum(n for kind, n in enumerate(x) if mask >> kind & 1) for x in possible]
        for is_least, end in ((True, min(values)), (False, max(values))):
            beyond = end + 1 if is_least else end - 1
            if beyond >= 0 and derived(found, f"{mask:x}", beyond, is_least=is_least):
                outcomes["FALSE"] += 1
            lines = derived(found, f"{mask:x}", end, is_least=is_least)
            if lines is None or check(text, "\n".join(lines)) != [True]:
                outcomes["not found"] += 1
            else:
                is_tree = any(line.startswith("if ") for line in lines)
                outcomes["by cases" if is_tree else "certified"] += 1
    return outcomes
