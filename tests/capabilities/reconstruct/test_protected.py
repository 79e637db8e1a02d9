"""Reconstruction of protected counts against enumeration, over all laws."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import audit_counts
from recon_cli.errors import ContradictionError, SolverError, SourceError
from recon_cli.model.bounds import propagate
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.system import build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.statement import Protection, Statement, parse_law
from tests.support.enumeration import (
    Solution,
    TooManyError,
    check_claims,
    histogram,
    is_solution,
    least_changes,
    published_rows,
    record_counts,
    solutions,
)
from tests.support.populations import publish, random_records, random_release, random_units
from tests.support.protecting import protect

SEEDS = st.integers(0, 2**32 - 1)
many = settings(
    max_examples=int(os.environ.get("RECON_EXAMPLES", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # a seed does not shrink
)


def protected_release(seed: int, exact: float) -> tuple[Release, pl.DataFrame, Publication]:
    release = random_release(seed)
    units = random_units(release, seed, 2)
    records = random_records(release, seed, 3, units)
    published = publish(release, records, units)
    assume(release.geography.unit.name in published.geounits["level"])
    return release, records, protect(release, published, seed, exact=exact)


def enumerate_or_skip(release: Release, published: Publication) -> set[Solution]:
    try:
        return solutions(release, published, release.tables, limit=300)
    except TooManyError:
        assume(False)
        raise


@many
@given(seed=SEEDS, exact=st.sampled_from([0.2, 0.6, 1.0]))
def test_a_reconstruction_is_a_solution_and_claims_hold_in_all(seed: int, exact: float) -> None:
    release, records, published = protected_release(seed, exact)
    every = enumerate_or_skip(release, published)
    assert any(record_counts(release, records) == dict(solution) for solution in every)
    result = recon.reconstruct(release, published, seed=seed)
    found = record_counts(release, result.microdata)
    assert any(is_solution(found, solution) for solution in every)
    assert recon.verify(release, published, result.microdata).ok
    check_claims(release, result.microdata.drop_nulls(), result.blocks, every)


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.5]))
def test_bounds_hold_every_solution(seed: int, exact: float) -> None:
    release, _, published = protected_release(seed, exact)
    every = enumerate_or_skip(release, published)
    plan = make_interval_plan(release, release.tables, published.coverage)
    counts = arrange_counts(plan, published)
    for system in build_systems(plan, counts):
        assert not len(system.suspects)
        bounds = propagate(system.rows)
        assert not bounds.conflict.any()
        cells = system.candidates
        geoids = counts.geoids.gather(system.units).to_list()
        keys = zip(cells.unit.tolist(), cells.atoms.tolist(), strict=True)
        place = {(geoids[unit], *atoms): i for i, (unit, atoms) in enumerate(keys)}
        for solution in every:
            people = np.zeros(len(place), dtype=np.int64)
            for (geoid, values), n in solution:
                if geoid in geoids:
                    at = [f.position[v] for f, v in zip(release.features, values, strict=True)]
                    atoms = [
                        next(a for a, mask in enumerate(of) if mask >> p & 1)
                        for of, p in zip(plan.grain.atoms, at, strict=True)
                    ]
                    people[place[geoid, *atoms]] += n
            assert (people >= bounds.lower).all()
            assert (people <= bounds.upper).all()
            assert system.rows.are_met_by(people)


def check_least_change(release: Release, published: Publication, message: str) -> None:
    found = re.search(
        r"; the least change that makes all counts of \w+ (\S+) possible is (\d+) in (\d+) ",
        message,
    )
    assert found, message
    try:
        least = least_changes(release, published, release.tables, found[1])
    except TooManyError:
        return
    assert int(found[2]) == sum(map(abs, least[0].values())) > 0
    assert int(found[3]) in {len(change) for change in least}
    has_others = "; others, of other cells, are as small" in message
    assert has_others == (len(least) > 1) or int(found[2]) > 1


@many
@given(seed=SEEDS, step=st.sampled_from([-2, -1, 1, 2]))
def test_refused_exactly_when_nothing_fits(seed: int, step: int) -> None:
    """The interval of one stored count is moved."""
    release, _, published = protected_release(seed, 0.4)
    assume(published.counts.height > 0)
    at = pl.int_range(pl.len()) == seed % published.counts.height
    moved = [
        pl.when(at).then(pl.max_horizontal(pl.col(name) + step, 0)).otherwise(pl.col(name))
        for name in ("low", "high")
    ]
    counts = published.counts.with_columns(moved).cast(published.counts.schema)
    wrong = Publication(published.geounits, counts, published.coverage, published.protection)
    every = enumerate_or_skip(release, wrong)
    if not every:
        with pytest.raises(
            ContradictionError, match="no true counts within what they state fit"
        ) as error:
            recon.reconstruct(release, wrong, seed=seed)
        check_least_change(release, wrong, str(error.value))
        return
    found = record_counts(release, recon.reconstruct(release, wrong, seed=seed).microdata)
    assert any(is_solution(found, solution) for solution in every)


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.5]))
def test_the_audit_finds_the_least_and_greatest_of_every_cell(seed: int, exact: float) -> None:
    for cell in audited(seed, exact):
        check_interval(cell)
        assert cell.status == expected_status(cell)


@many
@given(seed=SEEDS, listed=st.sampled_from([3, 6, 12]))
def test_an_audit_without_candidates_is_valid(seed: int, listed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recon_cli.model.system.MOST_CANDIDATES", listed)
        for cell in audited(seed, 0.5):
            check_interval(cell)
            assert cell.status in {expected_status(cell), "undecided"}


@dataclass(frozen=True)
class AuditedCell:
    """What the audit says of a cell, and the counts of it in all solutions."""

    counts: set[int]
    low: int
    high: int | None
    least: int
    greatest: int | None
    width: int | None
    is_exact: bool
    suppression: str | None
    required: int
    status: str


def check_interval(cell: AuditedCell) -> None:
    assert cell.low <= cell.least <= min(cell.counts)
    if cell.greatest is None:
        assert cell.width is None
    else:
        assert max(cell.counts) <= cell.greatest <= (cell.high or cell.greatest)
        assert cell.width == cell.greatest - cell.least
    if cell.is_exact:
        assert (cell.least, cell.greatest) == (min(cell.counts), max(cell.counts))


def expected_status(cell: AuditedCell) -> str:
    """By the counts of all solutions."""
    width = max(cell.counts) - min(cell.counts)
    if not width:
        return "recovered"
    return "safe" if width >= cell.required else "narrowed"


def audited(seed: int, exact: float) -> Iterator[AuditedCell]:
    """What the audit says of each cell, and the counts of it in all solutions."""
    release, _, published = protected_release(seed, exact)
    every = enumerate_or_skip(release, published)
    audit = audit_counts(release, published, release.tables, Audit(seed=1, region_seconds=30.0))
    values = list(itertools.product(*(feature.values for feature in release.features)))
    unit = release.geography.unit.name
    homes = published.geounits.filter(level=unit)["geoid"].to_list()
    domain = list(itertools.product(homes, values))
    rows = {row.cell: row for row in published_rows(release, published, release.tables, domain)}
    place = {record: i for i, record in enumerate(domain)}
    assert audit.height == sum(row.low < row.high for row in rows.values())
    for geoid, _, table, cell, *found in audit.rows():
        row = rows[geoid, table, cell]
        counts = {
            sum(row.weights.get(place[record], 0) * n for record, n in solution)
            for solution in every
        }
        yield AuditedCell(counts, *found)


WARDS = parse_release(
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}, old: {categories: [false, true]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex, old]\nhistogram: [sex, old]\nfamilies:\n"
    "  - {levels: [plot, ward], cells: [total, {by: sex}, {by: sex, cells: [{by: old}]}], "
    "tables: {T: {}}}\n",
    source="wards",
)


def counts_of(*rows: tuple[str, int, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [(geoid, "T", cell, count) for geoid, cell, count in rows],
        schema=["geoid", "table", "cell", "count"],
        orient="row",
    )


def under(law: object) -> Protection:
    return Protection((Statement(parse_law(law)),))


def test_suppressed_cells_are_recovered_where_the_rest_forces_them() -> None:
    """Of 9 there are 5 women: two flagged cells of at most 2 and 3 others leave no choice."""
    counts = counts_of(
        ("A101", 1, "9"), ("A101", 2, "5"), ("A101", 3, "4"),
        ("A101", 4, "3"), ("A101", 5, "*"), ("A101", 6, "*"), ("A101", 7, "3"),
    )  # fmt: skip
    published = recon.publish(WARDS, counts, protection=under({"suppressed": {"below": 3}}))
    result = recon.reconstruct(WARDS, published)
    assert result.blocks["status"].to_list() == ["unique"]
    assert Counter(result.microdata.select("sex", "old").rows()) == {
        ("women", False): 3, ("women", True): 2, ("men", False): 1, ("men", True): 3
    }  # fmt: skip
    assert result.microdata["certain"].all()


def test_a_rounded_zero_strikes_nobody_out() -> None:
    counts = counts_of(("A101", 1, "3"), ("A101", 2, "0"))
    published = recon.publish(WARDS, counts, protection=under({"rounded": {"base": 3}}))
    result = recon.reconstruct(WARDS, published)
    assert result.blocks.select("candidates", "status", "population").rows() == [
        (4, "likely", None)
    ]
    assert not result.microdata["certain"].any()
    assert recon.verify(WARDS, published, result.microdata).ok


def test_records_out_of_an_interval_are_mismatches() -> None:
    counts = counts_of(("A101", 1, "6"), ("A102", 1, "3"))
    published = recon.publish(WARDS, counts, protection=under({"rounded": {"base": 3}}))
    records = pl.DataFrame(
        [("A101", "women", True)] * 3 + [("A102", "men", False)] * 6,
        schema=["geoid_plot", "sex", "old"],
        orient="row",
    )
    found = recon.verify(WARDS, published, records)
    wrong = found.mismatches.filter(pl.col("cell") == 1).select("geoid", "expected", "found")
    assert wrong.rows() == [("A101", 4, 3), ("A102", 5, 6)]
    assert found.cells_within == 0, "all else is equal"


@pytest.mark.parametrize(
    ("law", "shown", "within", "unbounded"),
    [
        ("exact", "4220220", 0, 0),
        ({"rounded": {"base": 3}}, "6030300", 5, 0),  # 4 and 2 are ends of what 6 and 0 stand for
        ({"suppressed": {"below": 3}}, "4**0**0", 4, 0),
        ({"suppressed": {"flagged": "may-be-zero"}}, "4**0**0", 0, 4),
    ],
)
def test_counts_that_a_law_allows_are_counted_apart(
    law: object, shown: str, within: int, unbounded: int
) -> None:
    """Of two women and two men, all women old: the same seven cells in the plot and in its ward."""
    counts = [(at, cell, n) for at in ("A101", "A10") for cell, n in enumerate(shown, 1)]
    published = recon.publish(WARDS, counts_of(*counts), protection=under(law))
    records = pl.DataFrame(
        [("A101", "women", True)] * 2 + [("A101", "men", False)] * 2,
        schema=["geoid_plot", "sex", "old"],
        orient="row",
    )
    found = recon.verify(WARDS, published, records)
    assert (found.ok, found.cells_compared) == (True, 14)
    assert (found.cells_within, found.cells_unbounded) == (2 * within, 2 * unbounded)


def one_flag() -> Publication:
    return recon.publish(
        WARDS,
        counts_of(("A101", 1, "*")),
        absent="unpublished",
        geounits=["A101"],
        protection=under("suppressed"),
    )


def test_an_open_interval_leaves_a_unit_open() -> None:
    published = one_flag()
    result = recon.reconstruct(WARDS, published)
    assert result.blocks.select("status", "population").rows() == [("open", None)]
    assert result.microdata.height >= 1


@many
@given(
    seed=SEEDS, exact=st.sampled_from([0.0, 0.5, 1.0]), most_listed=st.sampled_from([6, 200_000])
)
def test_solvar_is_the_share_that_another_solution_lacks(
    seed: int, exact: float, most_listed: int
) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    every = enumerate_or_skip(release, published)
    records = recon.reconstruct(release, published, seed=seed).microdata
    assume(not records.is_empty() and not any(records.null_count().row(0)))
    with mock.patch("recon_cli.model.system.MOST_CANDIDATES", most_listed):
        found = recon.measure_variability(
            release, published, records, mode="exact", unit_seconds=5.0
        )
    name = release.geoid_column
    mine = Counter(records.select(name, *release.histogram).iter_rows())
    others = [
        Counter({(unit, *labels): n for (unit, labels), n in histogram(release, each).items()})
        for each in every
    ]
    columns = "solvar_pct", "solvar_upper_pct", "certain_records", "status"
    for unit, reached, most, certain, status in found.units.select(name, *columns).rows():
        own = Counter({key: n for key, n in mine.items() if key[0] == unit})
        lost = max((own - other).total() for other in others)
        share = 100 * lost / max(own.total(), 1)
        assert reached <= share + 1e-9
        assert most is None or share <= most + 1e-9
        if status == "proven":
            assert reached == pytest.approx(share)
        assert certain <= sum(
            min(o[key] for o in others) for key in set().union(*others) if key[0] == unit
        )
    for unit, *labels, lower, upper, _ in found.intervals.rows():
        counts = [other[unit, *labels] for other in others]
        assert lower <= min(counts)
        assert (upper is not None and max(counts) <= upper) or found.units.filter(
            pl.col(name) == unit
        )["status"][0] == "open"


#: Plots say how many are young or old, their town of which year.
TOWN = parse_release(
    """
release: town
title: Plots of a town
features:
  sex: {categories: [women, men]}
  year: {range: 0..7}
recodes:
  group: {of: year, edges: [0, 4]}
geography: {levels: [{level: plot, digits: 4}, {level: town, digits: 3}], partition: town}
microdata: [sex, year, group]
histogram: [sex, group]
families:
  - {levels: [plot], cells: [{by: sex, cells: [{by: group}]}], tables: {S: {}}}
  - {levels: [town], cells: [{by: year}], tables: {Y: {}}}
""",
    source="town",
)


def test_tables_of_a_town_take_nothing_from_what_its_plots_prove() -> None:
    plots = [(f"A10{plot}", "S", cell, 6) for plot in (1, 2) for cell in (1, 2, 3, 4)]
    town = [("A10", "Y", cell, 6) for cell in range(1, 9)]
    counts = pl.DataFrame(
        plots + town,
        schema={"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "count": pl.Int64},
        orient="row",
    )
    published = recon.publish(
        TOWN, counts, geounits=["A101", "A102"], protection=under({"rounded": {"base": 3}})
    )
    for tables in ("plot", None):
        records = recon.reconstruct(TOWN, published, tables=tables, objective="any").microdata
        with mock.patch("recon_cli.model.system.MOST_CANDIDATES", 8):
            found = recon.measure_variability(
                TOWN, published, records, tables=tables, mode="relaxed"
            )
        # Of 6, rounded to base 3, four are there at least.
        assert found.units["certain_records"].to_list() == [16, 16]


def test_where_only_the_town_bounds_people_its_plots_prove_no_more_than_is_so() -> None:
    # Of A101 one woman and one man, young and old, and who else is not said; A102 has two of each.
    plots = [("A101", "S", cell, "*") for cell in (1, 2, 3, 4)]
    plots += [("A102", "S", cell, "2") for cell in (1, 2, 3, 4)]
    town = [("A10", "Y", cell, "2") for cell in range(1, 9)]
    counts = pl.DataFrame(
        plots + town,
        schema={"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "count": pl.String},
        orient="row",
    )
    published = recon.publish(
        TOWN, counts, geounits=["A101", "A102"], protection=under("suppressed")
    )
    records = recon.reconstruct(TOWN, published, objective="any").microdata
    assert records.height == 16
    with mock.patch("recon_cli.model.system.MOST_CANDIDATES", 8):
        found = recon.measure_variability(TOWN, published, records, mode="relaxed")
    certain = dict(found.units.select("geoid_plot", "certain_records").iter_rows())
    # The town leaves A101 four young and four old: of each sex one to three.
    assert certain["A101"] <= 4
    assert certain["A102"] == 8


def test_the_diameter_refuses_intervals() -> None:
    published = one_flag()
    records = recon.reconstruct(WARDS, published).microdata
    with pytest.raises(SourceError, match="the diameter needs exact counts"):
        recon.measure_variability(WARDS, published, records, diameter=True)


def test_histograms_are_of_the_solutions() -> None:
    """The oracle itself: three people, at most two of a sex."""
    published = recon.publish(
        WARDS,
        counts_of(("A101", 1, "3"), ("A101", 2, "*"), ("A101", 3, "*")),
        absent="unpublished",
        geounits=["A101"],
        protection=under({"suppressed": {"below": 3, "flagged": "may-be-zero"}}),
    )
    every = solutions(WARDS, published, WARDS.tables)
    women = {
        sum(n for (_, (sex, _)), n in histogram(WARDS, solution).items() if sex == "women")
        for solution in every
    }
    assert women == {1, 2}


def test_more_candidates_than_can_be_listed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recon_cli.model.system.MOST_CANDIDATES", 3)
    published = recon.publish(
        WARDS, counts_of(("A101", 1, "3")), protection=under({"rounded": {"base": 3}})
    )
    plan = make_interval_plan(WARDS, WARDS.tables, published.coverage)
    with pytest.raises(
        SolverError, match="ward A10: the statements allow 4 histogram cells in 1 un"
    ):
        list(build_systems(plan, arrange_counts(plan, published)))


def test_an_audit_of_more_candidates_than_can_be_listed_says_what_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Margins alone tell two of each kind of women; solutions or nothing is said of the rest."""
    monkeypatch.setattr("recon_cli.model.system.MOST_CANDIDATES", 3)
    counts = counts_of(("A101", 1, "9"), ("A101", 2, "6"), ("A101", 3, "3"))
    published = recon.publish(WARDS, counts, protection=under({"rounded": {"base": 3}}))
    audit = recon.audit_counts(WARDS, published)
    found = {
        cell: rest for cell, *rest in audit.select("cell", "least", "greatest", "status").rows()
    }
    assert found[4] == found[5] == [2, 2, "recovered"]
    others = audit.filter(~pl.col("cell").is_in([2, 4, 5]))
    assert set(others["status"]) <= {"safe", "undecided"}
    assert (others["least"] < others["greatest"]).all()


def test_the_bound_of_more_candidates_than_can_be_listed_is_that_of_listed_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 5 women 3 are old, others may all be: the relaxation keeps two where bounds keep none."""
    counts = counts_of(*(("A101", cell, n) for cell, n in enumerate("550**00", 1)))
    law = under({"suppressed": {"flagged": "may-be-zero"}})
    published = recon.publish(WARDS, counts, absent="unpublished", protection=law)
    records = pl.DataFrame(
        [("A101", "women", True)] * 3 + [("A101", "women", False)] * 2,
        schema=["geoid_plot", "sex", "old"],
        orient="row",
    )
    columns = ["solvar_pct", "status"]
    listed = recon.measure_variability(WARDS, published, records).units
    monkeypatch.setattr("recon_cli.model.system.MOST_CANDIDATES", 1)
    dense = recon.measure_variability(WARDS, published, records).units
    assert dense.select(columns).rows() == listed.select(columns).rows() == [(60.0, "proven")]


def test_a_domain_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recon_cli.capabilities.reconstruct.dense_domain.MOST_CELLS", 3)
    published = recon.publish(
        WARDS, counts_of(("A101", 1, "3")), protection=under({"rounded": {"base": 3}})
    )
    with pytest.raises(SolverError, match="1 unit has 4 histogram cells, at most 3 can be held"):
        recon.reconstruct(WARDS, published)


def test_the_audit_of_cells_that_three_numbers_force() -> None:
    counts = counts_of(
        ("A101", 1, "9"), ("A101", 2, "5"), ("A101", 3, "4"),
        ("A101", 4, "3"), ("A101", 5, "*"), ("A101", 6, "*"), ("A101", 7, "*"),
    )  # fmt: skip
    law = {"suppressed": {"below": 3, "complementary": True}}
    published = recon.publish(WARDS, counts, protection=under(law))
    audit = audit_counts(WARDS, published, WARDS.tables, Audit(seed=1, region_seconds=30.0))
    shown = audit.select("cell", "low", "high", "least", "greatest", "is_exact", "status")
    assert shown.rows() == [
        (5, 1, None, 2, 2, True, "recovered"),
        (6, 1, None, 1, 3, True, "narrowed"),
        (7, 1, None, 1, 3, True, "narrowed"),
    ]
    assert audit["width"].to_list() == [0, 2, 2]
    assert audit["suppression"].to_list() == ["primary", "unknown", "unknown"]
    options = Audit(seed=1, region_seconds=30.0, safety=2)
    wanted = audit_counts(WARDS, published, WARDS.tables, options)
    assert wanted["status"].to_list() == ["recovered", "safe", "safe"]
