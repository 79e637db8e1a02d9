"""A solution of a region with too many candidates to list.

Eq. (likely) of docs/method.md: the least total cost of the published counts, or any solution if
there are no costs. Column pricing finds the relaxation's optimum over all histogram cells; the
rounded vertex is checked in integers; if it is no solution, CP-SAT decides over every column that
an optimum can use.

Units that only coarse counts couple, too many for one program, are solved alone first; then a few
at a time are solved again until every coarse count is met. The result is a solution, not proven to
be a likeliest one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, Int32Array, IntArray
from recon_cli.capabilities.reconstruct.column_pricing import (
    CertifiedCosts,
    OpenUnits,
    PricedVertex,
    price_columns,
)
from recon_cli.capabilities.reconstruct.neighbourhoods import meet_shared_rows
from recon_cli.capabilities.reconstruct.priced_rows import PricedRows
from recon_cli.capabilities.reconstruct.row_costs import RECORD
from recon_cli.frames import OPEN
from recon_cli.model.program import IntegerProgram, LinearConstraints, with_rows
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, SolveResult, Status, find_feasible, maximize
from recon_cli.solve.feasibility import Feasibility, solve_program
from recon_cli.solve.linear_relaxation import WHOLE
from recon_cli.statement.costs import SCALE

#: Histogram cells: the unit of each, and its number in the unit.
_Columns = tuple[IntArray, IntArray]
#: Units that are solved in one program if they share no row.
_PACK = 8
#: Candidates of a connected region up to which it is one program.
_JOINT = 20_000
#: Columns up to which all candidates are listed where rounding and CP-SAT found nothing.
_LISTED = 200_000
#: Deterministic seconds of CP-SAT for a first whole solution.
_LIMIT = 30.0
#: Deterministic seconds of CP-SAT for the best solution over every column that can be in a better
#: one; units that take longer get the status `solved`.
_PROOF = 1.0
#: Columns of a unit, besides the relaxation's, over which the first whole solution is sought,
#: and their greatest reduced cost: the first solution is mostly the best.
_FIRST, _NEAR = 400, 0.6
#: Columns per unit that are added at a time, until all within the gap are included.
_NEXT = 800
#: Most columns of a program that a second engine confirms, and its seconds.
_CONFIRMED, _SECONDS = 4_000, 10.0


@dataclass(frozen=True)
class PricedSolution:
    """People of some units.

    Attributes:
        unit: Unit of each histogram cell with people, sorted.
        cell: Its number in the unit.
        is_solved: For each unit whether its people were found; where not, nothing is known of it.
        is_least: For each unit whether no solution costs less.
        deterministic_time: For each unit its share of the engines' seconds.
    """

    unit: IntArray
    cell: IntArray
    people: IntArray
    is_solved: BoolArray
    is_least: BoolArray
    deterministic_time: FloatArray

    @classmethod
    def unknown(cls, units: int, seconds: float) -> PricedSolution:
        """Return a result without people for ``units`` units."""
        nothing = np.empty(0, dtype=np.int64)
        no = np.zeros(units, dtype=bool)
        return cls(nothing, nothing, nothing, no, no, np.full(units, seconds / units))


@dataclass(frozen=True)
class _Pack:
    """Some units with their rows and bounds.

    Attributes:
        lower: (units × cells) least people.
        upper: (units × cells) most.
        on_progress: Told of units done, and of people whom shared rows still miss.
    """

    rows: PricedRows
    lower: Int32Array
    upper: Int32Array
    seed: int
    on_progress: OnProgress = ignore_progress

    @property
    def open_units(self) -> OpenUnits:
        """Return the units for column pricing: alone, and no row may have too many people."""
        nobody = np.zeros(len(self.rows.least), dtype=np.int64)
        return OpenUnits(self.rows, self.lower, self.upper, nobody, nobody.astype(bool))

    def select(self, units: IntArray) -> _Pack:
        rows = self.rows.select(units)
        return _Pack(rows, self.lower[units], self.upper[units], self.seed, self.on_progress)


def solve_priced(
    rows: PricedRows,
    lower: Int32Array,
    upper: Int32Array,
    seed: int,
    on_progress: OnProgress = ignore_progress,
) -> PricedSolution | None:
    """Solve some units, at least cost if that can be proven.

    Args:
        lower: (units × cells) least people.
        on_progress: Told of units done, and as ``people_missed`` of whom shared rows still miss.

    Returns:
        None where two engines agree that there is no solution.
    """
    whole = _Pack(rows, lower, upper, seed, on_progress)
    if not rows.is_coupled:
        return _solve_alone(whole)
    if np.count_nonzero(upper) <= _JOINT:
        return _solve(whole, np.arange(rows.domain.units))
    return _solve_in_neighbourhoods(whole)


def _solve_alone(whole: _Pack) -> PricedSolution | None:
    """Solve units that share no row, some at a time."""
    found = []
    for units in _in_parts(whole.rows.domain.units, _PACK):
        found.append(_solve(whole.select(units), units))
        whole.on_progress(len(units), 0)
    return _joined([each for each in found if each is not None], len(found))


def _in_parts(units: int, number: int) -> list[IntArray]:
    return [np.arange(k, min(k + number, units)) for k in range(0, units, number)]


def _joined(parts: list[PricedSolution], number: int) -> PricedSolution | None:
    if len(parts) < number:
        return None
    names = [field.name for field in fields(PricedSolution)]
    return PricedSolution(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
    )


def _solve(pack: _Pack, units: IntArray) -> PricedSolution | None:
    """Find the likeliest counts of units that share rows with no others."""
    vertex = price_columns(pack.open_units, np.zeros(pack.upper.shape, dtype=bool))
    if vertex is None:
        return PricedSolution.unknown(len(units), 0.0)
    values = np.rint(vertex.values).astype(np.int64)
    fractional = np.unique(vertex.unit[np.abs(vertex.values - values) > WHOLE])
    if not len(fractional) and vertex.lacking < WHOLE and _is_solution(pack, vertex, values):
        columns = vertex.unit, vertex.cell
        is_least = _is_least(
            pack, CertifiedCosts.of(pack.open_units, vertex.duals), columns, values
        )
        return _solution(units, columns, values, vertex.deterministic_time, is_least)
    if pack.rows.is_coupled or len(units) == 1:
        return _integral(pack, vertex, units)
    certified = CertifiedCosts.of(pack.open_units, vertex.duals)
    least = _is_least(pack, certified, (vertex.unit, vertex.cell), values)
    alone = []
    for place in range(len(units)):
        here = vertex.unit == place
        if vertex.lacking >= WHOLE or place in fractional:
            alone.append(_solve(pack.select(np.array([place])), units[place : place + 1]))
        else:
            columns = np.zeros(here.sum(), dtype=np.int64), vertex.cell[here]
            seconds = vertex.deterministic_time / len(units)
            unit, is_least = units[place : place + 1], least[place : place + 1]
            alone.append(_solution(unit, columns, values[here], seconds, is_least))
    return _joined([each for each in alone if each is not None], len(alone))


def _is_solution(pack: _Pack, vertex: PricedVertex, values: IntArray) -> bool:
    counts = vertex.A @ values
    within = (counts >= pack.rows.least) & (counts <= pack.rows.most)
    return bool(within[pack.rows.used].all())


def _is_least(
    pack: _Pack, certified: CertifiedCosts | None, columns: _Columns, people: IntArray
) -> BoolArray:
    """Test for each unit whether it is proven in integers that no people cost less.

    The relaxation's optimum is computed in floating point: the proof is that its rounded duals sum
    to the cost of the people. Units that share rows are proven together.

    Args:
        certified: Lower bound of the costs; None if there is none.
    """
    number = pack.rows.domain.units
    if certified is None:
        return np.zeros(number, dtype=bool)
    of_rows, of_units = _costs(pack, columns, people)
    if pack.rows.is_coupled:
        return np.full(number, int(of_rows.sum() + of_units.sum()) <= certified.total)
    is_least: BoolArray = pack.rows.sum_by_unit(of_rows) + of_units <= certified.of_each_unit
    return is_least


def _costs(pack: _Pack, columns: _Columns, people: IntArray) -> tuple[IntArray, IntArray]:
    """Return the costs of each row's count, and those of each unit's people, in 1/`SCALE`."""
    rows = pack.rows
    used = np.flatnonzero(rows.used)
    of_rows = np.zeros(len(rows.used), dtype=np.int64)
    of_rows[used] = rows.costs_of(used).cost((rows.columns(*columns) @ people)[used])
    of_units = np.zeros(rows.domain.units, dtype=np.int64)
    np.add.at(of_units, columns[0], RECORD * people)
    return of_rows, of_units


def _solution(
    units: IntArray, columns: _Columns, people: IntArray, seconds: float, is_least: BoolArray
) -> PricedSolution:
    unit, cell = columns
    placed = people > 0
    return PricedSolution(
        units[unit[placed]],
        cell[placed],
        people[placed],
        np.ones(len(units), dtype=bool),
        is_least,
        np.full(len(units), seconds / len(units)),
    )


def _integral(pack: _Pack, vertex: PricedVertex, units: IntArray) -> PricedSolution | None:
    """Find the likeliest counts where the relaxation's are fractional or missing."""
    seconds = vertex.deterministic_time
    if vertex.lacking < WHOLE:
        found = _least_cost(pack, vertex)
        seconds += found.deterministic_time
        if len(found.people):
            unit, cell = np.nonzero(found.active)
            return _solution(units, (unit, cell), found.people, seconds, found.is_least)
        if pack.rows.is_coupled:
            near = _solve_in_neighbourhoods(pack)
            if near is not None and near.is_solved.all():
                return near
    return _any_solution(pack, units, seconds)


@dataclass(frozen=True)
class _LeastCost:
    """The result of the search for the least cost of integral people.

    Attributes:
        active: (units × cells) the columns that people can be in.
        people: People in each column; empty without a solution.
        is_least: For each unit whether no solution over all columns costs less.
        deterministic_time: Seconds of CP-SAT.
    """

    active: BoolArray
    people: IntArray
    is_least: BoolArray
    deterministic_time: float


def _least_cost(pack: _Pack, vertex: PricedVertex) -> _LeastCost:
    """Solve by CP-SAT over more and more columns, those of least reduced cost first."""
    active = np.zeros(pack.upper.shape, dtype=bool)
    active[vertex.unit, vertex.cell] = True
    active |= _nearest(pack, vertex, active, _NEAR, _FIRST)
    best = answer = _cheapest(pack, active, _LIMIT)
    columns, seconds, left = active, answer.deterministic_time, _PROOF
    while answer.status is Status.OPTIMAL:
        # No better solution has people in a cell whose reduced cost exceeds the gap.
        gap = -best.objective / SCALE - vertex.cost
        further = _nearest(pack, vertex, active, gap, _NEXT)
        if not further.any() or left <= 0:
            break
        active = active | further
        answer = _cheapest(pack, active, left)
        seconds, left = seconds + answer.deterministic_time, left - answer.deterministic_time
        if len(answer.values) and answer.objective >= best.objective:
            best, columns = answer, active
    people = best.values[: np.count_nonzero(columns)]
    is_least = np.zeros(len(active), dtype=bool)
    certified = CertifiedCosts.of(pack.open_units, vertex.duals) if len(people) else None
    if certified is not None:
        unit, cell = np.nonzero(columns)
        is_least = _is_least(pack, certified, (unit, cell), people)
        if answer.status is Status.OPTIMAL and not is_least.all():
            of_rows, of_units = _costs(pack, (unit, cell), people)
            cost = int(of_rows.sum() + of_units.sum())
            is_least = is_least | _confirmed(pack, certified.may_be_below(cost), cost)
    return _LeastCost(columns, people, is_least, seconds)


def _confirmed(pack: _Pack, active: BoolArray, cost: int) -> bool:
    """Test whether two engines find no cheaper solution over the active columns."""
    if np.count_nonzero(active) > _CONFIRMED:
        return False
    unit, cell = np.nonzero(active)
    columns = pack.open_units.program(unit, cell, may_lack=False)
    # Rows that no column is in cost the same in every solution.
    rows = pack.rows.costs_of(np.setdiff1d(np.flatnonzero(pack.rows.used), columns.used))
    most = np.array([cost - 1 - int(rows.cost(np.zeros_like(rows.least)).sum())])
    if most[0] < 0:
        return True
    of_all = sparse.csr_array(columns.program.cost[None])
    cheaper = LinearConstraints(of_all, np.zeros_like(most), most)
    program = with_rows(columns.program.program, cheaper)
    found = find_feasible(program, Effort(pack.seed, _PROOF))
    return found.status is Status.INFEASIBLE and confirm_infeasible(program, _SECONDS)


def _cheapest(pack: _Pack, active: BoolArray, limit: float) -> SolveResult:
    unit, cell = np.nonzero(active)
    program = pack.open_units.program(unit, cell, may_lack=False).program
    return maximize(program.program, -program.cost, Effort(pack.seed, limit))


def _nearest(
    pack: _Pack, vertex: PricedVertex, active: BoolArray, reach: float, number: int
) -> BoolArray:
    """Select the cheapest inactive columns, up to ``reach`` and ``number`` a unit on average."""
    further = ~active & (pack.upper > 0) & (vertex.reduced <= reach + WHOLE)
    places = np.flatnonzero(further)
    most = number * len(active)
    if len(places) > most:
        order = np.argsort(vertex.reduced.ravel()[places].round(7), kind="stable")
        further.ravel()[places[order[most:]]] = False
    return further


def _any_solution(pack: _Pack, units: IntArray, seconds: float) -> PricedSolution | None:
    """Find any solution over all candidates, or certify that there is none."""
    unit, cell = np.nonzero(pack.upper)
    if len(unit) > _LISTED:
        return PricedSolution.unknown(len(units), seconds)
    rows = np.flatnonzero(pack.rows.used)
    A = sparse.csr_array(sparse.csr_array(pack.rows.columns(unit, cell))[rows])
    least, most = pack.rows.least[rows], pack.rows.most[rows]
    lower, upper = (each[unit, cell].astype(np.int64) for each in (pack.lower, pack.upper))
    # A row without upper bound gets the greatest sum of its cells.
    most = np.where(most < OPEN, most, np.maximum(A @ upper, least))
    constraints = LinearConstraints(A, least, most)
    found = solve_program(IntegerProgram(constraints, lower, upper), pack.seed)
    seconds += found.deterministic_time
    if found.outcome is Feasibility.INFEASIBLE:
        return None
    if found.outcome is Feasibility.UNDECIDED:
        return PricedSolution.unknown(len(units), seconds)
    return _solution(units, (unit, cell), found.values, seconds, np.zeros(len(units), dtype=bool))


def _solve_in_neighbourhoods(whole: _Pack) -> PricedSolution | None:
    """Solve each unit's relaxation alone, then a few units at a time until all counts are met."""
    number = whole.rows.domain.units
    alone = replace(whole, rows=whole.rows.without_shared())
    people = np.zeros(whole.upper.shape, dtype=np.int64)
    seconds = 0.0
    for units in _in_parts(number, _PACK):
        pack = alone.select(units)
        vertex = price_columns(pack.open_units, np.zeros(pack.upper.shape, dtype=bool))
        if vertex is None:
            return PricedSolution.unknown(number, seconds)
        seconds += vertex.deterministic_time
        people[units[vertex.unit], vertex.cell] = np.rint(vertex.values)
    is_met, searched = meet_shared_rows(
        whole.rows, whole.lower, whole.upper, people, whole.seed, on_progress=whole.on_progress
    )
    seconds += searched
    if not is_met:
        # Units that have no solution alone have none together.
        if _solve_alone(alone) is None:
            return None
        return PricedSolution.unknown(number, seconds)
    unit, cell = np.nonzero(people)
    nothing_shown = np.zeros(number, dtype=bool)
    return _solution(np.arange(number), (unit, cell), people[unit, cell], seconds, nothing_shown)
