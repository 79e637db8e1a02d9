"""Attacks from scratch, with everybody in the data and without one person after the other.

For protected counts: if numbers are suppressed, rounded or perturbed, the counts published without
a person are not those with the person less one, and no result of the first attack need hold in the
second. This costs an attack on the region for each distinct record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.ask.quarantine import NO_QUARANTINE
from recon_cli.capabilities.confidence.sampling import SampledSolutions, sample_batch, vertices
from recon_cli.capabilities.leave_one_out.batch import (
    BatchComparison,
    Conclusions,
    Questions,
    RecordEnds,
    settle_ends,
)
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.capabilities.leave_one_out.question import (
    KNOWN,
    OPEN,
    LeftOut,
    compared_columns,
    left_out_frame,
    solution_seeds,
)
from recon_cli.capabilities.leave_one_out.reference import (
    ModalValues,
    chance,
    gain_codes,
    gained_columns,
    make_classes,
)
from recon_cli.capabilities.link.key_encoding import column_codes
from recon_cli.capabilities.solvar.histogram import HistogramCells, histogram_of
from recon_cli.capabilities.solvar.question import make_variability_plan
from recon_cli.model.counts import arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.solve.cp_sat import Effort

#: Publishes the records of a partition; the same coverage for any records.
Publish = Callable[[pl.DataFrame], Publication]
#: Publishes without the person of a row, in one or several ways.
Without = Callable[[int], Sequence[Publication]]


def attack_again(
    release: Release,
    tables: Sequence[Table],
    records: pl.DataFrame,
    publish: Publish,
    options: LeaveOneOut,
    *,
    share: float = 1.0,
) -> pl.DataFrame:
    """Attack the publications with everybody and without each person, and compare conclusions.

    Args:
        records: The confidential records of a partition: the unit's geoid and the features.
        publish: Publishes the counts of records. Where chance plays a part it should be the same in
            each call, or the difference shows the chance, too.
        share: Chance of each person to be left out.

    Returns:
        As `recon_cli.capabilities.leave_one_out.question.leave_out`.
    """
    attack = ScratchAttack.of(release, tables, records, publish(records), options)
    people = attack.people(share)
    return attack.compare(people, lambda row: (publish(left_out(records, row)),))[0]


def left_out(records: pl.DataFrame, row: int) -> pl.DataFrame:
    """Return the records except one."""
    return records.filter(pl.int_range(pl.len()) != row)


@dataclass(frozen=True)
class ScratchAttack:
    """An attack that starts from scratch for each publication.

    Attributes:
        columns: The histogram columns that the tables tell apart.
        gained: The columns among `columns` that an attacker wants to learn.
    """

    plan: Plan
    records: pl.DataFrame
    published: Publication
    columns: tuple[str, ...]
    gained: tuple[str, ...]
    options: LeaveOneOut

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        records: pl.DataFrame,
        published: Publication,
        options: LeaveOneOut,
    ) -> ScratchAttack:
        gains = options.gained(release)
        columns = compared_columns(release, tables, published.coverage, gains)
        gained = gained_columns(release, columns, gains)
        coverage, is_exact = published.coverage, published.is_exact
        plan = make_variability_plan(release, tables, coverage, "exact", is_exact=is_exact)
        return cls(plan, records, published, columns, gained, options)

    def people(self, share: float, *same: str) -> pl.DataFrame:
        """Return who is left out: a row for each distinct record, with the ``same`` columns.

        Returns:
            The unit's geoid, ``same``, ``_row`` (number of one such record), ``_<column>`` (the
            place of its value), ``gain`` and ``people``.
        """
        release, options, records = self.plan.release, self.options, self.records
        place = release.geoid_column
        features = [feature.name for feature in release.features]
        chosen = np.random.default_rng(options.fixed_seed).random(records.height) < share
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

    def compare(self, people: pl.DataFrame, without: Without, ways: int = 1) -> list[pl.DataFrame]:
        """Compare conclusions with each of some people, if any, and without.

        Args:
            without: Publishes the counts without one of the people, in each of the ``ways``.

        Returns:
            For each way to publish without them a frame, as from `attack_again`.
        """
        release = self.plan.release
        place = release.geoid_column
        worlds: dict[str, _World] = {}
        found: list[list[_Conclusion]] = []
        codes = people.select(f"_{name}" for name in self.columns).to_numpy()
        is_gained = np.array([name in self.gained for name in self.columns])
        for values, (row, geoid) in zip(
            codes, people.select("_row", place).iter_rows(), strict=True
        ):
            region = release.region.enclosing(str(geoid))
            if region not in worlds:
                worlds[region] = self._world(self.published, region, ())
            known = [worlds[region]]
            for others in without(row):
                known.append(self._world(others, region, known))
            found.append([world.conclude(str(geoid), values, is_gained) for world in known])
        modes = ModalValues.of(release, self.records, self.gained, None)
        whole, *others_of = (_columns([each[way] for each in found]) for way in range(1 + ways))
        frames = []
        for way in others_of:
            (*first, is_open, seconds), (*other, is_open_without, seconds_without) = whole, way
            unknown = np.where(is_open | is_open_without, OPEN, KNOWN)
            gain, number = (people[name].to_numpy() for name in ("gain", "people"))
            who = LeftOut(people[place], codes, gain, number, unknown)
            both = Conclusions(*first), Conclusions(*other)
            compared = BatchComparison(*both, seconds + seconds_without)
            frames.append(left_out_frame(who, compared, self.columns, modes))
        return frames

    def _world(self, published: Publication, region: str, known: Sequence[_World]) -> _World:
        """Attack what is published about a region, unless the same was attacked before."""
        here = self.plan.release.geography.inside(pl.col("geoid"), region)
        geounits, counts = (each.filter(here) for each in (published.geounits, published.counts))
        part = replace(published, geounits=geounits, counts=counts.sort(counts.columns))
        for world in known:
            if world.published.counts.equals(part.counts) and world.published.geounits.equals(
                geounits
            ):
                return world
        return _World(self.plan, part, region, self.columns, self.options)


def _columns(found: Sequence[_Conclusion]) -> list[Any]:
    """Return the fields of conclusions as arrays."""
    kinds = (np.float64, np.int64, np.int64, np.bool_, np.float64)
    return [np.array([each[at] for each in found], dtype=kind) for at, kind in enumerate(kinds)]


class _Conclusion(NamedTuple):
    """The conclusions about one person; see `Conclusions`."""

    chance: float
    is_settled: int
    is_certain: int
    is_open: bool
    seconds: float


class _World:
    """The publication about one region, with the results of the attack."""

    def __init__(
        self,
        plan: Plan,
        published: Publication,
        region: str,
        columns: tuple[str, ...],
        options: LeaveOneOut,
    ) -> None:
        self.published = published
        counts = arrange_counts(plan, published)
        self.system: System = next(iter(build_systems(plan, counts)))
        self.geoids = counts.geoids.gather(self.system.units).to_list()
        self.histogram: HistogramCells = histogram_of(plan, self.system.candidates, columns)
        regions = self.system.regions[self.system.candidates.unit]
        self.classes = make_classes(
            plan.release, self.histogram, regions, options.gained(plan.release)
        )
        self.seeds = solution_seeds(options, region)
        self.sampled: SampledSolutions = sample_batch(
            self.system,
            {int(self.system.regions[0]): self.seeds},
            NO_QUARANTINE.of_batch(counts, self.system),
            vertices,
            together=self.classes.whole[0],
            pack=1,
        )
        self.seconds = options.seconds

    def conclude(self, geoid: str, values: IntArray, is_gained: BoolArray) -> _Conclusion:
        """Draw conclusions about a person of a unit, who need not be in the counts.

        Args:
            values: For each histogram column the place of the person's value.
            is_gained: For each histogram column whether an attacker wants to learn it.
        """
        unit = self.geoids.index(geoid)
        same = self.histogram.groups[self.histogram.of_cell] == values
        in_unit = self.system.candidates.unit == unit
        alike = in_unit & same[:, ~is_gained].all(axis=1)
        true = same[:, is_gained].all(axis=1)
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
        ends = RecordEnds.of_known(counts[0, None], counts[1, None])
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
