"""Audits with statistics printed beside counts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from benchmarks.wards import RELEASE as WARDS
from benchmarks.wards import draw_ward
from benchmarks.wards import published as published_wards
from recon_cli import Protection, Release, Statement
from recon_cli.errors import ConfigError, SolverError, SourceError, VerificationError
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.pipeline.run_stages import refuse_statistics
from recon_cli.publication import Publication
from recon_cli.statement import parse_law

SCHEMA = """
release: wards
title: HIV by ward
features:
  sex: {categories: [female, male]}
  age_years: {range: 0..99}
  hiv: {categories: [false, true]}
geography: {levels: [{level: ward, digits: 2}, {level: city, digits: 1}], partition: city}
microdata: [sex, age_years, hiv]
histogram: [sex, hiv]
families:
  - levels: [ward]
    cells: [total, {by: sex}]
    tables: {ALL: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{by: hiv}]}]
    tables: {COUNT: {}}
  - levels: [ward]
    cells: [{by: sex, cells: [{where: {hiv: true}}]}]
    tables: {MEAN_AGE: {statistic: {mean: age_years}}}
  - levels: [ward]
    cells: [{by: sex}]
    tables: {PCT: {statistic: {share: {hiv: true}}}}
"""
RELEASE = recon.parse_release(SCHEMA, source="schema.yaml")
STARS = Statement(parse_law({"suppressed": {"below": 5, "complementary": True}}), ("COUNT",))


def published(
    release: Release, rows: list[tuple[str, str, int, str]], *laws: Statement
) -> Publication:
    schema = {"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "count": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return recon.publish(release, frame, protection=Protection(laws or (STARS,)))


def ward(*statistics: tuple[str, int, str], stars: str = "*") -> list[tuple[str, str, int, str]]:
    all_of = [("W5", "ALL", number, text) for number, text in enumerate(("40", "20", "20"), 1)]
    counts = [("W5", "COUNT", number, stars) for number in (1, 2, 3, 4)]
    return [*all_of, *counts, *(("W5", *each) for each in statistics)]


def ends(audited: pl.DataFrame) -> dict[int, tuple[int, int]]:
    return {row["cell"]: (row["least"], row["greatest"]) for row in audited.iter_rows(named=True)}


def test_a_mean_leaves_multiples_of_what_its_decimals_allow() -> None:
    """34.67 is the mean of three whole ages, not of one, two or four."""
    below = Statement(parse_law({"suppressed": {"below": 5}}), ("COUNT",), markers=("*",))
    rows = ward(("MEAN_AGE", 1, "34.67"), stars="x")
    rows = [(*row[:3], "*") if row[1:3] == ("COUNT", 2) else row for row in rows]
    audited = recon.audit_counts(RELEASE, published(RELEASE, rows, below, STARS))
    found = {row["cell"]: row for row in audited.iter_rows(named=True)}
    assert (found[2]["least"], found[2]["greatest"]) == (3, 3)
    assert (found[2]["least_without"], found[2]["greatest_without"]) == (1, 4)
    assert found[2]["status"] == "recovered"
    coarser = [*rows[:-1], ("W5", "MEAN_AGE", 1, "34.7")]
    audited = recon.audit_counts(RELEASE, published(RELEASE, coarser, below, STARS))
    assert ends(audited)[2] == (3, 4), "34.75 is a tie"


def test_a_percentage_of_a_known_base_gives_a_star_away() -> None:
    audited = recon.audit_counts(RELEASE, published(RELEASE, ward(("PCT", 1, "15"))))
    assert ends(audited)[1] == (17, 17)
    assert ends(audited)[2] == (3, 3)
    assert ends(audited)[3] == (1, 19)


def test_nobody_has_a_mean() -> None:
    law = Statement(parse_law({"printed": {"no_base": "-"}}), ("MEAN_AGE",))
    may_be_zero = parse_law(
        {"suppressed": {"below": 5, "flagged": "may-be-zero", "complementary": True}}
    )
    stars = Statement(may_be_zero, ("COUNT",))
    rows = ward(("MEAN_AGE", 1, "-"))
    audited = recon.audit_counts(RELEASE, published(RELEASE, rows, stars, law))
    assert ends(audited)[2] == (0, 0)
    rows = ward(("MEAN_AGE", 1, "30.5"))
    audited = recon.audit_counts(RELEASE, published(RELEASE, rows, stars, law))
    assert ends(audited)[2] == (2, 20), "one age is a whole number"


def test_two_means_may_give_a_feature_other_numbers() -> None:
    """Of one 0, one 1 and two 2 the mean is 1.25; where 1 is 10 and 2 is 11 it is 8."""
    mean = "{{statistic: {{mean: age_years, values: {{0: 0, 1: {}, 2: {}}}}}}}"
    tables = f"MEAN_AGE: {mean.format(1, 2)}, MEAN_OTHER: {mean.format(10, 11)}"
    schema = SCHEMA.replace("range: 0..99", "categories: [0, 1, 2]")
    schema = schema.replace("MEAN_AGE: {statistic: {mean: age_years}}", tables)
    schema = schema.replace("{by: sex, cells: [{by: hiv}]}", "{by: age_years}")
    release = recon.parse_release(schema, source="schema.yaml")
    rows = [("W5", "ALL", number, text) for number, text in ((1, "4"), (2, "4"), (3, "0"))]
    rows += [("W5", "COUNT", number, "*") for number in (1, 2, 3)]
    rows += [
        ("W5", "MEAN_AGE", 1, "1.25"),
        ("W5", "MEAN_OTHER", 1, "8.00"),
        ("W5", "PCT", 1, "100"),
    ]
    audited = recon.audit_counts(release, published(release, rows))
    assert ends(audited) == {1: (1, 1), 2: (1, 1), 3: (2, 2)}


@pytest.mark.parametrize("ages", ["0..99", "0..4"])
def test_statistics_of_people_whom_nothing_bounds_are_refused(ages: str) -> None:
    """Few ages are over clique tables, in which further people, half of them ill, change no row."""
    release = recon.parse_release(SCHEMA.replace("0..99", ages), source="schema.yaml")
    rows = [("W5", "COUNT", number, "*") for number in (1, 2, 3, 4)]
    given = published(release, [*rows, ("W5", "PCT", 1, "50")])
    with pytest.raises(SolverError, match="W5 table PCT cell 1: no count bounds the people"):
        recon.audit_counts(release, given)


def test_sums_that_do_not_fit_are_refused() -> None:
    totals = enumerate(("45000000", "45000000", "0"), start=1)
    rows = [("W5", "ALL", number, text) for number, text in totals]
    rows += [("W5", "COUNT", 1, "*"), ("W5", "COUNT", 2, "*"), ("W5", "MEAN_AGE", 1, "90.00")]
    with pytest.raises(SolverError, match="more people than fit in a sum of values"):
        recon.audit_counts(RELEASE, published(RELEASE, rows))


def test_what_does_not_use_statistics_refuses_them() -> None:
    given = published(RELEASE, ward(("PCT", 1, "15")))
    plan = make_interval_plan(RELEASE, RELEASE.tables, given.coverage)
    with pytest.raises(SourceError, match=r"does not use printed statistics yet.*\(PCT\)"):
        arrange_counts(plan, given)
    with pytest.raises(ConfigError, match=r"recon x does not use printed statistics yet"):
        refuse_statistics(RELEASE, "recon x")


def test_witnesses_print_the_same_and_differ() -> None:
    given = published(RELEASE, ward(("PCT", 1, "15"), ("MEAN_AGE", 1, "34.67")))
    cells = pl.DataFrame({"geoid": ["W5"] * 2, "table": ["COUNT"] * 2, "cell": [2, 4]})
    sets = list(recon.find_witnesses(RELEASE, given, cells))
    assert all(recon.verify(RELEASE, given, records).ok for records in sets)
    ill = [records.filter(hiv=True)["sex"].value_counts().sort("sex").rows() for records in sets]
    assert {dict(each).get("female", 0) for each in ill} == {3}
    assert len({dict(each).get("male", 0) for each in ill}) > 1


def test_records_print_the_same_statistics() -> None:
    given = published(RELEASE, ward(("PCT", 1, "15"), ("MEAN_AGE", 1, "34.67")))
    records = recon.reconstruct(RELEASE, given).microdata
    found = recon.verify(RELEASE, given, records)
    assert found.ok
    assert found.statistics_compared == 2
    ages = records.filter(sex="female", hiv=True)["age_years"]
    assert (len(ages), ages.sum()) == (3, 104)
    older = pl.when(sex="female", hiv=True).then(40).otherwise("age_years")
    others = records.with_columns(age_years=older.cast(records["age_years"].dtype))
    found = recon.verify(RELEASE, given, others)
    assert [str(other) for other in found.other_statistics] == [
        "ward W5 MEAN_AGE cell 1: printed 34.67, found 40"
    ]
    with pytest.raises(VerificationError, match="do not print the same statistics: 1 of 2"):
        found.require()


CONCEPTION = """
release: drugs
title: Users by number of records
record: user
features: {records: {range: 1..4}}
geography: {levels: [{level: drug, digits: 2}, {level: all, digits: 1}], partition: all}
microdata: [records]
histogram: [records]
families:
  - levels: [drug]
    cells: [total]
    tables:
      USERS: {}
      MEAN: {statistic: {mean: records}}
      MEDIAN: {statistic: {median: records, definition: middle}}
  - levels: [drug]
    cells: [{by: records}]
    tables: {BY_RECORDS: {}}
"""


@pytest.mark.parametrize(
    ("texts", "users", "by_records"),
    [
        ([], (1, 4), [(0, 4)] * 4),
        ([("MEDIAN", "1")], (1, 4), [(1, 4), (0, 2), (0, 1), (0, 1)]),
        ([("MEDIAN", "1"), ("MEAN", "1.33")], (3, 3), [(2, 2), (1, 1), (0, 0), (0, 0)]),
    ],
)
def test_a_mean_alone_leaves_one_set_of_records(
    texts: list[tuple[str, str]], users: tuple[int, int], by_records: list[tuple[int, int]]
) -> None:
    """Users <5, median 1, mean 1.33 are users of 1, 1 and 2 records (ConcePTION-Level3, 17)."""
    release = recon.parse_release(CONCEPTION, source="schema.yaml")
    small = Statement(parse_law({"suppressed": {"below": 5}}), ("USERS",))
    any_count = parse_law({"suppressed": {"below": 5, "flagged": "may-be-zero"}})
    rows = [("D1", "USERS", 1, "*")]
    rows += [("D1", "BY_RECORDS", number, "*") for number in range(1, 5)]
    rows += [("D1", table, 1, text) for table, text in texts]
    given = published(release, rows, small, Statement(any_count, ("BY_RECORDS",)))
    audited = recon.audit_counts(release, given)
    found = {(row["table"], row["cell"]): row for row in audited.iter_rows(named=True)}
    told = found["USERS", 1]
    assert (told["least"], told["greatest"]) == users
    for number, wanted in enumerate(by_records, start=1):
        told = found["BY_RECORDS", number]
        assert (told["least"], told["greatest"]) == wanted, number


def test_medians_of_many_middle_values_leave_nothing_undecided() -> None:
    """Of its four medians 100 pairs of middle values print the same."""
    random = np.random.default_rng(11)
    _, ward = (draw_ward(random) for _ in range(2))
    given = published_wards([ward], ("MEDIAN",), 1)
    audited = recon.audit_counts(WARDS, given)
    assert audited.height == 14
    assert not audited.filter(status="undecided").height
