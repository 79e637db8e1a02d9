"""Verified claims of a partition: from reconstructed records to frames.

See *verified claim* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.claims.absence import StatedZeros, least_absences
from recon_cli.attack.claims.batch import BatchClaims, UnitPrograms, verify_batch
from recon_cli.attack.claims.columns import claim_columns
from recon_cli.attack.claims.disclosure import KINDS
from recon_cli.attack.claims.foundations import TABLES, claims_with_foundations
from recon_cli.attack.claims.trivial import TrivialGroups
from recon_cli.attack.excluded_units import NO_QUARANTINE, Quarantine
from recon_cli.attack.known_batch import KnownBatch
from recon_cli.attack.options import ClaimOptions
from recon_cli.attack.question import RegionData
from recon_cli.attack.reconstruction.partition import count_statuses
from recon_cli.attack.unit_status import UNDECIDED
from recon_cli.attack.variability.histogram import (
    HistogramCells,
    histogram_masks,
    histogram_of,
    unbounded_histogram,
)
from recon_cli.coverage import Coverage
from recon_cli.model.constraints import relax
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.ledger import GROUNDS
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_relaxed_plan
from recon_cli.model.system import System, build_systems
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed

#: Groups of a batch, about: subsets of columns times units.
_GROUPS = 65_536
#: Units of a batch whose counts are intervals: what is finished of them is kept together.
_UNITS_OF_INTERVALS = 16


@dataclass(frozen=True)
class VerifiedClaims:
    """What every solution says about some columns, unit by unit.

    Attributes:
        columns: The columns that claims speak of.
        claims: One row a claim: the unit's geoid, ``k`` (how many columns it has), the columns
            (null where it does not speak of one), ``count`` and ``exact``: exactly, or at least,
            so many people have these values, with ``at_most`` if asked for; ``singleton`` (exactly
            one), ``maximal`` (no claim with further columns has the same count), ``trivial`` (one
            published cell, or a sum of one table's cells; of at most four columns), ``proof``
            (``propagation``, ``rows``, ``lp``, ``solver``) and ``rests_on``: ``tables``, or
            ``tables and rules``, where it is proven only under structural zeros that are
            assumptions. See `recon_cli.attack.claims.surprise.with_surprise` for the chances of
            guessing.
        units: One row a unit: its geoid, ``population``, ``claims``, ``exact_claims``,
            ``undecided`` (groups of people for which effort ended first), ``status``
            (``complete``, ``partial``, ``open``: nothing bounds its people, and what propagation
            proves is claimed alone; ``undecided``: likewise, since the search was stopped) and
            ``seconds``.
        disclosures: One row a unit with people and number of columns ``known``: the least number
            of people of whom at most so many columns settle another one, by kind of disclosure:
            ``identity``, ``attribute``, ``inferential``.
    """

    columns: tuple[str, ...]
    claims: pl.DataFrame
    units: pl.DataFrame
    disclosures: pl.DataFrame


def find_claims(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    microdata: pl.DataFrame,
    options: ClaimOptions,
) -> VerifiedClaims:
    """Every claim that holds in all solutions of each unit alone: Eq. (claim).

    Args:
        tables: The tables that ``microdata`` was reconstructed from.
        microdata: Reconstructed records of the partition.
        options: What to verify.

    Raises:
        StageError: The records do not reproduce the published counts.
    """
    plans = make_claim_plans(release, tables, published.coverage, is_exact=published.is_exact)
    return find_with_plans(plans, RegionData(published, microdata), options)


@dataclass(frozen=True)
class ClaimPlans:
    """What claims are verified under.

    Attributes:
        assuming: All structural zeros.
        tables_alone: Those alone that are no assumptions; None where none is.
        trivial: Which groups can be read off one table; looked up once for all units.
    """

    assuming: Plan
    tables_alone: Plan | None
    trivial: TrivialGroups


def make_claim_plans(
    release: Release, tables: Sequence[Table], coverage: Coverage, *, is_exact: bool
) -> ClaimPlans:
    """Plans whose grain resolves the columns of claims; of exact counts or of intervals."""
    columns = claim_columns(release, tables, coverage)
    make = make_relaxed_plan if is_exact else make_interval_plan

    def plan_of(described: Release) -> Plan:
        return make(described, tables, coverage, histogram_masks(described, columns))

    alone = plan_of(release.without_assumptions()) if release.has_assumptions else None
    trivial = TrivialGroups(release, tuple(tables), coverage, columns)
    return ClaimPlans(plan_of(release), alone, trivial)


def find_with_plans(
    plans: ClaimPlans,
    data: RegionData,
    options: ClaimOptions,
    on_progress: OnProgress = ignore_progress,
    quarantine: Quarantine = NO_QUARANTINE,
) -> VerifiedClaims:
    """`find_claims` with plans already made; ``quarantine`` is for attempts that died."""
    quarantine = replace(quarantine, is_over=data.checkpoint.is_over)

    def find(plan: Plan, name: str, on_progress: OnProgress) -> VerifiedClaims:
        partition = _Partition(plan, data, options, plans.trivial, quarantine, name)
        return partition.verified(on_progress)

    found = find(plans.assuming, "", on_progress)
    if plans.tables_alone is None:
        return replace(found, claims=found.claims.with_columns(rests_on=pl.lit(TABLES)))
    alone = find(plans.tables_alone, "tables-alone-", ignore_progress)
    key = [plans.assuming.release.geoid_column, *found.columns]
    return replace(
        found,
        claims=claims_with_foundations(found.claims, alone.claims, key),
        units=found.units.with_columns(seconds=found.units["seconds"] + alone.units["seconds"]),
    )


@dataclass(frozen=True)
class _Partition:
    """The claims of a partition under one plan; all but what they rest on.

    Attributes:
        quarantine: For attempts that died.
        name: How the names begin that batches are kept under.
    """

    plan: Plan
    data: RegionData
    options: ClaimOptions
    trivial: TrivialGroups
    quarantine: Quarantine
    name: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that claims speak of."""
        return claim_columns(self.plan.release, self.plan.tables, self.data.published.coverage)

    @cached_property
    def schemas(self) -> dict[str, pl.Schema]:
        """Of each kind of rows."""
        return {
            "claims": _claim_schema(self.plan, self.columns, self.options),
            "units": _unit_schema(self.plan),
            "disclosures": _disclosure_schema(self.plan),
        }

    def verified(self, on_progress: OnProgress) -> VerifiedClaims:
        """Batch by batch; batches that were finished before are as they were kept."""
        counts = arrange_counts(self.plan, self.data.published)
        at_once, is_exact = max(_GROUPS >> len(self.columns), 1), counts.intervals is None
        # Units are taken alone, so that a region with too many candidates to list is cut.
        batch = at_once if is_exact else _UNITS_OF_INTERVALS
        systems = build_systems(self.plan, counts, batch, whole_regions=is_exact)
        parts = [{name: pl.DataFrame(schema=schema) for name, schema in self.schemas.items()}]
        batches = KnownBatch.each(self.plan, counts, systems, self.data, self.quarantine)
        for number, known in enumerate(batches):
            found = self._finished(number)
            if found is None:
                found = self._found(known)
                if not self.quarantine.is_over:
                    self._finish(number, found)
            parts.append(found)
            units = found["units"]
            on_progress(units.height, int(units["population"].sum()), count_statuses(units))
        claims, units, disclosures = (
            pl.concat([part[name] for part in parts]) for name in self.schemas
        )
        return VerifiedClaims(self.columns, claims, units, disclosures)

    def _finished(self, number: int) -> dict[str, pl.DataFrame] | None:
        """The rows of a batch, where all of them were kept."""
        kept = {
            name: self.data.checkpoint.finished(self._key(name, number)) for name in self.schemas
        }
        whole = {name: rows for name, rows in kept.items() if rows is not None}
        return whole if len(whole) == len(kept) else None

    def _finish(self, number: int, found: dict[str, pl.DataFrame]) -> None:
        for name, rows in found.items():
            self.data.checkpoint.finish(self._key(name, number), rows)

    def _key(self, name: str, number: int) -> str:
        return f"{self.name}{name}-{number:05d}"

    def _found(self, known: KnownBatch) -> dict[str, pl.DataFrame]:
        """The rows of a batch."""
        plan, options, system = self.plan, self.options, known.system
        programs = _programs(known, options, self.columns)
        histogram = histogram_of(plan, system.candidates, self.columns)
        with known.errors_named():
            verified = verify_batch(programs, histogram, options, known.watched)
        frames = _BatchFrames(plan, known.counts, system, histogram, programs, verified, options)
        units = frames.units()
        if self.quarantine.is_over:
            is_left = pl.col("undecided") > 0
            status = pl.when(is_left).then(pl.lit(UNDECIDED)).otherwise("status")
            units = units.with_columns(status=status)
        claims, disclosures = frames.claims(self.trivial), frames.disclosures()
        return {"claims": claims, "units": units, "disclosures": disclosures}


def _programs(known: KnownBatch, options: ClaimOptions, columns: tuple[str, ...]) -> UnitPrograms:
    counts, system = known.counts, known.system
    unit, geoids = system.candidates.unit, known.watched.units
    is_excluded = known.missing | ~counts.is_listed[system.units]
    is_open = ~system.is_bounded & ~is_excluded
    rows = relax(system.rows, np.isin(system.row_geounit, system.units), unit)
    # Of a region that is cut not all people of a coarser geounit are here.
    checked = system.rows if counts.intervals is None else rows
    return UnitPrograms(
        rows=rows,
        incumbent=known.incumbent(checked),
        unit=unit,
        is_excluded=is_excluded,
        is_open=is_open,
        unbounded=unbounded_histogram(known.plan, system, columns),
        seeds=tuple(digest_seed(options.seed, "claims", geoid) for geoid in geoids),
        seconds=options.unit_seconds,
    )


def _claim_schema(plan: Plan, columns: tuple[str, ...], options: ClaimOptions) -> pl.Schema:
    schema = pl.Schema({plan.release.geoid_column: pl.String, "k": pl.Int8})
    schema.update({name: plan.release.column_groups(name).dtype() for name in columns})
    schema.update({"count": pl.Int32()})
    if options.at_most:
        schema.update({"at_most": pl.Int32()})
    schema.update(dict.fromkeys(("exact", "singleton", "maximal", "trivial"), pl.Boolean()))
    schema.update({"proof": pl.String()})
    return schema


def _unit_schema(plan: Plan) -> pl.Schema:
    schema = pl.Schema({plan.release.geoid_column: pl.String})
    numbers = ("population", "claims", "exact_claims", "undecided")
    schema.update(dict.fromkeys(numbers, pl.Int32()))
    schema.update({"status": pl.String(), "seconds": pl.Float64()})
    return schema


def _disclosure_schema(plan: Plan) -> pl.Schema:
    schema = pl.Schema({plan.release.geoid_column: pl.String, "known": pl.Int8})
    schema.update(dict.fromkeys(KINDS, pl.Int32()))
    return schema


@dataclass(frozen=True)
class _BatchFrames:
    """The claims of one batch as frames."""

    plan: Plan
    counts: PartitionCounts
    system: System
    histogram: HistogramCells
    programs: UnitPrograms
    verified: BatchClaims
    options: ClaimOptions

    @cached_property
    def geoids(self) -> pl.Series:
        """Of the units."""
        return self.counts.geoids.gather(self.system.units)

    @cached_property
    def claimed(self) -> IntArray:
        """The groups that something is claimed of, unit by unit, few columns first."""
        groups = self.verified.groups
        claimed = np.flatnonzero((self.verified.lower > 0) & (groups.subset > 0))
        order = np.lexsort(
            (claimed, groups.subset[claimed], groups.size[claimed], groups.unit[claimed])
        )
        return claimed[order]

    @cached_property
    def people(self) -> IntArray:
        """Of each unit, as reconstructed."""
        units = len(self.system.units)
        return np.bincount(self.programs.unit, self.programs.incumbent, units).astype(np.int64)

    def claims(self, trivial: TrivialGroups) -> pl.DataFrame:
        """Rows of ``claims/``: those of some people, then those of nobody."""
        found = [self._of_people(trivial)]
        if self.options.absent:
            found.append(self._of_nobody(trivial))
        return pl.concat(found)

    def _of_people(self, trivial: TrivialGroups) -> pl.DataFrame:
        verified, groups, claimed = self.verified, self.verified.groups, self.claimed
        subset, unit = groups.subset[claimed], groups.unit[claimed]
        values = self.histogram.groups[groups.cell[claimed]]
        count, exact = verified.lower[claimed], verified.lower[claimed] == verified.upper[claimed]
        pattern = self.counts.pattern[self.system.units][unit]
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.geoids.gather(unit),
            "k": groups.size[claimed],
            "count": count,
            "at_most": verified.upper[claimed],
            "exact": exact,
            "singleton": exact & (count == 1),
            "maximal": self._is_maximal()[claimed],
            "trivial": trivial.flags(pattern, subset, values),
            "proof": pl.Series([grounds.value for grounds in GROUNDS]).gather(
                verified.proof[claimed]
            ),
        }
        return _frame(
            columns | self._labels(subset, values),
            _claim_schema(self.plan, self.histogram.columns, self.options),
        )

    def _of_nobody(self, trivial: TrivialGroups) -> pl.DataFrame:
        """The least groups that nobody is in and that no cell of the unit says so of."""
        release, histogram, counts = self.plan.release, self.histogram, self.counts
        recodes = [release.column_groups(name) for name in histogram.columns]
        labels = [len(each.labels) for each in recodes]
        pattern = counts.pattern[self.system.units]
        stated: dict[int, StatedZeros] = {}
        frames = [pl.DataFrame(schema=_claim_schema(self.plan, histogram.columns, self.options))]
        is_claimed = ~(self.programs.is_open | self.programs.is_excluded) & (self.people > 0)
        for unit in np.flatnonzero(is_claimed).tolist():
            cells = slice(*np.searchsorted(histogram.unit, [unit, unit + 1]).tolist())
            is_possible = self.verified.possible[cells]
            here = histogram.groups[cells]
            number = int(pattern[unit])
            if number not in stated:
                told = trivial.cells(number) if counts.intervals is None else ()
                stated[number] = StatedZeros.of(release, recodes, told)
            found = least_absences(here[is_possible], labels, stated[number].features)
            is_news = ~stated[number].hold(found, here[is_possible])
            if counts.intervals is None:
                patterns = np.full(len(found.subset), number)
                is_news &= ~trivial.flags(patterns, found.subset, found.values)
            subset, values = found.subset[is_news], found.values[is_news]
            proof = self._proof_of_absence(cells, subset, values)
            no = np.zeros(len(subset), dtype=np.int64)
            columns: dict[str, Any] = {
                release.geoid_column: self.geoids.gather(no + unit),
                "k": np.bitwise_count(subset),
                "count": no,
                "at_most": no,
                "exact": no == 0,
                "singleton": no > 0,
                "maximal": no > 0,
                "trivial": no > 0,
                "proof": pl.Series([grounds.value for grounds in GROUNDS]).gather(proof),
            }
            frames.append(_frame(columns | self._labels(subset, values), frames[0].schema))
        return pl.concat(frames)

    def _proof_of_absence(self, cells: slice, subset: IntArray, values: IntArray) -> IntArray:
        """The most that the zeros of each group's cells rest on."""
        proof = np.zeros(len(subset), dtype=np.int64)
        settled = np.flatnonzero(self.verified.zero_proof[cells] > 0) + cells.start
        columns = np.arange(values.shape[1])
        is_spoken = subset[:, None] >> columns & 1 > 0
        for cell in settled.tolist():
            is_in = ((self.histogram.groups[cell] == values) | ~is_spoken).all(axis=1)
            proof[is_in] = np.maximum(proof[is_in], self.verified.zero_proof[cell])
        return proof

    def _labels(self, subset: IntArray, values: IntArray) -> dict[str, pl.Series]:
        """The columns of claims, null where one is not in the subset."""
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
        """For each group whether no claim with one more column has the same count.

        One more is enough: with several more, all groups between have that count, too.
        """
        groups, lower = self.verified.groups, self.verified.lower
        maximal = np.ones(len(lower), dtype=bool)
        for column in range(groups.columns):
            finer = np.flatnonzero((groups.subset >> column & 1 == 1) & (lower > 0))
            coarser = groups.without(finer, column)
            maximal[coarser[lower[finer] == lower[coarser]]] = False
        return maximal

    def units(self) -> pl.DataFrame:
        verified, groups = self.verified, self.verified.groups
        units = len(self.system.units)
        of_claim = groups.unit[self.claimed]
        exact = verified.lower[self.claimed] == verified.upper[self.claimed]
        left = np.bincount(groups.unit[verified.undecided & (groups.subset > 0)], minlength=units)
        is_open = self.programs.is_open | self.programs.is_excluded
        status = np.where(is_open, 2, np.where(left > 0, 1, 0))
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.geoids,
            "population": self.people,
            "claims": np.bincount(of_claim, minlength=units),
            "exact_claims": np.bincount(of_claim[exact], minlength=units),
            "undecided": left,
            "status": pl.Series(["complete", "partial", "open"]).gather(status),
            "seconds": verified.deterministic_time.round(6),
        }
        return _frame(columns, _unit_schema(self.plan))

    def disclosures(self) -> pl.DataFrame:
        units = np.flatnonzero(self.people > 0)
        known = self.verified.groups.columns
        columns: dict[str, Any] = {
            self.plan.release.geoid_column: self.geoids.gather(np.repeat(units, known)),
            "known": np.tile(np.arange(known), len(units)),
        }
        for kind, disclosed in zip(KINDS, self.verified.disclosed, strict=True):
            columns[kind] = disclosed.T[units].ravel()
        return _frame(columns, _disclosure_schema(self.plan))


def _frame(columns: dict[str, Any], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(
        [pl.Series(name, columns[name]).cast(dtype) for name, dtype in schema.items()]
    )
