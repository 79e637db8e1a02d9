"""Ledgers: proven and attained bounds of counts, with their proofs.

A count is a linear functional of an integer program. Its minimum has sign 1; its maximum is the
negated minimum of the negative functional, and has sign −1. Each of these ends has a *proven*
bound, by integer combinations of rows or by two engines, and a *seen* value, in a solution. Where
the two are equal the end is exact.

A ledger need not be trusted: `Ledger.recheck` adds up every combination again, and puts every
solution into all rows. `recon_cli.solve.ends` and `recon_cli.solve.nested_blocks` fill ledgers.

See *end* and *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray, ranges
from recon_cli.frames import OPEN
from recon_cli.model.program import IntegerProgram, activity_bounds


class Grounds(Enum):
    """The evidence for a bound, by increasing effort."""

    #: The bounds of the variables alone.
    PROPAGATION = "propagation"
    #: Equations, added and subtracted.
    ROWS = "rows"
    #: Weighted sums of rows and of bounds of variables, added up in integers.
    LP = "lp"
    #: CP-SAT, which SCIP confirms.
    SOLVER = "solver"


GROUNDS: Final = tuple(Grounds)


@dataclass(frozen=True, slots=True)
class Combination:
    """A linear combination of the rows of a program: Eq. (dual) of docs/method.md.

    Attributes:
        scale: Multiplier of the functional, at least 1.
        rows: The rows, sorted.
        weights: Nonzero multiplier of each row; a negative one uses the row's upper bound.
        grounds: `Grounds.ROWS` where the rows are equations that add up to the functional.

    Raises:
        ValueError: On construction, if the scale is below 1, a weight is 0 or shapes differ.
    """

    scale: int
    rows: IntArray
    weights: IntArray
    grounds: Grounds = Grounds.LP

    @classmethod
    def of(cls, scale: int, weights: IntArray, grounds: Grounds = Grounds.LP) -> Combination:
        """Build a combination from a weight for each row; most may be 0."""
        rows = np.flatnonzero(weights)
        return cls(scale, rows, weights[rows], grounds)

    def __post_init__(self) -> None:
        if self.scale < 1 or self.rows.shape != self.weights.shape or not self.weights.all():
            raise ValueError("a combination needs a scale, and for each row a weight other than 0")

    def bound(self, program: IntegerProgram, functional: IntArray) -> int:
        """Compute the proven lower bound of ``functional @ x``, in integers of any length.

        The weighted rows are bounded by their sides, and the rest of the functional by the bounds
        of the variables.

        Raises:
            ValueError: A bound in the sum is open.
        """
        rows, weights = program.constraints, self.weights.astype(object)
        sides = np.where(self.weights > 0, rows.least[self.rows], rows.most[self.rows])
        used = sparse.csr_array(rows.A[self.rows])
        of_row = np.repeat(np.arange(len(weights)), np.diff(used.indptr))
        rest = self.scale * functional.astype(object)
        np.subtract.at(rest, used.indices, weights[of_row] * used.data.astype(object))
        left = np.flatnonzero(rest)
        ends = np.where(rest[left] > 0, program.lower[left], program.upper[left])
        if (sides == OPEN).any() or (ends == OPEN).any():
            raise ValueError("nothing can be proven by a row or a variable whose end is open")
        total = (weights * sides).sum() + (rest[left] * ends).sum()
        return -(-int(total) // self.scale)


@dataclass(frozen=True)
class Cases:
    """A case split that covers every solution, with a proof of the bound in each case.

    Attributes:
        most: The variable is at most this in the first case, and greater in the second.
        below: Proof of the bound in the first case.
        above: Proof of the bound in the second case.
    """

    variable: int
    most: int
    below: Combination | Cases
    above: Combination | Cases

    @property
    def grounds(self) -> Grounds:
        """Return the evidence: sums of rows in each case."""
        return Grounds.LP

    def bound(self, program: IntegerProgram, functional: IntArray) -> int:
        """Compute the lower bound of ``functional @ x`` that is proven in both cases.

        Raises:
            ValueError: A bound in a sum is open, or one of the cases is empty.
        """
        upper, lower = program.upper.copy(), program.lower.copy()
        upper[self.variable], lower[self.variable] = self.most, self.most + 1
        if (upper > program.upper).any() or (lower < program.lower).any():
            raise ValueError(f"variable {self.variable} has no two cases at {self.most}")
        first = self.below.bound(replace(program, upper=upper), functional)
        return min(first, self.above.bound(replace(program, lower=lower), functional))


@dataclass(frozen=True)
class Confirmation:
    """Agreement of two engines that no solution is below a bound, without a proof to recheck."""

    @property
    def grounds(self) -> Grounds:
        """Return the evidence: two engines."""
        return Grounds.SOLVER


#: Proof of an end that does not follow from the bounds of the variables alone.
Reason = Combination | Cases | Confirmation


@dataclass(frozen=True, slots=True)
class Witness:
    """A solution, stored as its difference from a known one.

    Attributes:
        known: Index of the known solution in the ledger.
        columns: Variables in which the two differ, sorted.
        change: The difference of each of these variables.
        steps: Number of steps of the ledger's walk to take before the difference.

    Raises:
        ValueError: On construction, if there is not one change for each column.
    """

    known: int
    columns: IntArray
    change: IntArray
    steps: int = 0

    def __post_init__(self) -> None:
        if self.columns.shape != self.change.shape:
            raise ValueError("a witness needs one change for each column")

    @classmethod
    def of(cls, known: int, change: IntArray, columns: IntArray | None = None) -> Witness:
        """Build a witness from the change of each variable, or of ``columns``; most may be 0."""
        moved = np.flatnonzero(change)
        return cls(known, moved if columns is None else columns[moved], change[moved])


@dataclass(frozen=True)
class End:
    """The minimum of a functional; for a maximum, the minimum of the negative functional.

    Attributes:
        proven: No solution has less.
        why: Proof of the bound; None if it follows from the bounds of the variables alone.
        seen: Least value in a known solution.

    Raises:
        ValueError: On construction, if a solution is below the proven bound.
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
        """Report whether a solution attains the bound."""
        return self.proven == self.seen


class Ledger:
    """The bounds of many functionals of one program, as arrays indexed by functional.

    Attributes:
        program: The program, with the bounds that propagation proved for its variables.
        functionals: Sparse (functionals × variables).
        lower: No solution has less.
        upper: No solution has more.
        least: Least value in a known solution.
        greatest: Greatest value in a known solution.
        is_endless: Mask of functionals without a maximum: none is sought, and their `upper` has
            no meaning.
        known: Solutions to which witnesses refer: the first, and each with a new extreme value.
        walk: Steps from the first known solution through others: the variables in which each
            differs from the solution before, and the differences.
        effort: Deterministic seconds that were spent.
    """

    def __init__(
        self,
        program: IntegerProgram,
        functionals: sparse.csr_array,
        known: Sequence[IntArray],
        is_endless: BoolArray | None = None,
    ) -> None:
        """Start from the bounds of the variables and the values in known solutions.

        Raises:
            ValueError: A known solution is missing or infeasible, or functionals do not fit.
        """
        if not known or not all(map(program.is_feasible, known)):
            raise ValueError("a ledger begins with a known solution, and with nothing else")
        if functionals.shape[1] != program.shape[1]:
            raise ValueError(
                f"functionals over {functionals.shape[1]} of {program.shape[1]} variables"
            )
        self.program, self.functionals, self.effort = program, functionals, 0.0
        self.lower, self.upper = activity_bounds(functionals, program.lower, program.upper)
        self.least: IntArray = functionals @ known[0]
        self.greatest: IntArray = self.least.copy()
        nowhere = np.zeros(len(self.least), dtype=bool)
        self.is_endless: BoolArray = nowhere if is_endless is None else is_endless
        #: Proof and witness of each end, by functional and sign. Without an entry these are the
        #: bounds of the variables, and the first known solution.
        self._reasons: dict[tuple[int, int], Reason] = {}
        self._witnesses: dict[tuple[int, int], Witness] = {}
        self.known = [known[0]]
        self.walk: list[tuple[IntArray, IntArray]] = []
        for solution in known[1:]:
            self.add_solution(solution)

    @property
    def is_open_below(self) -> BoolArray:
        """Return a mask of the functionals whose minimum is not known."""
        return self.are_open(_ALL)[0]

    @property
    def is_open_above(self) -> BoolArray:
        """Return a mask of the functionals whose maximum is not known."""
        return self.are_open(_ALL)[1]

    @property
    def is_open_anywhere(self) -> BoolArray:
        """Return a mask of the functionals of which the minimum or the maximum is not known."""
        below, above = self.are_open(_ALL)
        return below | above

    @property
    def is_undecided(self) -> BoolArray:
        """Return a mask of the functionals that are not known to vary or to be constant."""
        return self.are_undecided(_ALL)

    def are_open(self, k: IntArray | slice) -> tuple[BoolArray, BoolArray]:
        """Return for some functionals if the minimum, and if the maximum, is not known."""
        below = self.lower[k] < self.least[k]
        return below, (self.greatest[k] < self.upper[k]) & ~self.is_endless[k]

    def are_undecided(self, k: IntArray | slice) -> BoolArray:
        """Return which of some functionals are not known to vary or to be constant."""
        undecided: BoolArray = (self.least[k] == self.greatest[k]) & (self.lower[k] < self.upper[k])
        return undecided & ~self.is_endless[k]

    def proven(self, functional: int, sign: int) -> int:
        """Return the proven lower bound of a functional, or with sign −1 of its negative."""
        return sign * int((self.lower if sign > 0 else self.upper)[functional])

    def seen(self, functional: int, sign: int) -> int:
        """Return the least seen value of a functional, or with sign −1 of its negative."""
        return sign * int((self.least if sign > 0 else self.greatest)[functional])

    def is_open(self, functional: int, sign: int) -> bool:
        """Report whether the minimum, or with sign −1 the maximum, is not known."""
        if sign < 0 and self.is_endless[functional]:
            return False
        return self.proven(functional, sign) < self.seen(functional, sign)

    def prove(self, functional: int, sign: int, bound: int, why: Reason) -> None:
        """Record a proof that ``sign`` times a functional is at least ``bound``."""
        if bound > self.proven(functional, sign):
            (self.lower if sign > 0 else self.upper)[functional] = sign * bound
            self._reasons[functional, sign] = why

    def see(self, values: IntArray, witness: Witness, among: IntArray | None = None) -> bool:
        """Record the values of functionals in a solution; return whether any is new.

        Args:
            values: Values of all functionals, or of those in ``among``.
            among: Some functionals, each once.
        """
        k = np.arange(len(self.least)) if among is None else among
        below, above = k[values < self.least[k]], k[values > self.greatest[k]]
        self.least[k] = np.minimum(self.least[k], values)
        self.greatest[k] = np.maximum(self.greatest[k], values)
        for sign, ends in ((1, below), (-1, above)):
            self._witnesses.update(((end, sign), witness) for end in ends.tolist())
        return bool(len(below) or len(above))

    def add_solution(self, solution: IntArray) -> bool:
        """Keep a solution if it has any new value; return whether it has."""
        is_new = self.see(self.functionals @ solution, Witness(len(self.known), _NONE, _NONE))
        if is_new:
            self.known.append(solution)
        return is_new

    def coefficients(self, functional: int) -> IntArray:
        return self.signed_sum(np.array([functional]), np.array([1]))

    def signed_sum(self, functionals: IntArray, signs: IntArray) -> IntArray:
        """Return the coefficients of a signed sum of functionals that share no variable."""
        C = self.functionals
        starts, ends = C.indptr[functionals], C.indptr[functionals + 1]
        sizes = ends - starts
        entry = ranges(starts, sizes)
        total = np.zeros(C.shape[1], dtype=np.int64)
        total[C.indices[entry]] = C.data[entry] * np.repeat(signs, sizes)
        return total

    def grounds(self, functionals: Iterable[int], sign: int) -> IntArray:
        """Return for some ends the index in `GROUNDS` of their evidence."""
        whys = (self._reasons.get((k, sign)) for k in functionals)
        places = [0 if why is None else GROUNDS.index(why.grounds) for why in whys]
        return np.array(places, dtype=np.int64)

    def end(self, functional: int, sign: int) -> End:
        """Return the minimum of a functional, or with sign −1 that of its negative."""
        return End(
            proven=self.proven(functional, sign),
            why=self._reasons.get((functional, sign)),
            seen=self.seen(functional, sign),
            witness=self._witnesses.get((functional, sign), _FIRST),
        )

    @property
    def walked(self) -> IntArray:
        """Return the last solution of the walk."""
        return self.solution(Witness(0, _NONE, _NONE, len(self.walk)))

    def step(self, columns: IntArray, change: IntArray) -> Witness:
        """Add a step from the walk's last solution; return a witness of the new solution."""
        self.walk.append((columns, change))
        return Witness(0, _NONE, _NONE, len(self.walk))

    def solution(self, witness: Witness) -> IntArray:
        values = self.known[witness.known].copy()
        for columns, change in self.walk[: witness.steps]:
            values[columns] += change
        values[witness.columns] += witness.change
        return values

    def recheck(self) -> None:
        """Recompute every combination, and check every witness against all rows.

        Raises:
            ValueError: A combination or witness does not yield the recorded value.
        """
        by_variables = Combination(1, _NONE, _NONE)
        for k in range(len(self.lower)):
            functional = self.coefficients(k)
            for sign in (1, -1):
                end = self.end(k, sign)
                values = self.solution(end.witness)
                if not self.program.is_feasible(values):
                    raise ValueError(f"functional {k}: its witness is no solution")
                if sign * int(functional @ values) != end.seen:
                    raise ValueError(f"functional {k}: its witness does not have {end.seen}")
                is_unbounded = sign < 0 and bool(self.is_endless[k])
                if isinstance(end.why, Confirmation) or is_unbounded:
                    continue
                if (end.why or by_variables).bound(self.program, sign * functional) < end.proven:
                    raise ValueError(f"functional {k}: its rows do not add up to {end.proven}")

    def state(self) -> Arrays:
        """Return the content as arrays that `take_up` reads.

        Raises:
            ValueError: A bound is proven by cases, which cannot be stored.
        """
        reasons, of_proven = _numbered(self._reasons)
        witnesses, of_seen = _numbered(self._witnesses)
        kept = [why for why in reasons if not isinstance(why, Cases)]
        if len(kept) < len(reasons):
            raise ValueError("what is proven by cases cannot be kept")
        return {
            **{name: getattr(self, name) for name in _SIDES},
            "known": np.stack(self.known),
            "effort": np.array(self.effort),
            "of_proven": of_proven,
            "of_seen": of_seen,
            **packed("reason", [_vector(why) for why in kept]),
            **packed("step", [((0,), *step) for step in self.walk]),
            **packed("witness", [((w.known, w.steps), w.columns, w.change) for w in witnesses]),
        }

    def take_up(self, state: Arrays) -> None:
        """Restore the content of another ledger of the same program and functionals."""
        for name in _SIDES:
            setattr(self, name, state[name].copy())
        self.known, self.effort = list(state["known"]), float(state["effort"])
        reasons = [_reason(*each) for each in unpacked("reason", state)]
        self.walk = [(columns, change) for _, columns, change in unpacked("step", state)]
        witnesses = [
            Witness(known, columns, change, steps)
            for (known, steps), columns, change in unpacked("witness", state)
        ]
        self._reasons = {(k, sign): reasons[at] for k, sign, at in state["of_proven"].tolist()}
        self._witnesses = {(k, sign): witnesses[at] for k, sign, at in state["of_seen"].tolist()}


#: Function that receives a ledger while it is filled.
OnLedger = Callable[[Ledger], None]


def ignore_ledger(ledger: Ledger) -> None:
    """Do nothing, as an `OnLedger`."""


_ALL: Final = slice(None)
_NONE: Final = np.empty(0, dtype=np.int64)
#: The first known solution itself.
_FIRST: Final = Witness(0, _NONE, _NONE)
#: Arrays of proven bounds and seen values of all functionals.
_SIDES: Final = ("lower", "upper", "least", "greatest")

#: Arrays of whole numbers, floats or texts by name.
Arrays = Mapping[str, npt.NDArray[Any]]
#: Identifying numbers, the places of the entries that are not 0, and these entries.
SparseVector = tuple[Sequence[int], IntArray, IntArray]

_Each = TypeVar("_Each")


def packed(name: str, vectors: Sequence[SparseVector]) -> Arrays:
    """Concatenate sparse vectors to arrays that `unpacked` reads."""
    return {
        f"{name}_is": np.array([what for what, _, _ in vectors], dtype=np.int64),
        f"{name}_at": np.concatenate([_NONE, *(at for _, at, _ in vectors)]),
        f"{name}_by": np.concatenate([_NONE, *(by.astype(np.int64) for _, _, by in vectors)]),
        f"{name}_ends": np.cumsum([len(at) for _, at, _ in vectors], dtype=np.int64),
    }


def unpacked(name: str, state: Arrays) -> Iterator[SparseVector]:
    """Yield the sparse vectors that were packed under a name."""
    places, values = (
        np.split(state[f"{name}_{part}"], state[f"{name}_ends"][:-1]) for part in ("at", "by")
    )
    return zip(state[f"{name}_is"].tolist(), places, values, strict=False)


def _vector(why: Combination | Confirmation) -> SparseVector:
    """Convert a reason to a vector; a confirmation has the scale 0."""
    if isinstance(why, Confirmation):
        return (0, 0), _NONE, _NONE
    return (why.scale, GROUNDS.index(why.grounds)), why.rows, why.weights


def _reason(what: Sequence[int], rows: IntArray, weights: IntArray) -> Reason:
    """Convert a vector of `_vector` back to a reason."""
    scale, grounds = what
    return Combination(scale, rows, weights, GROUNDS[grounds]) if scale else Confirmation()


def _numbered(of_end: Mapping[tuple[int, int], _Each]) -> tuple[list[_Each], IntArray]:
    """Return the distinct objects, and for each end a row: functional, sign, object's number."""
    distinct = {id(each): each for each in of_end.values()}
    number = {key: at for at, key in enumerate(distinct)}
    rows = (at for end, each in of_end.items() for at in (*end, number[id(each)]))
    found = np.fromiter(rows, dtype=np.int64, count=3 * len(of_end))
    return list(distinct.values()), found.reshape(-1, 3)
