"""Means, medians and extremes of a sheet are drafted where its numbers show of what, else asked."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from recon_cli.capabilities.init.statistic_draft import Observed, Scale, agreement
from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.paths import SHARED, needs_shared
from tests.support.properties import draws

BANDS = "Ward,Patients,0-17,18-39,40-64,65+"


def sheet(folder: Path, rows: Sequence[str], name: str = "ward.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([*rows, ""]), "utf-8")
    return path


def read_parts(folder: Path) -> pl.DataFrame:
    return pl.concat(map(pl.read_parquet, sorted(folder.rglob("*.parquet"))), how="diagonal")


def drafted(path: Path, *flags: str, code: int = 0) -> str:
    """Draft a config beside a sheet; return what is said of it."""
    said = recon("init", path, "--to", path.with_name("w.yaml"), "--force", *flags, code=code)
    return " ".join((said.stdout + said.stderr).split())


def mapped(path: Path) -> dict[str, dict[str, str]]:
    config = yaml.safe_load(path.with_name("w.yaml").read_text("utf-8"))
    found: dict[str, dict[str, str]] = config["ingest"]["mapping"].get("statistics", {})
    return found


def audited(path: Path) -> pl.DataFrame:
    config, work = path.with_name("w.yaml"), path.with_name("work")
    recon("ingest", "-c", config, "--work", work, "-q")
    recon("audit", "-c", config, "--work", work, "-q")
    return read_parts(work / "audit").sort("geoid", "table", "cell")


# --- of values that are counted -----------------------------------------------------------------


def sizes(draws: np.random.Generator, places: int) -> list[tuple[int, int, int]]:
    """Return households of one, two and three people in some places."""
    many, few = draws.integers(3, 21, (4, 3)), draws.integers(1, 5, (places, 3))
    return [(one, two, three) for one, two, three in np.vstack([many, few]).tolist()]


def printed_mean(counts: Sequence[int]) -> str:
    total = Fraction(sum(v * n for v, n in enumerate(counts, start=1)), sum(counts))
    return f"{float(round(total, 2)):.2f}"


def starred(count: int) -> str:
    return "*" if 0 < count < 3 else str(count)


def rows_of(places: Sequence[tuple[int, int, int]]) -> list[str]:
    return [
        f"W{i},{sum(own)},{','.join(map(starred, own))},{printed_mean(own)}"
        for i, own in enumerate(places, start=10)
    ]


def possible(own: tuple[int, int, int]) -> list[tuple[int, ...]]:
    """Return all households of a place that print as these do."""
    ranges = [(1, 2) if 0 < n < 3 else (n,) for n in own]
    return [
        each
        for each in itertools.product(*ranges)
        if sum(each) == sum(own)
        and abs(
            Fraction(sum(v * n for v, n in enumerate(each, start=1)), sum(each))
            - Fraction(printed_mean(own))
        )
        <= Fraction(1, 200)
    ]


@pytest.mark.parametrize("seed", draws(2, 4))
def test_means_of_a_sheet_prove_what_enumeration_proves(tmp_path: Path, seed: int) -> None:
    places = sizes(np.random.default_rng(seed), 6)
    path = sheet(tmp_path, ["Ward,Households,1,2,3,Mean size", *rows_of(places)])
    drafted(path, "--below", "3")
    assert mapped(path) == {"Mean size": {"table": "MEAN_AGE", "of": "Households"}}
    truth = {f"W{i}": possible(own) for i, own in enumerate(places, start=10)}
    found = audited(path)
    assert len(found)
    for row in found.iter_rows(named=True):
        # The first cell is everybody.
        own = [each[row["cell"] - 2] for each in truth[row["geoid"]]]
        assert (row["least"], row["greatest"]) == (min(own), max(own)), row


@pytest.mark.parametrize("seed", draws(2, 3))
def test_modes_and_quartiles_of_a_sheet_are_used(tmp_path: Path, seed: int) -> None:
    """No interval leaves out households that print the same."""
    places = sizes(np.random.default_rng(seed), 6)

    def texts(own: Sequence[int]) -> list[str]:
        people = np.repeat([1, 2, 3], own)
        mode, quartile = int(np.argmax(own)) + 1, float(np.quantile(people, 0.25))
        return [str(sum(own)), *map(starred, own), str(mode), f"{quartile:.2f}"]

    rows = [",".join([f"W{i}", *texts(own)]) for i, own in enumerate(places, start=10)]
    path = sheet(tmp_path, ["Ward,Households,1,2,3,Modal size,Lower quartile size", *rows])
    drafted(path, "--below", "3", "--statistic", "Modal size=mode age of Households")
    assert mapped(path)["Lower quartile size"] == {"table": "QUANTILE_AGE", "of": "Households"}
    assert mapped(path)["Modal size"] == {"table": "MODE_AGE", "of": "Households"}
    found = audited(path)
    assert found.height
    for row in found.iter_rows(named=True):
        own = places[int(row["geoid"][-2:]) - 10]
        ranges = [range(1, 3) if 0 < n < 3 else (n,) for n in own]
        able = [each for each in itertools.product(*ranges) if texts(each) == texts(own)]
        counts = [each[row["cell"] - 2] for each in able]
        assert row["least"] <= min(counts), row
        assert max(counts) <= row["greatest"], row


Ward = tuple[int, int, int, int]


def ward_texts(ward: Ward) -> list[str]:
    """Return what a sheet prints of boys and girls, and of the ill among them."""
    boys, girls, ill_boys, ill_girls = ward
    counts = [boys, girls, ill_boys + ill_girls, ill_boys, ill_girls]
    share = f"{100 * ill_boys / boys:.1f}" if boys else "-"
    return [str(boys + girls), *map(starred, counts), share]


@pytest.mark.parametrize("seed", draws(2, 4))
def test_shares_among_withheld_people_prove_what_enumeration_proves(
    tmp_path: Path, seed: int
) -> None:
    draws = np.random.default_rng(seed)
    wards: list[Ward] = [(12, 11, 5, 4), (13, 9, 6, 3), (17, 8, 5, 7), (7, 9, 3, 6)]
    for _ in range(12):
        boys, girls = draws.integers(0, 6, 2).tolist()
        own = boys, girls, int(draws.integers(0, boys + 1)), int(draws.integers(0, girls + 1))
        wards += [own] if sum(own) else []
    header = "Ward,All,Boys,Girls,Ill,Ill boys,Ill girls,% ill of boys"
    lines = [",".join([f"W{i}", *ward_texts(own)]) for i, own in enumerate(wards, start=10)]
    path = sheet(tmp_path, [header, *lines])
    drafted(path, "--below", "3")
    assert mapped(path) == {"% ill of boys": {"table": "SHARE_ILL", "of": "Boys"}}
    found = audited(path)
    assert found.height > 5
    printed: dict[tuple[str, ...], list[Ward]] = {}
    for boys, girls, ill_boys, ill_girls in itertools.product(range(20), repeat=4):
        each = boys, girls, ill_boys, ill_girls
        if ill_boys <= boys and ill_girls <= girls and boys + girls <= 25:
            printed.setdefault(tuple(ward_texts(each)), []).append(each)
    for row in found.iter_rows(named=True):
        worlds = printed[tuple(ward_texts(wards[int(row["geoid"][1:]) - 10]))]
        cells = [(a + b, a, b, c + d, c, d)[row["cell"] - 1] for a, b, c, d in worlds]
        assert (row["least"], row["greatest"]) == (min(cells), max(cells)), row


def boys_texts(boys: int, girls: int) -> list[str]:
    """Return what a sheet prints of boys and girls."""
    share = f"{100 * boys / (boys + girls):.1f}" if boys + girls else "-"
    return [*map(starred, (boys + girls, boys, girls)), share]


@pytest.mark.parametrize("seed", draws(2, 4))
def test_shares_of_a_whole_hold_with_places_that_are_not_listed(tmp_path: Path, seed: int) -> None:
    draws = np.random.default_rng(seed)
    wards = [(12, 11), (9, 14), (3, 8), (1, 1), *map(tuple, draws.integers(0, 3, (3, 2)).tolist())]
    wards = [own for own in wards if sum(own)]
    whole = sum(own[0] for own in wards), sum(own[1] for own in wards)
    rows = [",".join([f"W{i}", *boys_texts(*own)]) for i, own in enumerate(wards, start=10)]
    rows.append(",".join(["All wards", *boys_texts(*whole)]))
    path = sheet(tmp_path, ["Ward,All,Boys,Girls,% boys", *rows])
    drafted(path, "--below", "3", "--total", "All wards")
    assert mapped(path) == {"% boys": {"table": "SHARE_BOYS", "of": "All"}}
    worlds = [
        [
            each
            for each in itertools.product(range(15), repeat=2)
            if boys_texts(*each) == boys_texts(*own)
        ]
        for own in wards
    ]
    able = [
        each
        for each in itertools.product(*worlds)
        if all(sum(own[i] for own in each) <= whole[i] for i in (0, 1))
    ]  # the rest live in places that are not listed
    for row in audited(path).iter_rows(named=True):
        at = int(row["geoid"][-2:]) - 10
        counts = [(sum(each[at]), *each[at])[row["cell"] - 1] for each in able]
        assert (row["least"], row["greatest"]) == (min(counts), max(counts)), row


def test_parts_of_some_people_with_percentages_are_crossed(tmp_path: Path) -> None:
    """Each of the ill boys is of the boys by its percentage, and of the ill by a sum."""
    rows = []
    wards: list[Ward] = [
        (9, 14, 5, 6),
        (21, 12, 4, 9),
        (7, 8, 6, 1),
        (19, 22, 11, 8),
        (14, 17, 9, 4),
    ]
    for i, (boys, girls, ill_boys, ill_girls) in enumerate(wards):
        counts = [boys + girls, boys, girls, ill_boys + ill_girls, ill_boys, ill_girls]
        shares = [(counts[3], counts[0]), (ill_boys, boys), (ill_girls, girls)]
        printed = [f"{100 * part / base:.1f}" for part, base in shares]
        rows.append(",".join([f"W{i}", *map(str, counts), *printed]))
    shown = "% ill,% ill of boys,% ill of girls"
    path = sheet(tmp_path, [f"Ward,All,Boys,Girls,Ill,Ill boys,Ill girls,{shown}", *rows])
    drafted(path)
    mapping = yaml.safe_load(path.with_name("w.yaml").read_text("utf-8"))["ingest"]["mapping"]
    labels = mapping["labels"]["columns"]
    assert labels["Ill boys"] == {"sex": "boys", "ill": "ill"}
    assert labels["Ill girls"] == {"sex": "girls", "ill": "ill"}
    assert mapping["percentages"]["% ill of boys"] == {"of": "Ill boys", "base": "Boys"}


def test_a_mean_that_one_row_contradicts_is_not_taken(tmp_path: Path) -> None:
    places = sizes(np.random.default_rng(1), 0)
    rows = ["Ward,Households,1,2,3,Mean size", *rows_of(places)]
    path = sheet(tmp_path, [*rows[:-1], rows[-1].rpartition(",")[0] + ",2.97"])
    said = drafted(path, "--yes")
    assert not mapped(path)
    assert "'Mean size' of ward.csv seems to be a mean" in said
    said = drafted(path, "--statistic", "Mean size=mean age of Households", code=2)
    assert "2.97 is no mean of 1: " in said


def test_a_mean_of_each_row_of_a_long_file(tmp_path: Path) -> None:
    draws = np.random.default_rng(5)
    rows = ["ward,sex,size,count,mean size"]
    for ward in ("Ash", "Birch", "Cedar"):
        by_sex = {sex: draws.integers(3, 9, 3).tolist() for sex in ("female", "male")}
        by_sex["total"] = [sum(pair) for pair in zip(*by_sex.values(), strict=True)]
        for sex, own in by_sex.items():
            rows.append(f"{ward},{sex},total,{sum(own)},{printed_mean(own)}")
            rows += [f"{ward},{sex},{v},{n}," for v, n in enumerate(own, start=1)]
    path = sheet(tmp_path, rows)
    drafted(path, "--yes")
    assert mapped(path) == {"mean size": {"table": "MEAN_SIZE", "of": "count"}}
    release = load_release(str(tmp_path / "ward.yaml"))
    assert len(release.statistic_by_name["MEAN_SIZE"].cells) == 3
    recon("ingest", "-c", tmp_path / "w.yaml", "--work", tmp_path / "work", "-q")
    printed = read_parts(tmp_path / "work" / "tables").filter(pl.col("table") == "MEAN_SIZE")
    assert len(printed) == 9


# --- of values that are counted in groups -------------------------------------------------------


def test_a_median_of_ages_is_told_by_the_bands_that_it_lies_in(tmp_path: Path) -> None:
    rows = [f"{BANDS},Median age"]
    rows += ["Ash,40,6,14,12,8,42", "Birch,31,*,*,20,9,55.5", "Cedar,52,30,12,6,4,16"]
    rows += ["Dale,47,8,21,12,6,36.5", "Elm,60,5,9,16,30,64.5", "Fir,38,21,10,4,3,*"]
    path = sheet(tmp_path, rows)
    said = drafted(path, "--below", "3", "--complementary")
    assert mapped(path) == {"Median age": {"table": "MEDIAN_AGE", "of": "Patients"}}
    assert "the greatest age: 110 is taken" in said
    assert "not used" not in said
    law = (tmp_path / "w.protection.yaml").read_text("utf-8")
    assert "{tables: [MEDIAN_AGE], markers: ['*'], law: withheld}" in law
    found = audited(path)
    assert found["least"].to_list() == [1, 1]
    assert found["greatest"].to_list() == [1, 1]


@pytest.mark.parametrize("medians", [("42", "16", "36"), ("42.3", "16.0", "36.5")])
def test_medians_that_may_be_interpolated_in_bands_are_asked_about(
    tmp_path: Path, medians: tuple[str, ...]
) -> None:
    """The middle of a band of 22 years that half of a place is below may be of nobody there."""
    counts = ["Ash,40,6,14,12,8", "Cedar,52,30,12,6,4", "Dale,47,8,21,12,6"]
    rows = [f"{own},{median}" for own, median in zip(counts, medians, strict=True)]
    path = sheet(tmp_path, [f"{BANDS},Median age", *rows])
    said = drafted(path, code=2)
    assert "'Median age': a median of age by its header" in said
    drafted(path, "--statistic", "Median age=median age 0..110")
    assert mapped(path) == {"Median age": {"table": "MEDIAN_AGE", "of": "Patients"}}
    said = drafted(path, "--statistic", "Median age=median age 0..50", code=2)
    assert "50 is below the categories of age: 0-17, 18-39, 40-64, 65+" in said


def test_a_median_of_something_else_is_not_taken_for_one_of_ages(tmp_path: Path) -> None:
    rows = [f"{BANDS},Median stay"]
    rows += ["Ash,40,6,14,12,8,42.5", "Birch,31,5,6,11,9,55.5", "Cedar,52,30,12,6,4,16.5"]
    path = sheet(tmp_path, rows)
    assert "'Median stay' of ward.csv seems to be a median" in drafted(path)
    assert not mapped(path)


MEANS = [f"{BANDS},Mean age"]
MEANS += ["Ash,40,6,14,12,8,41.3", "Birch,31,*,*,20,9,55.9", "Cedar,52,30,12,6,4,21.5"]


def test_a_mean_of_bands_is_asked_about(tmp_path: Path) -> None:
    path = sheet(tmp_path, MEANS)
    said = drafted(path, "--below", "3", "--complementary", code=2)
    assert "'Mean age': a mean of age by its header, of which groups alone are counted" in said
    assert "--statistic 'Mean age=mean age 0..110'" in said
    assert "--leave-out 'Mean age'" in said
    drafted(path, "--below", "3", "--statistic", "Mean age=mean age 0..99")
    assert mapped(path) == {"Mean age": {"table": "MEAN_AGE", "of": "Patients"}}
    release = load_release(str(tmp_path / "ward.yaml"))
    assert release.features[0].name == "single_age"
    assert len(release.features[0].values) == 100
    assert release.histogram == ("age",)


def test_a_mean_that_no_ages_of_the_bands_have_is_refused(tmp_path: Path) -> None:
    path = sheet(tmp_path, [*MEANS, "Dale,47,8,21,12,6,12.5"])
    said = drafted(path, "--statistic", "Mean age=mean age 0..99", code=2)
    assert "--statistic Mean age: 12.5 is no mean of 0-17: 8, 18-39: 21" in said


# --- of values that nobody counts ---------------------------------------------------------------

WARDS = ["Ward,All,Women,Men,Women with HIV,Other women,Women with HIV: mean age"]
WARDS += ["W5,40,20,20,*,*,34.67", "W6,44,24,20,6,18,40.5", "W7,43,23,20,9,14,*"]
WARDS += ["W8,45,21,24,8,13,38.12"]


def test_of_values_that_nobody_counts_nothing_is_used_until_it_is_said(tmp_path: Path) -> None:
    path = sheet(tmp_path, WARDS)
    said = drafted(path, "--below", "5", "--complementary", "--yes")
    assert not mapped(path)
    assert "'Women with HIV: mean age' of ward.csv seems to be a mean" in said
    assert "say what they are of by --statistic" in said
    flags = ["--below", "5", "--complementary", "--yes"]
    what = "Women with HIV: mean age=mean age"
    assert "say its least and greatest value" in drafted(path, "--statistic", what, code=2)
    drafted(path, *flags, "--statistic", f"{what} 18..99 of Women with HIV")
    assert mapped(path)["Women with HIV: mean age"]["of"] == "Women with HIV"
    found = audited(path)
    ends = found.select("least", "greatest", "least_without", "greatest_without").rows()
    # 34.67 is a mean of three, six, nine, … whole numbers, up to 18 of 20.
    assert sorted(ends) == [(2, 17, 1, 19), (3, 18, 1, 19)]
    law = (tmp_path / "w.protection.yaml").read_text("utf-8")
    assert "law: withheld" in law


def test_whole_numbers_headed_as_a_median_are_asked_about(tmp_path: Path) -> None:
    rows = ["Ward,All,Women,Men,Median pay", "A,40,20,20,34", "B,44,24,20,40", "C,43,23,20,39"]
    path = sheet(tmp_path, rows)
    said = drafted(path, code=2)
    assert "'Median pay' is in no relation to the counts: a median by its header" in said
    assert "--count 'Median pay'" in said
    drafted(path, "--leave-out", "Median pay")


def test_a_median_of_ages_that_nobody_counts_is_answered_by_a_flag(tmp_path: Path) -> None:
    rows = ["School,Total,Girls,Boys,Median age", "A,40,21,19,12", "B,55,25,30,13", "C,80,30,50,11"]
    path = sheet(tmp_path, rows)
    answer = "--statistic 'Median age=median age 0..110'"
    assert f"{answer} a median of whole ages from 0 to 110" in drafted(path, code=2)
    drafted(path, "--statistic", "Median age=median age 0..110")
    assert mapped(path) == {"Median age": {"table": "MEDIAN_AGE", "of": "Total"}}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("Mean age=about 30", "expected such as 'Mean age=mean age 0..110', found '30'"),
        ("Mean age=mean ward 0..9 of Men", "no column of counts is called so"),
        ("Mean pay=mean pay 0..9", "--statistic 'Mean pay': no column is called so"),
        ("Mean age=mean sex 0..9", "sex is a feature whose categories are no numbers"),
    ],
)
def test_what_is_said_of_a_statistic_must_fit(tmp_path: Path, said: str, message: str) -> None:
    rows = ["Ward,All,Girls,Boys,Mean age", "A,40,20,20,9.5", "B,45,24,21,8.25", "C,43,23,20,7.5"]
    assert message in drafted(sheet(tmp_path, rows), "--statistic", said, code=2)


TRUE = ["Ward,Households,Household size,,,,Mean size", ",,1,2,3,4,"]
TRUE += ["Ash,33,14,9,5,5,2.03", "Birch,27,11,3,9,4,2.22", "Cedar,42,15,12,9,6,2.14"]
TRUE += ["Dale,22,3,9,3,7,2.64", "Elm,36,12,13,6,5,2.11"]


def test_a_safe_copy_of_a_sheet_withholds_the_means_that_tell(tmp_path: Path) -> None:
    path, folder = sheet(tmp_path, TRUE), tmp_path / "safe"
    drafted(path)
    config = tmp_path / "w.yaml"
    recon("ingest", "-c", config, "--work", tmp_path / "work", "-q")
    recon("export", "-c", config, "--work", tmp_path / "work", "--suppressed", folder, "--below", 5)
    copy = folder / "ward.csv"
    means = [line.rpartition(",")[2] for line in copy.read_text("utf-8").splitlines()[2:]]
    assert means == ["2.03", "*", "2.14", "*", "2.11"]
    drafted(copy, "--below", "5", "--complementary", "--yes")
    assert set(audited(copy)["status"]) == {"safe"}


# --- offices ------------------------------------------------------------------------------------


@needs_shared
def test_the_median_of_an_office_is_drafted(tmp_path: Path) -> None:
    path = tmp_path / "drug_referrals.xlsx"
    path.write_bytes((SHARED / "cases" / "offices" / "offices" / path.name).read_bytes())
    said = drafted(path, "--below", "5", "--complementary")
    assert "not used" not in said
    assert mapped(path)["All ages: Median age"]["table"] == "MEDIAN_AGE"
    found = audited(path)
    assert found["status"].value_counts().sort("status").rows() == [
        ("narrowed", 12),
        ("recovered", 61),
        ("safe", 4),
    ]


# --- how numbers agree --------------------------------------------------------------------------


def scale(*keys: str) -> Scale:
    found = Scale.of("size", keys)
    assert found is not None
    return found


@pytest.mark.parametrize("definition", ["middle", "low", "high"])
def test_enough_medians_tell_how_they_are_defined(definition: str) -> None:
    rows = []
    for low, high in ((1, 2), (1, 4), (2, 3)):
        counts = tuple(3 * (value in {low, high}) for value in range(1, 5))
        value = {"low": low, "high": high}.get(definition, (low + high) / 2)
        rows.append(Observed(f"{value:g}", counts))
    found = agreement("median", scale("1", "2", "3", "4"), rows)
    assert found.definition == definition
    assert agreement("median", scale("1", "2", "3", "4"), rows[:2]).definition == "any"


def test_every_statistic_agrees_with_the_people_that_it_is_of() -> None:
    of = scale("1", "2", "3")
    for counts in itertools.product(range(4), repeat=3):
        people = [v for v, n in enumerate(counts, start=1) for _ in range(n)]
        if not people:
            continue
        texts = {
            "mean": printed_mean(counts),
            "median": f"{(people[(len(people) - 1) // 2] + people[len(people) // 2]) / 2:g}",
            "minimum": str(people[0]),
            "maximum": str(people[-1]),
        }
        for kind in ("mean", "median", "minimum", "maximum"):
            assert agreement(kind, of, [Observed(texts[kind], counts)]).broken is None
            if kind != "median":
                wrong = Observed(f"{float(texts[kind]) + 0.5:.2f}", counts)
                assert agreement(kind, of, [wrong]).broken == wrong
