"""The attack from scratch, with everybody in the data and without one person after the other.

For protected counts: where numbers are suppressed, rounded or perturbed, what is published without
a person is not what is published with that person less one, and nothing of the first attack need
hold in the second. It costs an attack on the region for each distinct record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.excluded_units import NO_QUARANTINE
from recon_cli.attack.leave_one_out.batch import BatchComparison, Conclusions
from recon_cli.attack.leave_one_out.ends import Questions, RecordEnds, settle_ends
from recon_cli.attack.leave_one_out.frame import KNOWN, OPEN, LeftOut, left_out_frame
from recon_cli.attack.leave_one_out.modes import ModalValues, gain_codes
from recon_cli.attack.leave_one_out.partition import compared_columns, solution_seeds
from recon_cli.attack.leave_one_out.reference import chance, gained_columns, make_classes
from recon_cli.attack.linkage.key_encoding import column_codes
from recon_cli.attack.options import LeaveOneOutOptions
from recon_cli.attack.reconstruction.solution import quarantine_of_batch
from recon_cli.attack.sampling import SampledSolutions, sample_batch, vertices
from recon_cli.attack.variability.histogram import HistogramCells, histogram_masks, histogram_of
from recon_cli.attack.variability.partition import make_variability_plan
from recon_cli.model.counts import arrange_counts
from recon_cli.model.interval_plan import make_interval_plan
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.solve.cp_sat import Effort

#: What an agency publishes of the records of a partition; the same coverage for any records.
Publish = Callable[[pl.DataFrame], Publication]


def attack_again(
    release: Release,
    tables: Sequence[Table],
    records: pl.DataFrame,
    publish: Publish,
    options: LeaveOneOutOptions,
) -> pl.DataFrame:
    """What is concluded about everybody, by an attack on what is published with and without.

    Args:
        records: The confidential records of a partition: the unit's geoid and the features.
        publish: What is published of them. Where chance plays a part it should be the same in
            each call, or the difference shows the chance, too.
        options: How to attack; ``share`` and ``within`` say who is left out.

    Returns:
        As `recon_cli.attack.leave_one_out.partition.leave_out_with_plan`.

    Raises:
        ConfigError: Nothing is gained from these tables.
        SourceError: The counts do not fit the release.
    """
    published = publish(records)
    columns = compared_columns(release, tables, published.coverage, options.gains)
    gained = gained_columns(release, columns, options.gains)
    plan = _plan(release, tables, published, columns)
    people = _people(release, records, columns, gained, options)
    worlds: dict[str, _World] = {}
    with_them, without, open_ones, seconds = [], [], [], []
    place = release.geoid_column
    for row, geoid in people.select("_row", place).iter_rows():
        region = release.region.enclosing(str(geoid))
        if region not in worlds:
            worlds[region] = _World(plan, published, region, columns, options)
        others = publish(records.filter(pl.int_range(pl.len()) != row))
        left = _World(plan, others, region, columns, options)
        person = _Person(
            str(geoid),
            people.filter(_row=row).select(f"_{name}" for name in columns).to_numpy()[0],
            np.array([name in gained for name in columns]),
        )
        found = [world.conclude(person) for world in (worlds[region], left)]
        with_them.append(found[0])
        without.append(found[1])
        seconds.append(sum(each.seconds for each in found))
        open_ones.append(any(each.is_open for each in found))
    left_out = LeftOut(
        geoids=people[place],
        groups=people.select(f"_{name}" for name in columns).to_numpy(),
        gain=people["gain"].to_numpy(),
        people=people["people"].to_numpy(),
        unknown=np.where(open_ones, OPEN, KNOWN),
    )
    comparison = BatchComparison(_stack(with_them), _stack(without), np.array(seconds))
    modes = ModalValues.of(release, records, gained, None)
    return left_out_frame(left_out, comparison, columns, modes)


def _plan(
    release: Release, tables: Sequence[Table], published: Publication, columns: tuple[str, ...]
) -> Plan:
    if published.is_exact:
        return make_variability_plan(release, tables, published.coverage, "exact")
    masks = histogram_masks(release, columns)
    return make_interval_plan(release, tables, published.coverage, masks)


def _people(
    release: Release,
    records: pl.DataFrame,
    columns: tuple[str, ...],
    gained: tuple[str, ...],
    options: LeaveOneOutOptions,
) -> pl.DataFrame:
    """One row for each distinct record of those who are left out.

    Returns:
        The unit's geoid, ``_row`` (of one of them), ``_<column>`` (the place of its value),
        ``gain`` and ``people``.
    """
    place = release.geoid_column
    features = [feature.name for feature in release.features]
    chosen = np.random.default_rng(options.seed).random(records.height) < options.share
    codes = [column_codes(release, records, name, "records").alias(f"_{name}") for name in columns]
    return (
        records.select(place, *features)
        .with_columns(*codes, gain_codes(release, records, gained), _row=pl.int_range(pl.len()))
        .filter(pl.Series(chosen) & release.geography.inside(pl.col(place), options.within))
        .group_by(place, *features, maintain_order=True)
        .agg(
            pl.col("_row", "gain", *(f"_{name}" for name in columns)).first(),
            people=pl.len(),
        )
    )


@dataclass(frozen=True)
class _Person:
    """Somebody's record, as an attacker splits it.

    Attributes:
        geoid: The unit.
        groups: For each histogram column the place of its value.
        is_gained: For each whether it is to be learnt.
    """

    geoid: str
    groups: IntArray
    is_gained: BoolArray


@dataclass(frozen=True)
class _Conclusion:
    """What is concluded about one person; see `Conclusions`."""

    chance: float
    is_settled: int
    is_certain: int
    is_open: bool
    seconds: float


def _stack(found: Sequence[_Conclusion]) -> Conclusions:
    return Conclusions(
        np.array([each.chance for each in found]),
        np.array([each.is_settled for each in found], dtype=np.int64),
        np.array([each.is_certain for each in found], dtype=np.int64),
    )


class _World:
    """What is published of one region, attacked."""

    def __init__(
        self,
        plan: Plan,
        published: Publication,
        region: str,
        columns: tuple[str, ...],
        options: LeaveOneOutOptions,
    ) -> None:
        here = plan.release.geography.inside(pl.col("geoid"), region)
        part = replace(
            published,
            geounits=published.geounits.filter(here),
            counts=published.counts.filter(here),
        )
        counts = arrange_counts(plan, part)
        self.system: System = next(iter(build_systems(plan, counts)))
        self.geoids = counts.geoids.gather(self.system.units).to_list()
        self.histogram: HistogramCells = histogram_of(plan, self.system.candidates, columns)
        regions = self.system.regions[self.system.candidates.unit]
        self.classes = make_classes(plan.release, self.histogram, regions, options.gains)
        self.seeds = solution_seeds(options, region)
        self.sampled: SampledSolutions = sample_batch(
            self.system,
            {int(self.system.regions[0]): self.seeds},
            quarantine_of_batch(NO_QUARANTINE, counts, self.system),
            vertices,
            together=self.classes.whole[0],
            pack=1,
        )
        self.seconds = options.seconds

    def conclude(self, person: _Person) -> _Conclusion:
        """What the attack says of somebody, who need not be in the counts."""
        unit = self.geoids.index(person.geoid)
        groups = self.histogram.groups[self.histogram.of_cell]
        same = groups == person.groups
        in_unit = self.system.candidates.unit == unit
        alike = in_unit & same[:, ~person.is_gained].all(axis=1)
        true = same[:, person.is_gained].all(axis=1)
        wholes = np.stack([alike, in_unit, np.ones_like(in_unit)])
        parts = wholes & true
        counted = [masks.astype(np.int64) @ self.sampled.values.T for masks in (parts, wholes)]
        ends, elapsed = self._ends(alike & true, alike & ~true)
        return _Conclusion(
            chance=float(chance(*counted).mean()),
            is_settled=int(ends.alone(1)[0]),
            is_certain=int(ends.at_least(1)[0]),
            is_open=not bool(self.system.is_bounded[unit]),
            seconds=elapsed,
        )

    def _ends(self, record: BoolArray, others: BoolArray) -> tuple[RecordEnds, float]:
        masks = np.stack([record, others]).astype(np.int64)
        counts = masks @ self.sampled.values.T
        ends = RecordEnds(
            counts[0].min(keepdims=True),
            counts[0].min(keepdims=True),
            counts[1].max(keepdims=True),
            counts[1].max(keepdims=True),
        )
        elapsed = 0.0
        for component in self.sampled.components:
            functionals = masks[:, None, component.columns]
            if not functionals.any():
                continue
            known = self.sampled.values[:, component.columns]
            fixed = counts[:, :1] - functionals @ known[0]
            questions = Questions(component.program, functionals, fixed)
            effort = Effort(self.seeds[0], self.seconds)
            elapsed += settle_ends(ends, np.array([0]), questions, known, effort)
        return ends, elapsed
