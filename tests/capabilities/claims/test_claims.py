"""Verified claims against enumeration of every solution: nothing false, nothing left out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.claims.groups import disclosing_groups, make_groups
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.question import VerifiedClaims, find_claims
from recon_cli.capabilities.claims.settle import Sets, SettledSets, settle
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.model.ledger import Combination, Grounds
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.solve.cp_sat import Effort
from tests.support.enumeration import (
    Record,
    Solution,
    TooManyError,
    published_rows,
    relaxed_solutions,
    solutions,
)
from tests.support.populations import (
    possible_records,
    publish,
    random_records,
    random_release,
    random_units,
    with_random_rules,
)
from tests.support.properties import SEEDS, examples
from tests.support.protecting import protect

OPTIONS = Claims(seed=1, unit_seconds=30.0)
#: Values on the columns, None where a claim does not speak of one.
Values = tuple[Any, ...]


def released(seed: int, people: int, *, exact: bool) -> tuple[Release, Publication]:
    """A tiny release, every second one with structural zeros."""
    release = random_release(seed)
    if seed % 2:
        release = with_random_rules(release, seed)
    units = random_units(release, seed, 3)
    records = possible_records(release, random_records(release, seed, people, units))
    published = publish(release, records, units)
    assume(release.geography.unit.name in published.geounits["level"])
    return release, published if exact else protect(release, published, seed, exact=0.5)


def groups_of(
    release: Release, solution: Solution, columns: tuple[str, ...], unit: str
) -> Counter[Values]:
    """People of a unit by their values on every non-empty subset of the columns."""
    people: Counter[Values] = Counter()
    for (geoid, values), n in solution:
        if geoid != unit:
            continue
        labels = []
        for name in columns:
            group = release.column_groups(name)
            f = release.feature_index[group.feature]
            at = release.features[f].position[values[f]]
            places = zip(group.labels, group.masks, strict=True)
            labels.append(next(label for label, mask in places if mask >> at & 1))
        for chosen in itertools.product((False, True), repeat=len(columns)):
            shown = tuple(x if use else None for x, use in zip(labels, chosen, strict=True))
            people[shown] += n
    return people


def claims_of(claims: pl.DataFrame, columns: tuple[str, ...]) -> dict[Values, tuple[int, bool]]:
    rows = claims.select(*columns, "count", "exact").iter_rows()
    return {tuple(values): (count, exact) for *values, count, exact in rows}


def expected_claims(every: list[Counter[Values]], columns: int) -> dict[Values, tuple[int, bool]]:
    keys = {key for people in every for key in people if any(x is not None for x in key)}
    ends = {key: (min(p[key] for p in every), max(p[key] for p in every)) for key in keys}
    assert all(len(key) == columns for key in keys)
    return {key: (low, low == high) for key, (low, high) in ends.items() if low}


def expected_maximal(claims: dict[Values, tuple[int, bool]]) -> set[Values]:
    """Those that no claim with more columns says of the same number of people."""
    return {
        key
        for key, (count, _) in claims.items()
        if not any(
            other != key
            and n == count
            and all(x is None or x == y for x, y in zip(key, other, strict=True))
            for other, (n, _) in claims.items()
        )
    }


@examples(40)
@given(seed=SEEDS, people=st.integers(0, 5))
def test_claims_and_disclosures_equal_enumeration(seed: int, people: int) -> None:
    release, published = released(seed, people, exact=True)
    try:
        spaces = relaxed_solutions(release, published, limit=600)
        tables_alone = relaxed_solutions(release.without_assumptions(), published, limit=600)
    except TooManyError:
        assume(False)
        raise
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    result = find_claims(release, published, release.tables, microdata, OPTIONS)
    for row in result.units.iter_rows(named=True):
        unit = row[release.geoid_column]
        found = result.claims.filter(pl.col(release.geoid_column) == unit)
        every = [groups_of(release, each, result.columns, unit) for each in spaces[unit]]
        if row["status"] == "open":
            unmentioned = unmentioned_records(release, published, unit)
            hold_in_all(result, unit, [*every, *with_one_more(release, result, every, unmentioned)])
            continue
        assert row["status"] == "complete"
        expected = expected_claims(every, len(result.columns))
        assert claims_of(found, result.columns) == expected
        alone = [groups_of(release, each, result.columns, unit) for each in tables_alone[unit]]
        for *values, count, is_exact, rests_on in found.select(
            *result.columns, "count", "exact", "rests_on"
        ).iter_rows():
            sizes = {people[tuple(values)] for people in alone}
            is_proven = sizes == {count} if is_exact else min(sizes) >= count
            assert rests_on == ("tables" if is_proven else "tables and rules")
        maximal = found.filter("maximal").select(result.columns).iter_rows()
        assert set(maximal) == expected_maximal(expected)
        disclosures = result.disclosures.filter(pl.col(release.geoid_column) == unit)
        for known, *least in disclosures.drop(release.geoid_column).iter_rows():
            assert least == expected_disclosures(every, known)


@examples(12)
@given(seed=SEEDS, people=st.integers(0, 5))
def test_claims_of_intervals_hold_and_lack_none_of_a_unit_alone(seed: int, people: int) -> None:
    """Differences of coarse intervals may prove more than the published coarse cells do."""
    release, published = released(seed, people, exact=False)
    try:
        spaces = relaxed_solutions(release, published, limit=600)
        whole = solutions(release, published, release.tables, limit=600)
    except TooManyError:
        assume(False)
        raise
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    result = find_claims(release, published, release.tables, microdata, OPTIONS)
    for unit in result.units.filter(pl.col("status") != "open")[release.geoid_column]:
        found = claims_of(
            result.claims.filter(pl.col(release.geoid_column) == unit), result.columns
        )
        together = [groups_of(release, each, result.columns, unit) for each in whole]
        for key, (count, is_exact) in found.items():
            sizes = {people[key] for people in together}
            assert sizes == {count} if is_exact else min(sizes) >= count
        every = [groups_of(release, each, result.columns, unit) for each in spaces[unit]]
        for key, (count, is_exact) in expected_claims(every, len(result.columns)).items():
            assert found[key] >= (count, is_exact)


@examples(12)
@given(seed=SEEDS, people=st.integers(0, 4))
def test_what_bounds_prove_of_units_that_nothing_bounds_holds(seed: int, people: int) -> None:
    """Solutions with up to two people more than a flag needs are some of all that there are."""
    release, published = released(seed, people, exact=True)
    flagged = {"below": 2, "complementary": True}
    anything: tuple[Any, ...] = (
        {"suppressed": flagged},
        {"suppressed": {**flagged, "flagged": "may-be-zero"}},
    )
    with mock.patch("tests.support.protecting.LAWS", anything):
        published = protect(release, published, seed, exact=0.3)
    assume(not published.is_exact)
    most = pl.col("high").fill_null(pl.col("low") + 2)
    few = replace(published, counts=published.counts.with_columns(high=most))
    try:
        whole = solutions(release, few, release.tables, limit=600)
    except TooManyError:
        assume(False)
        raise
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    result = find_claims(release, published, release.tables, microdata, OPTIONS)
    for unit in result.units[release.geoid_column]:
        every = [groups_of(release, each, result.columns, unit) for each in whole]
        unmentioned = unmentioned_records(release, published, unit)
        hold_in_all(result, unit, [*every, *with_one_more(release, result, every, unmentioned)])


def unmentioned_records(release: Release, published: Publication, unit: str) -> list[Record]:
    """The unit's records that no published cell and no structural zero speaks of."""
    values = itertools.product(*(feature.values for feature in release.features))
    domain = [(unit, value) for value in values]
    rows = published_rows(release, published, release.tables, domain)
    mentioned = {i for row in rows for i in row.weights}
    return [record for i, record in enumerate(domain) if i not in mentioned]


def with_one_more(
    release: Release,
    result: VerifiedClaims,
    every: list[Counter[Values]],
    records: list[Record],
) -> list[Counter[Values]]:
    """Each solution with one of some records more."""
    more = [
        groups_of(release, frozenset({(record, 1)}), result.columns, record[0])
        for record in records
    ]
    return [people + one for people in every for one in more]


def hold_in_all(result: VerifiedClaims, unit: str, every: list[Counter[Values]]) -> None:
    """The unit's claims and disclosures hold in some of its solutions."""
    place = pl.col(result.claims.columns[0]) == unit
    for key, (count, is_exact) in claims_of(result.claims.filter(place), result.columns).items():
        sizes = {people[key] for people in every}
        assert sizes == {count} if is_exact else min(sizes) >= count
    disclosures = result.disclosures.filter(place)
    for known, *least in disclosures.drop(disclosures.columns[0]).iter_rows():
        most = expected_disclosures(every, known)
        assert all(found <= true for found, true in zip(least, most, strict=True))


@examples(8)
@given(seed=SEEDS, people=st.integers(0, 5))
def test_a_region_with_too_many_candidates_to_list_is_cut(seed: int, people: int) -> None:
    """Units are taken alone, so that their claims are the same however few are listed at a time."""
    release, published = released(seed, people, exact=False)
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    arguments = (release, published, release.tables, microdata, OPTIONS)
    whole = find_claims(*arguments)
    cells = math.prod(len(feature.values) for feature in release.features)
    most = max(cells, whole.units.height)
    with mock.patch("recon_cli.model.system.MOST_CANDIDATES", most):
        cut = find_claims(*arguments)
    assert cut.claims.equals(whole.claims)
    assert cut.disclosures.equals(whole.disclosures)
    assert cut.units.drop("seconds").equals(whole.units.drop("seconds"))


def expected_disclosures(every: list[Counter[Values]], known: int) -> list[int]:
    """Least people, by kind, of whom at most ``known`` columns settle another one."""
    keys = {key for people in every for key in people}
    least = {key: min(people[key] for people in every) for key in keys}
    found: list[set[Values]] = [set(), set(), set()]
    for key in keys:
        size = least[key]
        if sum(x is not None for x in key) > known or any(p[key] != size for p in every):
            continue
        finer = [least[k] for k in keys if is_finer(k, key)]
        if size and size in finer:
            found[1].add(key)
            if size == 1:
                found[0].add(key)
        if size and any(n >= OPTIONS.share * size for n in finer):
            found[2].add(key)
    return [min(covered(people, groups) for people in every) for groups in found]


def is_finer(one: Values, other: Values) -> bool:
    """Whether it has the same values and one column more."""
    different = [y for x, y in zip(one, other, strict=True) if x != y]
    return len(different) == 1 and different[0] is None


def covered(people: Counter[Values], groups: set[Values]) -> int:
    """People in at least one of some groups."""
    return sum(
        n
        for key, n in people.items()
        if None not in key
        and any(
            all(x is None or x == y for x, y in zip(group, key, strict=True)) for group in groups
        )
    )


def random_program(seed: int) -> tuple[IntegerProgram, list[np.ndarray[Any, Any]]]:
    """A tiny program with odd cycles and ranges, and all of its solutions."""
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(3, 7))
    rows = [rng.random(cells) < 0.5 for _ in range(int(rng.integers(1, 4)))]
    at = rng.permutation(cells)[:3]
    rows += [np.isin(np.arange(cells), at[[i, (i + 1) % 3]]) for i in range(3)]
    A = np.array(rows, dtype=np.int64)
    truth = rng.integers(0, 3, cells)
    width = rng.integers(0, 2, len(A)) * rng.integers(0, 2)
    least = np.maximum(A @ truth - width, 0)
    program = IntegerProgram(
        LinearConstraints(sparse.csr_array(A), least, A @ truth + width),
        np.zeros(cells, dtype=np.int64),
        np.full(cells, 3, dtype=np.int64),
    )
    points = np.array(list(itertools.product(range(4), repeat=cells)))
    sums = points @ A.T
    return program, list(points[((sums >= least) & (sums <= A @ truth + width)).all(axis=1)])


def all_sets(cells: int) -> np.ndarray[Any, Any]:
    """Every non-empty set of cells, as functionals."""
    return (np.arange(1, 1 << cells)[:, None] >> np.arange(cells) & 1).astype(np.int64)


@examples(70)
@given(seed=SEEDS)
def test_every_functional_of_odd_cycles_and_ranges_is_settled(seed: int) -> None:
    program, every = random_program(seed)
    functionals = all_sets(program.shape[1])
    sets = functionals.astype(bool)
    settled = settle(program, Sets(sets, sets), (every[0],), Effort(1, 60.0))
    values = functionals @ np.stack(every, axis=1)
    least, greatest = values.min(axis=1), values.max(axis=1)
    assert not settled.is_undecided.any()
    assert (settled.lower == least).all()
    assert ((settled.lower == settled.upper) == (least == greatest)).all()
    assert (settled.upper >= greatest).all()
    add_up(program, functionals, settled)


def add_up(
    program: IntegerProgram, functionals: np.ndarray[Any, Any], settled: SettledSets
) -> None:
    """Add every certificate up by hand: rows, and what is left at the bounds of the cells."""
    A = program.constraints.A.toarray()
    settled.ledger.recheck()
    for k, functional in enumerate(functionals):
        for sign, proven in ((1, settled.lower[k]), (-1, -settled.upper[k])):
            why = settled.ledger.end(k, sign).why
            if not isinstance(why, Combination):
                continue
            total = 0
            for row, weight in zip(why.rows.tolist(), why.weights.tolist(), strict=True):
                sides = program.constraints.least[row], program.constraints.most[row]
                total += weight * int(sides[0] if weight > 0 else sides[1])
            for cell in range(len(program.lower)):
                rest = why.scale * sign * int(functional[cell]) - int(
                    A[why.rows, cell] @ why.weights
                )
                total += rest * int(program.lower[cell] if rest > 0 else program.upper[cell])
                if why.grounds is Grounds.ROWS:
                    assert rest == 0
            assert -(-total // why.scale) == proven


@pytest.mark.parametrize(("share", "alike"), [(0.55, 55), (0.07, 7), (0.29, 29), (1, 100)])
def test_a_share_of_a_group_is_taken_as_it_is_written(share: float, alike: int) -> None:
    """In doubles 0.55 of 100 is more than 55."""
    cells = np.arange(2)
    histogram = HistogramCells(("A",), cells, np.zeros(2, dtype=np.int64), cells[:, None])
    groups = make_groups(histogram, cells)

    def nothing(groups: IntArray, _column: int) -> BoolArray:
        return np.zeros(len(groups), dtype=bool)

    for people, inferred in ((alike, True), (alike - 1, False)):
        size = groups.sums(np.array([people, 100 - people]))
        size[(groups.subset == 1) & (groups.place == 1)] = 0  # of the others nothing is proven
        upper = np.where(groups.subset == 0, size, 100)
        found = disclosing_groups(groups, size, upper, share, nothing)["inferential"]
        assert found.any() == found[groups.subset == 0].any() == inferred


@examples(12)
@given(seed=SEEDS, people=st.integers(1, 5))
def test_absences_and_greatest_sizes_equal_enumeration(seed: int, people: int) -> None:
    release, published = released(seed, people, exact=True)
    try:
        spaces = relaxed_solutions(release, published, limit=600)
        tables_alone = relaxed_solutions(release.without_assumptions(), published, limit=600)
    except TooManyError:
        assume(False)
        raise
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    usual = find_claims(release, published, release.tables, microdata, OPTIONS)
    options = OPTIONS.model_copy(update={"absent": True, "at_most": True})
    result = find_claims(release, published, release.tables, microdata, options)
    assert result.units.drop("seconds").equals(usual.units.drop("seconds"))
    assert result.disclosures.equals(usual.disclosures)
    some = result.claims.filter(pl.col("count") > 0)
    assert some.drop("at_most").drop("proof").equals(usual.claims.drop("proof"))
    columns = result.columns
    for row in result.units.filter(pl.col("status") != "open").iter_rows(named=True):
        unit = row[release.geoid_column]
        found = result.claims.filter(pl.col(release.geoid_column) == unit)
        every = [groups_of(release, each, columns, unit) for each in spaces[unit]]
        for *values, most in found.select(*columns, "at_most").iter_rows():
            assert most == max(each[tuple(values)] for each in every)
        nobody = found.filter(count=0)
        assert nobody["exact"].all()
        if not row["population"]:
            assert nobody.is_empty()
            continue
        shown = {tuple(values) for values in nobody.select(columns).iter_rows()}
        least = least_empty(release, columns, every)
        assert shown <= least
        for unsaid in least - shown:
            assert is_stated(release, published, columns, unsaid, unit)
        alone = [groups_of(release, each, columns, unit) for each in tables_alone[unit]]
        for *values, rests_on in nobody.select(*columns, "rests_on").iter_rows():
            is_empty = not any(each[tuple(values)] for each in alone)
            assert rests_on == ("tables" if is_empty else "tables and rules")


@examples(8)
@example(seed=4304, people=1)  # tables of totals alone
@given(seed=SEEDS, people=st.integers(1, 4))
def test_absences_and_greatest_sizes_of_intervals_hold(seed: int, people: int) -> None:
    release, published = released(seed, people, exact=False)
    try:
        whole = solutions(release, published, release.tables, limit=600)
    except TooManyError:
        assume(False)
        raise
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    options = OPTIONS.model_copy(update={"absent": True, "at_most": True})
    result = find_claims(release, published, release.tables, microdata, options)
    closed = result.units.filter(pl.col("status") != "open")[release.geoid_column]
    assert result.claims.filter(count=0)[release.geoid_column].is_in(closed.implode()).all()
    for unit in closed:
        every = [groups_of(release, each, result.columns, unit) for each in whole]
        found = result.claims.filter(pl.col(release.geoid_column) == unit)
        for *values, most in found.select(*result.columns, "at_most").iter_rows():
            assert most >= max(each[tuple(values)] for each in every)


def least_empty(
    release: Release, columns: tuple[str, ...], every: list[Counter[Values]]
) -> set[Values]:
    """Values on up to four columns that nobody has in any solution, and fewer of them somebody."""
    groups = [release.column_groups(name) for name in columns]
    possible = {key for each in every for key, n in each.items() if n}
    empty = set()
    for key in itertools.product(*((None, *each.labels) for each in groups)):
        spoken = [at for at, value in enumerate(key) if value is not None]
        features = {groups[at].feature for at in spoken}
        if not spoken or len(spoken) > 4 or len(features) < len(spoken) or key in possible:
            continue
        fewer = [tuple(None if at == gone else v for at, v in enumerate(key)) for gone in spoken]
        if all(each in possible for each in fewer):
            empty.add(key)
    return empty


def is_stated(
    release: Release,
    published: Publication,
    columns: tuple[str, ...],
    values: Values,
    unit: str,
) -> bool:
    """Whether zeros of one table of the unit, or a structural zero, have all of a group."""
    domain = set(itertools.product(*(feature.values for feature in release.features)))

    def inside(masks: tuple[int, ...]) -> set[Values]:
        return {
            record
            for record in domain
            if all(
                mask >> feature.position[value] & 1
                for feature, mask, value in zip(release.features, masks, record, strict=True)
            )
        }

    masks = list(release.full)
    for name, value in zip(columns, values, strict=True):
        if value is not None:
            recode = release.column_groups(name)
            masks[release.feature_index[recode.feature]] &= recode.masks[recode.labels.index(value)]
    members = inside(tuple(masks))
    if any(
        members <= inside(each) for zero in release.structural_zeros for each in zero.impossible
    ):
        return True
    row = published.geounits.row(by_predicate=pl.col("geoid") == unit, named=True)
    counts = published.counts.filter(pl.col("geoid") == unit)
    filled = {(t, c) for t, c, n in counts.select("table", "cell", "count").iter_rows() if n}
    pattern = published.coverage[row["pattern"]]
    for table in release.tables:
        zeros = [
            inside(table.cells[number - 1].masks)
            for number in pattern.cells.get(table.name, ())
            if (table.name, number) not in filled and table.cells[number - 1].tally is None
        ]
        if zeros and members <= set.union(*zeros):
            return True
    return False
