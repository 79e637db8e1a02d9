"""The question of `recon leave-one-out`: what counts reveal about people who are not in them.

See *leave-one-out* in docs/glossary.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import NO_QUARANTINE, BatchQuarantine, Quarantine
from recon_cli.ask.question import Answer, PlannedQuestion, RegionData, count_statuses
from recon_cli.capabilities.confidence.sampling import sample_batch, vertices
from recon_cli.capabilities.leave_one_out.batch import BatchComparison, compare_batch
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.capabilities.leave_one_out.reference import (
    ModalValues,
    gain_codes,
    gained_columns,
    make_classes,
)
from recon_cli.capabilities.link.baselines import most_frequent
from recon_cli.capabilities.reconstruct.known_batch import encode_incumbent, errors_naming
from recon_cli.capabilities.solvar.histogram import (
    HistogramCells,
    histogram_columns,
    histogram_of,
    histogram_schema,
)
from recon_cli.capabilities.solvar.question import make_variability_plan
from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError, SourceError, StageError
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed, generator

#: Whether something is known about a record, or nothing because its unit is open or quarantined.
KNOWN, OPEN, QUARANTINED = 0, 2, 3
_STATUSES = ("complete", "partial", "open", "quarantined")
_DECISIONS = ("settled", "settled_without", "certain", "certain_without")


@dataclass(frozen=True)
class LeftOut:
    """People who were left out, a row for each record.

    Attributes:
        groups: (rows × histogram columns) the places of the records' values.
        gain: Their gained values as one number.
        people: Number of people with the record.
        unknown: `KNOWN`, or the reason why nothing is known.
    """

    geoids: pl.Series
    groups: IntArray
    gain: IntArray
    people: IntArray
    unknown: IntArray


def left_out_schema(release: Release, columns: Sequence[str]) -> pl.Schema:
    """Return the columns of `leave_out`."""
    further: dict[str, pl.DataType] = {
        "people": pl.Int32(),
        "population": pl.Int32(),
        "modal": pl.Boolean(),
        **dict.fromkeys(("chance", "chance_without"), pl.Float64()),
        **dict.fromkeys(_DECISIONS, pl.Boolean()),
        "status": pl.String(),
        "seconds": pl.Float64(),
    }
    return histogram_schema(release, columns, further)


def left_out_frame(
    left_out: LeftOut, comparison: BatchComparison, columns: Sequence[str], modes: ModalValues
) -> pl.DataFrame:
    """Make a row for each record; ``comparison`` is in their order."""
    release = modes.release
    is_known = left_out.unknown == KNOWN
    both = (comparison.included, comparison.left_out)
    decisions = np.stack([*(each.is_settled for each in both), *(each.is_certain for each in both)])
    undecided = (decisions < 0).any(axis=0)
    status = np.where(is_known, undecided.astype(np.int64), left_out.unknown)
    values: dict[str, Any] = {
        release.geoid_column: left_out.geoids,
        "people": left_out.people,
        "population": modes.population(left_out.geoids),
        "modal": modes.are_modal(left_out.geoids, left_out.gain),
        "status": pl.Series(_STATUSES).gather(status),
        "seconds": comparison.deterministic_time.round(6),
    }
    for name, each in zip(("chance", "chance_without"), both, strict=True):
        values[name] = pl.Series(each.chance).set(pl.Series(~is_known), None)
    answers = pl.Series([False, True, None])
    for name, row in zip(_DECISIONS, decisions, strict=True):
        values[name] = answers.gather(np.where(is_known & (row >= 0), row, 2))
    for at, name in enumerate(columns):
        groups = release.column_groups(name)
        labels = pl.Series(name, list(groups.labels), dtype=groups.dtype)
        values[name] = labels.gather(left_out.groups[:, at])
    schema = left_out_schema(release, columns)
    return pl.DataFrame({name: values[name] for name in schema}).cast(schema)


def leave_out(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    records: pl.DataFrame,
    options: LeaveOneOut,
) -> pl.DataFrame:
    """Compare conclusions about people, with them in the counts and without.

    Args:
        published: Exact counts of one partition.
        records: The records that were tabulated: the unit's geoid and the features.

    Returns:
        One row for each unit and record: the unit's geoid, the histogram columns, as far as the
        tables distinguish them, ``people`` (how many with this record are left out, one at a time),
        ``population`` of the unit, ``modal`` (whether the gained values are the unit's modal
        guess), ``chance`` and ``chance_without`` (that the attack is right), ``settled``
        and ``settled_without`` (whether the gained values follow from the known ones in every
        solution; null where undecided), ``certain`` and ``certain_without`` (whether the record is
        in every solution; likewise), ``status`` (``complete``, ``partial``: something is undecided,
        ``open``: the tables do not bound the unit's people, ``quarantined``) and ``seconds``,
            deterministic, for each record.

    Raises:
        ConfigError: No column to be gained is in these tables.
        SourceError: The counts are not exact, or not those of the records.
    """
    plan = make_variability_plan(release, tables, published.coverage, "exact")
    inside = release.geography.inside(records[release.geoid_column], options.within)
    share = options.share(int(inside.sum()))
    return LeaveOneOutQuestion(plan, options, share, None).left_out(RegionData(published, records))


def solution_seeds(options: LeaveOneOut, region: str) -> list[int]:
    """Return the seeds of the sampled solutions of a region, with each person and without."""
    return [
        digest_seed(options.fixed_seed, "solution", region, str(number))
        for number in range(options.solutions)
    ]


def compared_columns(
    release: Release, tables: Sequence[Table], coverage: Coverage, gains: Sequence[str]
) -> tuple[str, ...]:
    """Return the histogram columns that the tables distinguish, known ones and gained ones.

    Raises:
        ConfigError: No gained column is among them.
    """
    columns = histogram_columns(release, tables, coverage)
    if not gained_columns(release, columns, gains):
        raise ConfigError(
            f"leave_one_out.gains: the tables in use tell nothing of {', '.join(gains)} "
            f"(histogram columns that they tell apart: {', '.join(columns) or 'none'})"
        )
    return columns


def _encoded(
    plan: Plan, counts: PartitionCounts, system: System, records: pl.DataFrame
) -> IntArray:
    try:
        none = np.zeros(len(system.units), dtype=bool)
        return encode_incumbent(plan, counts, system, records, none)
    except StageError as error:
        raise SourceError(
            f"leave_one_out.records: the published counts of {plan.release.region.name} "
            f"{counts.region_geoids[int(system.regions[0])]} or one that follows are not those of "
            "these records; give the records that were tabulated"
        ) from error


def _chosen(
    release: Release,
    counts: PartitionCounts,
    system: System,
    truth: IntArray,
    options: LeaveOneOut,
    *,
    share: float,
) -> IntArray:
    """Return for each candidate how many people with that record are left out."""
    unit = system.candidates.unit
    inside = release.geography.inside(counts.geoids.gather(system.units), options.within)
    chosen = np.where(inside.to_numpy()[unit], truth, 0)
    if share < 1:
        for region in np.unique(system.regions).tolist():
            here = np.flatnonzero(system.regions[unit] == region)
            random = generator(options.fixed_seed, "leave one out", counts.region_geoids[region])
            chosen[here] = random.binomial(chosen[here], share)
    return chosen


@dataclass(frozen=True)
class LeaveOneOutQuestion(PlannedQuestion):
    """The question of conclusions about some people, with them in the counts and without.

    Attributes:
        share: Chance of each person to be left out.
        mode: The most frequent gained value of all records, as from `gain_codes`; None for that of
            each partition.
    """

    options: LeaveOneOut
    share: float
    mode: int | None

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: LeaveOneOut,
        *,
        read_records: Callable[[], Iterator[pl.DataFrame]],
    ) -> Self:
        """Prepare for some tables.

        Args:
            options: Selects who is left out.
            read_records: All records that were tabulated, part by part.

        Raises:
            ConfigError: The tables tell nothing of the gains.
        """
        gains = options.gained(release)
        gained = gained_columns(release, compared_columns(release, tables, coverage, gains), gains)
        values: Counter[int] = Counter()
        within = 0
        for records in read_records():
            codes = gain_codes(release, records, gained)
            values.update(dict(codes.value_counts().iter_rows()))
            place = records[release.geoid_column]
            within += int(release.geography.inside(place, options.within).sum())
        plan = make_variability_plan(release, tables, coverage, "exact")
        return cls(plan, options, options.share(within), most_frequent(values))

    def left_out(
        self,
        part: RegionData,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> pl.DataFrame:
        """Leave people out as `leave_out` does; ``part`` may be some regions, with all records."""
        plan, published, gains = self.plan, part.published, self.options.gained(self.release)
        published.require_exact("leaving one out")
        columns = compared_columns(self.release, plan.tables, published.coverage, gains)
        counts = arrange_counts(plan, published)
        gained = gained_columns(self.release, columns, gains)
        modes = ModalValues.of(self.release, part.records, gained, self.mode)
        frames = [left_out_schema(self.release, columns).to_frame()]
        for system in build_systems(plan, counts):
            truth = _encoded(plan, counts, system, part.records)
            people = _chosen(self.release, counts, system, truth, self.options, share=self.share)
            histogram = histogram_of(plan, system.candidates, columns)
            watched = quarantine.of_batch(counts, system)
            frames.append(
                self._compared(counts, system, histogram, people, modes=modes, watched=watched)
            )
            on_progress(len(system.units), int(truth.sum()), count_statuses(frames[-1]))
        return pl.concat(frames)

    def _compared(
        self,
        counts: PartitionCounts,
        system: System,
        histogram: HistogramCells,
        people: IntArray,
        *,
        modes: ModalValues,
        watched: BatchQuarantine,
    ) -> pl.DataFrame:
        """Make a row for each candidate of whom somebody is left out."""
        options, unit = self.options, system.candidates.unit
        classes = make_classes(self.release, histogram, system.regions[unit], modes.columns)
        candidates = np.flatnonzero(people > 0)
        of_unit = unit[candidates]
        names = {region: counts.region_geoids[region] for region in system.regions.tolist()}
        seeds = {region: solution_seeds(options, name) for region, name in names.items()}
        with errors_naming(f"{self.release.region.name}s from", next(iter(names.values()))):
            sampled = sample_batch(
                system, seeds, watched, vertices, together=classes.whole[0], pack=1
            )
            is_known = (system.is_bounded & ~sampled.is_missing)[of_unit]
            asked = np.flatnonzero(is_known)
            compared = compare_batch(system, sampled, classes, candidates[asked], options.seconds)
        unknown = np.where(sampled.is_missing[of_unit], QUARANTINED, OPEN)
        left_out = LeftOut(
            geoids=counts.geoids.gather(system.units).gather(of_unit),
            groups=histogram.groups[histogram.of_cell[candidates]],
            gain=classes.gain[candidates],
            people=people[candidates],
            unknown=np.where(is_known, KNOWN, unknown),
        )
        whole = compared.spread(asked, len(candidates))
        return left_out_frame(left_out, whole, histogram.columns, modes)

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        rows = self.left_out(part, on_progress, quarantine)
        by_status = rows.group_by("status").agg(pl.col("people").sum())
        return Answer(
            {"leave_one_out": rows},
            statuses=dict(by_status.iter_rows()),
            totals={"records": rows.height, "people": int(rows["people"].sum())},
        )
