"""What is proven of the least and greatest values of counts, and why.

An end has two sides: what is proven, by whole-numbered combinations of rows, and what is seen, in a
solution. Where they meet the end is exact. A proof can be added up again, and a solution put into
all rows, by whoever doubts: `Ledger.recheck` does both.

See *end* and *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.program import IntegerProgram


class Grounds(Enum):
    """What an end rests on, by rising effort."""

    #: The bounds of the variables alone.
    PROPAGATION = "propagation"
    #: Equations, added and subtracted.
    ROWS = "rows"
    #: Weighted sums of rows and of bounds of variables, added up in integers.
    LP = "lp"
    #: CP-SAT, which SCIP confirms.
    SOLVER = "solver"


GROUNDS: Final = tuple(Grounds)


@dataclass(frozen=True)
class Combination:
    """Rows of a program, added up: Eq. (dual) of docs/method.md.

    Attributes:
        scale: How often the functional is taken, at least once.
        rows: The rows, rising.
        weights: How often each is added, not 0; a negative weight takes the row's greatest value.
        grounds: `Grounds.ROWS` where the rows are equations that add up to the functional.

    Raises:
        ValueError: When made: nothing that could be added up.
    """

    scale: int
    rows: IntArray
    weights: IntArray
    grounds: Grounds = Grounds.LP

    @classmethod
    def of(cls, scale: int, weights: IntArray, grounds: Grounds = Grounds.LP) -> Combination:
        """From a weight for each row, most of them 0."""
        rows = np.flatnonzero(weights)
        return cls(scale, rows, weights[rows], grounds)

    def __post_init__(self) -> None:
        if self.scale < 1 or self.rows.shape != self.weights.shape or not self.weights.all():
            raise ValueError("a combination needs a scale, and for each row a weight other than 0")

    def bound(self, program: IntegerProgram, functional: IntArray) -> int:
        """What no solution's ``functional @ x`` is below, in whole numbers of any length.

        Raises:
            ValueError: An end that is added up is open, and no number.
        """
        rows = program.constraints
        weights = self.weights.astype(object)
        used = sparse.csr_array(rows.A[self.rows])
        sides = np.where(self.weights > 0, rows.least[self.rows], rows.most[self.rows])
        _require_numbers(sides)
        total = int((weights * sides.astype(object)).sum())
        rest = self.scale * functional.astype(object)
        of_row = np.repeat(np.arange(len(weights)), np.diff(used.indptr))
        np.subtract.at(rest, used.indices, weights[of_row] * used.data.astype(object))
        at = np.flatnonzero(rest)
        ends = np.where(rest[at] > 0, program.lower[at], program.upper[at])
        _require_numbers(ends)
        return -(-(total + int((rest[at] * ends.astype(object)).sum())) // self.scale)


def _require_numbers(ends: IntArray) -> None:
    """Refuse ends that nothing bounds."""
    if (ends == OPEN).any():
        raise ValueError("nothing can be proven by a row or a variable whose end is open")


@dataclass(frozen=True)
class Cases:
    """Two cases, of which every solution is one, and what proves an end in either.

    Attributes:
        variable: What the cases are about.
        most: It is at most so much in the one, and more in the other.
        below: What proves the end in the first case.
        above: And in the second.
    """

    variable: int
    most: int
    below: Combination | Cases
    above: Combination | Cases

    @property
    def grounds(self) -> Grounds:
        """Sums of rows, in each case."""
        return Grounds.LP

    def bound(self, program: IntegerProgram, functional: IntArray) -> int:
        """What no solution's ``functional @ x`` is below, as `Combination.bound`.

        Raises:
            ValueError: An end that is added up is open; or not both cases can be.
        """
        upper, lower = program.upper.copy(), program.lower.copy()
        upper[self.variable], lower[self.variable] = self.most, self.most + 1
        if (upper > program.upper).any() or (lower < program.lower).any():
            raise ValueError(f"variable {self.variable} has no two cases at {self.most}")
        first = self.below.bound(replace(program, upper=upper), functional)
        return min(first, self.above.bound(replace(program, lower=lower), functional))


@dataclass(frozen=True)
class Confirmation:
    """Two engines agree that no solution is below; there is no proof to add up."""

    @property
    def grounds(self) -> Grounds:
        """The engines."""
        return Grounds.SOLVER


#: What proves an end, where the bounds of the variables alone do not.
Reason = Combination | Cases | Confirmation


@dataclass(frozen=True)
class Witness:
    """A solution, as its difference from a known one.

    Attributes:
        known: Which of the ledger's known solutions.
        columns: Where it differs, rising.
        change: By how much there.

    Raises:
        ValueError: When made: not one change for each column.
    """

    known: int
    columns: IntArray
    change: IntArray

    def __post_init__(self) -> None:
        if self.columns.shape != self.change.shape:
            raise ValueError("a witness needs one change for each column")


@dataclass(frozen=True)
class End:
    """The least value of a functional; of a greatest value that of its negative.

    Attributes:
        proven: No solution has less.
        why: What proves it; None: the bounds of the variables alone.
        seen: The least in a known solution.
        witness: That solution.

    Raises:
        ValueError: When made: a solution is below what is proven.
    """

    proven: int
    why: Reason | None
    seen: int
    witness: Witness

    def __post_init__(self) -> None:
        if self.proven > self.seen:
            raise ValueError(f"proven to be at least {self.proven}, but {self.seen} is seen")

    @property
    def is_exact(self) -> bool:
        """Whether a solution reaches it."""
        return self.proven == self.seen


@dataclass
class Ledger:
    """The ends of many functionals of one program.

    Attributes:
        program: Its variables between the bounds that propagation proved.
        functionals: Sparse (functionals × variables).
        known: Solutions that witnesses differ from: the first, and those that showed more.
        effort: Deterministic seconds that were spent.
        is_endless: Functionals that solutions raise above any number: nothing is asked of their
            greatest values, whose `upper` is no number.
    """

    program: IntegerProgram
    functionals: sparse.csr_array
    known: list[IntArray]
    effort: float = 0.0
    is_endless: BoolArray | None = None
    _ends: dict[tuple[int, int], Reason] = field(default_factory=dict)
    _witnesses: dict[tuple[int, int], Witness] = field(default_factory=dict)

    def __post_init__(self) -> None:
        A, C = self.program.constraints.A, self.functionals
        given = self.known
        if not all(self.program.is_feasible(each) for each in given) or not given:
            raise ValueError("a ledger begins with a known solution, and with nothing else")
        if A.shape[1] != C.shape[1]:
            raise ValueError(f"functionals over {C.shape[1]} of {A.shape[1]} variables")
        rises = sparse.csr_array((np.maximum(C.data, 0), C.indices, C.indptr), shape=C.shape)
        falls = sparse.csr_array((np.minimum(C.data, 0), C.indices, C.indptr), shape=C.shape)
        low, high = self.program.lower, self.program.upper
        self.lower: IntArray = rises @ low + falls @ high
        self.upper: IntArray = rises @ high + falls @ low
        self.least: IntArray = C @ given[0]
        self.greatest: IntArray = self.least.copy()
        nowhere = np.zeros(len(self.least), dtype=bool)
        self._endless: BoolArray = nowhere if self.is_endless is None else self.is_endless
        self._here = Witness(0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        self.known = given[:1]
        for each in given[1:]:
            self.add(each)

    @property
    def is_open_below(self) -> BoolArray:
        """Functionals whose least value is not known."""
        is_open: BoolArray = self.lower < self.least
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Functionals whose greatest value is not known."""
        is_open: BoolArray = (self.greatest < self.upper) & ~self._endless
        return is_open

    @property
    def is_open_anywhere(self) -> BoolArray:
        """Functionals of which one end is not known."""
        return self.is_open_below | self.is_open_above

    @property
    def is_undecided(self) -> BoolArray:
        """Functionals of which it is not known whether they vary."""
        undecided: BoolArray = (self.least == self.greatest) & (self.lower < self.upper)
        return undecided & ~self._endless

    def proven(self, functional: int, sign: int) -> int:
        """What no solution is below; with sign −1 of the functional's negative."""
        return sign * int((self.lower if sign > 0 else self.upper)[functional])

    def is_open(self, functional: int, sign: int) -> bool:
        """Whether one end is not known: the least value, or with sign −1 the greatest."""
        if sign < 0 and self._endless[functional]:
            return False
        seen = (self.least if sign > 0 else self.greatest)[functional]
        return self.proven(functional, sign) < sign * int(seen)

    def prove(self, functional: int, sign: int, bound: int, why: Reason) -> None:
        """``sign`` times a functional is at least ``bound`` in all solutions."""
        ends = self.lower if sign > 0 else self.upper
        if bound > sign * ends[functional]:
            ends[functional] = sign * bound
            self._ends[functional, sign] = why

    def see(self, values: IntArray, witness: Witness, among: IntArray | None = None) -> bool:
        """The values of functionals in a solution; whether any is new.

        Args:
            values: Of all functionals, or of those in ``among``.
            witness: The solution.
            among: Some functionals, each once.
        """
        k = np.arange(len(self.least)) if among is None else among
        below, above = values < self.least[k], values > self.greatest[k]
        self.least[k[below]] = values[below]
        self.greatest[k[above]] = values[above]
        self._witnesses.update(dict.fromkeys(((int(at), 1) for at in k[below]), witness))
        self._witnesses.update(dict.fromkeys(((int(at), -1) for at in k[above]), witness))
        return bool(below.any() or above.any())

    def add(self, solution: IntArray) -> bool:
        """Keep a solution if it shows anything new; whether it does."""
        witness = replace(self._here, known=len(self.known))
        is_new = self.see(self.functionals @ solution, witness)
        if is_new:
            self.known.append(solution)
        return is_new

    def row(self, functional: int) -> IntArray:
        """The coefficient of each variable."""
        return self.side_by_side(np.array([functional]), np.array([1]))

    def side_by_side(self, functionals: IntArray, signs: IntArray) -> IntArray:
        """The coefficients of functionals that share no variable, each times its sign."""
        C = self.functionals
        starts, ends = C.indptr[functionals], C.indptr[functionals + 1]
        sizes = ends - starts
        at = np.arange(sizes.sum()) + np.repeat(ends - np.cumsum(sizes), sizes)
        row = np.zeros(C.shape[1], dtype=np.int64)
        row[C.indices[at]] = C.data[at] * np.repeat(signs, sizes)
        return row

    def grounds(self, functionals: Iterable[int], sign: int) -> IntArray:
        """For each of some ends the place in `GROUNDS` of what it rests on."""
        whys = (self._ends.get((k, sign)) for k in functionals)
        places = [0 if why is None else GROUNDS.index(why.grounds) for why in whys]
        return np.array(places, dtype=np.int64)

    def end(self, functional: int, sign: int) -> End:
        """The least value of a functional, or with sign −1 that of its negative."""
        seen = self.least if sign > 0 else self.greatest
        return End(
            proven=self.proven(functional, sign),
            why=self._ends.get((functional, sign)),
            seen=sign * int(seen[functional]),
            witness=self._witnesses.get((functional, sign), self._here),
        )

    def solution(self, witness: Witness) -> IntArray:
        """The solution that a witness stands for."""
        values = self.known[witness.known].copy()
        values[witness.columns] += witness.change
        return values

    def recheck(self) -> None:
        """Add up every combination, and put every witness into all rows.

        Raises:
            ValueError: One of them does not show what it is there for.
        """
        for at in range(len(self.lower)):
            functional = self.row(at)
            for sign in (1, -1):
                end = self.end(at, sign)
                values = self.solution(end.witness)
                if not self.program.is_feasible(values):
                    raise ValueError(f"functional {at}: its witness is no solution")
                if sign * int(functional @ values) != end.seen:
                    raise ValueError(f"functional {at}: its witness does not have {end.seen}")
                is_unbounded = sign < 0 and bool(self._endless[at])
                if isinstance(end.why, Confirmation) or is_unbounded:
                    continue
                why = end.why or Combination(1, self._here.columns, self._here.change)
                if why.bound(self.program, sign * functional) < end.proven:
                    raise ValueError(f"functional {at}: its rows do not add up to {end.proven}")

    def state(self) -> Arrays:
        """All that is known, as arrays that `take_up` reads.

        Raises:
            ValueError: Something is proven by cases, which are not kept.
        """
        whys, of_end = _numbered(self._ends)
        if any(isinstance(why, Cases) for why in whys):
            raise ValueError("what is proven by cases cannot be kept")
        witnesses, of_seen = _numbered(self._witnesses)
        rows = [why.rows if isinstance(why, Combination) else () for why in whys]
        weights = [why.weights if isinstance(why, Combination) else () for why in whys]
        scales = [why.scale if isinstance(why, Combination) else 0 for why in whys]
        return {
            **{name: getattr(self, name) for name in _SIDES},
            "known": np.stack(self.known),
            "effort": np.array(self.effort),
            "of_end": of_end,
            "why": np.array([scales, [GROUNDS.index(why.grounds) for why in whys]], dtype=np.int64),
            "why_rows": _joined(rows),
            "why_weights": _joined(weights),
            "why_ends": np.cumsum([len(each) for each in rows], dtype=np.int64),
            "of_seen": of_seen,
            "seen": np.array([each.known for each in witnesses], dtype=np.int64),
            "seen_columns": _joined([each.columns for each in witnesses]),
            "seen_change": _joined([each.change for each in witnesses]),
            "seen_ends": np.cumsum([len(each.columns) for each in witnesses], dtype=np.int64),
        }

    def take_up(self, state: Arrays) -> None:
        """Know again what another ledger of the same program and functionals knew.

        Args:
            state: Its `state`.
        """
        for name in _SIDES:
            setattr(self, name, state[name].copy())
        self.known, self.effort = list(state["known"]), float(state["effort"])
        rows = np.split(state["why_rows"], state["why_ends"][:-1])
        weights = np.split(state["why_weights"], state["why_ends"][:-1])
        whys: list[Reason] = [
            Combination(scale, at, weight, GROUNDS[grounds]) if scale else Confirmation()
            for scale, grounds, at, weight in zip(
                *state["why"].tolist(), rows, weights, strict=False
            )
        ]
        columns = np.split(state["seen_columns"], state["seen_ends"][:-1])
        changes = np.split(state["seen_change"], state["seen_ends"][:-1])
        seen = zip(state["seen"].tolist(), columns, changes, strict=False)
        witnesses = [Witness(*each) for each in seen]
        self._ends = {(k, sign): whys[at] for k, sign, at in state["of_end"].tolist()}
        self._witnesses = {(k, sign): witnesses[at] for k, sign, at in state["of_seen"].tolist()}


#: Arrays of whole numbers, floats or texts by name.
Arrays = Mapping[str, npt.NDArray[Any]]

#: What is proven and seen of all functionals.
_SIDES: Final = ("lower", "upper", "least", "greatest")
_Each = TypeVar("_Each")


def _numbered(found: Mapping[tuple[int, int], _Each]) -> tuple[list[_Each], IntArray]:
    """The distinct things, and rows of functional, sign and the number of what is there."""
    distinct = {id(each): each for each in found.values()}
    places = {at: number for number, at in enumerate(distinct)}
    rows = [(*end, places[id(each)]) for end, each in found.items()]
    return list(distinct.values()), np.array(rows, dtype=np.int64).reshape(-1, 3)


def _joined(parts: Iterable[npt.ArrayLike]) -> IntArray:
    """One after the other."""
    return np.concatenate([np.empty(0, np.int64), *(np.asarray(p, np.int64) for p in parts)])


#: Is shown a ledger while it is filled.
OnLedger = Callable[[Ledger], None]


def ignore_ledger(ledger: Ledger) -> None:
    """Nobody looks."""
