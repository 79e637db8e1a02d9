"""The audit by clique tables beside that by joint histograms, and beside the truth."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from benchmarks.office.publication import (
    BELOW,
    SCHOOLS,
    SHARES,
    Office,
    PublishedTable,
    exact_counts,
    histograms,
    records,
    rounded,
    stars,
)
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import RegionData
from recon_cli.capabilities.audit import joint_audit, joint_ends, partition
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import AuditQuestion
from recon_cli.capabilities.protect.counts import tidy_counts
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.suppress.linked_cells import linked_cells
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.capabilities.tabulate.statistics import print_statistics
from recon_cli.model.planning import make_interval_plan
from recon_cli.progress import NO_STATUSES
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.statement import Protection, Statement, parse_law
from tests.support.paths import ROOT
from tests.support.properties import amount, draws

HOSPITAL = ROOT / "fixtures" / "hospital"
KEY = ["geoid", "table", "cell"]
OFFICE = replace(SCHOOLS, units=4, in_district=2)


def hospital() -> tuple[Release, Publication]:
    release = recon.load_release(str(HOSPITAL / "stays.yaml"))
    protection = recon.load_protection(HOSPITAL / "suppressed" / "protection.yaml", release)
    path = HOSPITAL / "suppressed" / "tables.csv"
    return release, recon.read_published(release, [path], source="tidy", protection=protection)


@cache
def schools(law: str) -> tuple[Release, Publication]:
    """Publish stars, stars and percentages, or rounded counts."""
    release = replace(OFFICE, shares=SHARES if law == "shares" else ()).release()
    people = histograms(OFFICE)
    exact = exact_counts(OFFICE, people)
    counts = exact["count"].to_numpy()
    if law != "rounded":
        starred = pl.Series(stars(OFFICE, counts))
        shown = exact["count"].cast(pl.String).set(starred, "c")
        said = {"suppressed": {"below": BELOW, "complementary": True}}
        statement = Statement(parse_law(said), markers=("c",))
    else:
        shown = pl.Series("count", rounded(OFFICE, counts)).cast(pl.String)
        statement = Statement(parse_law({"rounded": {"base": 3}}))
    protection = Protection((statement,))
    printed = print_statistics(release, records(OFFICE, people), None, 0)
    printed = printed.rename({"text": "count"}).cast({"cell": exact["cell"].dtype})
    public = pl.concat([exact.with_columns(count=shown), printed])
    listed = exact["geoid"].unique(maintain_order=True).to_list()
    return release, recon.publish(release, public, geounits=listed, protection=protection)


@cache
def audited(office: str) -> pl.DataFrame:
    release, published = hospital() if office == "hospital" else schools(office)
    return recon.audit_counts(release, published, seed=1)


@contextmanager
def joint_histograms() -> Iterator[None]:
    with mock.patch.object(CliqueForm, "is_narrow", new=False):
        yield


@pytest.mark.parametrize("office", ["hospital", "stars", "shares", "rounded"])
def test_clique_tables_say_what_joint_histograms_say(office: str) -> None:
    release, published = hospital() if office == "hospital" else schools(office)
    ours = audited(office)
    with joint_histograms():
        theirs = recon.audit_counts(release, published, seed=1, region_seconds=0.3)
    both = ours.join(theirs, on=KEY, suffix="_joint", how="full", coalesce=True)
    assert both.height == ours.height == theirs.height > 4
    same = (pl.col("least") == pl.col("least_joint")) & (
        pl.col("greatest") == pl.col("greatest_joint")
    )
    inside = (pl.col("least") >= pl.col("least_joint")) & (
        pl.col("greatest") <= pl.col("greatest_joint")
    )
    assert both.filter(~pl.when("is_exact_joint").then(same).otherwise(inside)).is_empty()
    assert not both.filter(pl.col("status") == "undecided").height
    assert both.filter(~pl.col("is_exact")).height <= both.height // 100


def test_clique_tables_are_asked_however_many_units_a_region_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, published = schools("stars")
    monkeypatch.setattr("recon_cli.capabilities.reconstruct.cliques._MOST_CELLS", 0)
    monkeypatch.delattr(joint_audit, "joint_ends")
    assert (recon.audit_counts(release, published, seed=1)["status"] != "undecided").all()


@pytest.mark.parametrize("law", ["stars", "shares", "rounded"])
def test_the_truth_is_inside_every_interval(law: str) -> None:
    truth = exact_counts(OFFICE, histograms(OFFICE))
    both = audited(law).join(truth.cast({"cell": pl.Int16}), on=KEY, how="left")
    assert both["count"].is_between(both["least"], both["greatest"]).all()


def test_percentages_over_clique_tables_give_stars_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(joint_audit, "joint_ends")
    audited = recon.audit_counts(*schools("shares"), seed=1)
    recovered = pl.col("status") == "recovered"
    by_counts = pl.col("least_without") == pl.col("greatest_without")
    assert audited.filter(by_counts & ~recovered).is_empty()
    assert audited.filter(recovered & ~by_counts).height > audited.height // 10


AGES = "{young: 0, middle: 1, old: 2}"
PRINTED = parse_release(
    f"""
release: wards
title: Wards with statistics of several cliques
features:
  sex: {{categories: [female, male]}}
  ill: {{categories: [false, true]}}
  age: {{categories: [young, middle, old]}}
geography: {{levels: [{{level: ward, digits: 4}}, {{level: city, digits: 1}}], partition: city}}
microdata: [sex, ill, age]
histogram: [sex, ill, age]
structural_zeros:
  - {{when: {{sex: male}}, only: {{age: [young, old]}}, definition: true, why: made up}}
families:
  - {{levels: [ward], cells: [total], tables: {{ALL: {{}}}}}}
  - levels: [ward]
    cells:
      - {{by: sex, cells: [{{by: ill}}]}}
      - {{where: {{age: young}}}}
      - {{where: {{age: [middle, old]}}}}
    tables: {{STAR: {{}}}}
  - levels: [ward]
    cells: [total, {{by: sex}}]
    tables:
      PERCENT: {{statistic: {{share: {{ill: true}}}}}}
      MEAN: {{statistic: {{mean: age, values: {AGES}}}}}
      LEAST: {{statistic: {{minimum: age, values: {AGES}}}}}
      MOST: {{statistic: {{maximum: age, values: {AGES}}}}}
  - levels: [ward]
    cells: [total]
    tables:
      RATIO: {{statistic: {{ratio: {{ill: true}}, to: {{age: old}}}}}}
      MEDIAN: {{statistic: {{median: age, values: {AGES}, definition: middle}}}}
""",
    source="wards",
)


STARRED: list[Callable[[tuple[object, ...]], bool]] = [
    *(
        lambda kind, sex=sex, ill=ill: kind[:2] == (sex, ill)
        for sex in ("female", "male")
        for ill in (False, True)
    ),
    lambda kind: kind[2] == "young",
    lambda kind: kind[2] != "young",
]


@pytest.mark.parametrize("median", [False, True])
def test_statistics_of_several_cliques_give_away_what_enumeration_finds(
    median: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not median:  # else one of several pairs of middle values may be chosen
        monkeypatch.delattr(joint_audit, "joint_ends")
    kinds = list(itertools.product(*(feature.values for feature in PRINTED.features)))
    kinds = [kind for kind in kinds if (kind[0], kind[2]) != ("male", "middle")]
    number = 2 if median else 3
    sets = list(itertools.combinations_with_replacement(kinds, number))
    geoids = [f"W{at:03}" for at in range(len(sets))]
    people = [(geoid, *kind) for geoid, of in zip(geoids, sets, strict=True) for kind in of]
    names = ["geoid_ward", *(feature.name for feature in PRINTED.features)]
    records = pl.DataFrame(people, schema=names, orient="row")
    texts: dict[str, dict[tuple[str, int], str]] = {geoid: {} for geoid in geoids}
    for geoid, table, cell, text in print_statistics(PRINTED, records, None, 0).iter_rows():
        texts[geoid][table, cell] = text
    counts = [[sum(inside(kind) for kind in of) for inside in STARRED] for of in sets]
    statistics = tuple(table.name for table in PRINTED.statistics)
    star = parse_law({"suppressed": {"below": 4, "flagged": "may-be-zero"}})
    printed = parse_law({"printed": {"ties": "half_up"}})
    law = Protection((Statement(star, ("STAR",)), Statement(printed, statistics)))
    random = np.random.default_rng(45)
    for at in random.choice(len(sets), amount(8, 20), replace=False).tolist():
        used = {name for name in statistics[:-1] if random.random() < 0.4}
        used |= {"MEDIAN"} if median else {"RATIO"}
        said = {key: text for key, text in texts[geoids[at]].items() if key[0] in used}
        rows = [("W000", "ALL", 1, str(number))]
        rows += [("W000", "STAR", at, "*") for at in range(1, 1 + len(STARRED))]
        rows += [("W000", *key, text) for key, text in said.items()]
        frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
        audited = recon.audit_counts(PRINTED, recon.publish(PRINTED, frame, protection=law))
        alike = [
            n for own, n in zip(texts.values(), counts, strict=True) if said.items() <= own.items()
        ]
        expected = [(min(n), max(n), True) for n in zip(*alike, strict=True)]
        assert audited.select("least", "greatest", "is_exact").rows() == expected


@pytest.mark.parametrize("is_joint", [False, True])
def test_counts_are_told_as_they_are_decided(
    is_joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, published = schools("stars")
    plan = make_interval_plan(release, release.tables, published.coverage)
    monkeypatch.setattr("recon_cli.solve.nested_blocks._TOLD", 0.0)
    monkeypatch.setattr(joint_ends, "_PACK", 10)
    if is_joint:
        monkeypatch.setattr(CliqueForm, "is_narrow", False)
    told, done, seen = Counter[str](), 0, []

    def tell(units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        nonlocal done
        done += units
        told.update(statuses)
        seen.append((done, told.copy()))

    audited = AuditQuestion(plan, Audit(seed=1, region_seconds=0.3), published.coverage).audited(
        RegionData(published), tell
    )
    end = dict(audited["status"].value_counts().iter_rows())
    assert {name: number for name, number in told.items() if number} == end
    assert done == OFFICE.units
    assert len(seen) > 2
    assert seen[0][1]["undecided"] > seen[-2][1]["undecided"]
    # Nothing is called recovered on the way that turns out not to be.
    assert all(each["recovered"] <= end["recovered"] for _, each in seen)


def test_a_region_where_a_solver_died_is_asked_as_before() -> None:
    release, published = schools("stars")
    plan = make_interval_plan(release, release.tables, published.coverage)
    options = Audit(seed=1, region_seconds=5.0)
    cautious = Quarantine(split_regions=frozenset("W"))
    with mock.patch.object(partition, "clique_ends", side_effect=AssertionError):
        audited = AuditQuestion(plan, options, published.coverage).audited(
            RegionData(published), quarantine=cautious
        )
    assert audited.height


def test_suppression_over_clique_tables_protects_every_primary_count() -> None:
    office = replace(SCHOOLS, units=24, in_district=8)
    release = office.release()
    exact = exact_counts(office, histograms(office))
    listed = exact["geoid"].unique(maintain_order=True).to_list()
    truth = recon.publish(release, exact, geounits=listed)
    rules = PrimaryRules(below=BELOW)
    (linked,) = linked_cells(release, truth, release.tables, zeros_hidden=False)
    assert linked.agreement.shape[0] > 100
    suppressed = suppress_counts(release, truth, SuppressionOptions(rules))
    law = suppression_protection(rules)
    counts = tidy_counts(truth, suppressed)
    public = recon.publish(release, counts, geounits=listed, protection=law)
    audited = recon.audit_counts(release, public, seed=1)
    both = audited.join(suppressed, on=KEY, how="left")
    assert set(both.filter("primary")["status"]) <= {"safe", "narrowed"}
    assert both["true"].is_between(both["least"], both["greatest"]).all()


@pytest.mark.parametrize("seed", draws(3, 6))
def test_rounded_counts_of_wards_have_the_ends_that_enumeration_has(seed: int) -> None:
    tables = (
        PublishedTable("A", "[total, {by: sex}]", (3,)),
        PublishedTable("B", "[total, {by: age}]", (3,)),
    )
    features: dict[str, tuple[str, ...]] = {"sex": ("f", "m"), "age": ("young", "old")}
    office = Office("tiny", features, tables, 3, 0, seed=seed, law="rounded")
    exact = exact_counts(office, np.random.default_rng(seed).integers(0, 4, (3, 4)))
    shown = pl.Series("count", rounded(office, exact["count"].to_numpy())).cast(pl.String)
    protection = Protection((Statement(parse_law({"rounded": {"base": 3}})),))
    release, listed = office.release(), exact["geoid"].unique(maintain_order=True).to_list()
    public = exact.with_columns(count=shown)
    published = recon.publish(release, public, geounits=listed, protection=protection)
    audited = recon.audit_counts(release, published, seed=1)
    # A count a row of `margins`: the six cells of both tables.
    margins = np.array([[1] * 4, [1, 1, 0, 0], [0, 0, 1, 1], [1] * 4, [1, 0, 1, 0], [0, 1, 0, 1]])
    ends = {
        geoid: frame.sort("table", "cell").select("low", "high").to_numpy().T
        for (geoid,), frame in audited.group_by("geoid")
    }
    possible = []
    for ward in office.geoids:
        low, high = ends[ward]
        most = range(int(high.max()) + 1)
        people = np.array(list(itertools.product(most, repeat=4))) @ margins.T
        inside = ((people >= low) & (people <= high)).all(axis=1)
        possible.append(np.unique(people[inside], axis=0))
    first, second, third = possible
    pairs = (first[:, None] + second[None]).reshape(-1, 6)
    together = pairs[:, None] + third[None]
    is_met = ((together >= ends["W"][0]) & (together <= ends["W"][1])).all(axis=2)
    pair, of_third = np.nonzero(is_met)
    of_first, of_second = np.divmod(pair, len(second))
    solutions = [first[of_first], second[of_second], third[of_third], together[is_met]]
    for geoid, counts in zip((*office.geoids, "W"), solutions, strict=True):
        found = audited.filter(pl.col("geoid") == geoid).sort("table", "cell")
        assert found["is_exact"].all()
        assert found["least"].to_list() == counts.min(axis=0).tolist()
        assert found["greatest"].to_list() == counts.max(axis=0).tolist()
