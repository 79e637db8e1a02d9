"""Uneven releases: every geounit its own published cells, odd partitions, missing geounits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings

from recon_cli.capabilities.reconstruct.question import reconstruct, reconstruct_plan
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.solvar.question import measure_variability
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import ContradictionError, SchemaError, SourceError
from recon_cli.model.planning import make_plan
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.verification import verify
from tests.support.enumeration import (
    TooManyError,
    check_claims,
    is_solution,
    record_counts,
    solutions,
)
from tests.support.populations import (
    make_fine_plan,
    publish,
    random_records,
    random_release,
    random_units,
)
from tests.support.properties import SEEDS


def crossing_release(seed: int) -> Release:
    """Units and coarser levels see different random partitions of the same features."""
    rng = np.random.default_rng([seed, 11])
    features: dict[str, Any] = {}
    recodes: dict[str, Any] = {}
    for name in "abc"[: rng.integers(1, 4)]:
        size = int(rng.integers(2, 5))
        features[name] = {"range": f"0..{size - 1}"}
        for number in range(3):
            label = rng.integers(0, rng.integers(1, size + 1), size)
            groups: dict[str, list[int]] = {}
            for value in range(size):
                groups.setdefault(f"g{label[value]}", []).append(value)
            recodes[f"{name}{number}"] = {"of": name, "groups": groups}

    def cells(numbers: list[str]) -> list[Any]:
        inner: list[Any] = ["total"]
        for name in rng.permutation(list(features)):
            if rng.random() < 0.75:
                by = f"{name}{rng.choice(numbers)}"
                inner = [{"by": by, "cells": inner if rng.random() < 0.8 else ["total", *inner]}]
        return inner

    families = [
        {"levels": ["plot"], "cells": cells(["0", "1"]), "tables": {f"U{n}": {}}}
        for n in range(int(rng.integers(1, 3)))
    ] + [
        {"levels": ["ward"], "cells": cells(["", "2", "0"]), "tables": {f"C{n}": {}}}
        for n in range(int(rng.integers(1, 4)))
    ]
    spec = {
        "release": f"crossing_{seed}",
        "title": "Crossing partitions",
        "features": features,
        "recodes": recodes,
        "geography": {
            "levels": [{"level": "plot", "digits": 4}, {"level": "ward", "digits": 2}],
            "partition": "ward",
        },
        "microdata": list(features),
        "histogram": list(features),
        "families": families,
    }
    return parse_release(yaml.safe_dump(spec, sort_keys=False), source="crossing")


def scrambled(published: Publication, seed: int) -> Publication:
    """Every geounit with its own suppressed cells, and the patterns in random order."""
    rng = np.random.default_rng(seed)
    patterns: list[tuple[int, CoveragePattern]] = []
    rows: list[tuple[str, str, int]] = []
    geounits: list[int] = []
    order = rng.permutation(published.geounits.height).tolist()
    for row in published.geounits.iter_rows(named=True):
        cells = {
            table: tuple(n for n in numbers if rng.random() > 0.25)
            for table, numbers in published.coverage[row["pattern"]].cells.items()
        }
        number = order[len(patterns)]
        patterns.append(
            (number, CoveragePattern(row["level"], {t: c for t, c in cells.items() if c}))
        )
        rows += [(row["geoid"], t, n) for t, c in cells.items() for n in c]
        geounits.append(number)
    schema = {"geoid": pl.String, "table": pl.String, "cell": pl.Int16}
    shown = pl.DataFrame(rows, schema=schema, orient="row")
    return Publication(
        published.geounits.with_columns(pattern=pl.Series(geounits, dtype=pl.Int16)),
        published.counts.join(shown, on=list(schema), how="semi"),
        tuple(pattern for _, pattern in sorted(patterns, key=lambda item: item[0])),
    )


def compare_with_enumeration(release: Release, published: Publication, seed: int) -> None:
    try:
        every = solutions(release, published, release.tables, limit=1500)
    except TooManyError:
        assume(False)
        raise
    for make in (make_plan, make_fine_plan):
        plan = make(release, release.tables, published.coverage)
        result = reconstruct_plan(plan, published, seed=seed)
        found = record_counts(release, result.microdata)
        assert any(is_solution(found, solution) for solution in every)
        assert verify(release, published, result.microdata, release.tables).ok
        check_claims(release, result.microdata, result.blocks, every)


many = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(seed=SEEDS)
def test_crossing_partitions_are_lifted_only_where_that_is_right(seed: int) -> None:
    release = crossing_release(seed)
    units = random_units(release, seed, 3)
    published = publish(release, random_records(release, seed, 4, units), units)
    compare_with_enumeration(release, published, seed)


@many
@given(seed=SEEDS)
def test_every_geounit_may_have_its_own_cells(seed: int) -> None:
    release = crossing_release(seed) if seed % 2 else random_release(seed)
    units = random_units(release, seed, 3)
    published = publish(release, random_records(release, seed, 4, units), units)
    assume(release.geography.unit.name in published.geounits["level"])
    published = scrambled(published, seed)
    try:
        every = solutions(release, published, release.tables, limit=1500)
    except TooManyError:
        assume(False)
        raise
    result = reconstruct(release, published, release.tables, seed=seed)
    # A null stands for any value: compare what the published cells can tell apart.
    assert verify(release, published, result.microdata, release.tables).ok
    check_claims_with_nulls(release, result.microdata, result.blocks, every)


def check_claims_with_nulls(
    release: Release, microdata: pl.DataFrame, blocks: pl.DataFrame, every: Any
) -> None:
    complete = microdata.drop_nulls()
    check_claims(release, complete, blocks, every)


def plots(text: str) -> Release:
    return parse_release(
        "release: plots\ntitle: Plots\n"
        "features: {age: {range: 0..3}, sex: {categories: [m, f]}}\n"
        "recodes:\n  half: {of: age, edges: [0, 2]}\n"
        "  parity: {of: age, groups: {even: [0, 2], odd: [1, 3]}}\n"
        "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 2}], "
        "partition: ward}\nmicrodata: [age, sex]\nhistogram: [age, sex]\nfamilies:\n" + text,
        source="plots",
    )


def people(*rows: tuple[str, int, str]) -> pl.DataFrame:
    schema = {"geoid_plot": pl.String, "age": pl.Int16, "sex": pl.String}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def test_a_lifted_value_stays_in_its_atom() -> None:
    release = plots(
        "  - {levels: [plot], cells: [{by: half}], tables: {U: {}}}\n"
        "  - {levels: [ward], cells: [{by: parity}], tables: {C: {}}}\n"
    )
    published = publish(release, people(("0101", 0, "m"), ("0101", 3, "m")))
    assert make_plan(release, release.tables, published.coverage).is_lifted
    result = reconstruct(release, published, release.tables, seed=1)
    assert verify(release, published, result.microdata, release.tables).ok


def test_people_that_no_table_bounds_leave_a_unit_open() -> None:
    release = plots(
        "  - {levels: [plot], cells: [total, {by: sex}], "
        "tables: {YOUNG: {universe: {age: 0..1}}}}\n"
    )
    records = people(("0101", 0, "m"), ("0101", 3, "m"), ("0102", 3, "f"))
    published = publish(release, records, ["0101", "0102", "0103"])
    published = Publication(
        published.geounits.with_columns(population=pl.lit(None, dtype=pl.Int32)),
        published.counts,
        published.coverage,
    )
    result = reconstruct(release, published, release.tables, seed=1)
    assert result.blocks["status"].to_list() == ["open"] * 3
    assert result.blocks["population"].null_count() == 3
    question = Solvar(mode="relaxed", seed=1, unit_seconds=1.0)
    found = measure_variability(release, published, release.tables, result.microdata, question)
    assert found.units["status"].to_list() == ["open"] * 3
    assert found.units["solvar_upper_pct"].null_count() == 3


def test_a_coarse_geounit_with_people_needs_units() -> None:
    release = plots("  - {levels: [plot, ward], cells: [total, {by: sex}], tables: {T: {}}}\n")
    published = publish(release, people(("0101", 0, "m"), ("0201", 3, "f")))
    lost = Publication(
        published.geounits.filter(pl.col("geoid") != "0201"),
        published.counts.filter(pl.col("geoid") != "0201"),
        published.coverage,
    )
    with pytest.raises(SourceError, match="ward 02: people are published, but none of its plots"):
        reconstruct(release, lost, release.tables, seed=1)


def test_a_ward_counts_for_the_plot_that_publishes_nothing() -> None:
    """Of a ward of three people the one plot counts one, so the other has the other two."""
    release = plots("  - {levels: [plot, ward], cells: [total, {by: sex}], tables: {T: {}}}\n")
    records = people(("0101", 0, "m"), ("0102", 1, "m"), ("0102", 2, "f"))
    whole = publish(release, records)
    silent = pl.col("geoid") == "0102"
    pattern = pl.when(silent).then(pl.lit(len(whole.coverage))).otherwise("pattern")
    published = Publication(
        whole.geounits.with_columns(
            pattern.cast(whole.geounits.schema["pattern"]).alias("pattern"),
            pl.when(~silent).then("population").alias("population"),
        ),
        whole.counts.filter(~silent),
        (*whole.coverage, CoveragePattern("plot", {})),
    )
    for make in (make_plan, make_fine_plan):
        plan = make(release, release.tables, published.coverage)
        assert sum(len(each.masks) for each in plan.patterns if each.level == "ward") > 0
    result = reconstruct(release, published, release.tables, seed=1)
    found = Counter(result.microdata.select("geoid_plot", "sex").rows())
    assert found == Counter(records.select("geoid_plot", "sex").rows())


def test_only_what_is_least_is_called_the_least_change() -> None:
    release = plots(
        "  - {levels: [plot], cells: [total], tables: {A: {}}}\n"
        "  - {levels: [plot], cells: [{by: sex}], tables: {B: {}}}\n"
        "  - {levels: [plot], cells: [{by: half}], tables: {C: {}}}\n"
    )
    published = publish(release, people(("0101", 0, "m")))
    wrong = Publication(
        published.geounits,
        published.counts.filter(pl.col("table") == "A").with_columns(
            count=pl.lit(3, dtype=pl.Int32)
        ),
        published.coverage,
    )
    with pytest.raises(ContradictionError, match=r"the least change .* is 3 in 1 cell"):
        reconstruct(release, wrong, release.tables, seed=1)
    one = wrong.counts.with_columns(count=pl.lit(1, dtype=pl.Int32))
    with pytest.raises(ContradictionError, match=r"the least change .* is 1 in 1 cell"):
        reconstruct(
            release, Publication(wrong.geounits, one, wrong.coverage), release.tables, seed=1
        )


def test_counts_given_twice_are_refused() -> None:
    release = plots("  - {levels: [plot], cells: [total], tables: {A: {}}}\n")
    published = publish(release, people(("0101", 0, "m")))
    twice = Publication(published.geounits, pl.concat([published.counts] * 2), published.coverage)
    with pytest.raises(SourceError, match="geoid 0101 table A cell 1: counted twice"):
        reconstruct(release, twice, release.tables, seed=1)


def test_a_duplicate_schema_key_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"tables.A: duplicate key, first on line"):
        plots("  - {levels: [plot], cells: [total], tables: {A: {}, A: {}}}\n")


def test_order_of_geounits_does_not_matter() -> None:
    release = crossing_release(5)
    published = publish(release, random_records(release, 5, 60, random_units(release, 5, 9)))
    shuffled = Publication(
        published.geounits.sample(fraction=1, shuffle=True, seed=1),
        published.counts,
        published.coverage,
    )
    first = reconstruct(release, published, release.tables, seed=1)
    again = reconstruct(release, shuffled, release.tables, seed=1)
    assert first.microdata.equals(again.microdata)
    assert Counter(first.blocks.rows()) == Counter(again.blocks.rows())
