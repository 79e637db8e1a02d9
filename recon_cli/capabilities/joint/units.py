"""The records of two parts that are in every joint solution, place by place.

The parts' rows and the links between them are one program: Eq. (together) of docs/method.md. Its
certain records are found first; then which of these records their own part proves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import BatchQuarantine, Quarantine
from recon_cli.capabilities.joint.contradictions import JointRows, joint_contradiction
from recon_cli.capabilities.joint.least import Start, least_records
from recon_cli.capabilities.joint.links import LinkRows, link_rows
from recon_cli.capabilities.joint.options import Joint
from recon_cli.capabilities.joint.part import Part, PlacesOfPart, over, rows_within
from recon_cli.capabilities.joint.release import JointRelease
from recon_cli.capabilities.joint.sifting import first_solution
from recon_cli.errors import ContradictionError
from recon_cli.model.bounds import Bounds, propagate_signed
from recon_cli.model.components import Component, split_components
from recon_cli.model.ledger import Confirmation, Ledger
from recon_cli.model.program import LinearConstraints, stacked
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility

#: Candidates of places that are examined together.
_BATCH = 30_000
#: Number of parts whose records are reported: further parts only add information about them.
_TOLD = 2
#: Statuses of a place.
STATUSES = ("proven", "bounded", "undecided", "quarantined", "open", "apart")
PROVEN, BOUNDED, UNDECIDED, QUARANTINED, OPEN, APART = range(len(STATUSES))


@dataclass(frozen=True)
class JointProgram:
    """The program of some places.

    Attributes:
        places: Numbers of the places, sorted.
        columns: The candidates in question, among those of all parts one after the other.
        part: For each column its part.
        place: For each column its place.
        cell: For each column its histogram cell, among those of all parts one after the other.
        own: The parts' rows over these columns.
        rows: The rows of parts and of links over these columns.
        bounds: Bounds from propagation.
    """

    places: IntArray
    columns: IntArray
    part: IntArray
    place: IntArray
    cell: IntArray
    own: LinearConstraints
    rows: LinearConstraints
    bounds: Bounds


@dataclass(frozen=True)
class JointCertainty:
    """The joint proofs of one partition.

    Attributes:
        programs: Programs that were solved, if they are wanted.
        geoids: The places of any part, sorted.
        status: For each place its number in `STATUSES`.
        records: (parts × places) records of each part in a joint solution; from status
            `UNDECIDED` on, those that propagation places.
        alone: For each part, by histogram cell, the records that the part proves alone.
        together: For each part, by histogram cell, the records that all parts prove together.
        confirmed: The records of `together` that rest on two engines alone; for all others a
            proof was added up in integers.
        seconds: For each place deterministic seconds.
    """

    programs: tuple[JointProgram, ...]
    geoids: pl.Series
    status: IntArray
    records: IntArray
    alone: tuple[IntArray, ...]
    together: tuple[IntArray, ...]
    confirmed: tuple[IntArray, ...]
    seconds: npt.NDArray[np.float64]

    @classmethod
    def of(cls, batches: Sequence[JointCertainty], parts: int) -> Self:
        """Concatenate batches of places."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(
            tuple(program for b in batches for program in b.programs),
            pl.concat([pl.Series("geoid", [], dtype=pl.String), *(b.geoids for b in batches)]),
            np.concatenate([nothing, *(b.status for b in batches)]),
            np.concatenate(
                [np.zeros((parts, 0), dtype=np.int64), *(b.records for b in batches)], axis=1
            ),
            tuple(np.concatenate([nothing, *(b.alone[p] for b in batches)]) for p in range(parts)),
            tuple(
                np.concatenate([nothing, *(b.together[p] for b in batches)]) for p in range(parts)
            ),
            tuple(
                np.concatenate([nothing, *(b.confirmed[p] for b in batches)]) for p in range(parts)
            ),
            np.concatenate([np.empty(0), *(b.seconds for b in batches)]),
        )


def find_certain(
    joint: JointRelease, parts: Sequence[Part], options: Joint, quarantine: Quarantine
) -> JointCertainty:
    """Find the least number of each record over all joint solutions, Eq. (together), and alone.

    For the third part and further ones only results of propagation are returned.

    Raises:
        ContradictionError: Each part is possible, but not all together; names tables and the link.
    """
    geoids = pl.concat([part.geoids for part in parts]).unique().sort()
    status = _asked(parts, geoids)
    region = parts[0].made.plan.release.region
    watched = BatchQuarantine(quarantine, geoids, region.enclosing(geoids).fill_null(""))
    columns = np.cumsum([0, *(len(part.histogram.of_cell) for part in parts)])
    cells = np.cumsum([0, *(len(part.histogram.unit) for part in parts)])
    found = []
    for batch in _batches(parts, geoids):
        asked = _Asked(batch, geoids[batch], status[batch], watched, columns, cells)
        found.append(_Places(joint, parts, options, asked).settled())
    return JointCertainty.of(found, len(parts))


def _asked(parts: Sequence[Part], geoids: pl.Series) -> IntArray:
    """Return the initial status of each place: `PROVEN` if it is to be examined.

    Else a part lacks the place (`APART`), or counts do not bound its records (`OPEN`).
    """
    status = np.full(len(geoids), PROVEN, dtype=np.int64)
    for part in parts:
        at = geoids.search_sorted(part.geoids).cast(pl.Int64).to_numpy()
        apart = np.ones(len(geoids), dtype=bool)
        apart[at] = False
        status[at[~part.is_bounded]] = OPEN
        status[apart] = APART
    return status


def _batches(parts: Sequence[Part], geoids: pl.Series) -> Iterator[slice]:
    """Yield batches of neighbouring places, limited in candidates to bound memory."""
    size = np.zeros(len(geoids), dtype=np.int64)
    for part in parts:
        at = geoids.search_sorted(part.geoids).cast(pl.Int64).to_numpy()
        size[at] += np.bincount(part.system.candidates.unit, minlength=len(at))
    number = np.maximum(np.cumsum(size) - 1, 0) // _BATCH
    ends = np.flatnonzero(np.diff(number, append=-1)) + 1
    for first, last in pairwise([0, *ends.tolist()]):
        yield slice(first, last)


@dataclass(frozen=True)
class _Asked:
    """A batch of places to examine.

    Attributes:
        status: For each place its number in `STATUSES`: `PROVEN` if it is to be examined.
        first_column: Index of each part's first candidate among those of all parts.
        first_cell: Index of each part's first histogram cell among those of all parts.
    """

    batch: slice
    geoids: pl.Series
    status: IntArray
    watched: BatchQuarantine
    first_column: IntArray
    first_cell: IntArray


class _Places:
    """The program of some places, and the results so far.

    Columns are the candidates of all parts, one part after the other, and so are cells.
    """

    def __init__(
        self,
        joint: JointRelease,
        parts: Sequence[Part],
        options: Joint,
        asked: _Asked,
    ) -> None:
        self.joint, self.options, self.asked = joint, options, asked
        self.plans = [part.made.plan for part in parts]
        self.geoids, self.status = asked.geoids, asked.status.copy()
        self.seconds = np.zeros(len(self.geoids))
        self.parts = [part.within(self.geoids, self.status == PROVEN) for part in parts]
        widths = [len(part.of_cell) for part in self.parts]
        self.part: IntArray = np.repeat(np.arange(len(parts)), widths)
        self.first_cell = np.cumsum([0, *(part.cells for part in self.parts)])
        self.of_cell: IntArray = self._all(lambda part: part.of_cell)
        self.of_cell += self.first_cell[self.part]
        unit = self._all(lambda part: part.place)
        self.columns = np.flatnonzero(unit >= 0)
        self.label: IntArray = unit[self.columns]
        self.links: LinkRows = link_rows(joint.links, [part.linked for part in self.parts])
        self.own = self._own_rows()
        lower, upper = (self._all(lambda part: part.lower), self._all(lambda part: part.upper))
        self.alone_bounds = Bounds(
            lower[self.columns],
            upper[self.columns],
            np.zeros(len(self.columns), dtype=bool),
            np.zeros(self.own.A.shape[0], dtype=bool),
        )
        self.rows = stacked(self.own, self._linking(np.arange(len(self.links.unit))))
        self.bounds = self._propagated()
        self.alone: IntArray = self._by_cell(np.arange(len(self.part)), lower)
        least = self._by_cell(self.columns, self.bounds.lower)
        self.together: IntArray = np.maximum(self.alone, least)
        self.fixed: IntArray = self._by_cell(
            self.columns, np.where(self.bounds.free, 0, self.bounds.lower)
        )
        self.confirmed: IntArray = np.zeros_like(self.together)
        self.values: IntArray = lower.copy()
        self.values[self.columns] = self.bounds.lower
        self.known: dict[int, _Solved] = {}

    def _all(self, of: Callable[[PlacesOfPart], IntArray]) -> IntArray:
        """Concatenate an array of each part."""
        found: IntArray = np.concatenate([of(part) for part in self.parts])
        return found

    def _by_cell(self, columns: IntArray, values: IntArray) -> IntArray:
        """Sum some columns' values by histogram cell."""
        return np.bincount(self.of_cell[columns], values, self.first_cell[-1]).astype(np.int64)

    def _own_rows(self) -> LinearConstraints:
        """Return the parts' own rows over the columns in question."""
        blocks = sparse.block_diag([part.rows.A for part in self.parts], format="csr")
        every = LinearConstraints(
            sparse.csr_array(blocks),
            self._all(lambda part: part.rows.least),
            self._all(lambda part: part.rows.most),
        )
        return rows_within(every, self.columns)

    def _linking(self, rows: IntArray) -> LinearConstraints:
        """Return some rows of links over the columns in question."""
        every = self.links.rows
        A = sparse.csr_array(every.A[rows][:, self.columns])
        return LinearConstraints(A, every.least[rows], every.most[rows])

    def _propagated(self) -> Bounds:
        found = propagate_signed(self.rows, self.alone_bounds.upper)
        if found.conflict.any():
            at = np.flatnonzero(found.conflict)
            columns = sparse.csr_array(self.rows.A[at]).nonzero()[1]
            raise self._contradiction(int(self.label[columns].min()))
        return Bounds(found.lower, found.upper, self.alone_bounds.is_open, found.conflict)

    def _contradiction(self, unit: int) -> ContradictionError:
        """Return the error for a place without a joint solution."""
        here = np.flatnonzero(self.label == unit)
        link = np.flatnonzero(self.links.unit == unit)
        return joint_contradiction(
            self.joint,
            self.plans,
            self.geoids[unit],
            JointRows(
                rows_within(self.own, here),
                over(self._linking(link), here),
                self.links.link[link],
                self.links.label[link],
                self.alone_bounds.upper[here],
            ),
            self._seed("joint", unit),
        )

    def _seed(self, purpose: str, unit: int) -> int:
        return digest_seed(self.options.fixed_seed, purpose, self.geoids[unit])

    def settled(self) -> JointCertainty:
        for component in split_components(
            self.rows, self.bounds, self.label, targets=self.label, pack=1
        ):
            unit = int(self.label[component.columns[0]])
            if self.asked.watched.admits(np.array([self.asked.batch.start + unit])):
                self._settle_together(unit, component)
            else:
                self.status[unit] = QUARANTINED
        apart = self.label * len(self.parts) + self.part[self.columns]
        for component in split_components(
            self.own, self.alone_bounds, self.label, targets=apart, pack=1
        ):
            unit = int(self.label[component.columns[0]])
            if self.status[unit] in (PROVEN, BOUNDED):
                self._settle_alone(unit, component)
        alone, together, confirmed = (
            tuple(np.split(each, self.first_cell[1:-1]))
            for each in (np.minimum(self.alone, self.together), self.together, self.confirmed)
        )
        records = np.zeros((len(self.parts), len(self.geoids)), dtype=np.int64)
        np.add.at(records, (self.part, self._all(lambda part: part.of_unit)), self.values)
        return JointCertainty(
            self._programs(),
            self.geoids,
            self.status,
            records,
            alone,
            together,
            confirmed,
            self.seconds,
        )

    def _programs(self) -> tuple[JointProgram, ...]:
        """Return the program if compositions will be examined; it is large."""
        if not self.options.compositions:
            return ()
        part, cell = self.part[self.columns], self.of_cell[self.columns]
        first_column, first_cell = self.asked.first_column, self.asked.first_cell
        starts = np.cumsum([0, *(len(each.of_cell) for each in self.parts)])
        in_part, cell_in_part = self.columns - starts[part], cell - self.first_cell[part]
        inside = [(each.first_column, each.first_cell) for each in self.parts]
        column_here, cell_here = np.array(inside, dtype=np.int64).T
        program = JointProgram(
            np.arange(self.asked.batch.start, self.asked.batch.stop),
            first_column[part] + column_here[part] + in_part,
            part,
            self.asked.batch.start + self.label,
            first_cell[part] + cell_here[part] + cell_in_part,
            self.own,
            self.rows,
            self.bounds,
        )
        return (program,)

    def _settle_together(self, unit: int, component: Component) -> None:
        """Find a joint solution of a place, and the least number of each of its records."""
        seed = self._seed("joint", unit)
        found = first_solution(component.program, Effort(seed, self.options.unit_seconds))
        solution = found.solution
        self.seconds[unit] += solution.deterministic_time
        if solution.outcome is Feasibility.INFEASIBLE:
            raise self._contradiction(unit)
        if solution.outcome is Feasibility.UNDECIDED:
            self.status[unit] = UNDECIDED
            return
        columns = self.columns[component.columns]
        self.values[columns] = solution.values
        known = [solution.values]
        cells = np.unique(self.of_cell[columns])
        cells = cells[cells < self.first_cell[_TOLD]]
        if len(cells):
            effort = Effort(seed, self.options.unit_seconds - solution.deterministic_time)
            ledger = self._least(unit, component, cells, Start(known, found.likely), effort)
            self.together[cells] = self.fixed[cells] + ledger.lower
            self.confirmed[cells] = _confirmed(ledger)
            known = ledger.known
        self.known[unit] = _Solved(columns, known)

    def _settle_alone(self, unit: int, component: Component) -> None:
        """Find which of the jointly proven records a part proves alone."""
        columns = self.columns[component.columns]
        cells = np.unique(self.of_cell[columns])
        cells = cells[self.together[cells] > self.alone[cells]]
        cells = cells[cells < self.first_cell[_TOLD]]
        if len(cells):
            effort = Effort(self._seed("alone", unit), self.options.unit_seconds)
            known, lowest = self._known(unit, columns), self.alone[cells]
            start = Start(known, np.empty(0, dtype=np.int64))
            ledger = self._least(unit, component, cells, start, effort)
            sums = ledger.functionals @ component.program.lower
            self.alone[cells] = lowest - sums + ledger.lower

    def _least(
        self,
        unit: int,
        component: Component,
        cells: IntArray,
        start: Start,
        effort: Effort,
    ) -> Ledger:
        """Find the least number of people in some histogram cells of a component."""
        of_column = self.of_cell[self.columns[component.columns]]
        place = np.minimum(np.searchsorted(cells, of_column), len(cells) - 1)
        inside = np.flatnonzero(cells[place] == of_column)
        ones = np.ones(len(inside), dtype=np.int64)
        sums = sparse.csr_array((ones, (place[inside], inside)), shape=(len(cells), len(of_column)))
        ledger = least_records(component.program, sums, start, effort)
        self.seconds[unit] += ledger.effort
        if ledger.is_open_below.any():
            self.status[unit] = BOUNDED
        return ledger

    def _known(self, unit: int, columns: IntArray) -> list[IntArray]:
        """Return joint solutions over some columns of one part."""
        if unit not in self.known:
            return [self.values[columns]]
        solved, found = self.known[unit], []
        place = np.minimum(np.searchsorted(solved.columns, columns), len(solved.columns) - 1)
        is_here = solved.columns[place] == columns
        for solution in solved.known:
            values = self.values[columns].copy()
            values[is_here] = solution[place[is_here]]
            found.append(values)
        return found


@dataclass(frozen=True)
class _Solved:
    """Joint solutions of a place, over its columns."""

    columns: IntArray
    known: list[IntArray]


def _confirmed(ledger: Ledger) -> IntArray:
    """Return for each least value how much of it rests on two engines alone.

    Every other proof is added up once more, in integers of any length.

    Raises:
        ValueError: A proof does not reach its bound.
    """
    program, confirmed = ledger.program, np.zeros_like(ledger.lower)
    given: IntArray = ledger.functionals @ program.lower
    for k in np.flatnonzero(ledger.lower > given).tolist():
        end, functional = ledger.end(k, 1), ledger.coefficients(k)
        if end.why is None or isinstance(end.why, Confirmation):
            confirmed[k] = end.proven - given[k]
        elif end.why.bound(program, functional) < end.proven:
            raise ValueError(f"sum {k}: its rows do not add up to {end.proven}")
    return confirmed


def certain_records(part: Part, alone: IntArray, together: IntArray) -> Iterator[pl.DataFrame]:
    """Yield a row for each certain record: the geoid, its histogram columns, and ``proof``."""
    frame = part.frame()
    for proof, number in (("alone", alone), ("joint", together - alone)):
        rows = np.repeat(np.arange(len(number)), number)
        yield frame[rows].with_columns(proof=pl.lit(proof))
