"""Withhold the statistics beside suppressed counts that would give sensitive counts away.

A sensitive count is protected if other people have all published counts, print all statistics that
stay, and have another count there, at least the safety range away. For each sensitive count that
earlier found people do not protect, the people are sought who print the most other statistics;
statistics that they do not print are withheld. Then statistics are printed again, one by one, if
other people protect the same counts without printing them. The people prove that no sensitive count
is recovered; they do not prove that no other choice withholds less.

See *complementary suppression* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.audit.cells import IntervalCells
from recon_cli.capabilities.suppress.suppression import SuppressionOptions
from recon_cli.frames import STATISTICS
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    activity_bounds,
    connected_parts,
    connected_subset,
    with_rows,
)
from recon_cli.model.statistics import JoinedRows
from recon_cli.model.system import System, build_system, whole_regions_of
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort, maximize

#: Kind of rows for medians and quantiles: sufficient for the text, by a few pairs of values.
_MIDDLE: Final = "few"
#: Deterministic seconds of one search, out of the region's.
_SECONDS: Final = 5.0
_KEY: Final = ["geoid", "table", "cell"]


def harmful_statistics(
    release: Release, published: Publication, sensitive: pl.DataFrame, options: SuppressionOptions
) -> pl.DataFrame:
    """Choose the statistics to withhold beside suppressed counts.

    Args:
        published: The counts as they are to be published, with all statistics.
        sensitive: ``geoid, table, cell, true``: the primary counts.
        options: Their safety range is that of the suppression.

    Returns:
        Columns of `STATISTICS`, sorted.

    Raises:
        SolverError: The histogram cells of a region are too many to list.
    """
    plan = make_interval_plan(release, release.tables, published.coverage)
    counts = arrange_counts(plan, published, joins_statistics=True)
    if counts.statistics is None:
        return STATISTICS.to_frame()
    found: list[int] = []
    for batch in whole_regions_of(counts, 1):
        kept, unbounded = _bounded(plan, counts, batch)
        found += unbounded.tolist()
        search = _Search.of(plan, kept, batch, sensitive, options)
        if search is not None:
            found += search.withheld().tolist()
    rows = counts.statistics.frame[sorted(found)]
    named = rows.with_columns(geoid=counts.geoids.gather(rows["geounit"]))
    return named.select(STATISTICS.names()).sort(_KEY)


def _bounded(plan: Plan, counts: PartitionCounts, batch: slice) -> tuple[PartitionCounts, IntArray]:
    """Take out the statistics of places with unbounded people, which cannot be examined.

    Returns:
        The counts without these, and their places among all texts.
    """
    texts = counts.statistics
    if texts is None:
        return counts, np.empty(0, dtype=np.int64)
    is_bounded = build_system(plan, replace(counts, statistics=None), batch).is_bounded
    unbounded = np.concatenate([rows[~is_bounded] for rows in counts.lying_in(batch)])
    is_lost = pl.col("geounit").is_in(pl.Series(np.unique(unbounded), dtype=pl.Int64).implode())
    kept = replace(texts, frame=texts.frame.filter(~is_lost), middle=_MIDDLE)
    lost = texts.frame.filter(is_lost)["number"].to_numpy()
    return replace(counts, statistics=kept), lost


@dataclass(frozen=True)
class _Witness:
    """People who have the published counts, and another count than the true one somewhere.

    Attributes:
        protected: Mask of the sensitive counts that differ by at least the safety range.
        broken: Mask of the statistics that these people do not print.
    """

    protected: BoolArray
    broken: BoolArray


@dataclass(frozen=True)
class _Search:
    """The sensitive counts of a region, and the statistics beside them.

    Attributes:
        program: Program over the columns of counts and statistics, then a choice for each
            statistic: whether it may differ from what is printed.
        statistics: The places of the statistics among all texts, sorted.
        rows: The rows of all statistics that could fail, over the columns.
        of_row: For each row the index of its statistic.
        functionals: Sparse (sensitive counts × columns).
        true: The true counts.
        part: The connected part of each column of the program.
    """

    program: IntegerProgram
    statistics: IntArray
    rows: LinearConstraints
    of_row: IntArray
    functionals: sparse.csr_array
    true: IntArray
    part: IntArray
    safety: int
    effort: Effort

    @classmethod
    def of(
        cls,
        plan: Plan,
        counts: PartitionCounts,
        batch: slice,
        sensitive: pl.DataFrame,
        options: SuppressionOptions,
    ) -> _Search | None:
        """Prepare for a region; None where it has no statistics, or no sensitive counts."""
        system = build_system(plan, counts, batch)
        if system.joined is None:
            return None
        cells = IntervalCells.of(plan, counts, system)
        named = cells.names(plan, counts, system).with_row_index("at")
        asked = named.join(sensitive, on=_KEY, how="inner", maintain_order="left")
        if asked.is_empty():
            return None
        functionals = system.functionals(cells.coefficients)[asked["at"].to_numpy()]
        program, rows, of_row, statistics = _loosened(system, system.joined)
        region = counts.region_geoids[int(counts.region[batch][0])]
        return cls(
            program,
            statistics,
            rows,
            of_row,
            sparse.csr_array(functionals),
            asked["true"].cast(pl.Int64).to_numpy(),
            connected_parts(program.constraints.A)[1],
            options.safety_range,
            Effort(digest_seed(options.seed, "suppress statistics", region), options.effort),
        )

    def withheld(self) -> IntArray:
        """Return the places of the statistics to withhold among all texts."""
        nothing = np.zeros(len(self.statistics), dtype=bool)
        hidden, witnesses, left = nothing, list[_Witness](), self.effort.limit
        is_protected = np.zeros(len(self.true), dtype=bool)
        for target in range(len(self.true)):
            if is_protected[target]:
                continue
            found, spent = self._best(target, hidden, nothing, left)
            left -= spent
            if found is None:  # whatever is connected with it may tell
                hidden = hidden | self._connected(target)
                continue
            witnesses.append(found)
            hidden = hidden | found.broken
            is_protected |= found.protected
        return self.statistics[self._spared(hidden, witnesses, left)]

    def _spared(self, hidden: BoolArray, witnesses: list[_Witness], left: float) -> BoolArray:
        """Print withheld statistics again where people who print them protect the same counts."""
        number = len(self.true)
        for at in np.flatnonzero(hidden).tolist():
            barred = np.arange(len(hidden)) == at
            kept = [each for each in witnesses if not each.broken[at]]
            gone = [each for each in witnesses if each.broken[at]]
            exposed = np.flatnonzero(_protected(gone, number) & ~_protected(kept, number))
            for target in exposed.tolist() if gone else ():
                if not _protected(kept, number)[target]:
                    found, spent = self._best(target, hidden, barred, left)
                    left -= spent
                    if found is None or _price(found, hidden):
                        break
                    kept.append(found)
            else:
                if gone:  # else a search failed
                    hidden, witnesses = hidden & ~barred, kept
        return hidden

    def _best(
        self, target: int, hidden: BoolArray, barred: BoolArray, left: float
    ) -> tuple[_Witness | None, float]:
        """Find people who protect a count and print the most statistics; and the effort for it.

        Args:
            hidden: Statistics that are withheld already.
            barred: Statistics that the people have to print.
        """
        best: _Witness | None = None
        spent = 0.0
        for sign in (1, -1):
            found, effort = self._people(target, sign, hidden, barred, left - spent)
            spent += effort
            if found is not None and (best is None or _price(found, hidden) < _price(best, hidden)):
                best = found
            if best is not None and not _price(best, hidden):
                break
        return best, spent

    def _people(
        self, target: int, sign: int, hidden: BoolArray, barred: BoolArray, left: float
    ) -> tuple[_Witness | None, float]:
        """Find people with a count above, or below, the true one; and the effort for it."""
        own, program = self.functionals[[target]], self.program
        columns, width = self.functionals.shape[1], program.shape[1]
        wide = sparse.csr_array((sign * own.data, own.indices, [0, own.nnz]), shape=(1, width))
        highest = activity_bounds(wide, program.lower, program.upper)[1]
        least = np.array([sign * int(self.true[target]) + self.safety])
        if highest[0] < least[0] or left <= 0:
            return None, 0.0
        upper, choices = program.upper.copy(), np.arange(columns, width)
        upper[choices[barred]] = 0
        within = IntegerProgram(program.constraints, program.lower, upper)
        here = np.flatnonzero(np.isin(self.part, self.part[own.indices]))
        some = connected_subset(with_rows(within, LinearConstraints(wide, least, highest)), here)
        cost = np.zeros(width, dtype=np.int64)
        cost[choices] = np.where(hidden, 1, 1 + len(choices))
        effort = replace(self.effort, limit=min(left, _SECONDS))
        found = maximize(some.program, -cost[here], effort)
        if not len(found.values):
            return None, found.deterministic_time
        return self._witness(here, found.values), found.deterministic_time

    def _witness(self, here: IntArray, values: IntArray) -> _Witness:
        """Return the witness of people in some connected parts; elsewhere the counts are true."""
        columns = self.functionals.shape[1]
        people = np.zeros(self.program.shape[1], dtype=np.int64)
        people[here] = values
        is_here = np.zeros(len(people), dtype=bool)
        is_here[here] = True
        outside = ~is_here[:columns]
        is_whole = abs(self.functionals) @ outside.astype(np.int64) == 0
        moved = abs(self.functionals @ people[:columns] - self.true) >= self.safety
        missed = self.rows.A @ people[:columns] < self.rows.least
        own = abs(self.rows.A) @ outside.astype(np.int64) == 0
        broken = np.zeros(len(self.statistics), dtype=bool)
        broken[self.of_row[missed & own]] = True
        return _Witness(is_whole & moved, broken)

    def _connected(self, target: int) -> BoolArray:
        """Return the statistics in the connected parts of a count."""
        own = self.part[self.functionals[[target]].indices]
        found: BoolArray = np.isin(self.part[self.functionals.shape[1] :], own)
        return found


def _price(found: _Witness, hidden: BoolArray) -> int:
    return int((found.broken & ~hidden).sum())


def _protected(witnesses: Sequence[_Witness], counts: int) -> BoolArray:
    """Return the counts that some people protect."""
    found = np.zeros(counts, dtype=bool)
    for each in witnesses:
        found |= each.protected
    return found


def _loosened(
    system: System, joined: JoinedRows
) -> tuple[IntegerProgram, LinearConstraints, IntArray, IntArray]:
    """Let each statistic differ from what is printed, by a choice.

    Returns:
        The program, over the columns and a choice for each statistic that can fail; the rows of
        these statistics, and for each row its statistic's index; their places among all texts.
    """
    rows, of_row = joined.columns.rows, joined.row_statistic
    hard = _rows(rows, of_row < 0)
    columns = replace(joined.columns, rows=hard)
    bounds = replace(joined, columns=columns).bounds(system.rows)
    lowest, highest = activity_bounds(rows.A, bounds.lower, bounds.upper)
    can_fail = (of_row >= 0) & (lowest < rows.least)
    soft = _rows(rows, can_fail)
    statistics, of_soft = np.unique(of_row[can_fail], return_inverse=True)
    loose = (rows.least - lowest)[can_fail]
    at = np.arange(len(loose))
    slack = sparse.csr_array((loose, (at, of_soft)), shape=(len(loose), len(statistics)))
    none = sparse.csr_array((len(hard.least), len(statistics)), dtype=np.int64)
    constraints = LinearConstraints(
        sparse.csr_array(
            sparse.vstack([sparse.hstack([hard.A, none]), sparse.hstack([soft.A, slack])])
        ),
        np.concatenate([hard.least, soft.least]),
        np.concatenate([np.minimum(hard.most, highest[of_row < 0]), highest[can_fail] + loose]),
    )
    ones = np.ones(len(statistics), dtype=np.int64)
    program = IntegerProgram(
        constraints,
        np.append(bounds.lower, np.zeros_like(ones)),
        np.append(bounds.upper, ones),
    )
    return program, soft, of_soft, statistics


def _rows(rows: LinearConstraints, which: BoolArray) -> LinearConstraints:
    at = np.flatnonzero(which)
    return LinearConstraints(sparse.csr_array(rows.A[at]), rows.least[at], rows.most[at])
