"""The proof of a run's findings about one region: its text, and the outcome of each."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final

import numpy as np
import polars as pl

from recon_cli import reconcheck
from recon_cli.arrays import IntArray
from recon_cli.capabilities.prove.record_sets import PartSearch, RecordSet
from recon_cli.capabilities.prove.refutation import (
    Refutation,
    prove_unique,
    refute,
    settle_sums,
    sum_text,
)
from recon_cli.capabilities.prove.statements import Bound, Statement
from recon_cli.capabilities.reconstruct.junction_tree import JunctionTree
from recon_cli.model.grain import Grain
from recon_cli.model.predicates import Masks
from recon_cli.proof.derivation import Budget, Count, ScopeProver
from recon_cli.proof.scope_rows import Patterns, RowSource
from recon_cli.proof.tables import PublishedTables, grain_lines
from recon_cli.solve.cp_sat import Effort

#: Accepted by the checker: a derivation, or solutions that show it.
CERTIFIED: Final = "certified"
SHOWN: Final = "shown"
#: The run proves it, and no derivation was found.
CONFIRMED: Final = "confirmed"
#: The run says it, and nothing was found that shows it.
OPEN: Final = "open"

#: A row per statement: its place and region, the folder that it is from, its text, the class of its
#: proof and its status; the number of the line that states it, from 1 (0: none), the bytes of its
#: own lines, and the sum of counts that proves it.
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
        "sum": pl.String,
    }
)


@dataclass(frozen=True)
class RegionProof:
    """A proof.

    Attributes:
        statements: Columns of `STATEMENTS`.
        seconds: Deterministic seconds.
    """

    tables: str
    proof: str
    statements: pl.DataFrame
    seconds: float


@dataclass
class _Text:
    """Lines of a proof, and the positions of statements."""

    lines: list[str] = field(default_factory=list)

    def add(self, lines: Iterable[str]) -> None:
        self.lines.extend(lines)

    def state(self, line: str, proof: Iterable[str] = ()) -> int:
        """Add a statement with its proof; return the number of its line."""
        self.lines.append(line)
        number = len(self.lines)
        self.lines.extend(proof)
        return number


@dataclass(frozen=True)
class _Outcome:
    line: int
    how: str
    size: int
    total: str = ""


@dataclass
class KnownPatterns:
    """Constraint rows of cells that are published together, kept for all regions.

    Attributes:
        narrow: Over the kinds of each clique of features.
        joint: Over the kinds of whole records.
    """

    narrow: Patterns = field(default_factory=dict)
    joint: Patterns = field(default_factory=dict)


class RegionProver:
    """Writes the proof of one region."""

    def __init__(
        self,
        written: PublishedTables,
        grain: Grain,
        region: str,
        records: pl.DataFrame | None,
        *,
        tree: JunctionTree | None = None,
        budget: Budget,
        effort: Effort,
        known: KnownPatterns | None = None,
    ) -> None:
        """Start an empty proof.

        Args:
            written: The region's counts.
            records: Records of a solution, as `recon reconstruct` writes them; None if people are
                missing.
            tree: Cliques over which counts are proven that they resolve.
            effort: Effort for each set of records of a unit alone.
            known: Rows from earlier regions with the same tables, grain and tree.
        """
        self.written, self.region, self.budget = written, region, budget
        self.effort = effort
        self.tables: Any = reconcheck.Tables(written.text.splitlines())
        header = ["recon-proof 1", *grain_lines(grain)]
        proof: Any = reconcheck.Proof(self.tables, header)
        self.atoms: list[list[int]] = proof.atoms
        cliques = [] if tree is None else tree.cliques
        narrow = [reconcheck.Clique(self.tables, self.atoms, each) for each in cliques]
        self.joint: RowSource | None = None
        self.forms: list[RowSource] = []
        known = KnownPatterns() if known is None else known
        if tree is not None:
            shared = [(each.before, each.clique, each.features) for each in tree.separators]
            self.forms.append(RowSource(self.tables, narrow, shared, patterns=known.narrow))
        if math.prod(map(len, self.atoms)) <= reconcheck.MOST_KINDS:
            every = range(len(self.atoms))
            joint: Any = reconcheck.Clique(self.tables, self.atoms, every)
            suffix = f"/{len(narrow)}" if narrow else ""
            self.joint = RowSource(self.tables, [joint], suffix=suffix, patterns=known.joint)
            self.forms.append(self.joint)
            cliques = [*cliques, tuple(every)] if narrow else []
        lines = (" ".join(["clique", *map(str, features)]) for features in cliques)
        self.text = _Text([*header, *lines])
        self.bounds: dict[tuple[int, Bound], _Outcome] = {}
        self.unique: dict[int, _Outcome] = {}
        self.settled: set[int] = set()
        self.differences: dict[Statement, _Outcome] = {}
        self.sets: list[RecordSet] = []
        self._read: dict[str, tuple[Masks, ...]] = {}
        first = None if records is None else self._set(records, "reconstruction")
        if first is not None:
            self.text.add(["in all"])
            self._add(first)

    def _set(self, records: pl.DataFrame, name: str) -> RecordSet | None:
        """Convert records to a set; None if some values are impossible, or print another text."""
        lines = self.written.record_lines(records)
        if lines is None or (any(self.tables.printed) and not self._prints(lines)):
            return None
        return RecordSet.of(name, lines, self.atoms)

    def _prints(self, lines: Sequence[str]) -> bool:
        """Test whether the checker accepts a set of records."""
        proof: Any = reconcheck.Proof(self.tables, [])
        proof.scope = reconcheck.Scope(self.tables, [], set().union(*self.tables.units))
        proof.lines = [*lines, "end"]
        try:
            proof.records({})
        except reconcheck.Refused:
            return False
        return True

    def _add(self, records: RecordSet) -> None:
        base = self.sets[:1]
        lines = records.changed(base[0]) if base else records.lines
        self.sets.append(records)
        words = ["set", records.name, *(each.name for each in base)]
        self.text.state(" ".join(words), [*lines, "end"])

    def show(self, statements: Sequence[Statement], others: Iterable[pl.DataFrame]) -> None:
        """Show stated differences between solutions, before other proofs.

        Args:
            others: Records of other solutions; those are written that show something.
        """
        places = self.written.places
        left = {each: self._units_of(each) for each in statements if each.geoid in places}
        found: dict[Statement, tuple[RecordSet, RecordSet, str]] = {}
        sets, ends = list(self.sets), dict[Statement, list[tuple[int, RecordSet]]]()
        for number, records in enumerate(others if sets else (), 1):
            if (other := self._set(records, f"other{number}")) is None:
                continue
            sets.append(other)
            for statement, units in left.items():
                pair = self._far_apart(statement, units, sets, ends)
                if (what := self._apart(statement, units, *pair)) is not None:
                    found[statement] = (*pair, what)
            left = {each: units for each, units in left.items() if each not in found}
            if not left:
                break
        needed = {each.name for pair in found.values() for each in pair[:2]}
        for each in sets[1:]:
            if each.name in needed:
                self._add(each)
        for statement, (one, other, what) in found.items():
            place = places[statement.geoid]
            line = f"differ {one.name} {other.name} {statement.apart} {place} {what}"
            self.differences[statement] = _Outcome(self.text.state(line), "sets", len(line) + 1)

    def _units_of(self, statement: Statement) -> IntArray:
        place = self.written.places[statement.geoid]
        return np.array(sorted(self.tables.units[place]), dtype=np.int64)

    def _far_apart(
        self,
        statement: Statement,
        units: IntArray,
        sets: Sequence[RecordSet],
        ends: dict[Statement, list[tuple[int, RecordSet]]],
    ) -> tuple[RecordSet, RecordSet]:
        """Return the first set and the last, or those with the least and the greatest count."""
        if not statement.what:
            return sets[0], sets[-1]
        predicates = self._predicates(statement.what)
        counted = sets if statement not in ends else sets[-1:]
        numbers = [(each.count(units, predicates), each) for each in counted]
        numbers = sorted([*ends.get(statement, ()), *numbers], key=lambda pair: pair[0])
        ends[statement] = [numbers[0], numbers[-1]]
        return numbers[0][1], numbers[-1][1]

    def _apart(
        self, statement: Statement, units: IntArray, one: RecordSet, other: RecordSet
    ) -> str | None:
        """Format the difference of two sets that a statement names."""
        what = statement.what or self._differing_kind(units, one, other)
        if what is None:
            return None
        numbers = [each.count(units, self._predicates(what)) for each in (one, other)]
        return what if abs(numbers[0] - numbers[1]) >= statement.apart else None

    def _prover(
        self, form: RowSource, units: set[int], alone: Collection[int] | None = None
    ) -> ScopeProver | None:
        """Prepare a propagated prover of a scope; None if rows contradict each other."""
        self.tables.work = 0  # the limit is for reading a text
        scope: Any = reconcheck.Scope(self.tables, form.cliques, units)
        prover = ScopeProver.of(form, scope, self.budget, alone)
        return None if prover.propagate() or settle_sums(prover) else prover

    def _form_of(self, what: str) -> RowSource | None:
        """Choose the kinds over which to prove a count: the first that the checker resolves."""
        predicates = self._predicates(what)
        return next((form for form in self.forms if form.resolves(predicates)), None)

    def prove_units(self, statements: Sequence[Statement]) -> None:
        """Prove the statements about units, each in a scope of its own."""
        by_unit: defaultdict[int, list[Statement]] = defaultdict(list)
        for each in statements:
            place = self.written.places.get(each.geoid)
            if place is not None and place in self.tables.units[place]:
                by_unit[place].append(each)
        said = {u: of for u, of in by_unit.items() if any(each.is_unique for each in of)}
        if said and self.sets and self.joint is not None:
            self._settle(self.joint, said)
        for unit in sorted(by_unit.keys() - self.settled):
            if left := [each for each in by_unit[unit] if self._outcomes(each) is None]:
                self._unit(unit, left)

    def _settle(self, form: RowSource, said: Mapping[int, Sequence[Statement]]) -> None:
        """Prove in one scope the units that propagation over their own counts determines."""
        prover = self._prover(form, set().union(*self.tables.units), said.keys())
        if prover is None:
            return
        of_unit = prover.rows.unit
        open_ones = set(of_unit[prover.low < prover.high].tolist())
        settled = [unit for unit in sorted(said) if unit not in open_ones]
        inside = np.isin(of_unit, settled)
        mine = prover.rows.unknowns[inside].tolist()
        needed = prover.closure(prover.makers(product((True, False), mine)))
        size: defaultdict[str, int] = defaultdict(int)
        self.text.add(["in all"])
        for at in sorted(needed):
            line = prover.log[at]
            text = prover.text(line)
            size[prover.rows.names[line.terms[0][1]].partition(":")[0]] += len(text) + 1
            self.text.add([text])
        for unit in settled:
            number = self.text.state(f"unique {unit}")
            self._hold(unit, _Outcome(number, "bounds", size[str(unit)]), said[unit])

    def prove_region(self, statements: Sequence[Statement]) -> None:
        """Prove the remaining statements in the scope of all units together."""
        places = self.written.places
        left = {geoid for geoid, place in places.items() if place not in self.settled}
        known = [e for e in statements if e.geoid in left and self._outcomes(e) is None]
        of_place: defaultdict[int, list[Statement]] = defaultdict(list)
        for each in known:
            of_place[places[each.geoid]].append(each)
        several = [places[e.geoid] for e in known if e.is_unique and self.sets]
        several = [unit for unit in several if unit not in self.unique]
        units = set().union(*self.tables.units)
        for form in self.forms:
            wanted = several if form is self.joint else []
            if not wanted and not self._unproven(form, known):
                continue
            prover = self._prover(form, units)
            if prover is None:
                return
            for unit in wanted:
                self._prove_unique(prover, "in all", unit, of_place[unit])
            self._bounds(prover, "in all", self._unproven(form, known))

    def _unproven(
        self, form: RowSource, statements: Sequence[Statement]
    ) -> dict[tuple[int, Bound], None]:
        """Return places and bounds without a proof so far, over some kinds."""
        places = self.written.places
        said = ((places[each.geoid], bound) for each in statements for bound in each.bounds)
        left = (each for each in said if each not in self.bounds)
        return {each: None for each in left if self._form_of(each[1].what) is form}

    def _bounds(self, prover: ScopeProver, scope: str, bounds: Iterable[tuple[int, Bound]]) -> None:
        """Prove bounds, as far as possible."""
        found: dict[tuple[int, Bound], Refutation] = {}
        for place, bound in bounds:
            if (refutation := self._refute(prover, place, bound)) is not None:
                found[place, bound] = refutation
        self._state_bounds(prover, scope, found)

    def _unit(self, unit: int, statements: Sequence[Statement]) -> None:
        is_unique = any(each.is_unique for each in statements) and bool(self.sets)
        is_unique &= unit not in self.unique
        alone = [each for each in statements if each.is_alone]
        for form in self.forms:
            is_wanted = form is self.joint and (is_unique or alone)
            if not is_wanted and not self._unproven(form, statements):
                continue
            prover = self._prover(form, {unit})
            if prover is None:
                return
            if form is self.joint and is_unique:
                self._prove_unique(prover, f"in {unit}", unit, statements)
            self._bounds(prover, f"in {unit}", self._unproven(form, statements))
            if form is self.joint:
                self._vary(prover, unit, alone)

    def _vary(self, prover: ScopeProver, unit: int, statements: Sequence[Statement]) -> None:
        """Prove differences between records of a unit alone that no full solutions show."""
        left = [each for each in statements if each not in self.differences]
        if not left or not self.sets:
            return
        search = PartSearch(prover, unit, self.sets[0], self.effort)
        known = replace(self.sets[0].within(np.array([unit])), name="known")
        parts, shown = [known], dict[Statement, str]()
        for statement in left:
            for count in self._varying(prover, unit, statement) if statement not in shown else ():
                for lines in search.differing(count, statement.apart):
                    other = RecordSet.of(f"other{len(parts)}", lines, known.atoms)
                    found = {
                        each: f"vary known {other.name} {each.apart} {unit} {what}"
                        for each in left
                        if each not in shown
                        if (what := self._apart(each, np.array([unit]), known, other))
                    }
                    shown |= found
                    parts += [other] if found else []
                    if statement in shown:
                        break
                if statement in shown:
                    break
        if shown:
            self.text.add([f"in {unit}"])
            for each in parts:
                self.text.state(f"part {each.name}", [*each.lines, "end"])
        for statement, line in shown.items():
            self.differences[statement] = _Outcome(self.text.state(line), "parts", len(line) + 1)

    def _varying(
        self, prover: ScopeProver, unit: int, statement: Statement
    ) -> Iterator[dict[int, int]]:
        """Yield counts, one of which must vary: the statement's, or else each open kind's."""
        if statement.what:
            yield self._count(prover.scope, unit, statement.what).coefficients
            return
        is_open = (prover.low < prover.high) & (prover.rows.unknowns >= 0)
        unknowns = prover.rows.unknowns[is_open]
        yield from ({unknown: 1} for unknown in unknowns.tolist())

    def _prove_unique(
        self, prover: ScopeProver, scope: str, unit: int, statements: Sequence[Statement]
    ) -> None:
        """Prove that a unit has one solution, and the statements that follow."""
        needed = prove_unique(prover, unit, self._present(prover.scope, unit))
        if needed is None:
            return
        shared = [prover.text(prover.log[at]) for at in sorted(prover.closure(needed))]
        self.text.add([scope, *shared])
        line = self.text.state(f"unique {unit}")
        size = sum(map(len, shared)) + len(shared)
        how = "combination" if any(" " in each[2:] for each in shared) else "bounds"
        self._hold(unit, _Outcome(line, how, size), statements)

    def _hold(self, unit: int, outcome: _Outcome, statements: Sequence[Statement]) -> None:
        """Record the statements that hold in the only solution of a unit."""
        self.unique[unit] = outcome
        wanted = {bound for each in statements for bound in each.bounds}
        held = set(self._held(unit, wanted))
        self.bounds.update(((unit, bound), outcome) for bound in held)
        if len(held) == len(wanted) and not any(each.apart for each in statements):
            self.settled.add(unit)

    def _state_bounds(
        self, prover: ScopeProver, scope: str, found: dict[tuple[int, Bound], Refutation]
    ) -> None:
        if not found:
            return
        shared = prover.closure(at for each in found.values() for at in each.shared)
        self.text.add([scope, *(prover.text(prover.log[at]) for at in sorted(shared))])
        for (place, bound), refutation in found.items():
            word = "least" if bound.is_least else "most"
            stated = f"{word} {bound.number} {place} {bound.what}"
            line = self.text.state(stated, refutation.lines)
            size = len(stated) + 1 + sum(len(each) + 1 for each in refutation.lines)
            total = sum_text(self.written, prover, place, bound, refutation)
            self.bounds[place, bound] = _Outcome(line, refutation.how, size, total)

    def _refute(self, prover: ScopeProver, place: int, bound: Bound) -> Refutation | None:
        count = self._count(prover.scope, place, bound.what)
        return refute(prover, count, bound.number, is_least=bound.is_least)

    def _count(self, scope: Any, place: int, what: str) -> Count:
        return Count(*scope.count(place, self._predicates(what)))

    def _predicates(self, what: str) -> tuple[Masks, ...]:
        if what not in self._read:
            if "." in what:
                (cell,) = self.tables.cells_of(what)
                self._read[what] = self.tables.cells[cell]
            else:
                self._read[what] = (self.tables.masks(what.split()),)
        return self._read[what]

    def _present(self, scope: Any, unit: int) -> dict[int, int]:
        """Map unknowns to records in the reconstruction."""
        start, _ = scope.open[unit, 0]
        return {start + kind: n for kind, n in self.sets[0].kinds(unit).items()}

    def _differing_kind(self, units: IntArray, one: RecordSet, other: RecordSet) -> str | None:
        """Return masks of a kind of records whose number differs between two sets."""
        for unit in units.tolist():
            numbers = [each.kinds(unit) for each in (one, other)]
            for kind in sorted(numbers[0].keys() | numbers[1].keys()):
                if numbers[0].get(kind) != numbers[1].get(kind):
                    return self._masks(kind)
        return None

    def _masks(self, kind: int) -> str:
        masks = []
        for atoms in self.atoms:
            kind, at = divmod(kind, len(atoms))
            masks.append(f"{atoms[at]:x}")
        return " ".join(masks)

    def _held(self, unit: int, bounds: Iterable[Bound]) -> Iterator[Bound]:
        """Yield the bounds that the reconstruction, the only solution of a unit, satisfies."""
        asked = list(bounds)
        here = self.sets[0].within(np.array([unit]))
        numbers = here.counts([self._predicates(bound.what) for bound in asked]).tolist()
        for bound, number in zip(asked, numbers, strict=True):
            if number >= bound.number if bound.is_least else number <= bound.number:
                yield bound

    def result(self, statements: Sequence[Statement]) -> RegionProof:
        """Return the text, still to be accepted by the checker, and each statement's outcome."""
        proof = "\n".join(self.text.lines) + "\n"
        rows = [self._row(each) for each in statements]
        frame = pl.DataFrame(rows, schema=STATEMENTS, orient="row")
        return RegionProof(self.written.text, proof, frame, round(self.budget.spent, 9))

    def _outcomes(self, statement: Statement) -> list[_Outcome] | None:
        """Return the proofs of a statement; None while part of it is unproven."""
        place = self.written.places.get(statement.geoid, -1)
        if statement.apart:
            outcomes = [self.differences.get(statement)]
        elif statement.is_unique:
            outcomes = [self.unique.get(place)]
        else:
            outcomes = [self.bounds.get((place, bound)) for bound in statement.bounds]
        known = [each for each in outcomes if each is not None]
        return known if known and len(known) == len(outcomes) else None

    def _row(self, statement: Statement) -> tuple[object, ...]:
        known = self._outcomes(statement)
        if known is None:
            return _unproven(self.region, statement)
        status = SHOWN if statement.apart else CERTIFIED
        how = "combination" if any(e.how == "combination" for e in known) else known[-1].how
        totals = [each.total for each in known]
        size = sum(each.size for each in known)
        sums = "; ".join(dict.fromkeys(totals)) if all(totals) else None
        key = statement.geoid, self.region, statement.source, statement.text
        return (*key, how, status, known[-1].line, size, sums)


def unproven(region: str, statements: Sequence[Statement]) -> pl.DataFrame:
    """List the statements of a region without a proof, with the columns `STATEMENTS`."""
    rows = [_unproven(region, each) for each in statements]
    return pl.DataFrame(rows, schema=STATEMENTS, orient="row")


def _unproven(region: str, statement: Statement) -> tuple[object, ...]:
    status = OPEN if statement.apart else CONFIRMED
    key = statement.geoid, region, statement.source, statement.text
    return (*key, None, status, 0, 0, None)
