"""The guessers against slow, obvious versions, and what an outsider reads off tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.link.baselines import (
    MODES_OF,
    ValueCounts,
    expected_correct,
    modal_guess,
    modal_without,
    proportional_guess,
)
from recon_cli.capabilities.link.published_margins import published_margin
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.errors import ConfigError, SourceError
from recon_cli.publication import Publication
from recon_cli.schema import Level, load_release
from tests.support.attacks import SF1, people
from tests.support.populations import publish, random_records, with_recodes

SEEDS = st.integers(0, 2**32 - 1)
NATIONAL = 99


def population(seed: int, count: int, units: int = 8) -> tuple[pl.DataFrame, ValueCounts]:
    """Few values, small units and parents: ties and people who live alone abound."""
    rng = np.random.default_rng(seed)
    records = pl.DataFrame(
        {
            "unit": rng.integers(0, units, count),
            "gain": rng.choice(4, count, p=[0.4, 0.3, 0.2, 0.1]),
            "exact": rng.integers(0, 3, count),
            "binned": rng.integers(0, 3, count),
        },
        schema_overrides={"unit": pl.Int32},
    )
    counts = records.group_by("unit", "gain").agg(pl.len().alias("n"))
    geoids = pl.Series([f"{n // 2}{n % 2}" for n in range(units)])
    return records, ValueCounts.of(counts, geoids, Level("parent", 1), NATIONAL)


def mode(values: Sequence[int]) -> tuple[int, int, bool]:
    """A most frequent value, how often it occurs, and whether it is the only one."""
    ranked = Counter(values).most_common()
    if not ranked:
        return NATIONAL, 0, False
    return ranked[0][0], ranked[0][1], sum(n == ranked[0][1] for _, n in ranked) == 1


def guess_of(unit: Sequence[int], parent: Sequence[int]) -> int:
    value, _, single = mode(unit)
    if single and len(unit) > 1:
        return value
    value, often, single = mode(parent)
    return value if single and often > 1 else NATIONAL


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, count=st.integers(1, 30))
def test_whose_mode_the_modal_guess_is(seed: int, count: int) -> None:
    records, values = population(seed, count)
    whose: Counter[str] = Counter()
    for unit in records["unit"].unique():
        own = records.filter(pl.col("unit") == unit)["gain"].to_list()
        above = records.filter(pl.col("unit") // 2 == unit // 2)["gain"].to_list()
        if mode(own)[2] and len(own) > 1:
            whose["unit"] += 1
        else:
            whose["parent" if mode(above)[2] and mode(above)[1] > 1 else "everybody"] += 1
    assert values.units_by_mode == {name: whose[name] for name in MODES_OF}


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, count=st.integers(1, 30))
def test_modal_guess_with_and_without_the_record(seed: int, count: int) -> None:
    records, values = population(seed, count)
    unit_of, parent_of = defaultdict(list), defaultdict(list)
    rows = records.select("unit", "gain").rows()
    for unit, gain in rows:
        unit_of[unit].append(gain)
        parent_of[unit // 2].append(gain)
    usual = modal_guess(values, records, leave_one_out=False).to_list()
    without = modal_guess(values, records, leave_one_out=True).to_list()
    for (unit, gain), found, found_without in zip(rows, usual, without, strict=True):
        assert found == guess_of(unit_of[unit], parent_of[unit // 2])
        fewer, fewer_above = list(unit_of[unit]), list(parent_of[unit // 2])
        fewer.remove(gain)
        fewer_above.remove(gain)
        assert found_without == guess_of(fewer, fewer_above)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, count=st.integers(1, 30))
def test_closed_forms_are_the_mean_over_records(seed: int, count: int) -> None:
    records, values = population(seed, count)
    found = expected_correct(values)
    rows = records.select("unit", "gain").rows()
    here = defaultdict(list)
    for unit, gain in rows:
        here[unit].append(gain)
    modal = modal_guess(values, records, leave_one_out=False) == records["gain"]
    without = modal_guess(values, records, leave_one_out=True) == records["gain"]
    assert found["people"].sum() == count
    assert found["modal"].sum() == modal.sum()
    assert found["modal_without"].sum() == without.sum()
    shares = [here[u].count(g) / len(here[u]) for u, g in rows]
    others = [(here[u].count(g) - 1) / max(len(here[u]) - 1, 1) for u, g in rows]
    assert found["proportional"].sum() == pytest.approx(sum(shares))
    assert found["proportional_without"].sum() == pytest.approx(sum(others))


def share(values: pl.Series, value: int) -> float:
    return values.to_list().count(value) / len(values)


def test_proportional_draws_have_the_shares_of_the_unit() -> None:
    records = pl.DataFrame(
        {
            "unit": [n for n in range(3000) for _ in range(4)],
            "gain": [5, 5, 5, 7] * 3000,
            "exact": list(range(12000)),
            "binned": list(range(12000)),
        },
        schema_overrides={"unit": pl.Int32},
    )
    counts = records.group_by("unit", "gain").agg(pl.len().alias("n"))
    values = ValueCounts.of(
        counts, pl.Series([f"{n:04d}" for n in range(3000)]), Level("parent", 1), NATIONAL
    )
    drawn = proportional_guess(values, records, 1, "x", leave_one_out=False)
    assert abs(share(drawn, 7) - 0.25) < 0.015
    other = proportional_guess(values, records, 1, "x", leave_one_out=True)
    odd = records["gain"] == 7
    assert (other.filter(odd) == 5).all()
    assert abs(share(other.filter(~odd), 7) - 1 / 3) < 0.02
    assert not drawn.equals(proportional_guess(values, records, 2, "x", leave_one_out=False))
    mixed = records.sample(fraction=1, shuffle=True, seed=1)
    again = proportional_guess(values, mixed, 1, "x", leave_one_out=False)
    by_record = mixed.with_columns(again.alias("guess")).sort("exact")["guess"]
    assert by_record.to_list() == drawn.to_list()


def test_leaving_out_who_lives_alone_asks_the_parent_then_the_nation() -> None:
    counts = pl.DataFrame(
        {"unit": [0, 1, 2], "gain": [3, 4, 6], "n": [1, 2, 1]}, schema_overrides={"unit": pl.Int32}
    )
    values = ValueCounts.of(counts, pl.Series(["a0", "a1", "b0"]), Level("parent", 1), NATIONAL)
    alone = pl.DataFrame(
        {"unit": [0, 2], "gain": [3, 6], "exact": [0, 0], "binned": [0, 0]},
        schema_overrides={"unit": pl.Int32},
    )
    drawn = proportional_guess(values, alone, 1, "x", leave_one_out=True)
    assert drawn.to_list() == [4, NATIONAL]
    assert dict(modal_without(values).select("gain", "guess").iter_rows()) == {
        3: 4,
        4: NATIONAL,
        6: NATIONAL,
    }


def released(records: pl.DataFrame, tables: Sequence[str]) -> Publication:
    chosen = [SF1.table_by_name[name] for name in tables]
    whole = publish(SF1, records, sorted(set(records["geoid_block"])))
    return Publication(whole.geounits, tabulate(SF1, records, chosen), whole.coverage)


def test_tables_alone_give_the_blocks_margins() -> None:
    records = people(300, 3).drop("pik")
    tables = [SF1.table_by_name[name] for name in ("P8", "P9", "P12", "P14")]
    published = released(records, ("P8", "P9", "P12", "P14"))
    full = with_recodes(SF1, records)
    for columns in (("race", "hispanic"), ("sex", "agebin")):
        found = published_margin(SF1, published, tables, columns)
        counted = full.group_by(pl.col("geoid_block").alias("geoid"), *columns).agg(
            pl.len().cast(pl.Int64).alias("n")
        )
        order = ["geoid", *columns]
        assert found.sort(order).equals(counted.select(*order, "n").sort(order))


def test_tables_that_say_too_little_are_refused() -> None:
    records = people(50, 3).drop("pik")
    published = released(records, ("P8", "P9", "P12", "P14"))
    with pytest.raises(
        ConfigError, match="P8: these tables do not determine records by race × his"
    ):
        published_margin(SF1, published, [SF1.table_by_name["P8"]], ("race", "hispanic"))
    counts = published.counts.with_columns(
        pl.when((pl.col("table") == "P9") & (pl.col("cell") == 1))
        .then(pl.col("count") + 1)
        .otherwise("count")
        .alias("count")
    )
    wrong = Publication(
        published.geounits, counts.cast(published.counts.schema), published.coverage
    )
    both = [SF1.table_by_name[name] for name in ("P8", "P9")]
    with pytest.raises(SourceError, match="by race × hispanic contradict each other"):
        published_margin(SF1, wrong, both, ("race", "hispanic"))


def test_another_release_has_its_own_tables() -> None:
    clinic = load_release("clinic_visits")
    assert clinic.attack is not None
    records = random_records(clinic, 5, 200)
    published = publish(clinic, records, sorted(set(records["geoid_clinic"])))
    found = published_margin(clinic, published, clinic.tables, clinic.attack.binned)
    full = with_recodes(clinic, records)
    assert found["n"].sum() == 200
    counted = full.group_by(pl.col("geoid_clinic").alias("geoid"), "gender", "ageband").len("n")
    order = ["geoid", "gender", "ageband"]
    assert found.sort(order)["n"].to_list() == counted.sort(order)["n"].to_list()
