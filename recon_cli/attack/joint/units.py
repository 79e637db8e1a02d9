"""The records of two parts that are in every joint solution, place by place.

The parts' rows and the links between them are one program: Eq. (together) of docs/method.md. Its
certain records are asked for first; of those that there are, whether their own part alone proves
them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.attack.excluded_units import BatchQuarantine, Quarantine
from recon_cli.attack.joint.contradictions import JointRows, joint_contradiction
from recon_cli.attack.joint.part import Part, over, rows_within, stacked
from recon_cli.attack.options import JointOptions
from recon_cli.errors import ContradictionError
from recon_cli.model.bounds import Bounds
from recon_cli.model.components import Component, split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.ledger import Ledger
from recon_cli.model.links import LinkRows, link_rows
from recon_cli.model.program import IntegerProgram
from recon_cli.model.signed_bounds import propagate_signed
from recon_cli.schema.joint import JointRelease
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import Ends, EndSearch
from recon_cli.solve.feasibility import Feasibility, solve_program

#: Vertices in a row that refute nothing, after which duals are asked for one record at a time.
_DRY = 3
#: How much a random cost decides beside records: only among vertices that are equal else.
_NOISE = 1e-3
#: The parts of which records are told: the others only say more of these.
_TOLD = 2
#: What is known of a place.
STATUSES = ("proven", "bounded", "undecided", "quarantined", "open", "apart")
PROVEN, BOUNDED, UNDECIDED, QUARANTINED, OPEN, APART = range(len(STATUSES))


@dataclass(frozen=True)
class JointProgram:
    """The program of all places.

    Attributes:
        columns: The candidates in question, among those of all parts one after the other.
        part: For each of them its part.
        place: For each its place, from 0.
        cell: For each its histogram cell, among those of all parts one after the other.
        own: The parts' rows over them.
        rows: And those of links.
        bounds: What propagation proves of them.
    """

    columns: IntArray
    part: IntArray
    place: IntArray
    cell: IntArray
    own: LinearConstraints
    rows: LinearConstraints
    bounds: Bounds


@dataclass(frozen=True)
class JointCertainty:
    """What all parts together prove in one partition.

    Attributes:
        program: What it was asked of.
        geoids: The places of any part, rising.
        status: For each the place in `STATUSES` of what is known.
        records: (parts × places) records of each part in a joint solution; of those `UNDECIDED` and
            beyond, what propagation puts there.
        alone: For each part, for each of its histogram cells the records that it proves by itself.
        together: The same for all parts together.
        seconds: For each place deterministic seconds.
    """

    program: JointProgram
    geoids: pl.Series
    status: IntArray
    records: IntArray
    alone: tuple[IntArray, ...]
    together: tuple[IntArray, ...]
    seconds: npt.NDArray[np.float64]


def find_certain(
    joint: JointRelease, parts: Sequence[Part], options: JointOptions, quarantine: Quarantine
) -> JointCertainty:
    """The least number of each record over all joint solutions, Eq. (together), and by its part.

    Of the third part and further ones only what propagation proves is told.

    Raises:
        ContradictionError: All parts are possible, and not together; names tables, and the link.
    """
    return _Places(joint, parts, options, quarantine).settled()


class _Places:
    """The program of all places, and what is known so far.

    Columns are the candidates of all parts, one part after the other, and so are cells.
    """

    def __init__(
        self,
        joint: JointRelease,
        parts: Sequence[Part],
        options: JointOptions,
        quarantine: Quarantine,
    ) -> None:
        self.joint, self.parts, self.options = joint, parts, options
        self.geoids = pl.concat([part.geoids for part in parts]).unique().sort()
        self.status = np.full(len(self.geoids), PROVEN, dtype=np.int64)
        self._set_aside()
        self.seconds = np.zeros(len(self.geoids))
        region = parts[0].made.plan.release.region
        self.watched = BatchQuarantine(
            quarantine, self.geoids, region.enclosing(self.geoids).fill_null("")
        )
        widths = [len(part.histogram.of_cell) for part in parts]
        self.part: IntArray = np.repeat(np.arange(len(parts)), widths)
        self.first_cell = np.cumsum([0, *(len(part.histogram.unit) for part in parts)])
        self.of_cell: IntArray = self._all(lambda part: part.histogram.of_cell)
        self.of_cell += self.first_cell[self.part]
        unit = self._all(lambda part: part.numbered(self.geoids))
        self.unit: IntArray = np.where((unit >= 0) & (self.status[unit] == PROVEN), unit, -1)
        self.columns = np.flatnonzero(self.unit >= 0)
        self.label: IntArray = self.unit[self.columns]
        units = np.split(self.unit, np.cumsum(widths)[:-1])
        self.links: LinkRows = link_rows(
            joint.links, [part.linked(mine) for part, mine in zip(parts, units, strict=True)]
        )
        self.own = self._own_rows()
        self.alone_bounds = Bounds(
            self._all(lambda part: part.bounds.lower)[self.columns],
            self._all(lambda part: part.bounds.upper)[self.columns],
            np.zeros(len(self.columns), dtype=bool),
            np.zeros(self.own.A.shape[0], dtype=bool),
        )
        self.rows = stacked(self.own, self._linking(np.arange(len(self.links.unit))))
        self.bounds = self._propagated()
        self.alone: IntArray = self._by_cell(
            np.arange(len(self.part)), self._all(lambda part: part.bounds.lower)
        )
        least = self._by_cell(self.columns, self.bounds.lower)
        self.together: IntArray = np.maximum(self.alone, least)
        self.fixed: IntArray = self._by_cell(
            self.columns, np.where(self.bounds.free, 0, self.bounds.lower)
        )
        self.values: IntArray = self._all(lambda part: part.bounds.lower)
        self.values[self.columns] = self.bounds.lower
        self.known: dict[int, _Solved] = {}

    def _all(self, of: Callable[[Part], IntArray]) -> IntArray:
        """What each part says of its columns or rows, one after the other."""
        found: IntArray = np.concatenate([of(part) for part in self.parts])
        return found

    def _by_cell(self, columns: IntArray, values: IntArray) -> IntArray:
        """Sums of some columns' values by histogram cell."""
        return np.bincount(self.of_cell[columns], values, self.first_cell[-1]).astype(np.int64)

    def _set_aside(self) -> None:
        """The places that one part lacks, or where counts do not bound all records."""
        for part in self.parts:
            at = self.geoids.search_sorted(part.geoids).cast(pl.Int64).to_numpy()
            apart = np.ones(len(self.geoids), dtype=bool)
            apart[at] = False
            self.status[at[~part.is_bounded]] = OPEN
            self.status[apart] = APART

    def _own_rows(self) -> LinearConstraints:
        """The parts' own rows of the columns in question."""
        blocks = sparse.block_diag([part.rows.A for part in self.parts], format="csr")
        every = LinearConstraints(
            sparse.csr_array(blocks),
            self._all(lambda part: part.rows.least),
            self._all(lambda part: part.rows.most),
        )
        return rows_within(every, self.columns)

    def _linking(self, rows: IntArray) -> LinearConstraints:
        """Some rows of links over the columns in question."""
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
        """Why a place has no joint solution."""
        here = np.flatnonzero(self.label == unit)
        link = np.flatnonzero(self.links.unit == unit)
        return joint_contradiction(
            self.joint,
            [part.made.plan for part in self.parts],
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
        return digest_seed(self.options.seed, purpose, self.geoids[unit])

    def settled(self) -> JointCertainty:
        """All places."""
        for component in split_components(
            self.rows, self.bounds, self.label, targets=self.label, pack=1
        ):
            unit = int(self.label[component.columns[0]])
            if self.watched.admits(np.array([unit])):
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
        alone, together = (
            tuple(np.split(each, self.first_cell[1:-1]))
            for each in (np.minimum(self.alone, self.together), self.together)
        )
        records = np.zeros((len(self.parts), len(self.geoids)), dtype=np.int64)
        at = self.part[self.columns], self.label
        np.add.at(records, at, self.values[self.columns])
        part, cell = self.part[self.columns], self.of_cell[self.columns]
        program = JointProgram(
            self.columns, part, self.label, cell, self.own, self.rows, self.bounds
        )
        return JointCertainty(
            program, self.geoids, self.status, records, alone, together, self.seconds
        )

    def _settle_together(self, unit: int, component: Component) -> None:
        """A joint solution of a place, and the least of each record that it has."""
        seed = self._seed("joint", unit)
        solution = solve_program(component.program, seed)
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
            ledger = self._least(unit, component, cells, known, seed)
            self.together[cells] = self.fixed[cells] + ledger.lower
            known = ledger.known
        self.known[unit] = _Solved(columns, known)

    def _settle_alone(self, unit: int, component: Component) -> None:
        """What a part proves by itself of the records that all prove."""
        columns = self.columns[component.columns]
        cells = np.unique(self.of_cell[columns])
        cells = cells[self.together[cells] > self.alone[cells]]
        cells = cells[cells < self.first_cell[_TOLD]]
        if len(cells):
            seed, known = self._seed("alone", unit), self._known(unit, columns)
            lowest = self.alone[cells]
            ledger = self._least(unit, component, cells, known, seed)
            sums = ledger.functionals @ component.program.lower
            self.alone[cells] = lowest - sums + ledger.lower

    def _least(
        self, unit: int, component: Component, cells: IntArray, known: list[IntArray], seed: int
    ) -> Ledger:
        """The least of each of some histogram cells in a component."""
        of_column = self.of_cell[self.columns[component.columns]]
        place = np.minimum(np.searchsorted(cells, of_column), len(cells) - 1)
        inside = np.flatnonzero(cells[place] == of_column)
        ones = np.ones(len(inside), dtype=np.int64)
        sums = sparse.csr_array((ones, (place[inside], inside)), shape=(len(cells), len(of_column)))
        effort = Effort(seed, self.options.unit_seconds)
        ledger = least_records(component.program, sums, known, effort)
        self.seconds[unit] += ledger.effort
        if ledger.is_open_below.any():
            self.status[unit] = BOUNDED
        return ledger

    def _known(self, unit: int, columns: IntArray) -> list[IntArray]:
        """Joint solutions over some columns of one part."""
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


def least_records(
    program: IntegerProgram, sums: sparse.csr_array, known: list[IntArray], effort: Effort
) -> Ledger:
    """The least of each sum of variables, as far as the effort goes.

    Vertices at which many sums are small refute most; duals prove most of what is left, one sum at
    a time, and two engines the rest.

    Args:
        program: Of a place.
        sums: Sparse (sums × variables).
        known: Solutions, at least one.
        effort: Its limit is for everything together.
    """
    ledger = Ledger(program, sums, known)
    search = EndSearch(ledger, effort)
    _refute(search)
    for k in np.flatnonzero(ledger.is_open_below).tolist():
        if ledger.is_open(k, 1) and search.left > 0:
            search.bound(np.array([k]), np.array([1]))
    search.tighten(np.flatnonzero(ledger.is_open_below), Ends.LOWER)
    return ledger


def _refute(search: EndSearch) -> None:
    """Look for solutions that lack as many of the open records as possible."""
    ledger, dry = search.ledger, 0
    while dry < _DRY and search.left > 0 and ledger.is_open_below.any():
        wanted = ledger.is_open_below.astype(np.float64)
        noise = _NOISE * search.random.random(ledger.program.shape[1])
        wanted *= search.random.random(len(wanted))
        _, is_new = search.vertex(ledger.functionals.T @ wanted + noise)
        dry = 0 if is_new else dry + 1


def certain_records(part: Part, alone: IntArray, together: IntArray) -> Iterator[pl.DataFrame]:
    """A row for each certain record: the geoid, its histogram columns, and ``proof``."""
    frame = part.frame()
    for proof, number in (("alone", alone), ("joint", together - alone)):
        rows = np.repeat(np.arange(len(number)), number)
        yield frame[rows].with_columns(proof=pl.lit(proof))
