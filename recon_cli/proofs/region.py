"""The proof of what a run says of one region: its text, and what became of each statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from recon_cli import reconcheck
from recon_cli.model.grain import Grain
from recon_cli.proofs.derivation import (
    Count,
    Effort,
    Refutation,
    ScopeProver,
    prove_unique,
    refute,
)
from recon_cli.proofs.scope_rows import BoolArray, RowSource
from recon_cli.proofs.statements import Bound, Statement
from recon_cli.proofs.tables import PublishedTables, grain_lines

#: Accepted by the checker: a derivation, or solutions that show it.
CERTIFIED: Final = "certified"
SHOWN: Final = "shown"
#: The run proves it, and no derivation was found.
CONFIRMED: Final = "confirmed"
#: The run says it, and nothing was found that shows it.
OPEN: Final = "open"

#: A row a statement: the place and the region that it is about, the folder that says it, what it
#: says, how it is proven and what came of it; the line of the proof, counted from 1, that states
#: it (0: none), and the bytes of its own lines.
STATEMENTS: Final = pl.Schema(
    {
        "geoid": pl.String,
        "region": pl.String,
        "source": pl.String,
        "statement": pl.String,
        "class": pl.String,
        "status": pl.String,
        "line": pl.Int32,
        "bytes": pl.Int32,
    }
)
#: Name of the reconstruction among the sets of a proof.
BASE: Final = "reconstruction"


@dataclass(frozen=True)
class RegionProof:
    """A proof that the checker accepts.

    Attributes:
        tables: What was published.
        proof: The proof.
        statements: Columns of `STATEMENTS`.
        seconds: Deterministic seconds.
    """

    tables: str
    proof: str
    statements: pl.DataFrame
    seconds: float


@dataclass
class _Text:
    """Lines of a proof, and where statements are."""

    lines: list[str] = field(default_factory=list)

    def add(self, lines: Iterable[str]) -> None:
        self.lines.extend(lines)

    def state(self, line: str, proof: Iterable[str] = ()) -> int:
        """Add a statement with its proof; the number of its line."""
        self.lines.append(line)
        number = len(self.lines)
        self.lines.extend(proof)
        return number


@dataclass(frozen=True)
class _Outcome:
    """What became of a bound or a statement."""

    line: int
    how: str
    size: int


class RegionProver:
    """Writes the proof of one region."""

    def __init__(
        self,
        written: PublishedTables,
        grain: Grain,
        region: str,
        records: pl.DataFrame | None,
        effort: Effort,
    ) -> None:
        """Of nothing so far.

        Args:
            written: The region's counts.
            grain: What tells records apart.
            region: Its geoid.
            records: Of a solution, as `recon reconstruct` writes them; None where people of it
                are missing.
            effort: For all of it.
        """
        self.written, self.region, self.effort = written, region, effort
        self.tables: Any = reconcheck.Tables(written.text.splitlines())
        header = ["recon-proof 1", *grain_lines(grain)]
        self.text = _Text(header)
        proof: Any = reconcheck.Proof(self.tables, header)
        self.clique: Any = reconcheck.Clique(self.tables, proof.atoms, range(len(proof.atoms)))
        self.source = RowSource(self.tables, self.clique)
        self.bounds: dict[tuple[int, Bound], _Outcome] = {}
        self.unique: dict[int, _Outcome] = {}
        self.sets = 0
        self.of_unit: defaultdict[int, list[tuple[int, list[int]]]] = defaultdict(list)
        if records is not None:
            self._reconstruction(list(written.record_lines(records)))

    def _reconstruction(self, lines: list[str]) -> None:
        for line in lines:
            unit, times, *values = map(int, line.split()[1:])
            self.of_unit[unit].append((times, values))
        self.text.add(["in all"])
        self.sets = self.text.state(f"set {BASE}", [*lines, "end"])

    def scope(self, units: set[int]) -> Any:
        """A scope as the checker has it, without bounds."""
        self.tables.work = 0  # the limit is for reading a text
        return reconcheck.Scope(self.tables, [self.clique], units)

    def prove_units(self, statements: Sequence[Statement]) -> None:
        """What is said of units, each in a scope of its own."""
        by_unit: defaultdict[int, list[Statement]] = defaultdict(list)
        for each in statements:
            place = self.written.places.get(each.geoid)
            if place is not None and place in self.tables.units[place]:
                by_unit[place].append(each)
        for unit in sorted(by_unit):
            self._unit(unit, by_unit[unit])

    def _unit(self, unit: int, statements: Sequence[Statement]) -> None:
        prover = ScopeProver.of(self.source, self.scope({unit}), self.effort)
        if prover.propagate():
            return
        if any(each.is_unique for each in statements) and self.sets:
            needed = prove_unique(prover, unit, self._present(unit))
            if needed is not None:
                self._state_unique(prover, unit, needed)
                wanted = {bound for each in statements for bound in each.bounds}
                held = self._held(unit, wanted)
                self.bounds.update(((unit, bound), self.unique[unit]) for bound in held)
                return
        found: dict[Bound, Refutation] = {}
        for bound in {bound: None for each in statements for bound in each.bounds}:
            if (refutation := self._refute(prover, unit, bound)) is not None:
                found[bound] = refutation
        self._state_bounds(prover, f"in {unit}", unit, found)

    def _state_unique(self, prover: ScopeProver, unit: int, needed: set[int]) -> None:
        shared = [prover.log[at].text for at in sorted(prover.closure(needed))]
        self.text.add([f"in {unit}", *shared])
        line = self.text.state(f"unique {unit}")
        size = sum(map(len, shared)) + len(shared)
        how = "combination" if any(" " in each[2:] for each in shared) else "bounds"
        self.unique[unit] = _Outcome(line, how, size)

    def _state_bounds(
        self, prover: ScopeProver, scope: str, place: int, found: dict[Bound, Refutation]
    ) -> None:
        if not found:
            return
        shared = prover.closure(at for each in found.values() for at in each.shared)
        self.text.add([scope, *(prover.log[at].text for at in sorted(shared))])
        for bound, refutation in found.items():
            word = "least" if bound.is_least else "most"
            stated = f"{word} {bound.number} {place} {bound.what}"
            line = self.text.state(stated, refutation.lines)
            size = len(stated) + 1 + sum(len(each) + 1 for each in refutation.lines)
            self.bounds[place, bound] = _Outcome(line, refutation.how, size)

    def _refute(self, prover: ScopeProver, place: int, bound: Bound) -> Refutation | None:
        try:
            count = self._count(prover.scope, place, bound.what)
        except reconcheck.Refused:  # finer than the grain
            return None
        return refute(prover, count, bound.number, is_least=bound.is_least)

    def _count(self, scope: Any, place: int, what: str) -> Count:
        if "." in what:
            (cell,) = self.tables.cells_of(what)
            predicates = self.tables.cells[cell]
        else:
            predicates = (self.tables.masks(what.split()),)
        return Count(*scope.count(place, predicates))

    def _present(self, unit: int) -> dict[int, int]:
        """Unknown → records in the reconstruction, in the scope of a unit alone."""
        found: dict[int, int] = {}
        for times, values in self.of_unit[unit]:
            kind = self.kind(values)
            found[kind] = found.get(kind, 0) + times
        return found

    def kind(self, values: Sequence[int]) -> int:
        """The kind of a record."""
        number, stride = 0, 1
        for atoms, value in zip(self.clique.atoms, values, strict=True):
            number += stride * next(at for at, atom in enumerate(atoms) if atom >> value & 1)
            stride *= len(atoms)
        return number

    def _held(self, unit: int, bounds: Iterable[Bound]) -> Iterator[Bound]:
        """The bounds that the reconstruction, the only solution of a unit, is within."""
        times = np.array([times for times, _ in self.of_unit[unit]], dtype=np.int64)
        values = [values for _, values in self.of_unit[unit]]
        known: dict[tuple[int, str], BoolArray] = {}
        for bound in bounds:
            inside = np.ones(len(times), dtype=bool)
            for feature, word in enumerate(bound.what.split()):
                if word != "*" and (feature, word) not in known:
                    mask = int(word, 16)
                    known[feature, word] = np.array([mask >> v[feature] & 1 == 1 for v in values])
                inside &= word == "*" or known[feature, word]
            number = int(times[inside].sum())
            if number >= bound.number if bound.is_least else number <= bound.number:
                yield bound

    def result(self, statements: Sequence[Statement]) -> RegionProof:
        """The text, held by the checker, and what became of each statement."""
        proof = "\n".join(self.text.lines) + "\n"
        self.tables.work = 0
        checked: Any = reconcheck.Proof(self.tables, self.text.lines)
        accepted = {line for line, _, is_proven in checked.results if is_proven}
        rows = [self._row(each, accepted) for each in statements]
        frame = pl.DataFrame(rows, schema=STATEMENTS, orient="row")
        return RegionProof(self.written.text, proof, frame, round(self.effort.spent, 9))

    def _row(self, statement: Statement, accepted: set[int]) -> tuple[object, ...]:
        place = self.written.places[statement.geoid]
        if statement.is_unique:
            outcomes = [self.unique.get(place)]
        else:
            outcomes = [self.bounds.get((place, bound)) for bound in statement.bounds]
        known = [each for each in outcomes if each is not None and each.line in accepted]
        is_proven = bool(outcomes) and len(known) == len(outcomes)
        status = CERTIFIED if is_proven else CONFIRMED
        last = known[-1] if is_proven else _Outcome(0, "", 0)
        how = "combination" if any(e.how == "combination" for e in known) else last.how
        key = statement.geoid, self.region, statement.source, statement.text
        return (
            *key,
            how or None,
            status,
            last.line,
            sum(e.size for e in known) if is_proven else 0,
        )
