"""Slivers: small groups of people that overlapping published areas reveal by subtraction.

A union of units is revealed if its indicator is a signed sum of areas: its counts are then the
signed sums of the areas' counts. The least populated such union around a unit is a closed set of
least cost, Eq. (sliver) of docs/method.md: exact for area systems each of which is a chain of
nested ones, two chains at a time.

See *sliver* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.errors import ContradictionError
from recon_cli.frames import OPEN
from recon_cli.progress import OnProgress
from recon_cli.publication import Publication
from recon_cli.schema import Level, Release, Table
from recon_cli.solve.network_flow import Closures

#: A row per sliver: ``geoid``, its first unit; ``units``, all its units; ``areas``, the sum of
#: areas that reveals it; ``people``, the exact number in it.
SLIVERS: Final = pl.Schema(
    [
        ("geoid", pl.String),
        ("units", pl.List(pl.String)),
        ("areas", pl.String),
        ("people", pl.Int32),
    ]
)
#: A row per count of a sliver that the areas' counts prove: ``least`` and ``greatest`` (null:
#: open). Zeros are left out.
SLIVER_COUNTS: Final = pl.Schema(
    {
        "geoid": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "least": pl.Int32,
        "greatest": pl.Int32,
    }
)


@dataclass(frozen=True)
class Sliver:
    """A union of units that areas reveal.

    Attributes:
        units: Geoids, sorted.
        areas: Area → how often it is added; negative if it is subtracted.
    """

    units: tuple[str, ...]
    areas: tuple[tuple[str, int], ...]
    people: int


@dataclass(frozen=True)
class _Chain:
    """Nested levels, as the finest parts that their exact totals reveal.

    Attributes:
        part: For each unit its part; −1 where no area with a total holds it.
        areas: For each part the areas whose signed sum it is, with the signs.
        people: People in each part.
    """

    part: IntArray
    areas: tuple[dict[str, int], ...]
    people: IntArray


def find_slivers(release: Release, published: Publication, below: int) -> list[Sliver]:
    """Find the least populated slivers around units, with 1 to ``below`` − 1 people: Eq. (sliver).

    Small areas themselves are not slivers: they are published.

    Args:
        published: Counts of whole regions. Only exact totals are used.

    Raises:
        ContradictionError: An area has fewer people than those inside it.
    """
    geounits = published.geounits
    units = geounits.filter(level=release.geography.unit.name)["geoid"].sort()
    totals = dict(
        geounits.filter(pl.col("population").is_not_null()).select("geoid", "population").rows()
    )
    coverage = published.coverage
    counted = [
        level
        for level in release.geography.levels
        if any(coverage[at].level == level.name for at in geounits["pattern"].unique())
        and level != release.geography.unit
    ]
    chains = [_chain(units, levels, totals) for levels in _chains(counted)]
    regions = release.region.enclosing(units).rank("dense").cast(pl.Int64).to_numpy()
    found: dict[tuple[int, ...], Sliver] = {}
    least = np.full(len(units), below, dtype=np.int64)
    left = (_left(units, chain, least) for chain in chains)
    between = (
        _between(units, regions, one, other, least)
        for one, other in itertools.permutations(chains, 2)
    )
    for members, sliver in itertools.chain.from_iterable(itertools.chain(left, between)):
        found.setdefault(tuple(members.tolist()), sliver)
    return sorted(found.values(), key=lambda sliver: (sliver.people, sliver.units))


def _chains(levels: Sequence[Level]) -> list[list[Level]]:
    """Partition levels into few chains of nested ones by first fit, finest first."""
    chains: list[list[Level]] = []
    for level in levels:
        fitting = next((chain for chain in chains if level.encloses(chain[-1])), None)
        if fitting is None:
            chains.append([level])
        else:
            fitting.append(level)
    return chains


def _chain(units: pl.Series, levels: Sequence[Level], totals: dict[str, int]) -> _Chain:
    part = np.full(len(units), -1, dtype=np.int64)
    areas: list[dict[str, int]] = []
    people: list[int] = []
    for level in reversed(levels):  # a finer area is a part, and what is left of the coarser one
        within = level.enclosing(units).to_list()
        known = sorted({area for area in within if area is not None and area in totals})
        number = {area: len(areas) + at for at, area in enumerate(known)}
        for area in known:
            areas.append({area: 1})
            people.append(totals[area])
        done: set[str] = set()
        for unit, area in enumerate(within):
            if area not in number:
                continue
            before = part[unit]
            if before >= 0 and area not in done:
                areas[before][area] = -1
                people[before] -= totals[area]
                done.add(area)
            part[unit] = number[area]
    held = set(part.tolist())
    for at in range(len(areas)):
        if people[at] < 0 or (people[at] > 0 and at not in held):
            listed = " − ".join(areas[at])
            raise ContradictionError(
                f"published counts contradict each other: {listed} leaves {people[at]:,} in it"
            )
    return _Chain(part, tuple(areas), np.array(people, dtype=np.int64))


def _left(units: pl.Series, chain: _Chain, least: IntArray) -> Iterator[tuple[IntArray, Sliver]]:
    """Yield the remainders of areas inside another; ``least`` is lowered to their people."""
    for at, (areas, people) in enumerate(zip(chain.areas, chain.people.tolist(), strict=True)):
        members = np.flatnonzero(chain.part == at)
        if len(members) and 0 < people < least[members].max():
            if len(areas) > 1:
                signed = tuple(sorted(areas.items(), key=lambda each: (-each[1], each[0])))
                yield members, Sliver(tuple(units.gather(members).to_list()), signed, people)
            least[members] = np.minimum(least[members], people)


def _between(
    units: pl.Series, regions: IntArray, one: _Chain, other: _Chain, least: IntArray
) -> Iterator[tuple[IntArray, Sliver]]:
    """Yield differences between parts of one chain and parts of another.

    Args:
        regions: Number of the region of each unit.
        one: Chain whose parts are added.
        other: Chain whose parts are subtracted.
        least: For each unit the limit of a sliver's people, which is lowered to those found.
    """
    pairs = np.unique(np.stack([one.part, other.part]), axis=1)
    outside_one, outside_other = len(one.people), len(other.people)
    worth = np.append(other.people, -1)  # units outside all areas: in none of the sets
    cost = np.append(one.people, -1)
    source = np.where(pairs[1] < 0, outside_other, pairs[1])
    sink = np.where(pairs[0] < 0, outside_one, pairs[0])
    closures = Closures(worth, cost, source, sink)
    in_one, in_other = (
        np.bincount(part[part >= 0], minlength=len(people))
        for part, people in ((one.part, one.people), (other.part, other.people))
    )
    for unit in range(len(units)):
        here, there = int(one.part[unit]), int(other.part[unit])
        is_cut = here >= 0 and in_one[here] > 1 and (there < 0 or in_other[there] > 1)
        if not is_cut:
            continue  # the unit is a part
        without = outside_other if there < 0 else there
        people = closures.least(here, without)
        if not 0 < people < least[unit]:
            continue
        added = closures.sinks(here)
        # All parts that these overlap are subtracted, including empty ones.
        cut = np.unique(source[~np.isin(sink, added)])
        taken = np.setdiff1d(np.arange(outside_other), [*cut, without])
        inside = np.isin(one.part, added) & ~np.isin(other.part, taken)
        members = np.flatnonzero(inside)
        areas = _sum(one, added, other, taken)
        mine = regions == regions[unit]
        if (one.part[mine] >= 0).all() and (other.part[mine] >= 0).all():
            # Both hold everybody, so that what others leave of each other comes to the same.
            rest = (
                np.setdiff1d(chain.part[mine], parts)
                for chain, parts in ((other, taken), (one, added))
            )
            areas = min(areas, _sum(other, next(rest), one, next(rest)), key=len)
        if len(areas) > 1:
            yield members, Sliver(tuple(units.gather(members).to_list()), areas, people)
        least[members] = np.minimum(least[members], people)


def _sum(
    one: _Chain, added: IntArray, other: _Chain, taken: IntArray
) -> tuple[tuple[str, int], ...]:
    """Express parts of one chain less parts of another as areas, added ones first."""
    parts = [(one.areas[at], 1) for at in added.tolist()]
    parts += [(other.areas[at], -1) for at in taken.tolist()]
    total: dict[str, int] = {}
    for areas, sign in parts:
        for area, times in areas.items():
            total[area] = total.get(area, 0) + sign * times
    kept = [(area, times) for area, times in total.items() if times]
    return tuple(sorted(kept, key=lambda each: (-each[1], each[0])))


def sliver_counts(published: Publication, slivers: Sequence[Sliver]) -> pl.DataFrame:
    """Compute the `SLIVER_COUNTS`: what the counts of the areas prove about each sliver.

    Only for cells that are published for all its areas.

    Args:
        slivers: Slivers with distinct first units.
    """
    terms = pl.DataFrame(
        [(s.units[0], area, sign) for s in slivers for area, sign in s.areas],
        schema={"sliver": pl.String, "geoid": pl.String, "sign": pl.Int64},
        orient="row",
    )
    cells = pl.DataFrame(
        [
            (at, table, cell, *published.protection.ends_of_zero(table, pattern.level))
            for at, pattern in enumerate(published.coverage)
            for table, numbers in pattern.cells.items()
            for cell in numbers
        ],
        schema={
            "pattern": pl.Int16,
            "table": pl.String,
            "cell": pl.Int16,
            "least_of_zero": pl.Int64,
            "most_of_zero": pl.Int64,
        },
        orient="row",
    )
    counts = published.counts
    if published.is_exact:
        counts = counts.with_columns(low="count", high="count")
    stated = counts.select(
        "geoid", "table", "cell", pl.col("low", "high").cast(pl.Int64), is_stated=True
    )
    low = pl.when("is_stated").then("low").otherwise("least_of_zero")
    high = pl.when("is_stated").then("high").otherwise("most_of_zero").fill_null(OPEN)
    ends = (
        terms.join(published.geounits.select("geoid", "pattern"), on="geoid")
        .join(cells, on="pattern")
        .join(stated, on=["geoid", "table", "cell"], how="left")
        .with_columns(low=low, high=high)
        .with_columns(
            least=pl.col("sign") * pl.when(pl.col("sign") > 0).then("low").otherwise("high"),
            greatest=pl.col("sign") * pl.when(pl.col("sign") > 0).then("high").otherwise("low"),
            is_open=(pl.col("sign") > 0) & (pl.col("high") >= OPEN),
        )
    )
    sizes = terms.group_by("sliver").agg(pl.len().alias("areas"))
    return (
        ends.group_by("sliver", "table", "cell")
        .agg(pl.col("least", "greatest").sum(), pl.col("is_open").any(), pl.len().alias("areas"))
        .join(sizes, on=["sliver", "areas"], how="semi")
        .with_columns(
            geoid="sliver",
            least=pl.col("least").clip(0),
            greatest=pl.when(~pl.col("is_open")).then("greatest"),
        )
        .filter((pl.col("least") > 0) | (pl.col("greatest") != 0).fill_null(value=True))
        .select(SLIVER_COUNTS.names())
        .cast(SLIVER_COUNTS)
        .sort("geoid", "table", "cell")
    )


def areas_in_words(release: Release, sliver: Sliver) -> str:
    """Format the areas, as in ``ward E05 − square S17``."""
    name, text = release.geography.name_of, ""
    for area, times in sliver.areas:
        sign = ("−" if times < 0 else "+") if text else ("−" if times < 0 else "")
        often = "" if abs(times) == 1 else f"{abs(times)} × "
        text += f"{' ' if text else ''}{sign}{' ' if sign else ''}{often}{name(area)}"
    return text


@dataclass(frozen=True)
class SliverQuestion(Question):
    """The question of which small groups of people overlapping areas reveal.

    Attributes:
        below: A group of fewer people is small.
    """

    schema: Release
    tables: tuple[Table, ...]
    below: int

    @classmethod
    def of(cls, release: Release, tables: Sequence[Table], below: int) -> Self:
        return cls(release, tuple(tables), below)

    @property
    def release(self) -> Release:
        return self.schema

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Compute rows of ``slivers/`` and ``sliver_counts/``.

        Raises:
            ContradictionError: An area has fewer people than those inside it.
        """
        published = part.published
        slivers = find_slivers(self.schema, published, self.below)
        rows = [
            (each.units[0], list(each.units), areas_in_words(self.schema, each), each.people)
            for each in slivers
        ]
        frame = pl.DataFrame(rows, schema=SLIVERS, orient="row").sort("geoid", "people", "areas")
        # Keep the sliver with the fewest people among those with the same first unit.
        frame = frame.unique("geoid", keep="first", maintain_order=True)
        kept = {each.units[0]: each for each in reversed(slivers)}
        used = {table.name for table in self.tables}
        counts = sliver_counts(published, list(kept.values()))
        counts = counts.filter(pl.col("table").is_in(sorted(used)))
        unit = self.schema.geography.unit.name
        geounits = published.geounits
        is_area = pl.col("level") != unit
        on_progress(geounits.filter(level=unit).height, 0)
        return Answer(
            {"slivers": frame, "sliver_counts": counts},
            totals={
                "units": geounits.filter(level=unit).height,
                "areas": geounits.filter(is_area).height,
                "exact_areas": geounits.filter(is_area & pl.col("population").is_not_null()).height,
                "slivers": frame.height,
                "people": int(frame["people"].sum()),
            },
        )
