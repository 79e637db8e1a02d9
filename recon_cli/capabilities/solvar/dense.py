"""Variability of a region with too many candidates to list.

Intervals come from propagation over the dense domain. The linear relaxation over all histogram
cells, column by column, bounds what a solution of a unit lacks of the reconstruction: Eq. (kept).
Its duals prove the bound in integers; its vertex, if integral, is a solution that attains it.

See *solution variability* and *column pricing* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import AtomArray, BoolArray, IntArray
from recon_cli.ask.quarantine import BatchQuarantine
from recon_cli.capabilities.reconstruct.column_pricing import (
    OpenUnits,
    certified_least,
    price_columns,
)
from recon_cli.capabilities.reconstruct.dense_bounds import DenseBounds, propagate_dense
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain, require_room
from recon_cli.capabilities.reconstruct.priced_rows import PricedRows
from recon_cli.capabilities.solvar.batch import BatchVariability, CellIntervals
from recon_cli.capabilities.solvar.distance import Distances
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.capabilities.solvar.unit_search import UNWATCHED, UnitSearch
from recon_cli.errors import StageError
from recon_cli.frames import OPEN
from recon_cli.model.bounds import propagate
from recon_cli.model.candidates import Candidates
from recon_cli.model.distinct_rows import distinct_columns
from recon_cli.model.grain import unravel
from recon_cli.model.ledger import Arrays, Ledger
from recon_cli.model.placed import placed
from recon_cli.model.plan import Plan
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.model.system import System
from recon_cli.solve.cp_sat import Effort, maximize
from recon_cli.solve.dual_bounds import least_value
from recon_cli.solve.ends import Ends, tighten_bounds
from recon_cli.solve.linear_relaxation import WHOLE
from recon_cli.statement.costs import SCALE

#: Units whose programs are solved as one.
_PACK = 8
#: Histogram cells of a unit up to which they are listed to prove who is certain.
_LISTED = 50_000


@dataclass(frozen=True)
class DenseRegion:
    """A region whose candidates are held as arrays, and its variability: Eq. (kept).

    Attributes:
        candidates: The histogram cells that people can be in.
        cell: For each candidate its number in its unit.
    """

    rows: PricedRows
    bounds: DenseBounds
    candidates: Candidates
    cell: IntArray

    @classmethod
    def of(cls, plan: Plan, system: System) -> DenseRegion:
        """Prepare the only region of a system.

        Raises:
            SolverError: Its units have more histogram cells than can be held.
        """
        units = len(system.units)
        require_room(plan, units)
        domain = DenseDomain.of(plan, system.strata, units)
        bounds = propagate_dense(domain)
        unit, cell = np.nonzero((bounds.upper > 0) | bounds.is_open)
        atoms: AtomArray = unravel(cell, plan.grain.sizes).astype(np.int16)
        return cls(PricedRows.of(plan, domain, None), bounds, Candidates(unit, atoms), cell)

    def require_solution(self, people: IntArray, missing: BoolArray) -> None:
        """Refuse people in the candidates who violate the rows of complete units.

        Raises:
            StageError: They violate some.
        """
        unit = self.candidates.unit
        placed = np.flatnonzero(people)
        columns = self.rows.columns(unit[placed], self.cell[placed])
        counts = columns @ people[placed]
        partial = self.rows.holding(missing)
        met = (counts >= self.rows.least) & (counts <= self.rows.most)
        if not met[self.rows.used & ~partial].all():
            raise StageError(
                "microdata/ does not reproduce the published counts: run `recon reconstruct` again"
            )

    def measure(
        self,
        histogram: HistogramCells,
        incumbent: IntArray,
        people: IntArray,
        missing: BoolArray,
        quarantine: BatchQuarantine,
        *,
        search: UnitSearch = UNWATCHED,
        effort: Effort,
    ) -> BatchVariability:
        """Measure intervals, certain records and solvar of every unit.

        Args:
            people: People of each unit.
            missing: For each unit whether people are missing in ``incumbent``.
            effort: Effort for a unit whose relaxation is fractional.
        """
        measurement = _Measurement(self, histogram, incumbent, missing, effort)
        return measurement.result(people, quarantine, search)


class _Measurement:
    """The variability of one region so far."""

    def __init__(
        self,
        region: DenseRegion,
        histogram: HistogramCells,
        incumbent: IntArray,
        missing: BoolArray,
        effort: Effort,
    ) -> None:
        unit, cell = region.candidates.unit, region.cell
        self.incumbent = np.zeros(region.bounds.upper.shape, dtype=np.int64)
        self.incumbent[unit, cell] = incumbent
        bounds = region.bounds.holding(self.incumbent)
        self.region = region = replace(region, bounds=bounds)
        self.histogram, self.missing = histogram, missing
        self.units, self.effort = len(missing), effort
        self.lower = self._by_cell(bounds.lower[unit, cell].astype(np.int64))
        self.upper = self._by_cell(bounds.upper[unit, cell].astype(np.int64))
        self.is_open = self._by_cell(bounds.is_open[unit, cell].astype(np.int64)) > 0
        self.here = self._by_cell(incumbent)
        self.lowest = np.where(missing[histogram.unit], self.upper, self.here)
        widths = np.where(missing[histogram.unit], self.upper - self.lower, self.here - self.lower)
        self.solvar = Distances(np.zeros(self.units, dtype=np.int64), 2 * self._by_unit(widths))
        self.used_solver = np.zeros(self.units, dtype=bool)
        self.seconds = np.zeros(self.units)
        self.is_left = (self._by_unit(self.here > self.lower) > 0) & ~missing

    @property
    def _state(self) -> Arrays:
        """Return everything that units change, by name."""
        return {
            "lower": self.lower,
            "lowest": self.lowest,
            **self.solvar.named("solvar"),
            "used_solver": self.used_solver,
            "seconds": self.seconds,
            "is_left": self.is_left,
        }

    def result(
        self, people: IntArray, quarantine: BatchQuarantine, search: UnitSearch
    ) -> BatchVariability:
        """Measure unit by unit, then all together."""
        search.resume(self._state)
        open_units = np.flatnonzero(self.is_left)
        for first in range(0, 0 if search.is_over else len(open_units), _PACK):
            units = open_units[first : first + _PACK]
            if quarantine.admits(units):
                self._add(units)
            self.is_left[units] = False
            bound = np.where(self.is_left, OPEN, self.solvar.bound)
            search.advance(self._state, ~self.is_left, Distances(self.solvar.reached, bound))
        bound = np.minimum(self.solvar.bound, 2 * (people - self._by_unit(self.lower)))
        self.solvar = Distances(self.solvar.reached, bound)
        # Where no row couples units, one solution attains the distances of all of them.
        reached = self.solvar.reached
        together = reached.max(initial=0) if self.region.rows.is_coupled else reached.sum()
        return BatchVariability(
            CellIntervals(
                self.lower,
                np.where(self.is_open, OPEN, self.upper),
                (self.lower == self.upper) & ~self.is_open,
                self.lowest,
            ),
            self.solvar,
            None,
            Distances(np.array([together]), np.array([bound.sum()])),
            ~self.is_left,
            self.used_solver,
            self.seconds,
        )

    def _add(self, units: IntArray) -> None:
        """Solve the relaxation of some units: bounds, and solutions if its vertex is integral."""
        region, bounds = self.region, self.region.bounds
        rows = region.rows.without_shared().select(units)
        nobody = np.zeros(len(rows.least), dtype=np.int64)
        given = OpenUnits(
            rows,
            bounds.lower[units],
            bounds.upper[units],
            nobody,
            nobody.astype(bool),
            person=self._price(units),
        )
        vertex = price_columns(given, self.incumbent[units] > 0)
        if vertex is None:
            return
        self.used_solver[units] = True
        self.seconds[units] += vertex.deterministic_time / len(units)
        kept = -(-certified_least(given, vertex.duals) // SCALE)
        everyone = self._by_unit(self.here)[units]
        self.solvar.bound[units] = np.minimum(self.solvar.bound[units], 2 * (everyone - kept))
        for place, unit in enumerate(units.tolist()):
            mine = vertex.unit == place
            cell, values = vertex.cell[mine], vertex.values[mine]
            whole = np.rint(values).astype(np.int64)
            if np.abs(values - whole).max(initial=0.0) > WHOLE:
                whole = self._whole(given.select(place), unit, cell)
            if len(whole):
                self._try(unit, cell, whole)
            self._prove(unit, cell[values > WHOLE])

    def _prove(self, unit: int, kept: IntArray) -> None:
        """Prove the records in every solution of a unit alone, whatever coarser tables distinguish.

        Columns that the unit's own rows do not distinguish are merged, so that tables of coarser
        places weaken no proof by the unit's tables, and only tighten bounds.

        Args:
            kept: Histogram cells of the working grain with people at the vertex.
        """
        region, bounds = self.region, self.region.bounds
        here = np.flatnonzero(region.candidates.unit == unit)
        at, cells = region.cell[here], np.unique(self.histogram.of_cell[here])
        if len(here) > _LISTED or bounds.is_open[unit].any():
            return
        rows = region.rows.without_shared().select(np.array([unit]))
        used = np.flatnonzero(rows.used)
        A = sparse.csr_array(sparse.csr_array(rows.columns(np.zeros_like(at), at))[used])
        place = np.searchsorted(cells, self.histogram.of_cell[here])
        H = placed(place, len(cells))
        merged, sum_of = distinct_columns(sparse.csc_array(sparse.vstack([A, H])))
        A, H = sparse.csr_array(A[:, merged]), sparse.csr_array(H[:, merged])
        if not np.diff(sparse.csc_array(A).indptr).all():
            return
        lower, upper, known = (
            np.bincount(sum_of, each[unit, at], len(merged)).astype(np.int64)
            for each in (bounds.lower, bounds.upper, self.incumbent)
        )
        alone = propagate(LinearConstraints(A, rows.least[used], rows.most[used]), known)
        # Where only coarser counts bound people, the unit's rows alone do not bound their number.
        if not alone.is_open.any():
            lower, upper = np.maximum(lower, alone.lower), np.minimum(upper, alone.upper)
        self.lower[cells] = np.maximum(self.lower[cells], np.asarray(H @ lower))
        # A row without upper bound gets the greatest sum of its cells.
        most = np.where(rows.most[used] < OPEN, rows.most[used], A @ upper)
        program = IntegerProgram(LinearConstraints(A, rows.least[used], most), lower, upper)
        ledger = Ledger(program, H, [known])
        asked = np.unique(place[np.isin(at, kept)])
        asked = asked[ledger.is_open_below[asked]]
        for k in asked.tolist():
            left = self.effort.limit - ledger.effort
            if not ledger.is_open(k, 1) or left <= 0:
                continue
            found = least_value(program, ledger.coefficients(k), left)
            ledger.effort += found.deterministic_time
            ledger.prove(k, 1, found.bound, found.why)
            values = program.rounded(found.vertex)
            if len(values):
                ledger.add_solution(values)
        if len(asked):
            left = self.effort.limit - ledger.effort
            tighten_bounds(ledger, replace(self.effort, limit=left), Ends.LOWER, asked)
        self.seconds[unit] += ledger.effort
        self.lower[cells] = np.maximum(self.lower[cells], ledger.lower)

    def _whole(self, given: OpenUnits, unit: int, cell: IntArray) -> IntArray:
        """Find integral people in some histogram cells of a unit with the fewest kept, or none."""
        program = given.program(np.zeros_like(cell), cell, may_lack=False).program
        answer = maximize(program.program, -program.cost, self.effort)
        self.seconds[unit] += answer.deterministic_time
        return answer.values[: program.columns]

    def _price(self, units: IntArray) -> IntArray:
        """Return (units × cells) costs of kept people, Eq. (kept), in 1/`SCALE`."""
        share = SCALE * self.here // np.maximum(self.upper, 1)
        price = np.zeros(self.incumbent.shape, dtype=np.int64)
        price[self.region.candidates.unit, self.region.cell] = share[self.histogram.of_cell]
        return price[units]

    def _try(self, unit: int, cell: IntArray, values: IntArray) -> None:
        """Record people of a unit, with the other units fixed, if they are a solution."""
        region = self.region
        alone = np.array([unit])
        rows, kept = region.rows.select(alone), region.rows.rows_of(alone)
        nothing = np.zeros_like(cell)
        counts = rows.columns(nothing, cell) @ values
        if region.rows.is_coupled:
            others = np.flatnonzero(self.incumbent.any(axis=1) & (np.arange(self.units) != unit))
            place, number = np.nonzero(self.incumbent[others])
            people = self.incumbent[others[place], number]
            counts = counts + (region.rows.columns(others[place], number) @ people)[kept]
        met = (counts >= rows.least) & (counts <= rows.most)
        if not met[rows.used].all():
            return
        other = np.zeros(self.region.rows.domain.cells, dtype=np.int64)
        other[cell] = values
        candidates = region.candidates.unit == unit
        of_cell = self.histogram.of_cell[candidates]
        found = np.bincount(of_cell, other[region.cell[candidates]], len(self.here)).astype(int)
        mine = self.histogram.unit == unit
        lost = int(np.maximum(self.here - found, 0)[mine].sum())
        self.solvar.reached[unit] = max(int(self.solvar.reached[unit]), 2 * lost)
        self.lowest[mine] = np.minimum(self.lowest, found)[mine]

    def _by_cell(self, values: IntArray) -> IntArray:
        """Sum values of the candidates over histogram cells."""
        of_cell, number = self.histogram.of_cell, len(self.histogram.unit)
        return np.bincount(of_cell, values, number).astype(np.int64)

    def _by_unit(self, values: IntArray | BoolArray) -> IntArray:
        return np.bincount(self.histogram.unit, values, self.units).astype(np.int64)
