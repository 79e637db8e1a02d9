"""What attackers hold, and the measures that put a nation beside the published one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recon_cli.capabilities.attacker.attacker_files import (
    COMRCL,
    STRANGERS,
    TRUTHS,
    commercial_file,
    exact_columns,
)
from recon_cli.capabilities.attacker.stage import age_bins
from recon_cli.capabilities.calibrate.blocks import (
    COUNTS,
    by_class,
    count_blocks,
    with_bins,
    with_nonmodal,
    zero_solvar,
)
from recon_cli.capabilities.calibrate.measures import judge, load_study, measure
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.capabilities.tabulate.tabulation import publish_records
from recon_cli.schema import load_release
from recon_cli.seeding import generator
from tests.support import nations
from tests.support.command_line import recon
from tests.support.paths import FACTS, ROOT, needs_shared

RELEASE = load_release("sf1_2010")
BINS = age_bins(RELEASE)
STUDY = load_study()
PAPER = FACTS / "paper"


def comrcl() -> pl.DataFrame:
    return pl.concat(
        [
            commercial_file(
                load_nation(),
                made.persons,
                made.places,
                agebin=BINS,
                county=int(county.geoid),
                rng=generator(1, "attacker", county.geoid),
            )
            for county, made in zip(nations.plan(), nations.counties(), strict=True)
        ]
    )


def test_bins_are_those_of_the_release() -> None:
    recode = RELEASE.column_groups("agebin")
    ages = pl.DataFrame({"age": range(111)})
    labels = [int(recode.labels[number]) for number in BINS]
    assert len(set(labels)) == len(recode.labels) == 38
    assert all(label <= age for age, label in zip(ages["age"], labels, strict=True))
    assert (np.diff(BINS) >= 0).all()


def test_commercial_file_matches_as_planted() -> None:
    records = comrcl()
    assert records.schema == COMRCL
    assert set(records["truth"]) == set(TRUTHS)
    assert not records.select(pl.struct("geoid_block", "pik").is_duplicated().any()).item()
    persons = nations.whole().persons
    bins = pl.Series(BINS)
    keys = ["pik", "geoid_block", "sex", "bin"]
    cef = with_bins(persons.filter("data_defined"), bins).select(*keys, cef_age="age")
    matched = with_bins(records, bins).join(cef, on=keys)
    assert set(matched["truth"]) == {"exact", "binned"}
    planted = records.filter(pl.col("truth").is_in(["exact", "binned"]))
    assert len(matched) == len(planted)
    exact = matched["truth"] == "exact"
    assert (exact == (matched["age"] == matched["cef_age"])).all()
    inside = records.filter(pl.col("truth") != "outside")
    assert len(matched) / len(inside) == pytest.approx(0.371, abs=0.01)
    assert len(inside) / persons["data_defined"].sum() == pytest.approx(1.0388, rel=0.02)


def test_commercial_records_stand_where_they_say() -> None:
    records, made = comrcl(), nations.whole()
    inhabited = made.places.filter(pl.col("population") > 0)["geoid_block"]
    here = records["geoid_block"].is_in(inhabited.implode())
    assert (here == (records["truth"] != "outside")).all()
    unknown = records.filter(pl.col("truth").is_in(["stranger", "outside"]))
    assert (unknown["pik"] >= STRANGERS).all()
    assert unknown["pik"].is_unique().all()
    stale = records.filter(truth="stale").join(
        made.persons.filter("data_defined"), on="pik", suffix="_true"
    )
    assert (stale["geoid_block"] != stale["geoid_block_true"]).all()
    assert (stale["age"] == stale["age_true"]).all()
    wrong = records.filter(truth="wrong").join(
        made.persons.filter("data_defined"), on="pik", suffix="_true"
    )
    assert (wrong["geoid_block"] == wrong["geoid_block_true"]).all()


def test_exact_columns_are_the_records() -> None:
    persons = nations.whole().persons
    exact = exact_columns(persons)
    assert exact.columns == ["pik", "geoid_block", "sex", "age", "r"]
    assert exact.equals(persons.filter("data_defined").select(exact.columns))


def test_parameters_are_the_published_ratios() -> None:
    attacker, classes = load_nation().attacker, STUDY.classes
    assert attacker.records == pytest.approx(
        (classes["comrcl"] / classes["cef"]).to_list(), abs=1e-4
    )
    assert attacker.matched == pytest.approx(
        (classes["same_person"] / classes["cef"]).to_list(), abs=1e-4
    )


def test_study_says_what_the_paper_says() -> None:
    assert STUDY.classes["nonmodal"].to_list() == [6.5, 15.4, 21.9, 26.1, 29.1, 33.7, 39.4]
    assert STUDY.classes["agree_binned"].to_list() == [74.0, 94.1, 96.5, 98.0, 98.7, 98.9, 99.3]
    assert STUDY.all["nonmodal"] == 23.9
    assert 100 * STUDY.all["same_person"] / STUDY.all["comrcl"] == pytest.approx(37.1, abs=0.05)


@needs_shared
def test_packaged_table_is_the_published_one() -> None:
    name = "table07_uniques_by_block_size.csv"
    packaged = ROOT / "recon_cli/capabilities/score/wp31995" / name
    assert packaged.read_text() == (PAPER / name).read_text()


def test_zero_solvar_lies_between_block_tables_and_all_tables() -> None:
    made = nations.counties()[0]
    published = publish_records(RELEASE, made.persons, made.places["geoid_block"])
    names = [table.name for table in RELEASE.tables]
    zero = zero_solvar(RELEASE, published, names)
    inhabited = made.places.filter(pl.col("population") > 0).select("geoid_block")
    zero = zero.join(inhabited, on="geoid_block")

    def unique(tables: str) -> pl.DataFrame:
        solved = reconstruct(RELEASE, published, RELEASE.select_tables(tables), seed=1).blocks
        return solved.select("geoid_block", unique=pl.col("status") == "unique")

    less = zero.join(unique("block"), on="geoid_block")
    assert (less["zero_solvar"] | ~less["unique"]).all()
    more = zero.join(unique("block+tract"), on="geoid_block")
    assert (~more["zero_solvar"] | more["unique"]).all()


def test_counts_of_a_block_by_hand() -> None:
    geoid = "018410001001000"
    persons = pl.DataFrame(
        {
            "pik": [1, 2, 3, None, 2],
            "geoid_block": [geoid] * 5,
            "sex": ["male", "male", "male", "female", "male"],
            "age": [30, 31, 31, 5, 70],
            "race": [1, 1, 2, 1, 8],
            "hispanic": [False] * 5,
            "data_defined": [True, True, True, False, False],
        }
    )
    hdf = persons.with_columns(race=pl.Series([1, 1, 1, 1, 8]), age=pl.Series([30, 31, 34, 5, 70]))
    comrcl = pl.DataFrame(
        {
            "pik": [1, 3, 9],
            "geoid_block": [geoid] * 3,
            "sex": ["male"] * 3,
            "age": [33, 40, 30],
        }
    )

    def counted(cef: pl.DataFrame) -> pl.DataFrame:
        bins = pl.Series(BINS)
        return count_blocks(
            with_bins(with_nonmodal(RELEASE, cef, 0), bins),
            with_bins(hdf, bins),
            with_bins(comrcl, bins),
            pl.DataFrame({"geoid_block": [geoid], "zero_solvar": [True]}),
        )

    assert counted(persons).select(COUNTS).row(0, named=True) == {
        "blocks": 1, "people": 5, "unique_defined": 0, "unique_exact": 3,
        "nonmodal": 2, "zero_solvar": 1, "agree_exact": 4, "agree_binned": 4, "with_pik": 4,
        "data_defined": 3, "repeated_blocks": 1, "cef_nonmodal": 1, "comrcl": 3, "matched": 1,
        "same_person": 2, "same_person_nonmodal": 1,
    }  # fmt: skip
    alone = persons.with_columns(data_defined=pl.Series([True, True, True, True, False]))
    assert counted(alone)["unique_defined"].to_list() == [1]


def test_measures_are_judged() -> None:
    classes = STUDY.classes
    counts = pl.DataFrame({"size": classes["size"], **dict.fromkeys(COUNTS, classes["people"])})
    answered = pl.DataFrame({"hispanic": [False], "race": [1], "people": [10], "quarters": [0]})
    judged = judge(measure(STUDY, counts, answered, seed=1))
    uniques = judged.filter(
        pl.col("measure").str.contains("unique on block, sex and agebin"), size="1-9"
    )
    assert uniques["found"].to_list() == [[100.0]]
    assert uniques["ok"].to_list() == [False]
    white = judged.filter(size="not Hispanic, white")
    assert white["found"].to_list() == [[100.0]]
    assert white["ok"].to_list() == [None]


def test_calibrate_writes_a_page(tmp_path: Path) -> None:
    config = tmp_path / "nation.yaml"
    config.write_text(
        "release: sf1_2010\nwork: out\nsynth: {people: 3000, people_per_county: 1500}\n"
        "calibrate: {seeds: [1, 2], page: page.md}\n"
    )
    recon("lab", "calibrate", "-c", config)
    page = (tmp_path / "page.md").read_text()
    assert "Nations of 3,000 people, seeds 1, 2, version" in page
    assert "| 10-49 | 43.04 |" in page
    assert "## Zero-solvar blocks (Table 7)" in page
    recon("lab", "calibrate", "-c", config)
    assert (tmp_path / "page.md").read_text() == page


def test_sizes_by_class() -> None:
    blocks = pl.DataFrame({name: [1, 2] for name in COUNTS}).with_columns(people=pl.Series([9, 10]))
    assert by_class(blocks, STUDY.lower)["size"].to_list() == [0, 1]
