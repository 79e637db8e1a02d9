"""The benchmarks' own arithmetic; the study's formulation against enumeration."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks import page
from benchmarks.machine import Cost, measure
from benchmarks.nation import AUDIT, EXACT, MAKING
from benchmarks.peer.formulation import Program, formulate, smallest_cells
from benchmarks.peer.ratios import DEFINITIONS, compare
from benchmarks.projection import BLOCKS, PEOPLE, fit_exponent, project
from recon_cli.schema import Release, load_release, parse_release
from tests.support.enumeration import Solution, record_counts, solutions
from tests.support.populations import publish

SHOP = """
release: shop
title: Customers by shop
features:
  sex: {categories: [m, f]}
  age: {range: 0..2}
  tags: {multiselect: [p, q]}
recodes:
  band: {of: age, edges: [0, 1]}
  tags_any: {of: tags, includes: [p, q]}
geography:
  levels: [{level: shop, digits: 3}, {level: town, digits: 2}]
  partition: town
microdata: [sex, age, tags]
histogram: [sex, band, tags]
families:
  - {levels: [shop, town], cells: [total, {by: sex, cells: [total, {by: band}]}], tables: {T: {}}}
  - {levels: [shop, town], cells: [{tally: tags}, {by: tags_any}], tables: {G: {}}}
  - {levels: [town], cells: [{by: age, cells: [{by: tags}]}], tables: {A: {}}}
"""
COUNTED = "T"


def shop() -> Release:
    return parse_release(SHOP, source="shop")


def customers(*rows: tuple[str, str, int, int]) -> pl.DataFrame:
    names = ["geoid_shop", "sex", "age", "tags"]
    return pl.DataFrame(rows, schema=names, orient="row").cast({"age": pl.Int16, "tags": pl.Int16})


def answers(release: Release, program: Program) -> set[Solution]:
    """The people of every 0-1 vector that meets all rows."""
    n = len(program.kind)
    x = np.array(list(itertools.product((0, 1), repeat=n)), np.int64)
    sums = np.zeros((len(x), len(program.counts)), np.int64)
    for binary in range(n):
        entries = slice(program.starts[binary], program.starts[binary + 1])
        sums[:, program.rows[entries]] += x[:, [binary]] * program.weights[entries]
    found = x[(sums == program.counts).all(axis=1)]
    people = [program.records(release, np.flatnonzero(row)) for row in found]
    return {frozenset(record_counts(release, each).items()) for each in people}


@pytest.mark.parametrize(
    "people",
    [
        customers(("aa1", "m", 0, 1), ("aa2", "m", 0, 2), ("aa2", "f", 0, 3)),
        customers(("aa1", "m", 1, 1), ("aa2", "m", 2, 2)),
        customers(("aa1", "f", 1, 1), ("aa1", "f", 2, 3)),
        customers(("aa1", "f", 0, 1), ("aa1", "f", 0, 1), ("aa2", "f", 0, 2), ("aa2", "f", 0, 3)),
    ],
)
def test_binaries_have_the_solutions_of_the_release(people: pl.DataFrame) -> None:
    release = shop()
    published = publish(release, people, ["aa1", "aa2", "aa3"])
    program = formulate(release, published, release.tables, COUNTED)
    assert answers(release, program) == solutions(release, published, release.tables)


def test_one_binary_for_each_value_that_a_counted_person_could_have() -> None:
    release = shop()
    people = customers(("aa1", "m", 0, 1), ("aa1", "m", 1, 1), ("aa2", "f", 2, 3))
    program = formulate(release, publish(release, people), release.tables, COUNTED)
    units = program.units.to_list()
    by_unit = Counter(units[at] for at in program.unit.tolist())
    assert by_unit == {"aa1": (1 + 2) * 3, "aa2": 2 * 3}  # ages of the band x tags


def test_the_counted_cells_are_the_smallest() -> None:
    assert list(smallest_cells(shop().table_by_name[COUNTED])) == [3, 4, 6, 7]
    groups = smallest_cells(load_release("sf1_2010").table_by_name["P12"])
    assert len(groups) == 46
    assert sum(masks[1].bit_count() for masks in groups.values()) == 2 * 111


def test_a_count_that_nobody_can_meet_is_refused() -> None:
    release = shop()
    published = publish(release, customers(("aa1", "m", 0, 1)), ["aa1", "aa2"])
    extra = pl.DataFrame([("aa2", "G", 1, 1)], schema=published.counts.schema, orient="row")
    wrong = type(published)(
        published.geounits, pl.concat([published.counts, extra]), published.coverage
    )
    with pytest.raises(ValueError, match="concerns nobody"):
        formulate(release, wrong, release.tables, COUNTED)


GRANDCHILD = "x = bytearray(300_000_000); y = sum(range(20_000_000))"


def test_a_cost_includes_processes_that_a_command_starts() -> None:
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {GRANDCHILD!r}])"
    cost = measure([sys.executable, "-c", program])
    alone = measure([sys.executable, "-c", "pass"])
    assert cost.peak_mb > 300_000_000 / 2**20
    assert cost.cpu_seconds > alone.cpu_seconds + 0.1
    assert cost.wall_seconds > alone.wall_seconds


def test_a_failed_command_is_not_a_measure() -> None:
    command = [sys.executable, "-c", "raise SystemExit(8)"]
    with pytest.raises(SystemExit, match="failed"):
        measure(command)
    assert measure(command, accept=(0, 8)).exit_code == 8


def test_idle_cores_are_paid_for() -> None:
    assert Cost(10.0, 12.0, 1.0).core_seconds(2) == 20.0
    assert Cost(10.0, 12.0, 1.0).core_seconds(1) == 12.0


def test_ratios_leave_out_what_they_say() -> None:
    def part(seconds: float, peak: float, left: float) -> dict[str, float]:
        return {"seconds": seconds, "cpu_seconds": seconds, "peak_mb": peak, "left_mb": left}

    peer = {
        "start": part(1, 100, 100),
        "read": part(1, 110, 110),
        "formulate": part(10, 400, 300),
        "pass": part(10, 900, 800),
        "solve": part(80, 2110, 900),
        "records": part(0, 900, 900),
    }
    ours = {
        "start": part(1, 150, 150),
        "read": part(1, 170, 170),
        "plan": part(1, 280, 200),
        "solve": part(0.25, 220, 220),
        "records": part(0, 220, 220),
        "again 1": part(0.1, 230, 230),
        "again 2": part(0.3, 230, 230),
        "again 3": part(0.2, 230, 230),
    }
    found = compare({"parts": peer}, {"parts": ours})
    assert {name: row["time_ratio"] for name, row in found.items()} == {
        "whole process": round(102 / 3.25, 1),
        "counts to records": 80.0,
        "plan made before": 400.0,
        "a further tract": 500.0,
        "engine alone": 400.0,
    }
    assert found["whole process"]["memory_ratio"] == round(2110 / 280, 1)
    assert found["plan made before"]["memory_ratio"] == round((2110 - 100) / (220 - 150), 1)
    assert set(found) == set(DEFINITIONS)


def growth(people: int, seconds: float, sample: int = 50_000) -> dict[str, Any]:
    """A result of benchmarks.growth whose stages all took as long."""
    cost = {"wall_seconds": seconds, "cpu_seconds": seconds, "peak_mb": 500.0}
    stages = {
        step.name: {**cost, "core_seconds": seconds, "about": step.about}
        for step in (*MAKING, *AUDIT, EXACT)
    }
    return {
        "people": people,
        "workers": 2,
        "counts": {"blocks": {"people": people, "units": people // 50}},
        "sample": {"blocks": {"people": sample, "units": sample // 50}},
        "stages": stages,
        "date": "2026-01-01",
        "machine": {"cpu": "a processor", "cores": 2, "memory_gb": 4.0, "system": "Linux 6"},
        "versions": {"python": "3.11"},
        "load_before": 0.0,
    }


def test_growth_is_fitted_where_start_up_does_not_rule() -> None:
    assert fit_exponent({10_000: 50.0, 100_000: 1.0, 1_000_000: 10.0}) == pytest.approx(1.0)
    assert fit_exponent({100_000: 1.0, 1_000_000: 100.0}) == pytest.approx(2.0)
    assert fit_exponent({10_000: 50.0, 1_000_000: 10.0}) is None


def test_the_projection_takes_the_worse_of_people_and_blocks() -> None:
    runs = [growth(100_000, 10.0), growth(1_000_000, 100.0)]
    found = project(runs, "link")
    assert found.by_people == pytest.approx(100 * PEOPLE / 1_000_000 / 3600)
    assert found.by_blocks == pytest.approx(100 * BLOCKS / 20_000 / 3600)
    assert found.core_hours == pytest.approx(max(found.by_people, found.by_blocks))


def test_growth_above_one_makes_the_projection_dearer() -> None:
    runs = [growth(100_000, 10.0), growth(1_000_000, 10.0 * 10**1.1)]
    found = project(runs, "link")
    assert found.exponent == pytest.approx(1.1)
    more = (PEOPLE / 1_000_000) ** 0.1
    assert found.core_hours == pytest.approx(max(found.by_people, found.by_blocks) * more)


def test_a_sample_is_scaled_by_its_own_people() -> None:
    assert project([growth(1_000_000, 60.0)], "solvar exact").by_people == pytest.approx(
        60 * PEOPLE / 50_000 / 3600
    )


def test_the_page_names_every_stage_and_the_projection() -> None:
    text = page.render({"growth-1e5": growth(100_000, 10.0), "growth-1e6": growth(1_000_000, 99.0)})
    for step in (*MAKING, *AUDIT, EXACT):
        assert f"| {step.name} |" in text
    assert "308,745,538 people" in text


def test_the_page_sets_small_commands_beside_their_marks() -> None:
    cost = {"cpu_seconds": 0.123, "wall_seconds": 0.2, "peak_mb": 17.6}
    result = {**growth(1, 1.0), "runs": 3, "loop_seconds": 0.5, "commands": {"status": cost}}
    text = page.render({"startup": result})
    assert "| `recon status` | 0.12 | 0.20 | 0.40 | 18 |" in text
    assert "took 0.50 CPU seconds" in text


def test_the_page_is_made_of_the_kept_results() -> None:
    assert page.PAGE.read_text() == page.render(page.read_reference())
