"""The records of both parts that are in every joint solution, place by place.

Both parts' rows and the links between them are one program: Eq. (together) of docs/method.md. Its
certain records are asked for first; of those that there are, whether their own part alone proves
them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.excluded_units import BatchQuarantine, Quarantine
from recon_cli.attack.joint.contradictions import JointRows, joint_contradiction
from recon_cli.attack.joint.part import Part, rows_within
from recon_cli.attack.options import JointOptions
from recon_cli.model.bounds import Bounds
from recon_cli.model.components import Component, split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.ledger import Ledger
from recon_cli.model.links import LinkRows, link_rows
from recon_cli.model.program import IntegerProgram
from recon_cli.model.signed_bounds import propagate_signed
from recon_cli.schema.joint import JointRelease
from recon_cli.seeding import digest_seed
from recon_cli.solve.bound_tightening import Ends
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import EndSearch
from recon_cli.solve.feasibility import Feasibility, solve_program

#: Vertices in a row that refute nothing, after which duals are asked for one record at a time.
_DRY = 3
#: How much a random cost decides beside records: only among vertices that are equal else.
_NOISE = 1e-3
#: What is known of a place.
STATUSES = ("proven", "bounded", "undecided", "quarantined", "open", "apart")
PROVEN, BOUNDED, UNDECIDED, QUARANTINED, OPEN, APART = range(len(STATUSES))


@dataclass(frozen=True)
class JointCertainty:
    """What both parts together prove in one partition.

    Attributes:
        geoids: The places of either part, rising.
        status: For each the place in `STATUSES` of what is known.
        records: (2 × places) records of each part in a joint solution; of those `UNDECIDED` and
            beyond, what propagation puts there.
        alone: For each part, for each of its histogram cells the records that it proves by itself.
        together: The same for both parts together.
        seconds: For each place deterministic seconds.
    """

    geoids: pl.Series
    status: IntArray
    records: IntArray
    alone: tuple[IntArray, IntArray]
    together: tuple[IntArray, IntArray]
    seconds: npt.NDArray[np.float64]


def find_certain(
    joint: JointRelease, parts: tuple[Part, Part], options: JointOptions, quarantine: Quarantine
) -> JointCertainty:
    """The least number of each record over all joint solutions, Eq. (together), and by its part.

    Raises:
        ContradictionError: Both parts are possible, and not together; names tables of both, and the
            link.
    """
    return _Places(joint, parts, options, quarantine).settled()


class _Places:
    """The program of all places, and what is known so far."""

    def __init__(
        self,
        joint: JointRelease,
        parts: tuple[Part, Part],
        options: JointOptions,
        quarantine: Quarantine,
    ) -> None:
        self.joint, self.parts, self.options = joint, parts, options
        self.geoids = pl.concat([part.geoids for part in parts]).unique().sort()
        count = len(self.geoids)
        self.status = np.full(count, PROVEN, dtype=np.int64)
        self._set_aside()
        first, second = (
            np.where(self._is_asked(unit), unit, -1)
            for unit in (part.numbered(self.geoids) for part in parts)
        )
        self.width = len(first)
        self.unit: IntArray = np.concatenate([first, second])
        self.links: LinkRows = link_rows(
            joint.links, (parts[0].linked(first), parts[1].linked(second))
        )
        self.columns = np.flatnonzero(self.unit >= 0)
        self.rows, self.bounds = self._program()
        self.values: IntArray = self._both(lambda part: part.bounds.lower)
        self.seconds = np.zeros(count)
        region = parts[0].made.plan.release.region
        self.watched: BatchQuarantine = quarantine.of_batch(
            self.geoids, region.enclosing(self.geoids).fill_null("")
        )
        self.together = [part.histogram.sums @ part.bounds.lower for part in parts]
        self.alone = [each.copy() for each in self.together]

    def _both(self, of: Callable[[Part], IntArray]) -> IntArray:
        """What each part says of its columns or rows, one after the other."""
        found: IntArray = np.concatenate([of(part) for part in self.parts])
        return found

    def _set_aside(self) -> None:
        """The places that one part lacks, or where counts do not bound all records."""
        for part in self.parts:
            at = self.geoids.search_sorted(part.geoids).cast(pl.Int64).to_numpy()
            apart = np.ones(len(self.geoids), dtype=bool)
            apart[at] = False
            self.status[at[~part.is_bounded]] = OPEN
            self.status[apart] = APART

    def _is_asked(self, unit: IntArray) -> BoolArray:
        is_asked: BoolArray = (unit >= 0) & (self.status[unit] == PROVEN)
        return is_asked

    def _program(self) -> tuple[LinearConstraints, Bounds]:
        """Rows and bounds of the columns in question."""
        blocks = sparse.block_diag([part.rows.A for part in self.parts], format="csr")
        own = LinearConstraints(
            sparse.csr_array(blocks),
            self._both(lambda part: part.rows.least),
            self._both(lambda part: part.rows.most),
        )
        own = rows_within(own, self.columns)
        self.own_rows = own.A.shape[0]
        linking = self.links.rows
        rows = LinearConstraints(
            sparse.csr_array(sparse.vstack([own.A, linking.A[:, self.columns]])),
            np.concatenate([own.least, linking.least]),
            np.concatenate([own.most, linking.most]),
        )
        upper = self._both(lambda part: part.bounds.upper)[self.columns]
        found = propagate_signed(rows, upper)
        if found.conflict.any():
            at = np.flatnonzero(found.conflict)
            columns = sparse.csr_array(rows.A[at]).nonzero()[1]
            self._refuse(rows, upper, int(self.unit[self.columns[columns]].min()))
        is_open = np.zeros(len(upper), dtype=bool)
        return rows, Bounds(found.lower, found.upper, is_open, found.conflict)

    def _refuse(self, rows: LinearConstraints, upper: IntArray, unit: int) -> None:
        """Say why a place has no joint solution.

        Raises:
            ContradictionError: In any case.
        """
        here = np.flatnonzero(self.unit[self.columns] == unit)
        link = np.flatnonzero(self.links.unit == unit)
        raise joint_contradiction(
            self.joint,
            tuple(part.made.plan for part in self.parts),
            self.geoids[unit],
            JointRows(
                rows_within(
                    LinearConstraints(
                        sparse.csr_array(rows.A[: self.own_rows]),
                        rows.least[: self.own_rows],
                        rows.most[: self.own_rows],
                    ),
                    here,
                ),
                LinearConstraints(
                    sparse.csr_array(self.links.rows.A[link][:, self.columns[here]]),
                    self.links.rows.least[link],
                    self.links.rows.most[link],
                ),
                self.links.link[link],
                self.links.label[link],
                upper[here],
            ),
            digest_seed(self.options.seed, "joint", self.geoids[unit]),
        )

    def settled(self) -> JointCertainty:
        """All places."""
        self.values[self.columns] = self.bounds.lower
        self._take(self.columns, self.bounds.lower)
        solved: dict[int, _Solved] = {}
        label = self.unit[self.columns]
        for component in split_components(self.rows, self.bounds, label, targets=label, pack=1):
            unit = int(label[component.columns[0]])
            if not self.watched.admits(np.array([unit])):
                self.status[unit] = QUARANTINED
                continue
            found = self._solve(unit, component)
            if found is not None:
                solved[unit] = found
        for side, part in enumerate(self.parts):
            self._settle_alone(side, part, solved)
        records = [
            np.bincount(
                self.unit[mine][self.unit[mine] >= 0],
                self.values[mine][self.unit[mine] >= 0],
                minlength=len(self.geoids),
            )
            for mine in (slice(0, self.width), slice(self.width, None))
        ]
        return JointCertainty(
            self.geoids,
            self.status,
            np.stack(records).astype(np.int64),
            (self.alone[0], self.alone[1]),
            (self.together[0], self.together[1]),
            self.seconds,
        )

    def _take(self, columns: IntArray, lower: IntArray) -> None:
        """Raise what both prove of histogram cells to sums of bounds of candidates."""
        for side, part in enumerate(self.parts):
            mine = (columns >= self.width) == bool(side)
            cell = part.histogram.of_cell[columns[mine] - side * self.width]
            least = np.bincount(cell, lower[mine], len(self.together[side])).astype(np.int64)
            self.together[side] = np.maximum(self.together[side], least)

    def _cells(self, columns: IntArray) -> tuple[IntArray, sparse.csr_array]:
        """The histogram cells of both parts that columns fall into, and their sums.

        Cells of the second part are numbered after those of the first.
        """
        first, second = (part.histogram for part in self.parts)
        beyond = len(first.unit)
        of_column = np.concatenate([first.of_cell, second.of_cell + beyond])[columns]
        cells, place = np.unique(of_column, return_inverse=True)
        ones = np.ones(len(columns), dtype=np.int64)
        at = (place.ravel(), np.arange(len(columns)))
        return cells, sparse.csr_array((ones, at), shape=(len(cells), len(columns)))

    def _solve(self, unit: int, component: Component) -> _Solved | None:
        """A joint solution of a place, and the least of each record that it has."""
        seed = digest_seed(self.options.seed, "joint", self.geoids[unit])
        solution = solve_program(component.program, seed)
        self.seconds[unit] += solution.deterministic_time
        if solution.outcome is Feasibility.INFEASIBLE:
            upper = self._both(lambda part: part.bounds.upper)[self.columns]
            self._refuse(self.rows, upper, unit)
        if solution.outcome is Feasibility.UNDECIDED:
            self.status[unit] = UNDECIDED
            return None
        columns = self.columns[component.columns]
        self.values[columns] = solution.values
        cells, sums = self._cells(columns)
        effort = Effort(seed, self.options.unit_seconds)
        ledger = least_records(component.program, sums, [solution.values], effort)
        self.seconds[unit] += ledger.effort
        if ledger.is_open_below.any():
            self.status[unit] = BOUNDED
        # What propagation fixed of the same cells comes on top.
        fixed = np.flatnonzero((self.unit[self.columns] == unit) & ~self.bounds.free)
        lower = self._fixed(cells, fixed) + ledger.lower
        beyond = len(self.parts[0].histogram.unit)
        for side, mine in enumerate((cells < beyond, cells >= beyond)):
            at = cells[mine] - side * beyond
            self.together[side][at] = np.maximum(self.together[side][at], lower[mine])
        return _Solved(columns, [*ledger.known])

    def _fixed(self, cells: IntArray, fixed: IntArray) -> IntArray:
        """Records of each of some cells in columns that have one value."""
        first, second = (part.histogram for part in self.parts)
        beyond = len(first.unit)
        of_cell = np.concatenate([first.of_cell, second.of_cell + beyond])[self.columns[fixed]]
        place = np.minimum(np.searchsorted(cells, of_cell), len(cells) - 1)
        is_here = cells[place] == of_cell
        weights = self.bounds.lower[fixed][is_here]
        return np.bincount(place[is_here], weights, len(cells)).astype(np.int64)

    def _settle_alone(self, side: int, part: Part, solved: dict[int, _Solved]) -> None:
        """What a part proves by itself of the records that both prove."""
        unit = self.unit[side * self.width :][: len(part.histogram.of_cell)]
        asked = np.flatnonzero(unit >= 0)
        bounds = _of(part.bounds, asked)
        rows = rows_within(part.rows, asked)
        for component in split_components(rows, bounds, unit[asked], targets=unit[asked], pack=1):
            at = int(unit[asked[component.columns[0]]])
            if self.status[at] in (UNDECIDED, QUARANTINED):
                continue
            columns = asked[component.columns]
            numbers, place = np.unique(part.histogram.of_cell[columns], return_inverse=True)
            ones = np.ones(len(columns), dtype=np.int64)
            sums = sparse.csr_array(
                (ones, (place.ravel(), np.arange(len(columns)))),
                shape=(len(numbers), len(columns)),
            )
            own = self.alone[side][numbers]
            wanted = np.flatnonzero(self.together[side][numbers] > own)
            if not len(wanted):
                continue
            known = self._known(columns + side * self.width, solved.get(at))
            seed = digest_seed(self.options.seed, "alone", self.geoids[at])
            effort = Effort(seed, self.options.unit_seconds)
            held = sparse.csr_array(sums[wanted])
            ledger = least_records(component.program, held, known, effort)
            self.seconds[at] += ledger.effort
            fixed = own[wanted] - held @ component.program.lower
            self.alone[side][numbers[wanted]] = ledger.lower + fixed
        self.alone[side] = np.minimum(self.alone[side], self.together[side])

    def _known(self, columns: IntArray, solved: _Solved | None) -> list[IntArray]:
        """Joint solutions over some columns of one part."""
        if solved is None:
            return [self.values[columns]]
        found = []
        for solution in solved.known:
            values = self.values[columns].copy()
            place = np.minimum(np.searchsorted(solved.columns, columns), len(solved.columns) - 1)
            is_here = solved.columns[place] == columns
            values[is_here] = solution[place[is_here]]
            found.append(values)
        return found


@dataclass(frozen=True)
class _Solved:
    """Joint solutions of a place, over its columns."""

    columns: IntArray
    known: list[IntArray]


def _of(bounds: Bounds, columns: IntArray) -> Bounds:
    return Bounds(
        bounds.lower[columns], bounds.upper[columns], bounds.is_open[columns], bounds.conflict
    )


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
