"""Suppression: what it hides stays hidden from the audit, and from enumeration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.capabilities.suppress.primary import (
    PrimaryRules,
    largest_contributions,
    primary_cells,
)
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.errors import ConfigError
from recon_cli.publication import Publication
from recon_cli.schema import Membership, Release, parse_release
from tests.support.command_line import recon as command
from tests.support.enumeration import TooManyError, all_records, published_rows, solutions
from tests.support.properties import SEEDS, examples

WARDS = parse_release(
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}, age: {categories: [young, middle, old]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex, age]\nhistogram: [sex, age]\nfamilies:\n"
    "  - {levels: [plot, ward], cells: [total, {by: sex}, {by: sex, cells: [{by: age}]}], "
    "tables: {T: {}}}\n"
    "  - {levels: [plot, ward], cells: [{by: age}], tables: {A: {}}}\n",
    source="wards",
)


def people(seed: int, number: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "geoid_plot": rng.choice(["A101", "A102", "A103"], number),
            "sex": rng.choice(["women", "men"], number, p=[0.7, 0.3]),
            "age": rng.choice(["young", "middle", "old"], number, p=[0.6, 0.3, 0.1]),
        }
    )


def published(
    records: pl.DataFrame, options: SuppressionOptions
) -> tuple[pl.DataFrame, Publication]:
    truth = count_records(WARDS, records)
    protected = suppress_counts(WARDS, truth, options, records=records)
    law = suppression_protection(options.rules)
    return protected, recon.publish(WARDS, tidy_counts(truth, protected), protection=law)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([None, 1, 2]))
def test_no_primary_cell_is_recovered(seed: int, zeros_hidden: bool, safety: int | None) -> None:
    """Without a range, both ask the same: what the law says."""
    options = SuppressionOptions(PrimaryRules(3, zeros_hidden), safety, seed)
    records = people(seed, 40)
    protected, public = published(records, options)
    assert recon.verify(WARDS, public, records).ok
    audit = recon.audit_counts(WARDS, public, seed=seed, safety=safety)
    key = ["geoid", "table", "cell"]
    primary = protected.filter("primary")
    small = protected.filter((pl.col("true") < 3) & ((pl.col("true") > 0) | zeros_hidden))
    assert primary.select(key).equals(small.select(key))
    found = primary.join(audit, on=key, how="left")
    assert set(found["status"]) <= {"safe"}
    assert set(found["required"]) <= {options.safety_range}


def test_two_solutions_show_a_primary_cell_to_be_safe() -> None:
    """Three plots of which one has a single old man: the sums of the ward go, too."""
    protected, public = published(people(3, 60), SuppressionOptions(PrimaryRules(3)))
    assert protected.filter("primary").height < protected["count"].null_count()
    again, _ = published(people(3, 60).reverse(), SuppressionOptions(PrimaryRules(3)))
    assert again.equals(protected)
    assert public.protection.laws[0].name == "suppressed"


AREAS = """
release: areas
title: Areas
features: {sex: {categories: [women, men]}, age: {categories: [young, middle, old]}}
geography: {unit: atom, areas: [{area: ward}, {area: square}]}
microdata: [sex, age]
histogram: [sex, age]
families:
  - levels: [ward, square]
    cells: [total, {by: sex}, {by: sex, cells: [{by: age}]}]
    tables: {T: {}}
"""


def overlapping(schema: str, atoms: Sequence[str]) -> Release:
    """Each atom is called after its ward and its square."""
    codes = pl.DataFrame({"atom": atoms}).with_columns(
        ward="W" + pl.col("atom").str.head(1), square="S" + pl.col("atom").str.tail(1)
    )
    release = parse_release(schema, source="areas")
    return release.with_membership(Membership("l", codes, str(atoms)))


def test_areas_that_overlap_are_protected_together() -> None:
    """No count below the threshold is given away by both zonings at once."""
    rng = np.random.default_rng(2)
    atoms = ["11", "12", "22", "23", "31", "33"]
    release = overlapping(AREAS, atoms)
    records = pl.DataFrame(
        {
            "geoid_atom": rng.choice(atoms, 60, p=[0.3, 0.05, 0.2, 0.2, 0.05, 0.2]),
            "sex": rng.choice(["women", "men"], 60, p=[0.7, 0.3]),
            "age": rng.choice(["young", "middle", "old"], 60, p=[0.6, 0.3, 0.1]),
        }
    )
    options = SuppressionOptions(PrimaryRules(3))
    truth = count_records(release, records)
    protected = suppress_counts(release, truth, options)
    law = suppression_protection(options.rules)
    public = recon.publish(release, tidy_counts(truth, protected), protection=law)
    assert recon.verify(release, public, records).ok
    audit = recon.audit_counts(release, public, safety=1)
    primary = protected.filter("primary").join(audit, on=["geoid", "table", "cell"], how="left")
    assert primary.height > 3
    assert set(primary["status"]) == {"safe"}
    assert protected["count"].null_count() > primary.height


@examples(4)
@given(seed=SEEDS, zeros_hidden=st.booleans())
def test_both_zonings_leave_two_counts_of_each_primary_cell(seed: int, zeros_hidden: bool) -> None:
    """Against every solution; from records and from their exact counts."""
    rng = np.random.default_rng(seed)
    schema = AREAS.replace(", {by: sex, cells: [{by: age}]}", "")
    schema = schema.replace(", age: {categories: [young, middle, old]}", "").replace(", age", "")
    atoms = ["11", "12", "21", "22"][: int(rng.integers(3, 5))]
    release = overlapping(schema, atoms)
    records = pl.DataFrame(
        {"geoid_atom": rng.choice(atoms, 7), "sex": rng.choice(["women", "men"], 7, p=[0.7, 0.3])}
    )
    options = SuppressionOptions(PrimaryRules(2, zeros_hidden))
    truth = count_records(release, records)
    protected = suppress_counts(release, truth, options, records=records)
    counts = recon.publish(release, recon.tabulate(release, records))
    assert suppress_counts(release, counts, options).equals(protected)
    law = suppression_protection(options.rules)
    public = recon.publish(release, tidy_counts(truth, protected), protection=law)
    primary = protected.filter("primary").select("geoid", "table", "cell")
    assume(not primary.is_empty())
    audit = recon.audit_counts(release, public).join(primary, on=primary.columns, how="semi")
    assert audit["status"].to_list() == ["safe"] * primary.height
    try:
        every = solutions(release, public, release.tables, cap=3)
    except TooManyError:
        assume(False)
        raise
    rows = published_rows(release, public, release.tables, all_records(release, public))
    weights = {row.cell: row.weights for row in rows}
    place = {record: at for at, record in enumerate(all_records(release, public))}
    for cell in primary.rows():
        found = {sum(weights[cell].get(place[r], 0) * n for r, n in each) for each in every}
        assert max(found) - min(found) >= options.safety_range


# rules about values


def with_income(records: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return records.with_columns(income=pl.Series(rng.lognormal(2, 1.5, records.height).round(1)))


def test_the_largest_contributions_against_the_records() -> None:
    records = with_income(people(1, 50), 1)
    found = largest_contributions(WARDS, records, "income", WARDS.tables, 3)
    expected: dict[str, list[float]] = defaultdict(list)
    for geoid, sex, age, income in records.rows():
        for place in (geoid, geoid[:3]):
            for name in (f"T1{place}", f"T{['women', 'men'].index(sex) + 2}{place}"):
                expected[name].append(income)
            expected[f"A{['young', 'middle', 'old'].index(age) + 1}{place}"].append(income)
    rows = {f"{table}{cell}{geoid}": rest for geoid, table, cell, *rest in found.rows()}
    for name, incomes in expected.items():
        ordered = sorted(incomes, reverse=True)
        second = ordered[1] if len(ordered) > 1 else 0.0
        assert rows[name] == pytest.approx([sum(ordered), ordered[0], second, sum(ordered[:3])])


def test_dominance_and_p_percent() -> None:
    records = with_income(people(2, 60), 2)
    truth = count_records(WARDS, records)
    largest = largest_contributions(WARDS, records, "income", WARDS.tables, 2)
    by_cell = {(g, t, c): rest for g, t, c, *rest in largest.rows()}

    def marked(rules: PrimaryRules) -> set[tuple[str, str, int]]:
        is_primary = primary_cells(WARDS, truth.counts, records, rules, WARDS.tables)
        chosen = truth.counts.filter(is_primary)
        return set(chosen.select("geoid", "table", "cell").rows())

    few = {row[:3] for row in truth.counts.rows() if row[3] < 2}
    dominated = marked(PrimaryRules(2, value="income", dominance=(2, 80.0)))
    assert dominated == few | {k for k, (s, _, _, top) in by_cell.items() if top > 0.8 * s}
    close = marked(PrimaryRules(2, value="income", p_percent=10.0))
    assert close == few | {k for k, (s, a, b, _) in by_cell.items() if s - a - b < 0.1 * a}
    assert few < dominated
    assert few < close


def test_values_that_are_missing_or_negative_are_refused() -> None:
    records = people(2, 20)
    with pytest.raises(ConfigError, match="no column 'income'"):
        largest_contributions(WARDS, records, "income", WARDS.tables, 1)
    wrong = with_income(records, 1).with_columns(pl.col("income") - 100)
    with pytest.raises(ConfigError, match="every value must be at least 0"):
        largest_contributions(WARDS, wrong, "income", WARDS.tables, 1)
    with pytest.raises(ValueError, match="go with a value column"):
        PrimaryRules(3, p_percent=10.0)


# the command


def test_the_command_writes_what_ingest_reads(tmp_path: Path) -> None:
    people(5, 80).write_csv(tmp_path / "people.csv")
    (tmp_path / "wards.schema.yaml").write_text(
        "release: wards\ntitle: Plots in wards\n"
        "features: {sex: {categories: [women, men]}, age: {categories: [young, middle, old]}}\n"
        "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
        "partition: ward}\nmicrodata: [sex, age]\nhistogram: [sex, age]\nfamilies:\n"
        "  - {levels: [plot, ward], cells: [total, {by: sex}, {by: sex, cells: [{by: age}]}], "
        "tables: {T: {}}}\n"
    )
    (tmp_path / "wards.yaml").write_text(
        "release: wards.schema.yaml\nwork: work\nsuppress: {records: people.csv}\n"
        "ingest: {source: tidy, paths: [work/suppressed]}\naudit:\n"
    )
    shared = ("-c", tmp_path / "wards.yaml")
    shown = command("protect", "suppress", *shared).stdout
    assert "complementary" in shown
    assert "zeros are published, so every flag says at least 1" in shown
    command("ingest", "-q", *shared)
    audited = command("audit", *shared).stdout
    assert "undecided                   0" in audited
    accuracy = pl.read_csv(tmp_path / "work" / "private" / "suppress" / "accuracy" / "accuracy.csv")
    row = accuracy.filter(level="plot", table="All", size="All").row(0, named=True)
    assert row["suppressed"] == row["primary"] + row["complementary"] > 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("suppress.dominance=[1, 80]", "go with a value column"),
        ("suppress.below=1", "greater than or equal to 2"),
        ("suppress.zeros=maybe", "suppress.zeros"),
    ],
)
def test_settings_that_say_nothing_are_refused(tmp_path: Path, setting: str, message: str) -> None:
    (tmp_path / "c.yaml").write_text("release: clinic_visits\nwork: work\nsuppress:\n")
    done = command("protect", "suppress", "-c", tmp_path / "c.yaml", "--set", setting, code=2)
    assert message in done.stderr
