"""Mutated proofs: does the checker accept anything false?

``python -m benchmarks.proofs --mutations 10000`` takes proofs of tiny tables, changes words of
them, and holds every statement that is accepted against all solutions. The exit status is 1 if
one is false.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np

from recon_cli import reconcheck
from tests.proofs.certificates import derived, program, prover


def mutated(lines: list[str], random: np.random.Generator) -> list[str]:
    """A proof with one to three digits, signs or lines changed."""
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


def is_true(statement: str, solutions: list[tuple[int, ...]]) -> bool:
    """Whether a statement about the one unit holds in all solutions."""
    word, number, *what = statement.split()
    if word == "contradiction":
        return not solutions
    mask = int(what[1], 16) if what[1] != "*" else -1
    values = [sum(n for kind, n in enumerate(x) if mask >> kind & 1) for x in solutions]
    return all(n >= int(number) if word == "least" else n <= int(number) for n in values)


def outcome(seed: int) -> str:
    """What comes of one mutated proof: refused, not proven, true, or FALSE."""
    random = np.random.default_rng(seed)
    text, solutions, size = program(random)
    tables: Any = reconcheck.Tables(text.splitlines())
    mask = int(random.integers(1, 1 << size))
    values = [sum(n for kind, n in enumerate(x) if mask >> kind & 1) for x in solutions]
    is_least = bool(random.integers(2))
    end = min(values) if is_least else max(values)
    word = "least" if is_least else "most"
    unproven = ["in all", f"{word} {end} 0 {mask:x}", "p 0:0.0"]
    proof = derived(prover(text), f"{mask:x}", end, is_least=is_least) or unproven
    changed = mutated(proof, random)
    try:
        results = reconcheck.Proof(tables, changed).results
    except reconcheck.Refused:
        return "refused"
    except (IndexError, KeyError, TypeError, ValueError) as error:
        return f"DIED {error!r}"
    accepted = [statement for _, statement, is_proven in results if is_proven]
    if not accepted:
        return "not proven"
    plain = [statement for statement in accepted if "." not in statement]
    return "true" if all(is_true(each, solutions) for each in plain) else "FALSE"


def main() -> int:
    """Count outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    first = options.seed * 1_000_000
    outcomes = Counter(outcome(seed) for seed in range(first, first + options.mutations))
    for word, number in sorted(outcomes.items()):
        sys.stdout.write(f"{word:12}{number:8,}\n")
    return int(any(word.isupper() or word.startswith("DIED") for word in outcomes))


if __name__ == "__main__":
    sys.exit(main())
