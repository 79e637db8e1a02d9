"""Sums, rates, intervals, control of output, and the published values beside ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recon_cli.capabilities.score.collect import Collected, Partition, add_up, collect
from recon_cli.capabilities.score.control import Control, label_classes, rounded
from recon_cli.capabilities.score.leave_one_out import sum_left_out
from recon_cli.capabilities.score.rates import Rules
from recon_cli.capabilities.score.rates_page import brief, lay_out, reading, table_title
from recon_cli.capabilities.score.sums import Sums, concat, stack, weighted
from recon_cli.capabilities.score.tables import KEYS, TABLES, Sources, make_rates, published
from recon_cli.errors import ConfigError
from recon_cli.page.sizes import Sizes
from recon_cli.page.words import Words, words_of
from recon_cli.schema import load_release
from tests.support.attacks import SF1, aged, attack, people, swapped

SIZES = Sizes((1, 10, 50, 100, 250, 500, 1000))
SOURCES = Sources(
    order=("CEF", "HDF", "rHDF_bt", "MDG", "PRG", "MDG_loo", "PRG_loo"),
    alternatives=(),
    records=("CEF", "HDF", "rHDF_bt"),
    modal="MDG",
    proportional="PRG",
    ceiling="CEF",
)


@cache
def attacked() -> tuple[pl.DataFrame, Any, pl.DataFrame]:
    """What the tests below look at, and none changes."""
    seed, count = 1, 900
    truth = people(count, seed)
    hdf = swapped(truth, seed)
    file = truth.select("pik", "geoid_block", "sex", "age").sample(count // 2, seed=2)
    moved = file["geoid_block"].shift(3).fill_null(file["geoid_block"][0])
    file = file.with_columns(
        pl.when(pl.int_range(pl.len()) % 3 == 0)
        .then(moved)
        .otherwise("geoid_block")
        .alias("geoid_block")
    )
    counted, links = attack(
        truth, hdf, aged(hdf, seed), {"COMRCL": file}, attackers=("CEF_atkr", "COMRCL")
    )
    return truth, counted, links


def collected(
    counted: Any, zero: Sequence[str] | None = (), resamples: int = 50, draws: int = 1
) -> Collected:
    targets, tallies = (
        pl.concat([frame.with_columns(draw=pl.lit(d, pl.Int16)) for d in range(draws)])
        for frame in (counted.targets, counted.tallies)
    )
    proofs = None if zero is None else pl.Series(list(zero), dtype=pl.String)
    partition = Partition("01001", counted.truth, targets, tallies, counted.agreement, proofs)
    return collect(partition, "geoid_block", SIZES, draws=draws, resamples=resamples, seed=1)


def rates_of(counted: Any, control: Control | None = None, **more: Any) -> pl.DataFrame:
    rules = Rules(SIZES, control or Control(), 95.0)
    return make_rates(collected(counted, **more), SOURCES, rules, "wp31995")


@cache
def usual_rates() -> pl.DataFrame:
    return rates_of(attacked()[1])


def one(rates: pl.DataFrame, **where: str) -> dict[str, Any]:
    rows = rates.filter(**where)
    assert rows.height == 1, rows
    return rows.row(0, named=True)


def test_rates_are_those_of_the_links() -> None:
    truth, _, links = attacked()
    rates = usual_rates()
    share = {"table": "table12_all", "source": "rHDF_bt", "against": "CEF_atkr"}
    mine = links.filter(source="rHDF_bt", attacker="CEF_atkr")
    putative = one(rates, **share, block_size="All", rate="putative")
    assert (putative["count"], putative["of"]) == (mine.height, truth.height)
    precision = one(rates, **share, block_size="All", rate="precision")
    assert precision["count"] == mine["confirmed"].sum()
    assert precision["pct"] == pytest.approx(100 * mine["confirmed"].mean())  # type: ignore[operator]
    assert precision["low"] < precision["pct"] < precision["high"]
    assert precision["published_pct"] == 77.9
    assert precision["difference"] == pytest.approx(precision["pct"] - 77.9)
    for column, source in (
        ("modal_pct", "MDG"),
        ("proportional_pct", "PRG"),
        ("ceiling_pct", "CEF"),
    ):
        other = one(rates, **{**share, "source": source}, block_size="All", rate="precision")
        assert precision[column] == other["pct"]


def test_unique_people_are_alone_among_everybody_and_data_defined() -> None:
    truth = people(600, 3).with_columns(data_defined=pl.int_range(pl.len()) % 4 != 0)
    hdf = swapped(truth, 3).drop("data_defined")
    counted, _ = attack(truth, hdf, aged(hdf, 3), {}, data_defined="data_defined")
    edges = [int(label) for label in SF1.recode_by_name["agebin"].labels]
    binned = [max(edge for edge in edges if edge <= age) for age in truth["age"]]
    keyed = truth.with_columns(bin=pl.Series(binned))
    alone = keyed.filter(pl.len().over("geoid_block", "sex", "bin") == 1)
    rates = rates_of(counted)
    row = one(rates, table="table07_uniques", block_size="All")
    assert (row["count"], row["of"]) == (alone["data_defined"].sum(), 600)
    assert 0 < row["count"] < alone.height
    small = one(published("wp31995"), table="table07_uniques", block_size="1-9")
    assert small["published_pct"] == 81.7
    assert rates["least"].null_count() == rates.height


def test_zero_variability_by_size_is_of_blocks_and_of_people() -> None:
    truth, counted, _ = attacked()
    blocks = truth.group_by("geoid_block").len().sort("len", "geoid_block")
    zero = blocks[::2]
    rates = rates_of(counted, zero=zero["geoid_block"].to_list())
    where = {"table": "table07_zero_solvar", "block_size": "All"}
    of_units, of_people = (one(rates, **where, rate=rate) for rate in ("zero_units", "zero_people"))
    assert (of_units["count"], of_units["of"]) == (zero.height, blocks.height)
    assert (of_people["count"], of_people["of"]) == (zero["len"].sum(), truth.height)
    printed = one(published("wp31995"), **where, rate="zero_units")
    assert round(printed["published_pct"], 2) == 69.41
    assert rates_of(counted, zero=None).filter(table="table07_zero_solvar").is_empty()


def test_an_attackers_file_beside_the_truth() -> None:
    truth, _, _ = attacked()
    file = truth.select("pik", "geoid_block").sample(450, seed=2)
    moved = file["geoid_block"].shift(3).fill_null(file["geoid_block"][0])
    there = pl.when(pl.int_range(pl.len()) % 3 == 0).then(moved).otherwise("geoid_block")
    kept = file.with_columns(there.alias("geoid_block")).join(truth, on=["pik", "geoid_block"])
    rates = usual_rates()
    where = {"table": "table03_attackers", "against": "COMRCL", "block_size": "All"}
    matched, held = (one(rates, **where, rate=rate) for rate in ("matched", "held"))
    assert matched["count"] == held["count"] == kept.height
    assert (matched["of"], held["of"]) == (450, truth.height)


def test_agreement_within_a_year_lies_between_exact_and_binned() -> None:
    truth, _, _ = attacked()
    rates = usual_rates()
    where = {"table": "table08_agreement", "against": "CEF", "block_size": "All"}
    exact, near = (
        one(rates, **where, source="rHDF_bt", rate=rate)["count"]
        for rate in ("agree_exact", "agree_near")
    )
    assert 0 < exact < near <= truth.height


def test_groups_are_modal_people_in_blocks_of_a_size() -> None:
    truth, _, _ = attacked()
    rates = usual_rates()
    here: dict[str, list[tuple[int, bool]]] = {}
    for geoid, race, hispanic in truth.select("geoid_block", "race", "hispanic").iter_rows():
        here.setdefault(geoid, []).append((race, hispanic))
    for label, low, high in (("50-99", 50, 99), ("100-249", 100, 249)):
        nonmodal = 0
        for kinds in here.values():
            ranked = Counter(kinds).most_common(2)
            if low <= len(kinds) <= high:
                assert len(ranked) == 1 or ranked[0][1] > ranked[1][1]  # no ties in this town
                nonmodal += len(kinds) - ranked[0][1]
        where = {"table": "table13_nonmodal", "source": "HDF", "against": "CEF_atkr"}
        assert one(rates, **where, block_size=label, rate="putative")["of"] == nonmodal > 0


def test_people_whom_the_truth_does_not_have_there_are_neither_modal_nor_not() -> None:
    _, counted, _ = attacked()
    rates = usual_rates()
    where = {"source": "HDF", "against": "COMRCL", "block_size": "All", "rate": "putative"}
    everybody, modal, nonmodal = (
        one(rates, table=table, **where)["of"]
        for table in ("table12_all", "table14_modal", "table13_nonmodal")
    )
    true = counted.targets.filter(pl.col("attacker") == "COMRCL").drop_nulls("modal")
    assert modal + nonmodal == true["records"].sum() < everybody


def test_zero_solvar_needs_a_proof() -> None:
    truth, counted, _ = attacked()
    blocks = truth["geoid_block"].unique().sort()[:4].to_list()
    rates = rates_of(counted, zero=blocks)
    found = rates.filter(table="table10_zero_solvar", rate="putative", against="CEF_atkr")
    inside = counted.targets.filter(
        (pl.col("attacker") == "CEF_atkr") & pl.col("geoid_block").is_in(blocks) & ~pl.col("modal")
    )
    nonmodal = found.filter(panel="nonmodal", source="HDF")
    assert nonmodal["of"].item() == inside["records"].sum()
    unique = found.filter(panel="nonmodal_unique", source="HDF")
    assert unique["of"].item() == inside.filter("unique")["records"].sum()
    nobody = rates_of(counted, zero=None)
    assert "table10_zero_solvar" not in nobody["table"]


def test_agreement_and_closed_forms() -> None:
    truth, counted, _ = attacked()
    rates = usual_rates()
    where = {"table": "table08_agreement", "block_size": "All"}
    same = one(rates, **where, source="rHDF_bt", against="HDF", rate="agree_binned")
    assert same["pct"] == 100
    assert same["published_pct"] == 95.2
    form = one(rates, table="guessers", block_size="All", rate="proportional")
    assert form["count"] == pytest.approx(counted.truth["proportional"].sum())
    assert form["of"] == truth.height


def test_parts_of_the_data_add_up() -> None:
    _, counted, _ = attacked()
    whole = collected(counted, resamples=0)
    halves = []
    blocks = counted.truth["geoid_block"]
    for side in (blocks[::2], blocks[1::2]):
        here = pl.col("geoid_block").is_in(side.implode())
        frames = {
            name: getattr(counted, name).filter(here)
            for name in ("truth", "targets", "tallies", "agreement")
        }
        halves.append(collected(replace(counted, **frames), resamples=0))
    both = add_up(halves)
    rules = Rules(SIZES, Control(), 95.0)
    assert_frame_equal(
        make_rates(both, SOURCES, rules, None), make_rates(whole, SOURCES, rules, None)
    )


def test_draws_of_ties_give_intervals_of_their_own() -> None:
    _, counted, _ = attacked()
    found = collected(counted, draws=3)
    assert found.kind == "draws"
    rates = make_rates(found, SOURCES, Rules(SIZES, Control(), 95.0, found.kind), None)
    row = one(
        rates,
        table="table12_all",
        source="PRG",
        against="CEF_atkr",
        block_size="All",
        rate="precision",
    )
    assert row["low"] is None  # the same draw three times: nothing that chance decides
    assert row["high"] is None


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_weighted_sums_against_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, units, slots = int(rng.integers(1, 40)), 5, 4
    frame = pl.DataFrame(
        {
            "_unit": rng.integers(0, units, n),
            "a": rng.choice(["x", "y"], n),
            "b": pl.Series(rng.integers(0, 3, n)).replace(2, None),
            "m": rng.integers(0, 9, n),
        }
    )
    weights = rng.poisson(1.0, (units, slots)).astype(float)
    found = weighted(frame, ["a", "b"], ["m"], weights)
    for row, values in zip(found.keys.iter_rows(), found.of("m"), strict=True):
        expected = np.zeros(slots)
        for unit, a, b, m in frame.iter_rows():
            if (a, b) == row:
                expected += m * weights[unit]
        assert values == pytest.approx(expected)
    assert found.by().of("m")[0] == pytest.approx(weights[frame["_unit"]].T @ frame["m"].to_numpy())
    half = Sums(found.keys, found.measures, found.values / 2)
    assert concat([half, half]).values == pytest.approx(found.values)
    assert (
        found.where(pl.col("b") == 0).keys["b"].to_list()
        == [0] * found.where(pl.col("b") == 0).keys.height
    )


def test_stacked_draws_have_their_mean_first() -> None:
    draws = [
        Sums(pl.DataFrame({"k": keys}), ("m",), np.array(values, float).reshape(-1, 1, 1))
        for keys, values in ((["a", "b"], [1, 2]), (["b"], [4]))
    ]
    found = stack(draws)
    assert found.keys["k"].to_list() == ["a", "b"]
    assert found.of("m").tolist() == [[0.5, 1, 0], [3, 2, 4]]


def classes(counts: Sequence[int | tuple[int, ...]], control: Control) -> list[tuple[str, bool]]:
    """Of the people in each class, in each panel if there are several."""
    people = np.array(counts, dtype=float).reshape(len(counts), -1).T
    found = label_classes(range(len(counts)), people, SIZES, control)
    return list(
        found.sort("size").select("block_size", "withheld").unique(maintain_order=True).iter_rows()
    )


def test_small_classes_are_merged_or_withheld() -> None:
    counts = [3, 80, 90, 70, 60, 2, 1]
    assert classes(counts, Control(10, "merge")) == [
        ("1-49", False),
        ("50-99", False),
        ("100-249", False),
        ("250+", False),
    ]
    hidden = [label for label, withheld in classes(counts, Control(10)) if withheld]
    assert hidden == ["1-9", "500-999", "1,000+"]
    alone = [label for label, withheld in classes([30, 80, 4], Control(10)) if withheld]
    assert alone == ["1-9", "50-99"]  # one alone could be worked out from the total
    assert not any(withheld for _, withheld in classes(counts, Control()))
    assert classes([1, 1], Control(10, "merge")) == [("1-49", True)]


def test_a_panel_without_people_hides_nothing_and_reveals_nothing() -> None:
    assert classes([(90, 0), (80, 80)], Control(10)) == [("1-9", False), ("10-49", False)]
    # the second panel's 5 would be its total less the published 500
    panels = [(40, 5), (30, 0), (900, 500)]
    assert [withheld for _, withheld in classes(panels, Control(10))] == [True, True, True]
    # in the second panel two classes together still are 3 people
    assert classes([(80, 80), (100, 0), (50, 3)], Control(10, "merge")) == [("1-99", False)]


def test_rates_of_everybody_are_shown_if_a_panel_is_empty() -> None:
    truth = people(300, 5).with_columns(race=pl.lit(1, pl.Int8), hispanic=pl.lit(0, pl.Int8))
    counted, _ = attack(truth, truth, truth, {})
    assert (
        one(
            rates_of(counted),
            table="table12_all",
            block_size="All",
            rate="putative",
            source="HDF",
            against="CEF_atkr",
        )["of"]
        == 300
    )
    shown = one(
        rates_of(counted, Control(threshold=10)),
        table="table12_all",
        block_size="All",
        rate="putative",
        source="HDF",
        against="CEF_atkr",
    )
    assert (shown["of"], shown["withheld"]) == (300, False)


def test_withheld_classes_are_withheld_for_every_panel_and_have_no_numbers() -> None:
    _, counted, _ = attacked()
    rates = rates_of(counted, Control(threshold=60))
    hidden = rates.filter("withheld")
    assert hidden.height > 0
    numbers = hidden.select("count", "of", "pct", "low", "high", "difference")
    assert all(column.null_count() == hidden.height for column in numbers)
    tables = ("table12_all", "table13_nonmodal", "table14_modal")
    by_table = [
        set(hidden.filter(table=t).select("against", "block_size").iter_rows()) for t in tables
    ]
    present = [
        set(rates.filter(table=t).select("against", "block_size").iter_rows()) for t in tables
    ]
    for places, there in zip(by_table, present, strict=True):
        assert places == by_table[0] & there


def test_counts_are_rounded_and_rates_follow() -> None:
    rows = pl.DataFrame(
        {"count": [123456.0, 7.0], "of": [234567.0, 9.0], "pct": 0.0, "low": 1.234, "high": 5.678}
    )
    found = rounded(rows, 4)
    assert found["count"].to_list() == [123500, 7]
    assert found["of"].to_list() == [234600, 9]
    assert found["pct"].to_list() == [52.6, 77.8]
    assert found["low"].to_list() == [1.2, 1.2]
    assert rounded(rows, None).equals(rows)


def test_sizes_are_checked() -> None:
    for wrong in ((), (2, 3), (1, 5, 5), (1, 9, 3)):
        with pytest.raises(ConfigError, match=r"score\.sizes"):
            Sizes(wrong)
    frame = pl.DataFrame({"n": [1, 9, 10, 249, 250, 999, 1000, 5000]})
    assert frame.select(SIZES.number(pl.col("n")))["n"].to_list() == [0, 0, 1, 3, 4, 5, 6, 6]


def test_every_published_rate_can_stand_beside_ours() -> None:
    values = published("wp31995")
    assert set(values["table"]) < set(TABLES)
    assert not values.select(KEYS).is_duplicated().any()
    pick = {"panel": "nonmodal_unique", "against": "CEF_atkr", "rate": "precision"}
    zero = values.filter(table="table10_zero_solvar", **pick)
    assert dict(zero.select("source", "published_pct").iter_rows())["rHDF_bt"] == 95.2
    overall = values.filter(table="table09_overall", source="PRG", rate="confirmed")
    assert sorted(overall["published_pct"].round(1)) == [23.1, 64.4]
    with pytest.raises(ConfigError, match="no study 'wp1'"):
        published("wp1")


def test_alternatives_have_tables_of_their_own() -> None:
    _, counted, _ = attacked()
    sources = Sources(
        order=SOURCES.order,
        alternatives=("rHDF_bt",),
        records=SOURCES.records,
        modal="MDG",
        proportional="PRG",
        ceiling="CEF",
    )
    rates = make_rates(collected(counted), sources, Rules(SIZES, Control(), 95.0), None)
    assert "rHDF_bt" not in rates.filter(table="table12_all")["source"]
    assert set(rates.filter(table="table15_all_alternatives")["source"]) == set(SOURCES.records)
    assert set(rates.filter(table="table11_agreement_alternatives")["source"]) == {"HDF", "rHDF_bt"}


def test_sheets() -> None:
    rates = usual_rates()
    words = words_of(load_release("sf1_2010"), is_study=True)
    sheet = lay_out("Title", rates.filter(table="table13_nonmodal"), words)
    text = sheet.markdown()
    assert text.startswith("## Title\n\n| block size | source | CEF_atkr: people |")
    widths = {line.count("|") for line in text.splitlines()[2:]}
    assert widths == {len(sheet.header) + 1}
    pairs = lay_out("", rates.filter(table="table08_agreement", against="HDF"), words)
    assert pairs.header[:2] == ("block size", "comparison")
    assert {row[1] for row in pairs.rows} == {"rHDF_bt-HDF"}
    narrow = brief("Title", rates.filter(table="table13_nonmodal"), words)
    assert [each.title for each in narrow] == ["Title: CEF_atkr", "Title: COMRCL"]
    assert all(len(row) == len(each.header) for each in narrow for row in each.rows)
    assert brief("Title", rates.clear(), words) == []


def test_a_rate_is_never_rounded_to_all_or_none() -> None:
    _, counted, _ = attacked()
    rates = rates_of(counted).filter(table="table13_nonmodal")
    words = words_of(load_release("sf1_2010"))
    for pct, said in ((99.97, ">99.9"), (0.01, "<0.1"), (100.0, "100.0"), (18.46, "18.5")):
        rows = rates.with_columns(pct=pl.lit(pct))
        assert f"| {said}" in lay_out("", rows, words).markdown()
        shown = brief("", rows, words)
        assert {said} == {row[each.header.index("%")] for each in shown for row in each.rows}


def test_tables_are_told_in_the_words_of_the_release() -> None:
    stays = Words("hospital", "hospitals", {}, person="stay", people="stays")
    _, counted, _ = attacked()
    rates = rates_of(counted).filter(table="uniques_by_size")
    sheets = [lay_out("", rates, stays), *brief("", rates, stays)]
    said = [table_title(name, stays) for name in TABLES]
    said += [text for sheet in sheets for text in (*sheet.header, *(row[0] for row in sheet.rows))]
    assert "Re-identification of stays unlike most of their hospital, by hospital size" in said
    assert {"unique", "unique, unlike most", "unique, like most"} <= set(said)
    assert not re.search(r"people|block|Table \d|[Nn]onmodal|solvar", " ".join(said))
    study = words_of(load_release("sf1_2010"), is_study=True)
    assert table_title("table13_nonmodal", study) == (
        "Table 13. Re-identification of nonmodal people, by block size"
    )


def test_people_of_whom_nothing_is_decided_are_counted_as_undecided() -> None:
    known = [True, False, True]
    rows = pl.DataFrame(
        {
            "block": ["a", "a", "b"],
            "status": "complete",
            "modal": [True, True, False],
            "population": [5, 5, 20],
            "people": [2, 3, 4],
            **dict.fromkeys(("settled", "settled_without", "certain_without"), known),
            "certain": True,
            "chance": [0.5, None, 1.0],
            "chance_without": [0.25, 0.5, None],
        }
    )
    sums = sum_left_out(rows, "block", Sizes((1, 10)), partition="p", resamples=3, seed=1)
    found = {
        (size, modal): int(sums.of("undecided_chance")[at, 0])
        for at, (size, modal) in enumerate(sums.keys.select("size", "modal").iter_rows())
    }
    assert found == {(0, True): 3, (1, False): 4}
    assert not sums.of("undecided_settled").any()


def test_a_panel_is_read_out_by_its_smallest_and_its_largest_places() -> None:
    rates: dict[str, dict[str, float | None]] = {
        "a": {"1-9": 5.04, "10-49": 50.0, "1000+": 25.0},
        "b": {"1-9": None, "10-49": 1.0, "1000+": 12.5},
        "c": {"10-49": 99.0},
    }
    cells = [(source, size, pct) for source, by in rates.items() for size, pct in by.items()]
    rows = pl.DataFrame(cells, ["source", "block_size", "pct"], orient="row")
    said = reading("Confirmed", rows, ["b", "a", "c"])
    assert said == "Confirmed, from size 1–9 to 1000+: b 12.5%, a 5.0% to 25.0%."
    assert reading("Confirmed", rows.clear(), ["a"]) == "Confirmed: no rates."
