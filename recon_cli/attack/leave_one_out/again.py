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
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.solve.cp_sat import Effort

#: What an agency publishes of the records of a partition; the same coverage for any records.
Publish = Callable[[pl.DataFrame], Publication]


#: What is published without the person of a row, in one or several ways.
Without = Callable[[int], Sequence[Publication]]


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
    attack = ScratchAttack.of(release, tables, records, publish(records), options)
    people = attack.people()
    return attack.compare(people, lambda row: (publish(left_out(records, row)),))[0]


def left_out(records: pl.DataFrame, row: int) -> pl.DataFrame:
    """The records but for one."""
    return records.filter(pl.int_range(pl.len()) != row)


@dataclass(frozen=True)
class ScratchAttack:
    """An attack that begins anew for each publication.

    Attributes:
        records: The confidential ones.
        published: What is published of them.
        columns: The histogram columns that the tables tell apart.
        gained: Those of them to be learnt.
    """

    plan: Plan
    records: pl.DataFrame
    published: Publication
    columns: tuple[str, ...]
    gained: tuple[str, ...]
    options: LeaveOneOutOptions

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        records: pl.DataFrame,
        published: Publication,
        options: LeaveOneOutOptions,
    ) -> ScratchAttack:
        """Plan it.

        Raises:
            ConfigError: Nothing is gained from these tables.
        """
        columns = compared_columns(release, tables, published.coverage, options.gains)
        gained = gained_columns(release, columns, options.gains)
        plan = _plan(release, tables, published, columns)
        return cls(plan, records, published, columns, gained, options)

    def people(self, *same: str) -> pl.DataFrame:
        """Who is left out: a row for each distinct record, ``same`` columns besides.

        Returns:
            The unit's geoid, ``same``, ``_row`` (of one of them), ``_<column>`` (the place of its
            value), ``gain`` and ``people``.
        """
        release, options, records = self.plan.release, self.options, self.records
        place = release.geoid_column
        features = [feature.name for feature in release.features]
        chosen = np.random.default_rng(options.seed).random(records.height) < options.share
        codes = [
            column_codes(release, records, name, "records").alias(f"_{name}")
            for name in self.columns
        ]
        gain = gain_codes(release, records, self.gained)
        return (
            records.select(place, *same, *features)
            .with_columns(*codes, gain, _row=pl.int_range(pl.len()))
            .filter(pl.Series(chosen) & release.geography.inside(pl.col(place), options.within))
            .group_by(place, *same, *features, maintain_order=True)
            .agg(
                pl.col("_row", "gain", *(f"_{name}" for name in self.columns)).first(),
                people=pl.len(),
            )
        )

    def compare(self, people: pl.DataFrame, without: Without) -> list[pl.DataFrame]:
        """What is concluded with each of some people and without.

        Args:
            people: As from `people`.
            without: What is published without one of them, as often for each.

        Returns:
            For each way to publish without them a frame, as from `attack_again`.
        """
        release = self.plan.release
        place = release.geoid_column
        worlds: dict[str, _World] = {}
        found: list[list[_Conclusion]] = []
        codes = people.select(f"_{name}" for name in self.columns).to_numpy()
        is_gained = np.array([name in self.gained for name in self.columns])
        for at, (row, geoid) in enumerate(people.select("_row", place).iter_rows()):
            region = release.region.enclosing(str(geoid))
            if region not in worlds:
                worlds[region] = self._world(self.published, region, ())
            known = [worlds[region]]
            for others in without(row):
                known.append(self._world(others, region, known))
            person = _Person(str(geoid), codes[at], is_gained)
            found.append([world.conclude(person) for world in known])
        modes = ModalValues.of(release, self.records, self.gained, None)
        columns = [_stack(each) for each in zip(*found, strict=True)]
        return [
            left_out_frame(
                LeftOut(
                    geoids=people[place],
                    groups=codes,
                    gain=people["gain"].to_numpy(),
                    people=people["people"].to_numpy(),
                    unknown=np.where(
                        [each[0].is_open or each[number].is_open for each in found], OPEN, KNOWN
                    ),
                ),
                BatchComparison(
                    columns[0],
                    other,
                    np.array([each[0].seconds + each[number].seconds for each in found]),
                ),
                self.columns,
                modes,
            )
            for number, other in enumerate(columns[1:], start=1)
        ]

    def _world(self, published: Publication, region: str, known: Sequence[_World]) -> _World:
        """What is published of a region, attacked; nothing is where the same is known."""
        here = self.plan.release.geography.inside(pl.col("geoid"), region)
        geounits, counts = (each.filter(here) for each in (published.geounits, published.counts))
        part = replace(published, geounits=geounits, counts=counts.sort(counts.columns))
        for world in known:
            if world.published.counts.equals(part.counts) and world.published.geounits.equals(
                geounits
            ):
                return world
        return _World(self.plan, part, region, self.columns, self.options)


def _plan(
    release: Release, tables: Sequence[Table], published: Publication, columns: tuple[str, ...]
) -> Plan:
    if published.is_exact:
        return make_variability_plan(release, tables, published.coverage, "exact")
    masks = histogram_masks(release, columns)
    return make_interval_plan(release, tables, published.coverage, masks)


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
        self.published = published
        counts = arrange_counts(plan, published)
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
