"""Certificates of claims: published cells with integer weights, to be added up by hand.

No record of any kind adds more to the weighted cells than ``divisor`` times what it adds to the
claimed group; so the group has at least the weighted counts over the divisor, rounded up. For "at
most" the signs are turned. Kinds of records that a published zero or a structural zero excludes
need not be looked at; a difference of published cells that is zero counts as one.

See *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.attack.claims.foundations import TABLES
from recon_cli.attack.variability.histogram import HistogramCells, histogram_of
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.grain import IntArray
from recon_cli.model.plan import Plan
from recon_cli.model.program import IntegerProgram
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication
from recon_cli.solve.dual_bounds import SCALE
from recon_cli.solve.linear_relaxation import LinearRelaxation

FloatArray = npt.NDArray[np.float64]

#: Divisors that are tried, so that weights are small.
_DIVISORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, SCALE)
#: Deterministic seconds for one end of one claim.
_SECONDS = 1.0
#: More people than a unit has.
_MANY = 10**9


def certificate_schema(plan: Plan, columns: Sequence[str]) -> pl.Schema:
    """The columns of certificates: those that name a claim, and one weighted cell a row."""
    schema = pl.Schema({plan.release.geoid_column: pl.String})
    schema.update({name: plan.release.column_groups(name).dtype() for name in columns})
    schema.update({"end": pl.String(), "divisor": pl.Int32(), "geoid": pl.String()})
    schema.update({"table": pl.String(), "cell": pl.Int32(), "weight": pl.Int32()})
    schema.update({"count": pl.Int32()})
    return schema


def find_certificates(
    assuming: Plan,
    tables_alone: Plan | None,
    published: Publication,
    claims: pl.DataFrame,
    columns: tuple[str, ...],
) -> pl.DataFrame:
    """Certificates of claims, where weighted cells prove them.

    Claims that rest on whole numbers, or on two engines, have none.

    Args:
        assuming: The relaxed plan of exact counts, under all structural zeros.
        tables_alone: That of the zeros that are no assumptions; None where none is.
        published: The counts of one partition.
        claims: Those wanted: rows of ``claims/``.
        columns: The columns of claims.

    Returns:
        For each end (``least``, ``greatest``) of a claim that has one the weighted cells: those of
        the claim's unit add up to what is published, those of a coarser geounit at most.
    """
    schema = certificate_schema(assuming, columns)
    parts = [pl.DataFrame(schema=schema)]
    for plan, wanted in _by_plan(assuming, tables_alone, claims):
        for unit in _units(plan, published, wanted[plan.release.geoid_column].unique(), columns):
            here = wanted.filter(pl.col(plan.release.geoid_column) == unit.geoid)
            parts += [unit.certificates(row, schema) for row in here.iter_rows(named=True)]
    return pl.concat(parts)


def _by_plan(
    assuming: Plan, alone: Plan | None, claims: pl.DataFrame
) -> Iterator[tuple[Plan, pl.DataFrame]]:
    if alone is None:
        yield assuming, claims
        return
    yield alone, claims.filter(rests_on=TABLES)
    yield assuming, claims.filter(pl.col("rests_on") != TABLES)


def _units(
    plan: Plan, published: Publication, geoids: pl.Series, columns: tuple[str, ...]
) -> Iterator[_Unit]:
    """The units that something is wanted of, with their rows."""
    if not len(geoids):
        return
    counts = arrange_counts(plan, published)
    wanted = set(geoids.to_list())
    for system in build_systems(plan, counts):
        histogram = histogram_of(plan, system.candidates, columns)
        for at, geoid in enumerate(counts.geoids.gather(system.units).to_list()):
            if geoid in wanted:
                yield _unit(plan, counts, system, histogram, at)


def _unit(
    plan: Plan, counts: PartitionCounts, system: System, histogram: HistogramCells, at: int
) -> _Unit:
    mine = np.flatnonzero(system.candidates.unit == at)
    A = sparse.csr_array(system.rows.A[:, mine])
    rows = np.flatnonzero(np.diff(A.indptr) > 0)
    A, own = sparse.csr_array(A[rows]), system.row_geounit[rows] == system.units[at]
    most = system.rows.most[rows]
    program = IntegerProgram(
        LinearConstraints(A, np.where(own, most, 0), most),
        np.zeros(len(mine), dtype=np.int64),
        np.full(len(mine), _MANY),
    )
    return _Unit(
        plan=plan,
        counts=counts,
        geoid=str(counts.geoids[int(system.units[at])]),
        columns=histogram.columns,
        groups=histogram.groups[histogram.of_cell[mine]],
        program=program,
        relaxation=LinearRelaxation(program),
        geounit=system.row_geounit[rows],
        row=system.row_of_pattern[rows],
        is_own=own,
    )


@dataclass(frozen=True)
class _Unit:
    """The rows of one unit over the kinds of records that it may have.

    Attributes:
        plan: The plan.
        counts: The partition's counts.
        geoid: The unit's.
        columns: Those of claims.
        groups: (candidates × columns) group numbers.
        program: Its own rows as equalities, coarser ones as upper bounds, and nothing else.
        relaxation: Of it.
        geounit: For each row the row number of its geounit.
        row: For each row its number among those of its coverage pattern.
        is_own: For each row whether it is the unit's.
    """

    plan: Plan
    counts: PartitionCounts
    geoid: str
    columns: tuple[str, ...]
    groups: IntArray
    program: IntegerProgram
    relaxation: LinearRelaxation
    geounit: IntArray
    row: IntArray
    is_own: npt.NDArray[np.bool_]

    def certificates(self, claim: dict[str, object], schema: pl.Schema) -> pl.DataFrame:
        """Those of one claim, of both ends if it is exact."""
        members = np.ones(len(self.groups), dtype=bool)
        for at, name in enumerate(self.columns):
            if claim[name] is not None:
                label = self.plan.release.column_groups(name).labels.index(claim[name])
                members &= self.groups[:, at] == label
        rows: list[tuple[object, ...]] = []
        key = [self.geoid, *(claim[name] for name in self.columns)]
        for end, sign in (("least", 1), ("greatest", -1))[: 2 if claim["exact"] else 1]:
            found = self._weights(sign * members.astype(np.int64), sign * int(str(claim["count"])))
            if found is None:
                return pl.DataFrame(schema=schema)
            divisor, weights = found
            rows += [(*key, end, divisor, *cell) for cell in self._cells(sign * weights)]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _weights(self, functional: IntArray, least: int) -> tuple[int, IntArray] | None:
        """A divisor and weights of rows that prove a least value of a functional."""
        vertex = self.relaxation.solve(functional.astype(np.float64), _SECONDS)
        if not len(vertex.duals):
            return None
        rows = self.program.constraints
        for divisor in _DIVISORS:
            weights = np.rint(divisor * vertex.duals).astype(np.int64)
            weights[~self.is_own] = np.minimum(weights[~self.is_own], 0)
            is_enough = (rows.A.T @ weights <= divisor * functional).all()
            if is_enough and -(-int(weights @ rows.most) // divisor) >= least:
                return divisor, weights
        return None

    def _cells(self, weights: IntArray) -> Iterator[tuple[str, str, int, int, int]]:
        """Geounit, table, cell, weight and count of the published cells in weighted rows."""
        places = list(self.plan.columns)
        pattern_plans = {each.pattern: at for at, each in enumerate(self.plan.patterns)}
        for geounit in np.unique(self.geounit[weights != 0]).tolist():
            here = (self.geounit == geounit) & (weights != 0)
            of_pattern = pattern_plans[int(self.counts.pattern[geounit])]
            combine = self.plan.sums[of_pattern].matrix[:, self.row[here]]
            of_cell = combine @ weights[here]
            counts = self.counts.matrix[[geounit]].toarray()[0]
            for column in np.flatnonzero(of_cell).tolist():
                table, cell = places[column]
                yield (
                    str(self.counts.geoids[geounit]),
                    table,
                    cell,
                    int(of_cell[column]),
                    int(counts[column]),
                )
