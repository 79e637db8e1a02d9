"""Large regions are suppressed in groups: what that hides stays hidden from the audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.capabilities.suppress import stage, suppression
from recon_cli.capabilities.suppress.groups import Group, groups_of
from recon_cli.capabilities.suppress.linked_cells import linked_cells
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.errors import SolverError
from recon_cli.execute import run_items
from recon_cli.publication import Publication
from recon_cli.schema import parse_release
from tests.support.command_line import recon as command
from tests.support.enumeration import TooManyError, all_records, published_rows, solutions
from tests.support.properties import SEEDS, examples

SCHEMA = (
    "release: schools\ntitle: Schools\n"
    "features: {sex: {categories: [girls, boys]}, age: {categories: [young, middle, old]}}\n"
    "geography: {levels: [{level: school, digits: 4}, {level: district, digits: 3}, "
    "{level: nation, digits: 1}], partition: nation}\n"
    "microdata: [sex, age]\nhistogram: [sex, age]\nfamilies:\n"
    "  - {levels: [school, district, nation], cells: [total, {by: sex}, {by: age}], "
    "tables: {T: {}}}\n"
)
SCHOOLS = parse_release(SCHEMA, source="schools")
KEY = ["geoid", "table", "cell"]
#: Two schools are a group.
OPTIONS = SuppressionOptions(PrimaryRules(3), group_units=2)


def people(seed: int, number: int, schools: int) -> pl.DataFrame:
    """Records of schools, two to a district."""
    rng = np.random.default_rng(seed)
    geoids = [f"N{at // 2:02}{at % 2 + 1}" for at in range(schools)]
    return pl.DataFrame(
        {
            "geoid_school": rng.choice(geoids, number),
            "sex": rng.choice(["girls", "boys"], number),
            "age": rng.choice(["young", "middle", "old"], number, p=[0.5, 0.3, 0.2]),
        }
    )


def names(truth: Publication, primary: Sequence[tuple[str, str, int]] = ()) -> list[str]:
    cells = pl.DataFrame(list(primary), schema=truth.counts.select(KEY).schema, orient="row")
    return [group.name for group in groups_of(SCHOOLS, truth, cells, 2)]


def test_a_large_region_is_divided_by_districts() -> None:
    """Each group has its own counts, and their sums as the nation's."""
    truth = count_records(SCHOOLS, people(1, 90, 6))
    groups = list(groups_of(SCHOOLS, truth, truth.counts.select(KEY).clear(), 2))
    assert [group.name for group in groups] == [f"district group {at}" for at in range(3)]
    assert {group.coarse for group in groups} == {("N",)}
    counts = pl.concat([group.truth.counts for group in groups])
    sums = counts.group_by(KEY).agg(pl.col("count").sum()).sort(KEY)
    assert sums.equals(truth.counts.select(*KEY, "count").sort(KEY))
    assert counts.filter(pl.col("geoid") != "N").height + 1 <= truth.counts.height


def test_others_are_not_divided() -> None:
    """Few units, a sensitive count of the nation, or one that no district has."""
    truth = count_records(SCHOOLS, people(1, 90, 6))
    assert len(names(truth)) == 3
    assert names(truth, [("N001", "T", 1)]) == names(truth)
    assert names(truth, [("N", "T", 1)]) == [""]
    assert names(count_records(SCHOOLS, people(1, 90, 2))) == [""]
    only = SCHEMA.replace("levels: [school, district, nation], c", "levels: [nation], c")
    both = parse_release(
        SCHEMA.replace("{by: age}]", "]") + only[only.index("  - {") :].replace("T:", "U:"),
        source="both",
    )
    found = groups_of(both, count_records(both, people(1, 90, 6)), truth.counts.clear(), 2)
    assert [group.name for group in found] == [""]
    # An empty cell of the nation is sensitive where zeros are.
    girls = people(1, 90, 6).filter(sex="girls")
    empty = count_records(SCHOOLS, girls)
    for zeros_hidden, number in ((False, 3), (True, 1)):
        found = groups_of(SCHOOLS, empty, empty.counts.clear(), 2, zeros_hidden=zeros_hidden)
        assert len(list(found)) == number


def test_cells_that_are_equal_in_one_group_only_stay_apart() -> None:
    """A group of one district: its sums are the nation's there, and nowhere else."""
    truth = count_records(SCHOOLS, people(1, 90, 6))
    group = next(groups_of(SCHOOLS, truth, truth.counts.clear(), 2))
    (linked,) = linked_cells(SCHOOLS, group.truth, SCHOOLS.tables, zeros_hidden=False)
    apart = group.separated(linked)
    by_level = apart.names.group_by(pl.col("geoid").str.len_chars() == 1).agg("distinct")
    own, national = by_level.sort("geoid")["distinct"].to_list()
    assert not set(own) & set(national)
    assert sorted({*own, *national}) == list(range(apart.coefficients.shape[0]))
    for before, after in zip(linked.names["distinct"], apart.names["distinct"], strict=True):
        difference = linked.coefficients[[before]] - apart.coefficients[[after]]
        assert not difference.toarray().any()


@examples(4)
@given(SEEDS, st.booleans(), st.integers(4, 7))
def test_no_primary_cell_is_recovered(seed: int, zeros_hidden: bool, schools: int) -> None:
    options = replace(OPTIONS, rules=PrimaryRules(3, zeros_hidden))
    records = people(seed, 12 * schools, schools)
    truth = count_records(SCHOOLS, records)
    protected = suppress_counts(SCHOOLS, truth, options)
    assert protected.select(*KEY, "true").equals(
        suppress_counts(SCHOOLS, truth, replace(options, group_units=600)).select(*KEY, "true")
    )
    law = suppression_protection(options.rules)
    public = recon.publish(SCHOOLS, tidy_counts(truth, protected), protection=law)
    assert recon.verify(SCHOOLS, public, records).ok
    small = (pl.col("true") < 3) & ((pl.col("true") > 0) | zeros_hidden)
    primary = protected.filter("primary").select(KEY)
    assert primary.equals(protected.filter(small).select(KEY))
    audit = recon.audit_counts(SCHOOLS, public).join(primary, on=KEY, how="semi")
    assert audit["status"].to_list() == ["safe"] * primary.height


@examples(3)
@given(SEEDS)
def test_every_primary_cell_has_counts_that_are_far_apart(seed: int) -> None:
    """Against all solutions, where girls and boys alone are told apart."""
    schema = SCHEMA.replace(", {by: age}", "").replace(", age]", "]")
    release = parse_release(
        schema.replace(", age: {categories: [young, middle, old]}", ""), source="two"
    )
    options = replace(OPTIONS, rules=PrimaryRules(2))
    truth = count_records(release, people(seed, 12, 4).drop("age"))
    protected = suppress_counts(release, truth, options)
    law = suppression_protection(options.rules)
    public = recon.publish(release, tidy_counts(truth, protected), protection=law)
    try:
        every = solutions(release, public, release.tables, cap=6)
    except TooManyError:
        assume(False)
        raise
    place = {record: at for at, record in enumerate(all_records(release, public))}
    rows = published_rows(release, public, release.tables, all_records(release, public))
    weights = {row.cell: row.weights for row in rows}
    for cell in protected.filter("primary").select(KEY).rows():
        found = {sum(weights[cell].get(place[r], 0) * n for r, n in each) for each in every}
        assert max(found) - min(found) >= options.safety_range


def test_counts_that_do_not_add_up_are_refused() -> None:
    truth = count_records(SCHOOLS, people(1, 90, 6))
    more = pl.col("count") + (pl.col("geoid") == "N").cast(pl.Int32)
    wrong = replace(truth, counts=truth.counts.with_columns(more))
    with pytest.raises(SolverError, match="N: no records have the true counts"):
        suppress_counts(SCHOOLS, wrong, OPTIONS)


def test_workers_suppress_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nation of three groups: one decides what of the nation goes, two are left to workers."""

    def in_groups(*given: Any, **named: Any) -> Iterator[Group]:
        release, truth, primary, _ = given
        return groups_of(release, truth, primary, 10, **named)

    def counted(*given: Any, **named: Any) -> Any:
        results = run_items(*given, **named)
        processes.append(results.workers)
        return results

    processes: list[int] = []
    monkeypatch.setattr(suppression, "groups_of", in_groups)
    monkeypatch.setattr(stage, "run_items", counted)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    people(5, 300, 30).write_csv(tmp_path / "records.csv")
    config = tmp_path / "recon.yaml"
    config.write_text("release: schema.yaml\nwork: work\nsuppress: {records: records.csv}\n")
    found = []
    for workers in ("1", "2"):
        command("protect", "suppress", "-q", "-c", str(config), "--workers", workers, "--force")
        found.append(pl.read_parquet(tmp_path / "work" / "suppressed" / "**" / "*.parquet"))
    assert processes == [0, 2]
    assert found[0].equals(found[1])
    assert 0 < found[0]["count"].null_count() < found[0].height
