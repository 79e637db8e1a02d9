"""Seeded random populations, releases and publications for tests.

Everything here is a pure function of its arguments. `count_by_hand` is the slow, obvious
definition of a table: a loop over people and the cells that count them, which shares no code with
the program beyond the schema.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from fixtures import make_fixtures
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.frames import COUNTS
from recon_cli.model import planning
from recon_cli.model.plan import Plan
from recon_cli.publication import Publication
from recon_cli.schema import (
    AreaGeography,
    Membership,
    Release,
    StructuralZero,
    Table,
    bits,
    parse_release,
)


def make_fine_plan(release: Release, tables: Sequence[Table], coverage: Coverage) -> Plan:
    """The plan at the common refinement of all rows, larger than a lifted one."""
    return planning._fine_plan(planning._Close(release, tables, coverage), ())


def patients() -> pl.DataFrame:
    """The 900 records that the shipped ``clinic_visits.csv`` was tabulated from."""
    return make_fixtures.patients(np.random.default_rng(7))


def random_units(release: Release, seed: int, count: int) -> list[str]:
    """At most ``count`` geoids of the unit level in one partition, in few coarser geounits."""
    rng = np.random.default_rng([seed, 1])
    if isinstance(release.geography, AreaGeography):
        listed = list(release.geography.listed([]))
        return sorted(rng.permutation(listed)[:count].tolist())
    geoids: set[str] = set()
    fixed = release.geography.partition_level.digits
    prefix = "".join(map(str, rng.integers(0, 10, fixed)))
    coarse_first = [level.digits for level in reversed(release.geography.levels)]
    for number in range(count):
        geoid, length = prefix, fixed
        for digits in coarse_first:
            if digits <= fixed:
                continue
            finest = digits == release.geography.unit.digits
            width = digits - length
            part = number % 10**width if finest else int(rng.integers(0, min(3, 10**width)))
            geoid, length = geoid + str(part).zfill(width), digits
        geoids.add(geoid)
    return sorted(geoids)


def with_random_rules(release: Release, seed: int) -> Release:
    """The release with one to three structural zeros between two features, some of them assumed.

    The first values of all features are never ruled out, so that some record can be.
    """
    rng = np.random.default_rng([seed, 5])
    zeros = []
    for _ in range(int(rng.integers(1, 4))):
        when, only = list(release.full), list(release.full)
        features = [f for f, full in enumerate(release.full) if full > 1]
        if len(features) < 2:
            break
        asked, said = rng.choice(features, 2, replace=False)
        when[asked] = int(rng.integers(1, release.full[asked] + 1))
        only[said] = int(rng.integers(0, release.full[said])) | 1
        zero = StructuralZero(tuple(when), tuple(only), bool(rng.integers(0, 2)), "made up")
        zeros += [zero] if zero.impossible else []
    return replace(release, structural_zeros=tuple(zeros))


def possible_records(release: Release, records: pl.DataFrame) -> pl.DataFrame:
    """The records that no structural zero rules out."""
    kept = pl.lit(value=True)
    for masks in release.impossible:
        broken = pl.lit(value=True)
        for feature, mask in zip(release.features, masks, strict=True):
            values = pl.Series([feature.values[at] for at in bits(mask)], dtype=feature.dtype)
            broken &= pl.col(feature.name).is_in(values.implode())
        kept &= ~broken
    return records.filter(kept)


def random_records(
    release: Release,
    seed: int,
    people: int,
    units: list[str] | None = None,
    *,
    skew: bool = True,
) -> pl.DataFrame:
    """Records with a column for the unit's geoid and one for each feature.

    Args:
        release: Any release.
        seed: Same seed, same records.
        people: Number of rows.
        units: Where people live; default some eight units, of which some may stay empty.
        skew: Whether some values and units are much more frequent than others, as in life.
    """
    rng = np.random.default_rng([seed, 2])
    places = random_units(release, seed, 8) if units is None else units

    def pick(size: int) -> np.ndarray[Any, Any]:
        weights = rng.dirichlet(np.full(size, 0.3)) + 0.02 / size if skew else np.ones(size)
        return rng.choice(size, people, p=weights / weights.sum())

    columns = [pl.Series(release.geoid_column, places, pl.String).gather(pick(len(places)))]
    for feature in release.features:
        values = pl.Series(feature.name, feature.values, feature.dtype)
        columns.append(values.gather(pick(len(values))))
    return pl.DataFrame(columns)


def with_recodes(release: Release, records: pl.DataFrame) -> pl.DataFrame:
    """``records`` with every column of ``release.microdata``, the recodes included."""
    columns = [pl.col(release.geoid_column)]
    for name in release.microdata:
        groups = release.column_groups(name)
        feature = release.features[release.feature_index[groups.feature]]
        label = {
            feature.values[i]: label
            for label, mask in zip(groups.labels, groups.masks, strict=True)
            for i in bits(mask)
        }
        new = pl.Series(label.values(), dtype=groups.dtype)
        old = pl.Series(label.keys(), dtype=feature.dtype)
        columns.append(pl.col(groups.feature).replace_strict(old, new).alias(name))
    return records.select(columns)


def count_by_hand(
    release: Release, records: pl.DataFrame, tables: Iterable[Table] | None = None
) -> Counter[tuple[str, str, int]]:
    """(geoid, table, cell) → count above zero, at each table's own levels."""
    counts: Counter[tuple[str, str, int]] = Counter()
    chosen = list(release.tables if tables is None else tables)
    names = [release.geoid_column, *(feature.name for feature in release.features)]
    cells = [(table, cell) for table in chosen for cell in table.cells]

    @cache
    def counting(f: int, at: int) -> set[int]:
        """Cells that count the value of a feature."""
        return {number for number, (_, cell) in enumerate(cells) if cell.masks[f] >> at & 1}

    enclosing = cache(lambda level, geoid: release.geography.by_name[level].enclosing(geoid))
    for geoid, *values in records.select(names).iter_rows():
        places = [f.position.get(v, 0) for f, v in zip(release.features, values, strict=True)]
        for number in set.intersection(*itertools.starmap(counting, enumerate(places))):
            table, cell = cells[number]
            weight = 1 if cell.tally is None else int(values[cell.tally]).bit_count()
            for level in table.levels:
                if place := enclosing(level, geoid):
                    counts[place, table.name, cell.number] += weight
    return counts


def as_frame(release: Release, counts: Counter[tuple[str, str, int]]) -> pl.DataFrame:
    """Counts as a frame with the columns and order of `recon.tabulate`."""
    order = list(release.table_by_name)
    rank = {
        geoid: level.rank
        for geoid, _, _ in counts
        if (level := release.geography.level_of(geoid)) is not None
    }
    keys = sorted(counts, key=lambda key: (-rank[key[0]], key[0], order.index(key[1]), key[2]))
    return pl.DataFrame([(*key, counts[key]) for key in keys], schema=COUNTS, orient="row")


def publish(
    release: Release,
    records: pl.DataFrame,
    units: Iterable[str] | None = None,
    counts: pl.DataFrame | None = None,
) -> Publication:
    """What an agency that publishes everything would publish of ``records``.

    Args:
        release: The schema; geounits of all its levels with tables are listed.
        records: The population.
        units: All units, uninhabited ones too; default those with people.
        counts: Default what `tabulate` makes of ``records``.
    """
    homes = records[release.geoid_column].to_list()
    population: Counter[str] = Counter(
        level.enclosing(geoid) for geoid in homes for level in release.geography.levels
    )
    everywhere = sorted({*homes, *(units or ())})
    published = {level for table in release.tables for level in table.levels}
    if not release.geography.is_nested:
        published.add(release.geography.unit.name)  # a membership file lists them
    levels = [level for level in release.geography.levels if level.name in published]
    region = release.region
    rows = [
        (geoid, level.name, region.enclosing(geoid), population[geoid], pattern)
        for pattern, level in enumerate(levels)
        for geoid in sorted({level.enclosing(unit) for unit in everywhere} - {""})
    ]
    schema = {
        "geoid": pl.String,
        "level": pl.String,
        region.name: pl.String,
        "population": pl.Int32,
        "pattern": pl.Int16,
    }
    return Publication(
        geounits=pl.DataFrame(rows, schema=schema, orient="row").sort("level", "geoid"),
        counts=tabulate(release, records) if counts is None else counts,
        coverage=tuple(CoveragePattern.complete(release, level.name) for level in levels),
    )


def suppressed(release: Release, published: Publication, seed: int) -> Publication:
    """The release with about a third of the cells of each level not published."""
    rng = np.random.default_rng(seed)
    coverage = []
    for pattern in published.coverage:
        cells = {
            table: tuple(number for number in numbers if rng.random() > 0.3)
            for table, numbers in pattern.cells.items()
        }
        coverage.append(CoveragePattern(pattern.level, {t: c for t, c in cells.items() if c}))
    rows = [
        (pattern, table, number)
        for pattern, shown in enumerate(coverage)
        for table, numbers in shown.cells.items()
        for number in numbers
    ]
    schema = {"pattern": pl.Int16, "table": pl.String, "cell": pl.Int16}
    counts = (
        published.counts.join(published.geounits.select("geoid", "pattern"), on="geoid")
        .join(pl.DataFrame(rows, schema=schema, orient="row"), on=list(schema), how="semi")
        .drop("pattern")
    )
    return Publication(published.geounits, counts, tuple(coverage))


def random_release(seed: int) -> Release:
    """A small release: one to three features and levels, one to four families of tables.

    In one of three the levels do not nest: areas cut each other.
    """
    if seed % 3 == 0:
        return random_overlap(seed)
    return nested_release(seed)


def nested_release(seed: int) -> Release:
    """As `random_release`, with levels that nest."""
    return parse_release(json.dumps(_random_spec(seed)), source=f"random release {seed}")


def random_overlap(seed: int) -> Release:
    """As `random_release`, with areas for its levels, and eight atoms in few of each."""
    spec = _random_spec(seed)
    unit, *coarser = [level["level"] for level in spec["geography"]["levels"]]
    rng = np.random.default_rng([seed, 6])
    systems = [*coarser, "square"]
    spec["geography"] = {"unit": unit, "areas": [{"area": name} for name in systems]}
    for family in spec["families"]:
        if rng.random() < 0.7 and "square" not in family["levels"]:
            family["levels"].append("square")
        if rng.random() < 0.5 and len(family["levels"]) > 2 and unit in family["levels"]:
            family["levels"].remove(unit)
    release = parse_release(json.dumps(spec), source=f"overlap {seed}")
    codes = pl.DataFrame(
        {
            unit: [f"x{number}" for number in range(8)],
            **{
                name: [
                    None if name == "square" and rng.random() < 0.1 else str(rng.integers(3))
                    for _ in range(8)
                ]
                for name in systems
            },
        },
        schema_overrides=dict.fromkeys(systems, pl.String),
    )
    return release.with_membership(Membership("lookup", codes, str(seed)))


def _random_spec(seed: int) -> dict[str, Any]:
    """The schema of `nested_release`."""
    rng = np.random.default_rng([seed, 3])
    kinds = [_KINDS[i] for i in rng.permutation(len(_KINDS))[: rng.integers(1, 4)]]
    features = {name: form for name, form, _, _ in kinds}
    recodes = {name: form for _, _, forms, _ in kinds for name, form in forms.items()}
    levels = [{"level": "plot", "digits": 6}, {"level": "ward", "digits": 4}]
    levels.append({"level": "town", "digits": 2})
    levels = levels[int(rng.integers(0, 3)) :]
    names = [str(level["level"]) for level in levels]
    families = []
    for number in range(int(rng.integers(1, 5))):
        at = sorted(rng.permutation(len(names))[: rng.integers(1, len(names) + 1)])
        universes = [{}, *({name: some} for name, _, _, some in kinds if rng.random() < 0.5)]
        families.append(
            {
                "levels": [names[i] for i in at],
                "cells": list(_random_cells([*features, *recodes], "flags" in features, rng)),
                "tables": {
                    f"T{number}{letter}": {"universe": universe}
                    for letter, universe in zip("ABCD", universes, strict=False)
                },
            }
        )
    return {
        "release": f"random_{seed}",
        "title": "A random release",
        "features": features,
        "recodes": recodes,
        "geography": {"levels": levels, "partition": names[-1]},
        "microdata": list(features),
        "histogram": list(features),
        "families": families,
    }


#: Name, form, recodes and a universe for each feature that a random release may have.
_KINDS: list[tuple[str, dict[str, Any], dict[str, Any], Any]] = [
    ("colour", {"categories": ["red", "green", "blue"]}, {}, ["red", "blue"]),
    ("member", {"categories": [False, True]}, {}, [True]),
    (
        "size",
        {"range": "-2..9"},
        {
            "size_band": {"of": "size", "edges": [-2, 1, 4, 8]},
            "size_odd": {"of": "size", "groups": {"small": ["-2..5"], "middling": ["2..6"]}},
        },
        ["0..7"],
    ),
    (
        "flags",
        {"multiselect": ["p", "q", "r"]},
        {
            "flags_picked": {"of": "flags", "picked": [1, 2, 3]},
            "flags_any": {"of": "flags", "includes": ["p", "q"]},
        },
        {"includes": "q"},
    ),
]


def _random_cells(names: list[str], tallies: bool, rng: np.random.Generator) -> Iterator[Any]:
    yield "total"
    if tallies and rng.random() < 0.5:
        yield {"tally": "flags"}
    for _ in range(int(rng.integers(0, 3))):
        outer, inner = (str(name) for name in rng.choice(names, 2))
        cells: list[Any] = ["total"] if rng.random() < 0.7 else []
        if tallies and rng.random() < 0.3:
            cells.append({"tally": "flags"})
        if outer != inner and (not cells or rng.random() < 0.7):
            cells.append({"by": inner})
        yield {"by": outer, "cells": cells or ["total"]}
