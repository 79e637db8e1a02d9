"""The attack as a whole: the study's example block, oracles, and what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recon_cli.errors import SourceError
from tests.support.attacks import aged, attack, people, swapped
from tests.support.properties import examples

SEEDS = st.integers(0, 2**32 - 1)


def example_block() -> pl.DataFrame:
    """Twenty men of one block; the Hispanic White man is the only one who is 21."""
    kinds = [(1, False)] * 12 + [(2, False)] * 5 + [(8, False), (1, True), (2, True)]
    return pl.DataFrame(
        {
            "pik": [f"p{i:02d}" for i in range(20)],
            "geoid_block": ["010010201001000"] * 20,
            "sex": ["male"] * 20,
            "age": [21 if kind == (1, True) else 20 for kind in kinds],
            "race": [race for race, _ in kinds],
            "hispanic": [hispanic for _, hispanic in kinds],
        },
        schema_overrides={"age": pl.Int16, "race": pl.Int16},
    )


def of_source(counted: pl.DataFrame, source: str, *, unique: bool) -> dict[str, Any]:
    rows = counted.filter((pl.col("source") == source) & (pl.col("unique") == unique))
    return rows.select(pl.col("putative", "confirmed", "expected").sum()).row(0, named=True)


def test_example_block_reconstruction_is_certain_and_the_modal_guess_never_right() -> None:
    block = example_block()
    counted, links = attack(block, block.drop("pik"))
    for source in ("CEF", "HDF", "rHDF_bt"):
        him = of_source(counted.tallies, source, unique=True)
        assert (him["putative"], him["confirmed"]) == (1, 1)
    assert of_source(counted.tallies, "MDG", unique=True)["confirmed"] == 0
    assert of_source(counted.tallies, "PRG", unique=True)["expected"] == pytest.approx(1 / 20)
    link = links.filter((pl.col("source") == "rHDF_bt") & (pl.col("age") == 21))
    assert link.select("pik", "race", "hispanic", "confirmed").row(0) == ("p18", 1, True, True)
    modal_share, collision = counted.truth.select("modal", "proportional").row(0)
    assert modal_share / 20 == pytest.approx(12 / 20)
    assert collision / 20 == pytest.approx((12**2 + 5**2 + 3) / 20**2)


def test_example_block_proportional_guess_is_right_one_time_in_twenty() -> None:
    block, copies = example_block(), 2000
    town = pl.concat([block] * copies).with_columns(
        pl.Series(
            "geoid_block",
            [f"0100102010{n:05d}" for n in range(copies) for _ in range(20)],
        )
    )
    counted, _ = attack(town, town.drop("pik"))
    right = of_source(counted.tallies, "PRG", unique=True)
    assert right["putative"] == copies
    assert right["expected"] == pytest.approx(copies / 20)
    assert abs(right["confirmed"] - copies / 20) < 3.5 * (copies * 0.05 * 0.95) ** 0.5
    # nobody helps to guess himself: he is the only one of his kind
    assert of_source(counted.tallies, "PRG_loo", unique=True)["confirmed"] == 0


def keyed(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["geoid_block"], row["sex"], row["agebin"], row["race"], row["hispanic"]


@examples(8)
@given(seed=SEEDS)
def test_confirmed_links_are_those_of_a_second_double_loop(seed: int) -> None:
    truth = people(120, seed)
    attackers = truth.sample(100, seed=seed % 1000).with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(30).otherwise("age").alias("age")
    )
    counted, links = attack(
        truth,
        swapped(truth, seed),
        files={"COMRCL": attackers.drop("race", "hispanic")},
        attackers=("CEF_atkr", "COMRCL"),
    )
    edges = links.select("age", "agebin").unique()
    known = truth.join(edges, on="age", how="left").to_dicts()
    for (attacker, source), rows in links.group_by("attacker", "source"):
        rest = list(known)
        confirmed = 0
        for row in rows.to_dicts():
            for i, other in enumerate(rest):
                if row["pik"] == other["pik"] and keyed(row) == keyed(other):
                    confirmed += 1
                    del rest[i]
                    break
        assert confirmed == rows["confirmed"].sum()
        tallied = counted.tallies.filter(attacker=attacker, source=source)
        assert tallied["confirmed"].sum() == confirmed
        assert tallied["putative"].sum() == rows.height


@examples(8)
@given(seed=SEEDS)
def test_results_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    truth = people(150, seed)
    hdf = swapped(truth, seed)
    rebuilt = aged(hdf, seed)
    files = {"COMRCL": truth.drop("race", "hispanic").sample(90, seed=3)}
    first, links = attack(truth, hdf, rebuilt, files, attackers=("CEF_atkr", "COMRCL"))

    def mixed(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.sample(fraction=1.0, shuffle=True, seed=seed % 997)

    again, shuffled = attack(
        mixed(truth),
        mixed(hdf),
        mixed(rebuilt),
        {name: mixed(file) for name, file in files.items()},
        attackers=("CEF_atkr", "COMRCL"),
    )
    assert first.tallies.equals(again.tallies)
    assert first.targets.equals(again.targets)
    assert first.agreement.equals(again.agreement)
    assert links.sort(links.columns).equals(shuffled.sort(links.columns))


def test_a_file_is_not_matched_with_itself_in_the_same_order() -> None:
    """A hundred people who share their keys: a random one is right as often as p² says."""
    twins = pl.concat([example_block()[:1]] * 100).with_columns(
        pl.Series("pik", [f"p{i:03d}" for i in range(100)]),
        pl.Series("race", [1] * 50 + [2] * 50, pl.Int16),
        r=pl.Series(np.random.default_rng(1).random(100)),
    )
    counted, _ = attack(twins, twins.drop("pik", "r"))
    confirmed = counted.tallies.filter(source="CEF")["confirmed"].sum()
    assert 30 < confirmed < 70


def test_duplicates_are_reduced_by_the_files_own_flags() -> None:
    truth = people(30, 1)
    twice = pl.concat([truth, truth.with_columns(age=pl.lit(5, pl.Int16))])
    flag = [0] * 30 + [1] * 30
    by_flag, _ = attack(twice.with_columns(keep=pl.Series(flag)), truth.drop("pik"))
    by_rank, _ = attack(
        twice.with_columns(r_keep=pl.Series([0.9] * 30 + [0.1] * 30)), truth.drop("pik")
    )
    for counted in (by_flag, by_rank):
        assert counted.targets["records"].sum() == 30
        assert counted.left_out["CEF: duplicate"] == 30
        source = counted.tallies.filter(source="CEF")
        assert source["confirmed"].sum() > 0
    drawn, links = attack(twice, truth.drop("pik"))
    assert drawn.targets["records"].sum() == 30
    ages = links.filter(source="CEF")["age"]
    assert 0 < (ages == 5).sum() < 30


@pytest.mark.parametrize(
    "values", [[1, 0], [1.0, 0.0], [True, False], ["true", "false"], ["1", ""]]
)
def test_flags_come_in_many_kinds(values: list[Any]) -> None:
    truth = people(40, 2)
    flag = pl.Series("defined", values * 20)
    counted, _ = attack(truth.with_columns(flag), truth, data_defined="defined")
    assert counted.truth["linkable"].sum() == 20


def test_what_is_left_out_is_counted() -> None:
    truth = people(60, 2).with_columns(defined=pl.Series([1] * 50 + [0] * 10))
    commercial = truth.select("pik", "geoid_block", "sex", "age").with_columns(
        pl.when(pl.int_range(pl.len()) < 3)
        .then(pl.lit("990010201001000"))
        .otherwise("geoid_block")
        .alias("geoid_block"),
        pl.when(pl.int_range(pl.len()).is_between(3, 6)).then(None).otherwise("sex").alias("sex"),
        pl.when(pl.int_range(pl.len()) == 10).then(None).otherwise("age").alias("age"),
        pl.when(pl.int_range(pl.len()) == 11).then(None).otherwise("pik").alias("pik"),
    )
    counted, _ = attack(
        truth,
        truth.drop("pik", "defined"),
        files={"COMRCL": commercial},
        attackers=("COMRCL",),
        from_truth=(),
        data_defined="defined",
    )
    assert dict(counted.left_out) == {
        "COMRCL: outside": 3,
        "COMRCL: incomplete": 5,
        "COMRCL: no id": 1,
        "CEF: not data-defined": 10,
    }
    assert counted.targets["records"].sum() == 51
    assert counted.truth["linkable"].sum() == 50


def test_blocks_on_one_side_only() -> None:
    truth = people(80, 4)
    here, there = truth["geoid_block"].unique().sort()[:2]
    hdf = truth.drop("pik").filter(pl.col("geoid_block") != here)
    hdf = pl.concat([hdf, hdf[:5].with_columns(geoid_block=pl.lit("010010999009999"))])
    counted, links = attack(truth, hdf)
    assert counted.left_out["HDF: outside"] == 5
    blocks = links.filter(source="HDF")["geoid_block"]
    assert here not in blocks
    assert there in blocks
    assert here in counted.targets["geoid_block"]
    assert counted.agreement.filter(left="HDF", right="CEF")["agree"].sum() == 80 - len(
        truth.filter(geoid_block=here)
    )


def test_an_empty_attacker_file_gives_no_links() -> None:
    truth = people(20, 5)
    counted, links = attack(
        truth,
        files={"COMRCL": truth.select("pik", "geoid_block", "sex", "age").clear()},
        attackers=("COMRCL",),
        from_truth=(),
    )
    assert counted.tallies.is_empty()
    assert counted.targets.is_empty()
    assert links.is_empty()
    assert counted.agreement.height > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("sex"), "HDF: no column 'sex'"),
        (lambda f: f.drop("geoid_block"), "HDF: no column 'geoid_block'"),
        (
            lambda f: f.with_columns(sex=pl.lit("m")),
            "HDF: column 'sex': 20 records have what is not a value of the release "
            r"\(such as 'male', 'female'\)",
        ),
        (lambda f: f.with_columns(race=pl.lit(64)), "HDF: column 'race': 20 records have"),
        (lambda f: f.with_columns(age=pl.lit(-1)), "HDF: column 'age': 20 records have"),
    ],
)
def test_a_wrong_source_is_named(change: Any, message: str) -> None:
    truth = people(20, 5)
    with pytest.raises(SourceError, match=message):
        attack(truth, change(truth))


def test_an_incomplete_truth_is_refused() -> None:
    truth = people(20, 5)
    holes = truth.with_columns(pl.when(pl.int_range(pl.len()) > 2).then("race"))
    with pytest.raises(SourceError, match="CEF: 3 records lack a geoid or one of sex, agebin"):
        attack(holes, truth)
    with pytest.raises(SourceError, match="CEF: no column 'pik'"):
        attack(truth.drop("pik"), truth)


def test_options_of_a_multiselect_may_be_columns() -> None:
    truth = people(40, 6)
    names = ("white", "black", "aian", "asian", "nhpi", "sor")
    flags = truth.with_columns(
        ((pl.col("race") // (1 << i)) % 2).alias(name) for i, name in enumerate(names)
    ).drop("race")
    first, _ = attack(truth, truth)
    again, _ = attack(flags, flags)
    assert first.tallies.equals(again.tallies)


def test_people_are_modal_and_unique_whatever_the_attacker_believes_of_them() -> None:
    truth = people(200, 9)
    exact = truth.select("pik", "geoid_block", "sex", "age")
    wrong = exact.with_columns(sex=pl.lit("male"))
    groups = []
    for file in (exact, wrong):
        counted, links = attack(truth, files={"COMRCL": file}, attackers=("COMRCL",), from_truth=())
        groups.append(counted.targets)
    assert groups[0].equals(groups[1])
    assert counted.targets["modal"].null_count() == 0
    # but a link is only confirmed where the sex is true
    known = links.filter("confirmed").join(truth, on="pik", suffix="_true")
    assert known.height > 0
    assert (known["sex"] == known["sex_true"]).all()


def test_modal_people_do_not_depend_on_the_cut_between_block_groups() -> None:
    truth = people(300, 11, blocks=30)
    whole, _ = attack(truth)
    block_group = pl.col("geoid_block").str.head(12)
    parts = [
        attack(truth.filter(block_group == each))[0].truth
        for each in truth.select(block_group).to_series().unique().sort()
    ]
    assert len(parts) > 3
    assert pl.concat(parts).sort("geoid_block").equals(whole.truth)
