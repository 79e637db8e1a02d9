"""The claims of a batch as frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.claims.batch import BatchClaims, UnitPrograms
from recon_cli.capabilities.claims.groups import KINDS
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.trivial import StatedZeros, TrivialGroups, least_absences
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.ledger import GROUNDS
from recon_cli.model.plan import Plan
from recon_cli.model.system import System


def claim_schema(plan: Plan, columns: tuple[str, ...], options: Claims) -> pl.Schema:
    """Return the columns of ``claims/``, except foundations and probabilities."""
    release = plan.release
    of_columns = {name: release.column_groups(name).dtype() for name in columns}
    return pl.Schema(
        {
            release.geoid_column: pl.String(),
            "k": pl.Int8(),
            **of_columns,
            "count": pl.Int32(),
            **({"at_most": pl.Int32()} if options.at_most else {}),
            **dict.fromkeys(("exact", "singleton", "maximal", "trivial"), pl.Boolean()),
            "proof": pl.String(),
        }
    )


def unit_schema(plan: Plan) -> pl.Schema:
    """Return the columns of ``claim_units/``."""
    numbers = ("population", "claims", "exact_claims", "undecided")
    of_units = {plan.release.geoid_column: pl.String(), **dict.fromkeys(numbers, pl.Int32())}
    return pl.Schema({**of_units, "status": pl.String(), "seconds": pl.Float64()})


def disclosure_schema(plan: Plan) -> pl.Schema:
    """Return the columns of ``disclosures/``."""
    key = {plan.release.geoid_column: pl.String(), "known": pl.Int8()}
    return pl.Schema({**key, **dict.fromkeys(KINDS, pl.Int32())})


@dataclass(frozen=True)
class BatchFrames:
    """The claims of one batch as frames."""

    plan: Plan
    counts: PartitionCounts
    system: System
    histogram: HistogramCells
    programs: UnitPrograms
    verified: BatchClaims
    options: Claims

    @cached_property
    def geoids(self) -> pl.Series:
        return self.counts.geoids.gather(self.system.units)

    @cached_property
    def claimed(self) -> IntArray:
        """Return the groups with a claim, unit by unit, few columns first."""
        groups = self.verified.groups
        claimed = np.flatnonzero((self.verified.lower > 0) & (groups.subset > 0))
        order = np.lexsort(
            (claimed, groups.subset[claimed], groups.size[claimed], groups.unit[claimed])
        )
        return claimed[order]

    @cached_property
    def people(self) -> IntArray:
        """Return the reconstructed people of each unit."""
        units = len(self.system.units)
        return np.bincount(self.programs.unit, self.programs.incumbent, units).astype(np.int64)

    def claims(self, trivial: TrivialGroups) -> pl.DataFrame:
        """Build rows of ``claims/``: those about some people, then those about nobody."""
        found = [self._of_people(trivial)]
        if self.options.absent:
            found += self._of_nobody(trivial)
        return pl.concat(found)

    def _of_people(self, trivial: TrivialGroups) -> pl.DataFrame:
        verified, groups, claimed = self.verified, self.verified.groups, self.claimed
        subset, unit = groups.subset[claimed], groups.unit[claimed]
        values = self.histogram.groups[groups.cell[claimed]]
        pattern = self.counts.pattern[self.system.units][unit]
        return self._rows(
            unit,
            subset,
            values,
            verified.proof[claimed],
            count=verified.lower[claimed],
            at_most=verified.upper[claimed],
            maximal=self._is_maximal()[claimed],
            trivial=trivial.flags(pattern, subset, values),
        )

    def _of_nobody(self, trivial: TrivialGroups) -> Iterator[pl.DataFrame]:
        """Yield the minimal empty groups that no published cell of the unit states."""
        release, histogram, counts = self.plan.release, self.histogram, self.counts
        recodes = [release.column_groups(name) for name in histogram.columns]
        if not recodes:  # tables of totals alone
            return
        labels = [len(each.labels) for each in recodes]
        pattern = counts.pattern[self.system.units]
        stated: dict[int, StatedZeros] = {}
        is_claimed = ~(self.programs.is_open | self.programs.is_excluded) & (self.people > 0)
        for unit in np.flatnonzero(is_claimed).tolist():
            cells = slice(*np.searchsorted(histogram.unit, [unit, unit + 1]).tolist())
            possible = histogram.groups[cells][self.verified.possible[cells]]
            number = int(pattern[unit])
            if number not in stated:
                stated_cells = trivial.cells(number) if counts.intervals is None else ()
                stated[number] = StatedZeros.of(release, recodes, stated_cells)
            found = least_absences(possible, labels, stated[number].features)
            is_news = ~stated[number].hold(found, possible)
            if counts.intervals is None:
                patterns = np.full(len(found.subset), number)
                is_news &= ~trivial.flags(patterns, found.subset, found.values)
            subset, values = found.subset[is_news], found.values[is_news]
            proof, no = self._proof_of_absence(cells, subset, values), np.zeros_like(subset)
            yield self._rows(
                no + unit, subset, values, proof, count=no, at_most=no, maximal=no, trivial=no
            )

    def _rows(
        self,
        unit: IntArray,
        subset: IntArray,
        values: IntArray,
        proof: IntArray,
        *,
        count: IntArray,
        at_most: IntArray,
        maximal: IntArray | BoolArray,
        trivial: IntArray | BoolArray,
    ) -> pl.DataFrame:
        """Build a row for each claim: unit, columns as bits, (claims × columns) values, bounds."""
        exact = count == at_most
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.geoids.gather(unit),
            "k": np.bitwise_count(subset),
            "count": count,
            "at_most": at_most,
            "exact": exact,
            "singleton": exact & (count == 1),
            "maximal": maximal,
            "trivial": trivial,
            "proof": pl.Series([grounds.value for grounds in GROUNDS]).gather(proof),
        }
        schema = claim_schema(self.plan, self.histogram.columns, self.options)
        return _frame(columns | self._labels(subset, values), schema)

    def _proof_of_absence(self, cells: slice, subset: IntArray, values: IntArray) -> IntArray:
        """Return for each group the strongest evidence that any of its cells needs to be empty."""
        proof = np.zeros(len(subset), dtype=np.int64)
        settled = np.flatnonzero(self.verified.zero_proof[cells] > 0) + cells.start
        columns = np.arange(values.shape[1])
        is_spoken = subset[:, None] >> columns & 1 > 0
        for cell in settled.tolist():
            is_in = ((self.histogram.groups[cell] == values) | ~is_spoken).all(axis=1)
            proof[is_in] = np.maximum(proof[is_in], self.verified.zero_proof[cell])
        return proof

    def _labels(self, subset: IntArray, values: IntArray) -> dict[str, pl.Series]:
        """Return the columns of claims, null where a column is not in the subset."""
        names = self.histogram.columns
        spoken = subset[:, None] >> np.arange(len(names)) & 1 > 0
        places = pl.DataFrame(np.where(spoken, values, -1), schema=list(names))
        labels = []
        for name in names:
            recode = self.plan.release.column_groups(name)
            series = pl.Series(name, [*recode.labels, None], dtype=recode.dtype)
            labels.append(pl.lit(series).gather(pl.col(name)))
        return places.select(labels).to_dict()

    def _is_maximal(self) -> BoolArray:
        """Test for each group whether no claim with one more column has the same count.

        One more column is enough: if a claim with several more has this count, so have all groups
        between.
        """
        groups, lower = self.verified.groups, self.verified.lower
        maximal = np.ones(len(lower), dtype=bool)
        for column in range(groups.columns):
            finer = np.flatnonzero((groups.subset >> column & 1 == 1) & (lower > 0))
            coarser = groups.without(finer, column)
            maximal[coarser[lower[finer] == lower[coarser]]] = False
        return maximal

    def units(self) -> pl.DataFrame:
        """Build rows of ``claim_units/``."""
        verified, groups = self.verified, self.verified.groups
        units = len(self.system.units)
        of_claim = groups.unit[self.claimed]
        exact = verified.lower[self.claimed] == verified.upper[self.claimed]
        left = np.bincount(groups.unit[verified.undecided & (groups.subset > 0)], minlength=units)
        is_open = self.programs.is_open | self.programs.is_excluded
        status = np.where(is_open, 2, np.where((left > 0) | self.programs.is_loose, 1, 0))
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.geoids,
            "population": self.people,
            "claims": np.bincount(of_claim, minlength=units),
            "exact_claims": np.bincount(of_claim[exact], minlength=units),
            "undecided": left,
            "status": pl.Series(["complete", "partial", "open"]).gather(status),
            "seconds": verified.deterministic_time.round(6),
        }
        return _frame(columns, unit_schema(self.plan))

    def disclosures(self) -> pl.DataFrame:
        """Build rows of ``disclosures/``."""
        units = np.flatnonzero(self.people > 0)
        known = self.verified.groups.columns
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.geoids.gather(np.repeat(units, known)),
            "known": np.tile(np.arange(known), len(units)),
        }
        for kind, disclosed in zip(KINDS, self.verified.disclosed, strict=True):
            columns[kind] = disclosed.T[units].ravel()
        return _frame(columns, disclosure_schema(self.plan))


def _frame(columns: dict[str, Any], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame({name: columns[name] for name in schema}).cast(schema)
