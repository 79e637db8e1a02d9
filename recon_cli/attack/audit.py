"""The audit of protected counts: what the other published counts give away of each.

For every suppressed or rounded cell the feasibility interval, its least and greatest count over all
solutions, from all tables and levels at once: Eq. (ends), for the rows that the agency withheld.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.attack.excluded_units import NO_QUARANTINE
from recon_cli.attack.reconstruction.solution import BatchSolution, solve_system
from recon_cli.model.candidates import BoolArray, Stratum
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import MOST_PEOPLE, PartitionCounts, arrange_counts
from recon_cli.model.grain import IntArray
from recon_cli.model.interval_plan import make_interval_plan
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems, row_entries
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed
from recon_cli.solve.bound_tightening import tighten_bounds
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.objectives import LinearFunctionals

#: A row a cell that is published as an interval: the interval that its statement proves (``high``
#: null: open), and the least and greatest count of any solution (null: no bound is known).
#: ``is_exact``: solutions reach both. ``is_recovered``: there is only one count left.
AUDIT = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "low": pl.Int32,
        "high": pl.Int32,
        "least": pl.Int32,
        "greatest": pl.Int32,
        "is_exact": pl.Boolean,
        "is_recovered": pl.Boolean,
    }
)


def audit_counts(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    *,
    seed: int,
    effort: float,
) -> pl.DataFrame:
    """Feasibility intervals of the cells that are not published exactly.

    Args:
        release: The schema.
        published: Counts of one partition.
        tables: What an attacker uses.
        seed: Of the solvers.
        effort: Deterministic seconds for each connected part; where they end first, an interval
            is valid and may be too wide.

    Returns:
        Columns of `AUDIT`; nothing where all counts are exact.

    Raises:
        ContradictionError: No true counts fit the statements.
        SolverError: A solver could not decide, or two engines disagree.
    """
    frames = [AUDIT.to_frame()]
    if not published.is_exact:
        plan = make_interval_plan(release, tables, published.coverage)
        counts = arrange_counts(plan, published)
        for system in build_systems(plan, counts):
            if not system.strata:
                continue
            solved = solve_system(
                plan, published, counts, system, seed=seed, quarantine=NO_QUARANTINE
            )
            targets = _targets(plan, counts, system)
            ends = _ends(targets, counts, solved, seed, effort)
            frames.append(_frame(plan, counts, system, targets, ends))
    return pl.concat(frames).sort("geoid", "table", "cell", maintain_order=True)


@dataclass(frozen=True)
class _Targets:
    """The cells of a batch that are intervals.

    Attributes:
        stratum: Of each cell.
        place: Of its geounit in the stratum.
        column: Its place among the published cells of the pattern.
        low: Its statement.
        high: Likewise.
        least: What propagation over the margins leaves.
        most: Likewise, `MOST_PEOPLE` where it is open.
        coefficients: Sparse (cells × candidates): the count as a functional of a solution.
    """

    stratum: IntArray
    place: IntArray
    column: IntArray
    low: IntArray
    high: IntArray
    least: IntArray
    most: IntArray
    coefficients: sparse.csr_array


def _targets(plan: Plan, counts: PartitionCounts, system: System) -> _Targets:
    parts = [_of_stratum(plan, counts, system, at) for at in range(len(system.strata))]
    return _Targets(
        stratum=np.concatenate([part.stratum for part in parts]),
        place=np.concatenate([part.place for part in parts]),
        column=np.concatenate([part.column for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        least=np.concatenate([part.least for part in parts]),
        most=np.concatenate([part.most for part in parts]),
        coefficients=sparse.csr_array(sparse.vstack([part.coefficients for part in parts])),
    )


def _of_stratum(plan: Plan, counts: PartitionCounts, system: System, at: int) -> _Targets:
    stratum = system.strata[at]
    pattern = plan.patterns[stratum.pattern]
    if counts.intervals is None or pattern.lattice is None or stratum.least is None:
        raise ValueError("an audit needs a plan for intervals")
    cells = np.array([plan.columns[cell] for cell in pattern.margins.columns])
    low, high = (ends[:, cells] for ends in counts.intervals.of(stratum.geounits))
    place, column = np.nonzero(low < high)
    node = pattern.lattice.node[column]
    return _Targets(
        stratum=np.full(len(place), at),
        place=place,
        column=column,
        low=low[place, column],
        high=high[place, column],
        least=stratum.least[place, node],
        most=stratum.rhs[place, node],
        coefficients=_functionals(plan, stratum, system, place, node),
    )


def _functionals(
    plan: Plan, stratum: Stratum, system: System, place: IntArray, node: IntArray
) -> sparse.csr_array:
    """Sparse (cells × candidates): what a person in each candidate adds to each cell."""
    width = stratum.rhs.shape[1]
    everything = replace(stratum, needed=None)
    rows, columns, values = [], [], []
    for cell, row, coefficient in row_entries(plan, everything, system.candidates):
        rows.append(stratum.of_unit[system.candidates.unit[cell]] * width + row)
        columns.append(cell)
        values.append(coefficient)
    entries = (np.concatenate(rows), np.concatenate(columns))
    shape = (len(stratum.geounits) * width, len(system.candidates.unit))
    every = sparse.csr_array((np.concatenate(values), entries), shape=shape)
    return sparse.csr_array(every[place * width + node])


def _ends(
    targets: _Targets, counts: PartitionCounts, solved: BatchSolution, seed: int, effort: float
) -> tuple[IntArray, IntArray, BoolArray]:
    """Least, greatest and whether both are reached, summed over independent components."""
    system, bounds, C = solved.system, solved.bounds, targets.coefficients
    fixed = C @ np.where(bounds.free, 0, bounds.lower)
    least, greatest = fixed.copy(), fixed.copy()
    exact = np.ones(len(fixed), dtype=bool)
    for component in _components(system, solved):
        part = sparse.csr_array(C[:, component.columns])
        rows = np.flatnonzero(np.diff(part.indptr))
        if not len(rows):
            continue
        program, part = component.program, sparse.csr_array(part[rows])
        functionals = LinearFunctionals(part, part @ program.lower, part @ program.upper)
        region = int(system.regions[system.candidates.unit[component.columns[0]]])
        trial = Effort(digest_seed(seed, "audit", counts.region_geoids[region]), effort)
        found = tighten_bounds(program, functionals, [solved.people[component.columns]], trial)
        least[rows] += found.lower
        greatest[rows] += found.upper
        exact[rows] &= found.is_exact
    return least, greatest, exact


def _components(system: System, solved: BatchSolution) -> Iterator[Component]:
    regions = system.regions[system.candidates.unit]
    return split_components(system.rows, solved.bounds, regions)


def _frame(
    plan: Plan,
    counts: PartitionCounts,
    system: System,
    targets: _Targets,
    ends: tuple[IntArray, IntArray, BoolArray],
) -> pl.DataFrame:
    least, greatest, exact = ends
    bounded = np.zeros(len(least), dtype=bool)
    rows = []
    for i, (at, place, column) in enumerate(
        zip(targets.stratum, targets.place, targets.column, strict=True)
    ):
        stratum = system.strata[at]
        pattern = plan.patterns[stratum.pattern]
        bounded[i] = bool(system.is_bounded[stratum.of_unit == place].all())
        geoid = counts.geoids[int(stratum.geounits[place])]
        rows.append((geoid, pattern.level, *pattern.margins.columns[column]))
    # Where more people are possible than the rows bound, only margins say how many at most.
    least = np.maximum(least, targets.least)
    greatest = np.where(bounded, np.minimum(greatest, targets.most), targets.most)
    names = pl.DataFrame(rows, schema=list(AUDIT.items())[:4], orient="row")
    return names.with_columns(
        low=pl.Series(targets.low),
        high=_or_open(targets.high),
        least=pl.Series(least),
        greatest=_or_open(greatest),
        is_exact=pl.Series(exact & bounded),
        is_recovered=pl.Series(least == greatest),
    ).cast(AUDIT)


def _or_open(ends: IntArray) -> pl.Series:
    """Null where nothing bounds from above."""
    return pl.Series(ends).set(pl.Series(ends >= MOST_PEOPLE), None)
