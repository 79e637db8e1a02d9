"""The sum of published counts that a bound is, as people read it."""

from __future__ import annotations

from typing import Final

from recon_cli.proofs.derivation import GOAL, ScopeProver
from recon_cli.proofs.refutation import Refutation
from recon_cli.proofs.statements import Bound
from recon_cli.proofs.tables import PublishedTables

#: Of a sum that is worth reading.
_TERMS: Final = 6


def sum_text(
    written: PublishedTables, prover: ScopeProver, place: int, bound: Bound, refutation: Refutation
) -> str:
    """The sum of counts that is a bound, such as ``OUTCOMES 2 (5) − AGES 3 (4)``.

    Nothing where further bounds add to it, or it has many terms.
    """
    divisor = sum(weight for weight, row in refutation.terms if row == GOAL) or 1
    names = prover.rows.names
    cells = [(w, row) for w, row in refutation.terms if row != GOAL and "=" not in names[row]]
    sign = -1 if bound.is_least else 1
    ends = [prover.rows.least if weight < 0 else prover.rows.most for weight, _ in cells]
    counts = [int(end[row]) for end, (_, row) in zip(ends, cells, strict=True)]
    total = sum(sign * weight * n for (weight, _), n in zip(cells, counts, strict=True))
    rounded = -(-total // divisor) if bound.is_least else total // divisor
    if not cells or len(cells) > _TERMS or rounded != bound.number:
        return ""
    words = []
    for (weight, row), number in zip(cells, counts, strict=True):
        times = f"{abs(weight)} × " if abs(weight) > 1 else ""
        named = f"{times}{_cell_words(written, names[row], place)} ({number:,})"
        words.append(("+ " if sign * weight > 0 else "− ") + named)
    words.sort(key=lambda word: word[0] != "+")
    text = " ".join(words).removeprefix("+ ")
    return f"({text}) / {divisor}" if divisor > 1 else text


def _cell_words(written: PublishedTables, name: str, place: int) -> str:
    """Table and cell of a row, with its place where that is another one."""
    number, _, cells = name.partition(":")
    table, _, numbers = cells.partition("/")[0].partition(".")
    named = f"{written.tables[int(table)].name} {numbers}"
    where = "" if int(number) == place else f"{list(written.places)[int(number)]} "
    return where + named
