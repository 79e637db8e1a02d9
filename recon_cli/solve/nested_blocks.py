"""Least and greatest values of counts, block by block: units first, then larger geounits.

A block is a set of variables, such as the cells of a unit, of a district, of a region. With all
other blocks free within their bounds, its rows prove bounds; with all others fixed at a known
solution, its solutions are solutions of the whole. Ends where the two meet are exact, and only the
others go on to the next larger blocks. Where no vertex is integral, two engines solve the block.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.ledger import Arrays, Ledger, OnLedger, Witness, ignore_ledger
from recon_cli.model.program import IntegerProgram, connected_parts, connected_subset
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.ends import confirm_bound
from recon_cli.solve.joined_changes import BlockChanges
from recon_cli.solve.linear_relaxation import WHOLE, LinearRelaxation
from recon_cli.solve.near_vertices import Block, BlockView, NearVertices, best_combination

#: Vertices for random costs in every block of the second level.
_EXPLORED = 6
#: Ends that a vertex has to close to be worth another one; other ends are sought one by one.
_WORTH = 2
#: Undecided functionals up to which blocks are no longer explored: each is settled by itself.
_FEW = 32
#: Successive vertices without a new value, after which a block is left.
_DRY = 2
#: Attempts at a whole vertex near an end.
_ATTEMPTS = 3
#: Deterministic seconds between two pauses, at which a search is saved and can be resumed.
_TOLD = 0.25
#: Deterministic seconds, for each functional, between two calls that show the ledger.
_SHOWN = 4e-6
#: Variables for which an effort is meant: the blocks of a larger program get more, in proportion.
_AT_ONCE = 50_000
#: Deterministic seconds of an engine for one end; and in a block, where most take a hundredth.
_ENGINE, _BRIEF = 2.0, 0.1
#: Most variables of a part in which engines settle every open end.
_SMALL = 400
#: Most variables of a part in which engines settle whether a functional varies.
_LARGE = 4_000
#: Farther than any end.
_FAR = 2**40


class Keeper(Protocol):
    """A checkpoint of a search, which survives the end of the process."""

    def load(self) -> Arrays | None:
        """Return the state that was saved last."""

    def save(self, state: Callable[[], Arrays]) -> None:
        """Save the state, if a write is due."""


def find_ends(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    levels: Sequence[Sequence[IntArray]],
    effort: Effort,
    *,
    is_endless: BoolArray | None = None,
    watch: OnLedger = ignore_ledger,
    keeper: Keeper | None = None,
) -> Ledger:
    """Find the least and the greatest value of each functional: Eq. (ends).

    A checkpointed search is continued, and ends with the same ledger as without interruption.

    Args:
        functionals: Sparse (functionals × variables), none empty.
        known: A solution.
        levels: From fine to coarse, the blocks of each level; a block is its sorted variables. The
            last level has one block with all variables.
        effort: Its limit holds for the whole search; blocks of a large program get more.
        is_endless: Mask of variables without a maximum, whose upper bounds are `OPEN`; functionals
            that count them have no maximum, either. None: there are no such variables.
        watch: Called with the ledger every few blocks.
        keeper: Saves the search every few blocks, too.
    """
    ledger = _ledger(program, functionals, known, is_endless)
    search = _Search(ledger, levels, effort, watch, keeper, more=_more(program))
    coarser = range(1, len(levels))
    # A district settles as quickly what single units would.
    units = () if levels[1:-1] else (partial(search.reach_ends, 0), search.join)
    search.run(
        [
            partial(search.explore, min(1, len(levels) - 1)),
            *units,
            # First whether each functional varies at all; then how far.
            *search.through(coarser, only_undecided=True),
            *search.through(coarser, only_undecided=False),
            partial(search.settle, only_undecided=True),
            partial(search.settle, only_undecided=False),
        ]
    )
    return search.ledger


def find_settled(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    levels: Sequence[Sequence[IntArray]],
    effort: Effort,
    *,
    is_endless: BoolArray | None = None,
    watch: OnLedger = ignore_ledger,
) -> Ledger:
    """Find which functionals are constant in all solutions; arguments are as for `find_ends`."""
    ledger = _ledger(program, functionals, known, is_endless)
    search = _Search(ledger, levels, effort, watch, more=_more(program))
    dry = 0
    while dry < _DRY and (left := np.count_nonzero(search.ledger.is_undecided)) > _FEW:
        search.explore(min(1, len(levels) - 1), only_undecided=True)
        dry = 0 if np.count_nonzero(search.ledger.is_undecided) < left else dry + 1
    for level in range(len(levels)):
        search.reach_ends(level, only_undecided=True)
        search.join()
    search.settle(only_undecided=True)
    return search.ledger


def _more(program: IntegerProgram) -> float:
    """Return the multiple of the effort that the blocks of a program get together."""
    return max(1.0, program.shape[1] / _AT_ONCE)


def _ledger(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    is_endless: BoolArray | None,
) -> Ledger:
    """Set up the ledger; functionals with an endless variable are endless.

    Raises:
        ValueError: A functional has a negative coefficient for an endless variable.
    """
    if is_endless is None:
        return Ledger(program, functionals, [known])
    counted = sparse.csr_array(functionals[:, np.flatnonzero(is_endless)])
    if (counted.data < 0).any():
        raise ValueError("a functional that falls with an endless variable")
    return Ledger(program, functionals, [known], is_endless=np.diff(counted.indptr) > 0)


def known_before(keeper: Keeper, program: IntegerProgram) -> IntArray | None:
    """Return the initial solution of a checkpointed search; None if there is none."""
    state = keeper.load()
    if state is None or state["known"].shape[1] != program.shape[1]:
        return None
    known: IntArray = state["known"][0]
    return known if program.is_feasible(known) else None


def reach_in_blocks(
    ledger: Ledger,
    levels: Sequence[Sequence[IntArray]],
    effort: Effort,
    *,
    watch: OnLedger = ignore_ledger,
) -> None:
    """Prove and attain bounds in a ledger, block by block and without engines: Eq. (near).

    Args:
        ledger: The functionals; a functional that is not within a block stays as it is.
        levels: From fine to coarse, the blocks of each level; a block is its sorted variables.
        effort: Its limit holds for all blocks together.
        watch: Called with the ledger every few blocks.
    """
    search = _Search(ledger, levels, effort, watch)
    search.explore(min(1, len(levels) - 1))
    for level in range(len(levels)):
        search.reach_ends(level)
        search.join()


class _Place(NamedTuple):
    """The position of a search: its step, the block, and the block's last finished functional."""

    step: int
    block: int = 0
    after: int = -1


@dataclass(frozen=True)
class _Asked:
    """The functionals to settle in one block.

    Attributes:
        number: Place of the block in its level.
        functionals: The functionals with all their variables in the block.
    """

    number: int
    columns: IntArray
    functionals: IntArray


class _Search:
    """The ledger so far, and the known solution at the centre of blocks."""

    def __init__(
        self,
        ledger: Ledger,
        levels: Sequence[Sequence[IntArray]],
        effort: Effort,
        watch: OnLedger = ignore_ledger,
        keeper: Keeper | None = None,
        *,
        more: float = 1.0,
    ) -> None:
        program, known = ledger.program, ledger.walked
        self.program = program
        self.ledger = ledger
        self.effort = replace(effort, limit=effort.limit + ledger.effort)
        self._limit, self._more = self.effort.limit, more
        self.levels = levels
        self.known = known
        self.base = 0
        self.C = ledger.functionals
        self.values = self.C @ known
        self.C_by_column = sparse.csc_array(self.C)
        self.total = program.constraints.A @ known
        self.view = BlockView.of(program)
        self.random = np.random.default_rng(effort.seed)
        self.changes = BlockChanges()
        self._watch, self._keeper, self._shown_at = watch, keeper, ledger.effort
        self._watched_at = ledger.effort
        self._step, self._begin = -1, _Place(0)
        self._worth: BoolArray = np.empty(0, dtype=bool)

    def run(self, steps: Sequence[Callable[[], None]]) -> None:
        """Take all steps, or the remaining ones of a checkpointed search."""
        before = None if self._keeper is None else self._keeper.load()
        if before is not None and before["of"] == self._digest:
            self._take_up(before)
        self._watch(self.ledger)
        self._keep(self._begin)
        for number in range(self._begin.step, len(steps)):
            self._step = number
            steps[number]()
        self._keep(_Place(len(steps)))

    def _state(self, place: _Place) -> Arrays:
        """Return all that the search depends on from a position on."""
        return {
            **self.ledger.state(),
            "of": np.array(self._digest),
            "place": np.array(place),
            "base": np.array(self.base),
            "walked": self.known,
            "worth": self._worth,
            "told": np.array(self._shown_at),
            **self.changes.state(),
            "random": np.array(json.dumps(self.random.bit_generator.state)),
        }

    def _take_up(self, state: Arrays) -> None:
        self.ledger.take_up(state)
        self.base, self._shown_at = int(state["base"]), float(state["told"])
        self._begin = _Place(*state["place"].tolist())
        self.known = state["walked"].astype(np.int64)
        self.changes.take_up(state)
        self._worth = state["worth"].astype(bool)
        self.values, self.total = self.C @ self.known, self.program.constraints.A @ self.known
        self.random.bit_generator.state = json.loads(str(state["random"]))

    @cached_property
    def _digest(self) -> str:
        """Return a digest of the questions and of the initial solution."""
        rows, C = self.program.constraints, self.C
        of = hashlib.sha256(
            f"walk {self.effort} {[len(blocks) for blocks in self.levels]}".encode()
        )
        for each in (rows.A, C):
            for array in (each.indptr, each.indices, each.data):
                of.update(array.astype(np.int64).tobytes())
        ends = (rows.least, rows.most, self.program.lower, self.program.upper)
        for array in (*ends, self.ledger.known[0], *(b for level in self.levels for b in level)):
            of.update(array.astype(np.int64).tobytes())
        return of.hexdigest()

    def _keep(self, place: _Place) -> None:
        if self._keeper is not None:
            self._keeper.save(partial(self._state, place))

    def _asked_last(self, block: int) -> int:
        """Return the last functional of a block before the checkpoint."""
        return self._begin.after if self._begin[:2] == (self._step, block) else -1

    @property
    def left(self) -> float:
        """Return the remaining deterministic seconds, of the present level."""
        return self._limit - self.ledger.effort

    def asked(self, level: int) -> Iterator[_Asked]:
        """Yield the blocks of a level with an open end."""
        is_whole = level == len(self.levels) - 1
        self._limit = self.effort.limit * (1.0 if is_whole else self._more)
        support = sparse.csr_array(
            (np.ones(self.C.nnz, dtype=np.int64), self.C.indices, self.C.indptr), shape=self.C.shape
        )
        blocks = self.levels[level]
        place = np.concatenate([np.full(len(each), at) for at, each in enumerate(blocks)])
        entries = (np.ones(len(place), dtype=np.int64), (np.concatenate(blocks), place))
        shape = (self.C.shape[1], len(blocks))
        inside = sparse.csc_array(support @ sparse.csr_array(entries, shape=shape))
        size = np.diff(self.C.indptr)
        begin = self._begin.block if self._step == self._begin.step else 0
        for at in range(begin, len(blocks)):
            columns = blocks[at]
            entry = slice(inside.indptr[at], inside.indptr[at + 1])
            k = np.sort(inside.indices[entry][inside.data[entry] == size[inside.indices[entry]]])
            if self._is_wanted(k, only_undecided=False).any() and self.left > 0:
                yield _Asked(at, columns, k.astype(np.int64))
                self.pause(at + 1)

    @property
    def is_due(self) -> bool:
        return self.ledger.effort >= self._shown_at + _TOLD

    def pause(self, block: int, after: int = -1) -> None:
        """Call back, and checkpoint the search, if due.

        Args:
            block: The next block.
            after: The last finished functional of that block.
        """
        if self.is_due:
            self._show(_Place(self._step, block, after))

    def _show(self, place: _Place) -> None:
        self._shown_at = self.ledger.effort
        if self._shown_at >= self._watched_at + _SHOWN * len(self.values):
            self._watched_at = self._shown_at
            self._watch(self.ledger)
        self._keep(place)

    def explore(self, level: int, *, only_undecided: bool = False) -> None:
        """Walk to vertices of each block for random costs, with the others fixed."""
        for asked in self.asked(level):
            wanted = self._is_wanted(asked.functionals, only_undecided=only_undecided)
            if wanted.any():
                self._explore(replace(asked, functionals=asked.functionals[wanted]))
        self.base = len(self.ledger.known)
        self.ledger.known.append(self.known.copy())

    def _explore(self, asked: _Asked) -> None:
        """Walk to vertices of one block, each from scratch: faster than from the last basis."""
        k, ledger = asked.functionals, self.ledger
        inner = self.view.inner(self.known, self.total, asked.columns)
        relaxation = LinearRelaxation(inner)
        C = self.inside(asked)
        vertices = dry = closed = 0
        left = self._open_ends(k)
        while left and dry < _DRY and self.left > 0 and (vertices < _EXPLORED or closed >= _WORTH):
            relaxation.begin_anew()
            low, high = ledger.are_open(k)
            either = self.random.choice([-1.0, 1.0], len(k))
            sign = np.where(low & high, either, np.where(low, 1.0, np.where(high, -1.0, 0.0)))
            cost = C.T @ (sign * self.random.uniform(0.2, 1, len(k)))
            vertex = relaxation.solve(cost, self.left)
            ledger.effort += vertex.deterministic_time
            if not len(vertex.values):
                return
            values = inner.rounded(vertex.values)
            is_new = len(values) and self._walk(asked.columns, values - self.known[asked.columns])
            dry = 0 if is_new else dry + 1
            vertices += 1
            now = self._open_ends(k)
            closed, left = left - now, now

    def _open_ends(self, k: IntArray) -> int:
        low, high = self.ledger.are_open(k)
        return int(np.count_nonzero(low) + np.count_nonzero(high))

    def _walk(self, columns: IntArray, change: IntArray) -> bool:
        """Move the centre to another solution; return whether it has any new value."""
        moved = np.flatnonzero(change)
        if not len(moved):
            return False
        at, step = columns[moved], change[moved]
        self.known[at] += step
        for values, effects in ((self.total, self.view.by_column), (self.values, self.C_by_column)):
            entries = effects[:, at]
            np.add.at(
                values, entries.indices, entries.data * np.repeat(step, np.diff(entries.indptr))
            )
        touched = np.unique(entries.indices).astype(np.int64)
        return self.ledger.see(self.values[touched], self.ledger.step(at, step), touched)

    def inside(self, asked: _Asked) -> sparse.csr_array:
        """Return the functionals of one block: sparse (functionals × block's variables)."""
        C = sparse.csr_array(self.C[asked.functionals])
        columns = np.searchsorted(asked.columns, C.indices)
        shape = (C.shape[0], len(asked.columns))
        return sparse.csr_array((C.data, columns, C.indptr), shape=shape)

    def reach_ends(self, level: int, *, only_undecided: bool = False) -> None:
        """Find a proof and a solution for every open end of the blocks of a level.

        Args:
            only_undecided: Skip functionals that are known to vary.
        """
        for asked in self.asked(level):
            after: int | None = self._asked_last(asked.number)
            while after is not None:
                k = asked.functionals[asked.functionals > after]
                k = k[self._is_wanted(k, only_undecided=only_undecided)]
                if not len(k):
                    break
                rest = replace(asked, functionals=k)
                # Begun anew after every pause, a block does not depend on what was before.
                after = _Reach(self, rest).run(only_undecided=only_undecided)
        if self.is_due:
            self._show(_Place(self._step + 1))

    def join(self) -> None:
        """Combine the changes of blocks that were found so far, then drop them."""
        self.changes.join(self.ledger, self.base, self.total, self.values, self.left)
        self.changes = BlockChanges()
        if self.is_due:
            self._show(_Place(self._step + 1))

    def _is_wanted(self, k: IntArray, *, only_undecided: bool) -> BoolArray:
        """Return which functionals have an open end, or may be constant (``only_undecided``)."""
        if only_undecided:
            return self.ledger.are_undecided(k)
        below, above = self.ledger.are_open(k)
        return below | above

    def through(
        self, levels: Sequence[int], *, only_undecided: bool
    ) -> Iterator[Callable[[], None]]:
        """Yield the steps of some levels: blocks by vertices, then by engines, then joined changes.

        Engines solve the whole program in `settle`.
        """
        for level in levels:
            yield partial(self.reach_ends, level, only_undecided=only_undecided)
            if level < len(self.levels) - 1:
                yield partial(self.ask_engines, level, only_undecided=only_undecided)
            yield self.join

    def ask_engines(self, level: int, *, only_undecided: bool) -> None:
        """Ask engines for the open ends of small blocks, whose vertices are not whole.

        With all other variables fixed, a solution of the block is a solution of the whole; with all
        others free, values that two engines rule out in the block are ruled out in the whole.
        """
        for asked in self.asked(level):
            k = asked.functionals[self._is_wanted(asked.functionals, only_undecided=only_undecided)]
            if not len(k) or len(asked.columns) > _LARGE:
                continue
            rest, columns = replace(asked, functionals=k), asked.columns
            fixed = self.view.inner(self.known, self.total, columns)
            free = None if self.view.is_open.any() else self.view.relaxed(columns)
            C = self.inside(rest)
            for place, end in enumerate(k.tolist()):
                for sign in (1, -1):
                    self._optimise((fixed, free), columns, C[[place]], (end, sign), _BRIEF)

    def settle(self, *, only_undecided: bool) -> None:
        """Settle the rest by two engines: whether functionals vary, or else ends in small parts."""
        self._limit = self.effort.limit
        if self.left <= 0:
            return
        part_of_row, part = connected_parts(
            sparse.csr_array(sparse.vstack([self.program.constraints.A, self.C]))
        )
        part_of_functional = part_of_row[self.program.shape[0] :]
        size = np.bincount(part)
        if self._step != self._begin.step or not len(self._worth):
            most = _LARGE if only_undecided else _SMALL
            every = np.arange(len(part_of_functional))
            wanted = self._is_wanted(every, only_undecided=only_undecided)
            self._worth = wanted & (size[part_of_functional] <= most)
        worth = np.flatnonzero(self._worth)
        for k in worth[worth > self._asked_last(0)].tolist():
            columns = np.flatnonzero(part == part_of_functional[k])
            inside = connected_subset(self.program, columns).program
            # An engine takes an open end for a number: what it finds is a solution, and no proof.
            proving = inside if (inside.upper < OPEN).all() else None
            row = sparse.csr_array(self.C[[k]][:, columns])
            for sign in (1, -1):
                self._optimise((inside, proving), columns, row, (k, sign), _ENGINE)
            self.pause(0, k)

    def _optimise(
        self,
        programs: tuple[IntegerProgram, IntegerProgram | None],
        columns: IntArray,
        row: sparse.csr_array,
        end: tuple[int, int],
        limit: float,
    ) -> None:
        """Minimise ``sign`` times a functional by CP-SAT; SCIP must agree on the bound.

        Args:
            programs: An inner program, whose solutions, with the known values elsewhere, solve the
                whole program; and an outer one, which every solution of the whole program
                satisfies, None where nothing can be proven.
            row: Sparse (1 × columns): the functional.
            end: The functional's number, and the sign.
            limit: Deterministic seconds for each program.
        """
        ledger, (k, sign) = self.ledger, end
        inner, outer = programs
        functional = sign * row.toarray()[0]
        for program in (inner,) if outer is None or outer is inner else (inner, outer):
            if not ledger.is_open(k, sign) or self.left <= 0:
                return
            effort = replace(self.effort, limit=min(limit, self.left))
            answer = maximize(program, -functional, effort, self.known[columns])
            ledger.effort += answer.deterministic_time
            if program is inner and len(answer.values):
                change = answer.values - self.known[columns]
                witness = Witness.of(self.base, change, columns)
                ledger.see(self.values + self.C_by_column[:, columns] @ change, witness)
            if program is outer and answer.status is Status.OPTIMAL:
                confirm_bound(ledger, program, row, end, -answer.bound)


class _Reach:
    """The open ends of one block."""

    def __init__(self, search: _Search, asked: _Asked) -> None:
        self.search, self.ledger, self.number = search, search.ledger, asked.number
        self.k = asked.functionals
        self.block: Block = search.view.around(search.known, search.total, asked.columns)
        every = search.C_by_column[:, asked.columns]
        touched, at = np.unique(every.indices, return_inverse=True)
        self.touched = touched.astype(np.int64)
        self.every = sparse.csc_array(
            (every.data, at.ravel(), every.indptr), shape=(len(touched), len(asked.columns))
        )
        values = search.values[self.k]
        short = (
            np.maximum(values - self.ledger.lower[self.k], 0),
            np.maximum(self.ledger.upper[self.k] - values, 0),
        )
        self.functionals = search.inside(asked)
        self.near = NearVertices(self.block, self.functionals, short)

    def run(self, *, only_undecided: bool) -> int | None:
        """Process one functional after the other, until the next pause.

        Returns:
            The last finished functional, at a pause; None at the end.
        """
        functionals: list[int] = self.k.tolist()
        for place, k in enumerate(functionals):
            for sign in (1, -1):
                if not only_undecided:
                    self._end(place, k, sign)
                elif self.ledger.are_undecided(slice(k, k + 1)).any():
                    # One step is enough, and takes a fraction of the pivots.
                    self._end(place, k, sign, most=1)
            if self.search.is_due:
                self.search.pause(self.number, k)
                return k
        return None

    def _end(self, place: int, k: int, sign: int, most: int = _FAR) -> None:
        """Find a proof and a solution of one end, or of up to ``most`` steps towards the end."""
        noise: np.random.Generator | None = None
        for _ in range(_ATTEMPTS):
            if not self.ledger.is_open(k, sign) or self.search.left <= 0:
                return
            distance = sign * self.ledger.proven(k, sign) - int(self.search.values[k])
            goal = max(-most, min(distance, most))
            vertex = self.near.reach(place, sign, goal, self.search.left, noise)
            self.ledger.effort += vertex.deterministic_time
            if not len(vertex.change):
                return
            change = np.rint(vertex.change).astype(np.int64)
            reached = self._try(change)
            functional = sign * self.functionals[[place]].toarray()[0]
            best = float(functional @ vertex.change)
            if best > sign * goal + WHOLE:
                wanted = int(np.ceil(best - WHOLE))
                proof = best_combination(self.block, functional, vertex.weights, wanted)
                if proof is not None:
                    bound = proof[0] + sign * int(self.search.values[k])
                    self.ledger.prove(k, sign, bound, proof[1])
            if reached or np.abs(vertex.change - change).max() < WHOLE:
                return
            noise = self.search.random

    def _try(self, change: IntArray) -> bool:
        """Test whether a change of the block alone is a solution; if so, record its values."""
        witness = Witness.of(self.search.base, change, self.block.columns)
        if self.block.is_met(change):
            first = int(self.block.columns[0])
            self.search.changes.keep(first, witness.columns, witness.change)
        if not self.block.is_solution(change):
            return False
        values = self.search.values[self.touched] + self.every @ change
        self.ledger.see(values, witness, self.touched)
        return True
