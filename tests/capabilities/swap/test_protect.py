"""Household swapping: what moves, what stays, and who meets whom."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.swap.settings import Experimental, Targeted, load_swap, packaged_swaps
from recon_cli.capabilities.swap.swap import (
    NEEDED,
    apply_moves,
    choose_swaps,
    list_moves,
    match_pairs,
    with_disclosure_risk,
)
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.schema import Level
from tests.support import nations

LEVELS = (Level("tract", 11), Level("county", 5))


@cache
def occupied() -> pl.DataFrame:
    return nations.whole().households.filter(pl.col("people") > 0).select(NEEDED)


@cache
def swapped(name: str) -> pl.DataFrame:
    """Pairs of the whole small nation, state by state."""
    settings = load_swap(name)
    households = occupied()
    if isinstance(settings, Targeted):
        households = with_disclosure_risk(households, nations.whole().persons)
    states = households.with_columns(state=pl.col("geoid_block").str.head(2))
    return pl.concat(
        [
            choose_swaps(part, settings, KeyedChance.for_study(1).named(str(state)), LEVELS)
            for (state,), part in states.partition_by(
                "state", as_dict=True, include_key=False
            ).items()
        ]
    )


def populations(persons: pl.DataFrame) -> pl.DataFrame:
    return persons.group_by("geoid_block").len().sort("geoid_block")


@pytest.mark.parametrize("name", ["lo", "hi", "targeted"])
def test_what_every_swap_keeps(name: str) -> None:
    pairs = swapped(name)
    assert (pairs["geoid_block"] != pairs["partner_block"]).all()
    persons = nations.whole().persons
    both = pl.concat([pairs["household"], pairs["partner"]])
    assert both.is_unique().all()
    state = pl.col("geoid_block").str.head(2) == pl.col("partner_block").str.head(2)
    assert pairs.select(state.all()).item()
    moved = apply_moves(persons, list_moves(pairs))
    assert len(moved) == len(persons)
    assert moved.drop("geoid_block").equals(persons.drop("geoid_block"))
    stays = ~pl.col("household").is_in(both.implode()) | pl.col("household").is_null()
    assert moved.filter(stays.fill_null(value=True)).equals(
        persons.filter(stays.fill_null(value=True))
    )
    if name != "hi":
        assert (pairs["people"] == pairs["partner_people"]).all()
        assert populations(moved).equals(populations(persons))
    swapped_back = apply_moves(
        moved,
        list_moves(pairs.rename({"geoid_block": "partner_block", "partner_block": "geoid_block"})),
    )
    assert swapped_back.equals(persons)


@pytest.mark.parametrize(("name", "rate"), [("lo", 0.05), ("hi", 0.50)])
def test_experimental_rates(name: str, rate: float) -> None:
    pairs = swapped(name)
    assert 2 * len(pairs) / len(occupied()) == pytest.approx(rate, abs=0.002)


def test_lo_stays_in_the_tract_where_it_can() -> None:
    pairs = swapped("lo")
    tract = pairs["geoid_block"].str.head(11) == pairs["partner_block"].str.head(11)
    assert tract.filter(pairs["reach"] == "tract").all()
    assert tract.mean() > 0.9  # type: ignore[operator]


def test_hi_goes_far_and_changes_sizes_by_two_at_most() -> None:
    pairs = swapped("hi")
    other = pairs["geoid_block"].str.head(11) != pairs["partner_block"].str.head(11)
    assert other.mean() > 0.5  # type: ignore[operator]
    county = pairs["geoid_block"].str.head(5) != pairs["partner_block"].str.head(5)
    assert county.mean() > 0.1  # type: ignore[operator]
    change = (pairs["people"] - pairs["partner_people"]).abs()
    assert change.max() == 2
    assert not populations(apply_moves(nations.whole().persons, list_moves(pairs))).equals(
        populations(nations.whole().persons)
    )


def test_targeted_pairs_are_alike_and_apart() -> None:
    pairs = swapped("targeted")
    adults = occupied().select("household", "adults")
    joined = pairs.join(adults, on="household").join(
        adults.rename({"household": "partner", "adults": "other"}), on="partner"
    )
    assert len(joined) == len(pairs)
    assert (joined["adults"] == joined["other"]).all()
    assert (pairs["geoid_block"] != pairs["partner_block"]).all()


@pytest.mark.parametrize("setting", ["lo", "hi", "targeted"])
def test_partners_live_in_two_blocks(setting: str) -> None:
    pairs = swapped(setting)
    assert len(pairs) > 0
    assert (pairs["geoid_block"] != pairs["partner_block"]).all()


def test_targeted_prefers_small_blocks_and_unique_races() -> None:
    settings = load_swap("targeted")
    assert isinstance(settings, Targeted)
    homes = with_disclosure_risk(occupied(), nations.whole().persons)
    pairs = swapped("targeted")
    chosen = pl.concat([pairs["household"], pairs["partner"]])
    homes = homes.with_columns(moved=pl.col("household").is_in(chosen.implode()))
    small = homes.filter(pl.col("block_people") < 10)["moved"].mean()
    big = homes.filter(pl.col("block_people") >= 250)["moved"].mean()
    assert small == pytest.approx(settings.rates[0], abs=0.06)
    assert big == pytest.approx(settings.rates[4], abs=0.01)
    middle = homes.filter(pl.col("block_people").is_between(20, 80))
    rates = {
        bool(unique): part["moved"].mean()
        for (unique,), part in middle.partition_by("unique_race", as_dict=True).items()
    }
    assert rates[True] > 4 * rates[False]  # type: ignore[operator]


def test_risk_by_hand() -> None:
    homes = pl.DataFrame(
        {"household": [1, 2, 3], "geoid_block": ["a", "a", "b"], "people": [2, 1, 1],
         "adults": [2, 1, 1]}
    )  # fmt: skip
    persons = pl.DataFrame(
        {"geoid_block": ["a", "a", "a", "b", "b"], "household": [1, 1, 2, 3, None],
         "race": [1, 8, 1, 2, 2], "hispanic": [False] * 5}
    )  # fmt: skip
    found = with_disclosure_risk(homes, persons)
    assert found["block_people"].to_list() == [3, 3, 2]
    assert found["unique_race"].to_list() == [True, False, False]
    of_another_ethnicity = persons.with_columns(
        hispanic=pl.Series([False, False, True, True, False])
    )
    assert with_disclosure_risk(homes, of_another_ethnicity)["unique_race"].all()


def test_partners_meet_near_before_far() -> None:
    candidates = pl.DataFrame(
        {
            "row": range(7),
            "chance": [0.1, 0.15, 0.3, 0.4, 0.5, 0.6, 0.7],
            "key": [1, 1, 1, 1, 1, 1, 2],
            "tract": ["a", "a", "a", "b", "c", "c", "a"],
            "county": ["A", "A", "A", "A", "C", "C", "A"],
        }
    )
    pairs = match_pairs(candidates, ["key"], ["tract", "county"])
    assert pairs.rows() == [(0, 1, "tract"), (4, 5, "tract"), (2, 3, "county")]


def test_one_household_less_changes_the_partners_of_few() -> None:
    """A stream of chance that all share would change everybody's after it."""
    settings = load_swap("hi")
    state = occupied()["geoid_block"].str.head(2)
    homes = occupied().filter(state == state[0])
    chance = KeyedChance.for_study(3)
    whole = list_moves(choose_swaps(homes, settings, chance, LEVELS))
    assert len(whole) > 2000
    for left_out in homes["household"][5:5000:2000]:
        others = homes.filter(pl.col("household") != left_out)
        moved = list_moves(choose_swaps(others, settings, chance, LEVELS))
        assert len(moved.join(whole, on=["household", "new_block"], how="anti")) <= 25


def test_no_pair_where_nobody_fits() -> None:
    candidates = pl.DataFrame(
        {"row": [0, 1], "chance": [0.1, 0.2], "key": [1, 1], "tract": ["a", "a"],
         "block": ["x", "x"]}
    )  # fmt: skip
    assert match_pairs(candidates, ["key"], ["tract"], apart="block").is_empty()
    assert match_pairs(candidates.clear(), ["key"], ["tract"]).is_empty()


def test_published_settings() -> None:
    assert packaged_swaps() == ("hi", "lo", "targeted")
    lo, hi = load_swap("lo"), load_swap("hi")
    assert isinstance(lo, Experimental)
    assert isinstance(hi, Experimental)
    assert (lo.rate, lo.size_noise, lo.pseudo_tract) == (0.05, (0, 1, 0), (1, 0, 0))
    assert (hi.rate, hi.size_noise, hi.pseudo_tract) == (0.5, (0.25, 0.5, 0.25), (0.3, 0.4, 0.3))


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="packaged: hi, lo, targeted"):
        load_swap("medium")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_swap(str(tmp_path / "none.yaml"))
    path = tmp_path / "odd.yaml"
    path.write_text(
        "method: experimental\nrate: 0.1\nsize_noise: [1, 1, 0]\npseudo_tract: [1, 0, 0]\n"
    )
    with pytest.raises(ConfigError, match="sum to 1"):
        load_swap(str(path))
    path.write_text("method: targeted\nsizes: [1, 9]\nrates: [0.1, 0.1]\nunique_race: [3]\n")
    with pytest.raises(ConfigError, match="unique_race need one number for each"):
        load_swap(str(path))
    path.write_text("method: random\n")
    with pytest.raises(ConfigError, match="odd"):
        load_swap(str(path))
