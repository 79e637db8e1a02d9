"""Leaving people of a partition out: from counts and the records behind them to frames.

See *leave-one-out* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recon_cli.attack.excluded_units import NO_QUARANTINE, BatchQuarantine, Quarantine
from recon_cli.attack.leave_one_out.batch import BatchComparison, compare_batch
from recon_cli.attack.leave_one_out.modes import ModalValues
from recon_cli.attack.leave_one_out.reference import gained_columns, make_classes
from recon_cli.attack.reconstruction.solution import errors_naming, quarantine_of_batch
from recon_cli.attack.sampling import SampledSolutions, sample_batch, vertices
from recon_cli.attack.variability.histogram import Histogram, histogram_columns, histogram_of
from recon_cli.attack.variability.incumbent import encode_incumbent
from recon_cli.attack.variability.partition import make_variability_plan
from recon_cli.errors import ConfigError, SourceError, StageError
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.grain import IntArray
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Coverage, Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed, generator

#: Of a record: all is known, something is undecided, nothing can be said.
STATUSES = ("complete", "partial", "open", "quarantined")


@dataclass(frozen=True)
class LeaveOneOutOptions:
    """Who is left out, and how hard to try.

    Attributes:
        gains: The columns that an attacker wants to know; all others are known.
        seed: For sampled solutions and sampled people.
        solutions: Solutions to sample, at least 1.
        seconds: Deterministic seconds to settle what is certain about one person.
        share: Chance of each person to be left out, above 0, at most 1.
        within: Only people of geounits whose geoids begin so.
    """

    gains: tuple[str, ...]
    seed: int
    solutions: int
    seconds: float
    share: float = 1.0
    within: str = ""


def leave_out(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    records: pl.DataFrame,
    options: LeaveOneOutOptions,
) -> pl.DataFrame:
    """What is concluded about people, with them in the counts and without.

    Args:
        release: The schema.
        published: Exact counts of one partition.
        tables: The tables to attack.
        records: The records that were tabulated: the unit's geoid and the features.
        options: Who is left out.

    Returns:
        One row for each unit and record: see `leave_out_with_plan`.

    Raises:
        ConfigError: Nothing is gained from these tables.
        SourceError: The counts are not exact, or not those of the records.
        SolverError: The solver could not decide, or two engines disagree.
    """
    plan = make_variability_plan(release, tables, published.coverage, "exact")
    return leave_out_with_plan(plan, published, records, options)


def compared_columns(
    release: Release, tables: Sequence[Table], coverage: Coverage, gains: Sequence[str]
) -> tuple[str, ...]:
    """The histogram columns that the tables tell apart, known ones and gained ones.

    Raises:
        ConfigError: None of them is gained.
    """
    columns = histogram_columns(release, tables, coverage)
    if not gained_columns(release, columns, gains):
        raise ConfigError(
            f"leave_one_out.gains: the tables in use tell nothing of {', '.join(gains)} "
            f"(histogram columns that they tell apart: {', '.join(columns) or 'none'})"
        )
    return columns


def leave_out_with_plan(
    plan: Plan,
    published: Publication,
    records: pl.DataFrame,
    options: LeaveOneOutOptions,
    on_progress: OnProgress = ignore_progress,
    *,
    mode: int | None = None,
    quarantine: Quarantine = NO_QUARANTINE,
) -> pl.DataFrame:
    """`leave_out` with a plan already made; see there.

    Args:
        plan: The static half.
        published: Exact counts of one partition, or of some of its regions.
        records: The records of all of the partition.
        options: Who is left out.
        on_progress: Told of units and people done since the last call.
        mode: The most frequent gained value of all partitions, as from `gain_codes`; default
            that of ``records``.
        quarantine: For attempts that died.

    Returns:
        Columns: the unit's geoid, the histogram columns that the tables tell apart, ``people``
        (how many with this record are left out, one at a time), ``population`` of the unit,
        ``modal`` (whether the gained values are the unit's modal guess), ``chance`` and
        ``chance_without`` (that the attack says what is true), ``settled`` and
        ``settled_without`` (whether the gained values follow from the known ones in every
        solution; null where undecided), ``certain`` and ``certain_without`` (whether the record
        is in every solution; likewise), ``status`` (``complete``, ``partial``: something is
        undecided, ``open``: the tables do not bound the unit's people, ``quarantined``) and
        ``seconds``, deterministic, for each record.
    """
    release = plan.release
    published.require_exact("leaving one out")
    columns = compared_columns(release, plan.tables, published.coverage, options.gains)
    counts = arrange_counts(plan, published)
    modes = ModalValues.of(release, records, gained_columns(release, columns, options.gains), mode)
    frames = [pl.DataFrame(schema=_schema(release, columns))]
    for system in build_systems(plan, counts):
        truth = _encoded(plan, counts, system, records)
        histogram = histogram_of(plan, system.candidates, columns)
        people = _chosen(counts, system, truth, options)
        batch = _Batch(counts, system, histogram, people, modes)
        frame = batch.compare(options, quarantine_of_batch(quarantine, counts, system))
        frames.append(frame)
        statuses = dict(frame["status"].value_counts().iter_rows())
        on_progress(len(system.units), int(truth.sum()), statuses)
    return pl.concat(frames)


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
    counts: PartitionCounts, system: System, truth: IntArray, options: LeaveOneOutOptions
) -> IntArray:
    """For each candidate how many people with that record are left out."""
    unit = system.candidates.unit
    inside = counts.geoids.gather(system.units).str.starts_with(options.within).to_numpy()
    chosen = np.where(inside[unit], truth, 0)
    if options.share < 1:
        for region in np.unique(system.regions).tolist():
            here = np.flatnonzero(system.regions[unit] == region)
            random = generator(options.seed, "leave one out", counts.region_geoids[region])
            chosen[here] = random.binomial(chosen[here], options.share)
    return chosen


def _schema(release: Release, columns: Sequence[str]) -> pl.Schema:
    schema = pl.Schema({release.geoid_column: pl.String})
    schema.update({name: release.column_groups(name).dtype() for name in columns})
    schema.update({"people": pl.Int32(), "population": pl.Int32(), "modal": pl.Boolean()})
    schema.update(dict.fromkeys(("chance", "chance_without"), pl.Float64()))
    names = ("settled", "settled_without", "certain", "certain_without")
    schema.update(dict.fromkeys(names, pl.Boolean()))
    schema.update({"status": pl.String(), "seconds": pl.Float64()})
    return schema


class _Batch:
    """The people of one batch, and what is concluded about them."""

    def __init__(
        self,
        counts: PartitionCounts,
        system: System,
        histogram: Histogram,
        people: IntArray,
        modes: ModalValues,
    ) -> None:
        self.release = modes.release
        self.system, self.histogram, self.people, self.modes = system, histogram, people, modes
        self.geoids = counts.geoids.gather(system.units)
        self.region_geoids = counts.region_geoids
        self.unit = system.candidates.unit
        self.candidates = np.flatnonzero(people > 0)
        self.classes = make_classes(
            self.release, histogram, system.regions[self.unit], modes.columns
        )

    def compare(self, options: LeaveOneOutOptions, quarantine: BatchQuarantine) -> pl.DataFrame:
        """One row for each of the candidates."""
        names = {region: self.region_geoids[region] for region in self.system.regions.tolist()}
        seeds = {
            region: [
                digest_seed(options.seed, "solution", name, str(number))
                for number in range(options.solutions)
            ]
            for region, name in names.items()
        }
        with errors_naming(f"{self.release.region.name}s from", next(iter(names.values()))):
            sampled = sample_batch(
                self.system, seeds, quarantine, vertices, together=self.classes.whole[0], pack=1
            )
            is_known = self.system.is_bounded & ~sampled.is_missing
            asked = self.candidates[is_known[self.unit[self.candidates]]]
            compared = compare_batch(self.system, sampled, self.classes, asked, options.seconds)
        return self._frame(asked, compared, sampled)

    def _frame(
        self, asked: IntArray, compared: BatchComparison, sampled: SampledSolutions
    ) -> pl.DataFrame:
        unit = self.unit[self.candidates]
        place = np.searchsorted(asked, self.candidates)
        is_asked = np.isin(self.candidates, asked)
        place = np.where(is_asked, place, len(asked))
        answers = _answers(compared)
        undecided = np.append((_decisions(compared) < 0).any(axis=0), False)[place]
        status = np.where(is_asked, undecided, np.where(sampled.is_missing[unit], 3, 2))
        cells = self.histogram.groups[self.histogram.of_cell[self.candidates]]
        columns: dict[str, Any] = {
            self.release.geoid_column: self.geoids.gather(unit),
            "people": self.people[self.candidates],
            "population": self.modes.population(self.geoids).gather(unit),
            "modal": self.modes.are_modal(
                self.geoids.gather(unit), self.classes.gain[self.candidates]
            ),
            "status": pl.Series(STATUSES).gather(status),
            "seconds": np.append(compared.deterministic_time.round(6), 0.0)[place],
            **{name: values.gather(place) for name, values in answers.items()},
        }
        for at, name in enumerate(self.histogram.columns):
            groups = self.release.column_groups(name)
            labels = pl.Series(name, list(groups.labels), dtype=groups.dtype)
            columns[name] = labels.gather(cells[:, at])
        schema = _schema(self.release, self.histogram.columns)
        return pl.DataFrame(
            [pl.Series(name, columns[name]).cast(dtype) for name, dtype in schema.items()]
        )


def _decisions(compared: BatchComparison) -> IntArray:
    """(4 × people) settled and certain, with the person and without."""
    both = (compared.included, compared.left_out)
    settled, certain = (
        [getattr(each, name) for each in both] for name in ("is_settled", "is_certain")
    )
    return np.stack([*settled, *certain])


def _answers(compared: BatchComparison) -> dict[str, pl.Series]:
    """The columns of conclusions, with a null behind them."""
    chances = {"chance": compared.included.chance, "chance_without": compared.left_out.chance}
    found = {
        name: pl.Series([*values.tolist(), None], dtype=pl.Float64)
        for name, values in chances.items()
    }
    decided = pl.Series([False, True, None])
    names = ("settled", "settled_without", "certain", "certain_without")
    for name, values in zip(names, _decisions(compared), strict=True):
        found[name] = decided.gather(np.append(np.where(values < 0, 2, values), 2))
    return found
