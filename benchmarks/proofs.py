"""Mutated proofs: does the checker accept anything false?

``python -m benchmarks.proofs --mutations 10000 --tables 1000 --ends 300`` takes proofs of tiny
tables (ends, sets and parts that differ, units with one solution, least changes), changes words of
them, or counts of the tables, and holds every statement that is accepted against all solutions. Of
further tables it looks for a proof of both ends of every sum of kinds, and beyond. The exit status
is 1 if a statement is false, or an end has no proof.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from recon_cli import reconcheck
from recon_cli.capabilities.prove.refutation import prove_unique
from recon_cli.capabilities.reconstruct.contradiction_proof import least_change
from recon_cli.proof.derivation import Budget
from recon_cli.proof.scope_rows import RowSource
from tests.capabilities.prove.certificates import derived, ends, program, prover, solutions


def mutated(lines: list[str], random: np.random.Generator) -> list[str]:
    """Return a proof with one to three digits, signs or lines changed."""
    changed = list(lines)
    for _ in range(int(random.integers(1, 4))):
        at, kind = int(random.integers(1, len(changed))), int(random.integers(8))
        line = changed[at]
        digits = [place for place, letter in enumerate(line) if letter.isdigit()]
        place = int(random.choice(digits)) if digits else 0
        if kind == 0:
            changed.insert(at, line)
        elif kind == 1 and len(changed) > 2:
            del changed[at]
        elif kind == 2:
            changed[at] = line.replace("-*", "", 1) if "-*" in line else line.replace("p ", "p -*")
        elif kind == 3:
            changed[at] = line.replace("least", "most") if "least" in line else line + " goal"
        else:
            changed[at] = line[:place] + str(random.integers(5)) + line[place + 1 :]
    return changed


def with_other_counts(tables: str, random: np.random.Generator) -> str:
    """Return tables with one or two counts one higher or lower."""
    lines = tables.splitlines()
    counts = [at for at, line in enumerate(lines) if line.startswith("count ")]
    for at in random.choice(counts, size=int(random.integers(1, 3)), replace=False).tolist():
        *where, low, high = lines[at].split()
        step = int(random.choice([-1, 1])) if int(low) else 1
        lines[at] = " ".join([*where, str(int(low) + step), str(int(high) + step)])
    return "\n".join(lines)


def least_total(tables: str) -> int:
    """By how much the counts of tables of one unit and one feature have to change in total."""
    read: Any = reconcheck.Tables(tables.splitlines())
    ends = {cell: read.counts[0].get(cell, (0, 0)) for cell in read.cells}
    grid = np.indices((max(high for _, high in ends.values()) + 1,) * read.sizes[0])
    total = np.zeros(grid.shape[1:], dtype=np.int64)
    for cell, (low, high) in ends.items():
        counted = sum(grid[kind] for kind in reconcheck.bits(read.cells[cell][0][0]))
        total += np.maximum(low - counted, 0) + np.maximum(counted - high, 0)
    return int(total.min())


def change_of(tables: str) -> list[str]:
    """Return a proof of a least change of two or more; no lines where there is none."""
    read: Any = reconcheck.Tables(tables.splitlines())
    clique: Any = reconcheck.Clique(read, [[1 << k for k in range(read.sizes[0])]], [0])
    found = least_change(RowSource(read, [clique]), {0}, Budget(10.0))
    return ["in all", *found.lines] if found.lines else []


def is_true(statement: str, possible: list[tuple[int, ...]], least: int = 0) -> bool:
    """Test whether a statement about the one unit holds in all solutions, or some show it.

    Args:
        possible: All solutions.
        least: As from `least_total`.
    """
    word, *rest = statement.split()
    if word == "change":
        return int(rest[0]) <= least
    if word in ("contradiction", "unique"):
        return not possible if word == "contradiction" else len(possible) == 1
    number, mask = rest[-3], rest[-1]
    bits = int(mask, 16) if mask != "*" else -1
    values = [sum(n for kind, n in enumerate(x) if bits >> kind & 1) for x in possible]
    if word in ("differ", "vary"):
        return bool(values) and max(values) - min(values) >= int(number)
    return all(n >= int(number) if word == "least" else n <= int(number) for n in values)


def proof_of(text: str, possible: list[tuple[int, ...]], random: np.random.Generator) -> list[str]:
    """Return a proof of an end, of two solutions that differ, or that there is one alone."""
    size = len(possible[0])
    mask = int(random.integers(1, 1 << size))
    values = [sum(n for kind, n in enumerate(x) if mask >> kind & 1) for x in possible]
    found, kind = prover(text), int(random.integers(3))
    needed = None
    if kind == 0:
        needed = prove_unique(found, 0, dict(enumerate(possible[0])))
    if kind == 1 and max(values) > min(values):
        least, most = possible[int(np.argmin(values))], possible[int(np.argmax(values))]
        apart = max(values) - min(values)
        noun, verb = [("set", "differ"), ("part", "vary")][int(random.integers(2))]
        base = [" a", ""][int(random.integers(2))]
        sets = [*record_set("a", least, noun), *record_set(f"b{base}", most, noun)]
        return ["in all", *sets, f"{verb} a b {apart} 0 {mask:x}"]
    if needed is not None:
        lines = [found.text(found.log[at]) for at in sorted(found.closure(needed))]
        return ["in all", *lines, *record_set("a", possible[0]), "unique 0"]
    is_least = bool(random.integers(2))
    end = min(values) if is_least else max(values)
    word = "least" if is_least else "most"
    unproven = ["in all", f"{word} {end} 0 {mask:x}", "p 0:0.0"]
    return derived(prover(text), f"{mask:x}", end, is_least=is_least) or unproven


def record_set(name: str, records: tuple[int, ...], noun: str = "set") -> list[str]:
    """Return the lines of a set, or of a part."""
    return [f"{noun} {name}", *(f"r 0 {n} {kind}" for kind, n in enumerate(records) if n), "end"]


def outcome_of_change(seed: int) -> str:
    """Tell what comes of one mutated proof that counts have to change by so much; see `outcome`."""
    random = np.random.default_rng(seed)
    proof: list[str] = []
    while not proof:
        text, _, _ = program(random)
        for _ in range(2):
            text = with_other_counts(text, random)
        proof = change_of(text)
    return _outcome(text, mutated(proof, random), solutions(text), least_total(text))


def outcome(seed: int, *, of_tables: bool = False) -> str:
    """Tell what comes of one mutated proof, or of a proof of other counts.

    Returns:
        Refused, not proven, true, or FALSE.
    """
    random = np.random.default_rng(seed)
    text, possible, _ = program(random)
    proof = proof_of(text, possible, random)
    if of_tables:
        text = with_other_counts(text, random)
        possible = solutions(text)
    else:
        proof = mutated(proof, random)
    return _outcome(text, proof, possible)


def _outcome(text: str, proof: list[str], possible: list[tuple[int, ...]], least: int = 0) -> str:
    tables: Any = reconcheck.Tables(text.splitlines())
    try:
        results = reconcheck.Proof(tables, proof).results
    except reconcheck.Refused:
        return "refused"
    except (IndexError, KeyError, TypeError, ValueError) as error:
        return f"DIED {error!r}"
    accepted = [statement for _, statement, is_proven in results if is_proven]
    accepted = [each for each in accepted if each.split()[0] not in ("set", "part")]
    if not accepted:
        return "not proven"
    plain = [each for each in accepted if "." not in each or each.startswith("change")]
    return "true" if all(is_true(each, possible, least) for each in plain) else "FALSE"


def main() -> int:
    """Count outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--changes", type=int, default=2_000, help="mutated proofs of changes")
    parser.add_argument("--ends", type=int, default=300, help="tables whose ends are proven")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    first, is_wrong = options.seed * 1_000_000, False
    for name, number, come_of in (
        ("mutated proofs", options.mutations, outcome),
        ("mutated proofs of least changes", options.changes, outcome_of_change),
        ("proofs of other counts", options.tables, partial(outcome, of_tables=True)),
    ):
        outcomes = Counter(come_of(seed) for seed in range(first, first + number))
        sys.stdout.write(f"{name}\n")
        for word, often in sorted(outcomes.items()):
            sys.stdout.write(f"  {word:12}{often:8,}\n")
        is_wrong |= any(word[:4] in ("FALS", "DIED") for word in outcomes)
    found = sum((ends(seed) for seed in range(options.ends)), Counter[str]())
    sys.stdout.write("ends of sums of kinds\n")
    for word, often in sorted(found.items()):
        sys.stdout.write(f"  {word:12}{often:8,}\n")
    return int(is_wrong or bool({"FALSE", "not found"} & found.keys()))


if __name__ == "__main__":
    sys.exit(main())
