"""The question of `recon claims`: which statements about people hold in every solution.

See *verified claim* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, Self

import numpy as np
import polars as pl

from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import Answer, Question, RegionData, count_statuses
from recon_cli.capabilities.claims.batch import UnitPrograms, verify_batch
from recon_cli.capabilities.claims.frames import (
    BatchFrames,
    claim_schema,
    disclosure_schema,
    unit_schema,
)
from recon_cli.capabilities.claims.groups import claim_columns
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.surprise import count_records, with_surprise
from recon_cli.capabilities.claims.trivial import TrivialGroups
from recon_cli.capabilities.reconstruct.known_batch import KnownBatch
from recon_cli.capabilities.reconstruct.unit_status import UNDECIDED
from recon_cli.capabilities.solvar.histogram import (
    histogram_masks,
    histogram_of,
    unbounded_histogram,
)
from recon_cli.coverage import Coverage
from recon_cli.frames import ShownBySize, is_place
from recon_cli.model.counts import arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_relaxed_plan
from recon_cli.model.system import build_systems
from recon_cli.plurals import plural
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed

TABLES = "tables"
ASSUMED = "tables and rules"
#: Approximate number of groups of a batch: subsets of columns times units.
_GROUPS = 65_536
#: Units of a batch if counts are intervals; a batch is one checkpoint.
_UNITS_OF_INTERVALS = 16
#: Columns → these columns of all reconstructed records, part by part.
ReadRecords = Callable[[Sequence[str]], Iterator[pl.DataFrame]]


def claims_with_foundations(
    claims: pl.DataFrame, tables_alone: pl.DataFrame, key: Sequence[str]
) -> pl.DataFrame:
    """Add the foundation of each claim.

    Args:
        claims: Claims proven under all structural zeros: ``key``, ``count``, ``exact``.
        tables_alone: Claims proven without structural zeros that are assumptions.
        key: The columns that name the group of a claim.

    Returns:
        ``claims`` with ``rests_on``: ``tables`` where the same, or more, is proven without
        assumptions, else ``tables and rules``.
    """
    other = tables_alone.select(*key, _count="count", _exact="exact")
    joined = claims.join(other, on=list(key), how="left", nulls_equal=True, maintain_order="left")
    same = pl.when("exact").then(pl.col("_exact") & (pl.col("_count") == pl.col("count")))
    survives = same.otherwise(pl.col("_count") >= pl.col("count")).fill_null(value=False)
    rests_on = pl.when(survives).then(pl.lit(TABLES)).otherwise(pl.lit(ASSUMED))
    return joined.with_columns(rests_on=rests_on).drop("_count", "_exact")


@dataclass(frozen=True, repr=False)
class VerifiedClaims(ShownBySize):
    """Statements that hold in every solution, unit by unit.

    Attributes:
        claims: One row per claim: the unit's geoid, ``k`` (its number of columns), the columns
            (null where the claim does not use one), ``count`` and ``exact``: exactly, or at least,
            this many people have these values, with ``at_most`` if asked for; ``singleton``
            (exactly one), ``maximal`` (no claim with further columns has the same count),
            ``trivial`` (one published cell, or a sum of one table's cells; of at most four
            columns), ``proof`` (``propagation``, ``rows``, ``lp``, ``solver``) and
            ``rests_on``: ``tables``, or
            ``tables and rules``, where the claim is proven only under structural zeros that are
            assumptions. See `capabilities.claims.surprise.with_surprise` for the chances of
            guessing.
        units: One row per unit: its geoid, ``population``, ``claims``, ``exact_claims``,
            ``undecided`` (groups of people for which effort ended first), ``status``
            (``complete``, ``partial``, ``open``: nothing bounds its people, and what propagation
            proves is claimed alone; ``undecided``: likewise, since the search was stopped) and
            ``seconds``.
        disclosures: One row per unit with people and number of columns ``known``: the least number
            of people for whom so many columns, or fewer, determine another one, by kind of
            disclosure: ``identity``, ``attribute``, ``inferential``.
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
    options: Claims,
) -> VerifiedClaims:
    """Find every claim that holds in all solutions of each unit alone: Eq. (claim).

    Args:
        tables: The tables that ``microdata``, records of the partition, was reconstructed from.
    """
    plans = ClaimPlans.of(release, tables, published.coverage, is_exact=published.is_exact)
    return plans.find(RegionData(published, microdata), options)


@dataclass(frozen=True)
class ClaimPlans:
    """The plans under which claims are verified.

    Attributes:
        assuming: Plan with all structural zeros.
        tables_alone: Plan without structural zeros that are assumptions; None if there are none.
        trivial: Test for groups that one table states; looked up once for all units.
    """

    assuming: Plan
    tables_alone: Plan | None
    trivial: TrivialGroups

    @classmethod
    def of(
        cls, release: Release, tables: Sequence[Table], coverage: Coverage, *, is_exact: bool
    ) -> Self:
        """Make plans that resolve the columns of claims, for exact counts or for intervals."""
        columns = claim_columns(release, tables, coverage)
        make = make_relaxed_plan if is_exact else make_interval_plan

        def plan_of(described: Release) -> Plan:
            return make(described, tables, coverage, histogram_masks(described, columns))

        alone = plan_of(release.without_assumptions()) if release.has_assumptions else None
        trivial = TrivialGroups(release, tuple(tables), coverage, columns)
        return cls(plan_of(release), alone, trivial)

    def find(
        self,
        data: RegionData,
        options: Claims,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> VerifiedClaims:
        """Find claims as `find_claims` does; ``quarantine`` is for attempts that died."""
        quarantine = replace(quarantine, is_over=data.checkpoint.is_over)

        def find(plan: Plan, name: str, on_progress: OnProgress) -> VerifiedClaims:
            partition = _Partition(plan, data, options, self.trivial, quarantine, name)
            return partition.verified(on_progress)

        found = find(self.assuming, "", on_progress)
        if self.tables_alone is None:
            return replace(found, claims=found.claims.with_columns(rests_on=pl.lit(TABLES)))
        alone = find(self.tables_alone, "tables-alone-", ignore_progress)
        key = [self.assuming.release.geoid_column, *found.columns]
        return replace(
            found,
            claims=claims_with_foundations(found.claims, alone.claims, key),
            units=found.units.with_columns(seconds=found.units["seconds"] + alone.units["seconds"]),
        )


@dataclass(frozen=True)
class _Partition:
    """The claims of a partition under one plan, without their foundations.

    Attributes:
        name: Prefix of the names under which batches are checkpointed.
    """

    plan: Plan
    data: RegionData
    options: Claims
    trivial: TrivialGroups
    quarantine: Quarantine
    name: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return claim_columns(self.plan.release, self.plan.tables, self.data.published.coverage)

    @cached_property
    def schemas(self) -> dict[str, pl.Schema]:
        return {
            "claims": claim_schema(self.plan, self.columns, self.options),
            "units": unit_schema(self.plan),
            "disclosures": disclosure_schema(self.plan),
        }

    def verified(self, on_progress: OnProgress) -> VerifiedClaims:
        """Verify batch by batch; batches that were finished before are read from the checkpoint."""
        counts = arrange_counts(self.plan, self.data.published, joins_statistics=True)
        at_once, is_whole = max(_GROUPS >> len(self.columns), 1), counts.intervals is None
        # Each unit is examined alone, so a region with too many candidates to list can be divided.
        batch = at_once if is_whole else _UNITS_OF_INTERVALS
        if counts.statistics is not None:  # of whole places, with single values listed
            batch, is_whole = 1, True
        systems = build_systems(self.plan, counts, batch, whole_regions=is_whole)
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
        """Return the rows of a batch, if all of them were checkpointed."""
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
        plan, options, system = self.plan, self.options, known.system
        programs = _programs(known, options, self.columns)
        histogram = histogram_of(plan, system.candidates, self.columns)
        with known.errors_named():
            verified = verify_batch(programs, histogram, options, known.watched)
        frames = BatchFrames(plan, known.counts, system, histogram, programs, verified, options)
        units = frames.units()
        if self.quarantine.is_over:
            is_left = pl.col("undecided") > 0
            status = pl.when(is_left).then(pl.lit(UNDECIDED)).otherwise("status")
            units = units.with_columns(status=status)
        claims, disclosures = frames.claims(self.trivial), frames.disclosures()
        return {"claims": claims, "units": units, "disclosures": disclosures}


def _programs(known: KnownBatch, options: Claims, columns: tuple[str, ...]) -> UnitPrograms:
    counts, system = known.counts, known.system
    unit, geoids = system.candidates.unit, known.watched.units
    is_excluded = known.missing | ~counts.is_listed[system.units]
    is_open = ~system.is_bounded & ~is_excluded
    rows = system.people_rows_of_units()
    # A batch of a divided region does not have all people of a coarser geounit.
    checked = system.people_rows if counts.intervals is None else rows
    return UnitPrograms(
        rows=rows,
        incumbent=known.incumbent(checked),
        unit=unit,
        is_excluded=is_excluded,
        is_open=is_open,
        is_loose=not system.is_printed_exactly,
        unbounded=unbounded_histogram(known.plan, system, columns),
        defined={
            (i, j): np.array(says)
            for (i, one), (j, other) in permutations(enumerate(columns), 2)
            if any(says := known.plan.release.defines(one, other))
        },
        seeds=tuple(digest_seed(options.fixed_seed, "claims", geoid) for geoid in geoids),
        seconds=options.unit_seconds,
    )


@dataclass(frozen=True)
class ClaimsQuestion(Question):
    """The question of which statements about people are true in every solution.

    Attributes:
        everybody: All records, counted by the columns of claims.
        laws: Laws of the counts, in words; empty if all counts are exact.
    """

    plans: ClaimPlans
    options: Claims
    everybody: pl.DataFrame
    laws: tuple[str, ...]

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: Claims,
        *,
        read_records: ReadRecords,
        laws: tuple[str, ...],
        is_exact: bool,
    ) -> Self:
        plans = ClaimPlans.of(release, tables, coverage, is_exact=is_exact)
        columns = claim_columns(release, tables, coverage)
        everybody = _count_everybody(release, read_records, columns)
        return cls(plans, options, everybody, laws)

    @staticmethod
    def decides(release: Release) -> str:
        return plural(release.geography.unit.name).replace("_", " ")

    @property
    def release(self) -> Release:
        return self.plans.assuming.release

    @property
    def notes(self) -> Mapping[str, Any]:
        return {"laws": list(self.laws)}

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        verified = self.plans.find(part, self.options, on_progress, quarantine)
        release, units = self.release, verified.units
        here = count_records(release, part.records, verified.columns)
        claims = with_surprise(release, verified.claims, units, here, self.everybody)
        law = "; ".join(self.laws) or None
        some = claims.filter(pl.col("count") > 0)
        absent = {"absent": claims.height - some.height} if self.options.absent else {}
        places = units.filter(is_place(release.geoid_column))
        return Answer(
            {
                "claims": claims.with_columns(law=pl.lit(law, dtype=pl.String)),
                "claim_units": units,
                "disclosures": verified.disclosures,
            },
            statuses=count_statuses(places),
            totals={
                "units": places.height,
                "open": units.filter(pl.col("status") == "open").height,
                "people": int(units["population"].sum()),
                "claims": some.height,
                "exact_claims": int(units["exact_claims"].sum()),
                "maximal": int(claims["maximal"].sum()),
                "singletons": int(claims["singleton"].sum()),
                "on_tables_alone": int((some["rests_on"] == TABLES).sum()),
                "undecided": int(units["undecided"].sum()),
                **absent,
            },
        )


def _count_everybody(
    release: Release, read_records: ReadRecords, columns: Sequence[str]
) -> pl.DataFrame:
    """Count all reconstructed records by the columns of claims, whatever their unit."""
    wanted = [release.geoid_column, *(feature.name for feature in release.features)]
    nowhere = pl.lit("").alias(release.geoid_column)
    everybody = pl.concat(
        count_records(release, records, columns)
        .group_by(nowhere, *columns)
        .agg(pl.col("records").sum())
        for records in read_records(wanted)
    )
    return everybody.group_by(release.geoid_column, *columns).agg(pl.col("records").sum())
