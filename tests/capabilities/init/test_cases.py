"""Files of others, each a sample of a kind: read as they are meant, or asked about, then right."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from tests.support.command_line import recon
from tests.support.paths import ROOT

CASES: Final = ROOT.parent / "shared" / "cases"
FILES: Final = CASES / "files"
OFFICES: Final = CASES / "offices"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not here")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def audited(path: Path, *flags: str, law: str = "", release: Path | None = None) -> pl.DataFrame:
    """The audit of a case's file, drafted with some flags, under a law that its README tells."""
    shutil.copy(path, ".")
    if release is not None:
        shutil.copy(release, ".")
        flags = (*flags, "--release", release.name)
    recon("init", path.name, *flags)
    if law:
        Path("recon.protection.yaml").write_text(f"statements:\n{law}")
    recon("ingest", "-q")
    recon("audit", "-q")
    return pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)


def ends(audit: pl.DataFrame) -> list[tuple[int, int]]:
    return sorted(audit.select("least", "greatest").rows())


BELOW_THREE = "- {law: {suppressed: {below: 3}}}"
TOTALS = ("--total", "T", "--total", "TOTAL")


def test_stars_in_every_row_follow_from_the_total() -> None:
    path = FILES / "02-three-singletons" / "table.csv"
    asked = recon("init", path, code=2).stderr
    assert "--total Total" in asked
    found = audited(path, "--place", "var1", "--total", "Total", law=BELOW_THREE)
    assert ends(found) == [(1, 1)] * 5 + [(2, 2)] * 2


def test_an_export_with_words_for_what_is_withheld_and_footers() -> None:
    path = FILES / "05-cdc-wonder" / "wonder.tsv"
    asked = recon("init", path, code=2).stderr
    assert "--count Deaths" in asked
    law = "- {markers: [Suppressed], law: {suppressed: {below: 10}}}"
    found = audited(path, "--place", "County", "--count", "Deaths", "--total", "", law=law)
    assert ends(found) == [(1, 5)] * 2 + [(2, 9)] * 2 + [(7, 7), (10, 21), (36, 47)]


def test_what_is_redacted_and_then_rounded() -> None:
    law = (
        "- {markers: ['[REDACTED]'], law: {suppressed: {below: 8}}}\n"
        "- {law: {rounded: {base: 5, how: nearest}}}"
    )
    found = audited(FILES / "06-redact-then-round" / "counts.csv", law=law)
    assert (6, 7) in ends(found)


def test_places_of_two_kinds_are_not_counted_twice_in_silence() -> None:
    path = FILES / "07-nomis-nearest-5" / "claimants.csv"
    asked = recon("init", path, code=2, width=200).stderr
    assert "'local authorities: district' (2)" in asked
    assert "--where 'GEOGRAPHY_TYPE=local authorities: district'" in asked
    shutil.copy(path, ".")
    recon("init", path.name, "--where", "GEOGRAPHY_TYPE=local authorities: district")
    assert "2" in recon("ingest").stdout.split("places")[1].split()[0]


def test_what_a_program_writes_for_nothing_is_withheld() -> None:
    law = "- {markers: [NaN], law: {suppressed: {below: 10, flagged: may-be-zero}}}"
    assert ends(audited(FILES / "08-acro-margins" / "nan.csv", law=law)) == [(0, 0)] * 3 + [(2, 2)]


@pytest.mark.parametrize(
    ("name", "law"),
    [
        (
            "cases.csv",
            "- {markers: ['-99'], law: {suppressed: {below: 3, flagged: may-be-zero}}}",
        ),
        ("cases_range.csv", ""),
    ],
)
def test_codes_and_printed_intervals_have_laws(name: str, law: str) -> None:
    weeks = ("--apart", "wk_22", "--apart", "wk_23")
    places = ("--place", "MSOA_CD", "--parent", "LTLA_CD")
    found = audited(FILES / "01-msoa-minus99" / name, *places, *weeks, law=law)
    assert ends(found) == [(0, 2)] * 5


def test_a_flat_file_of_many_columns_of_words() -> None:
    path = FILES / "11-genesis-ffcsv" / "22111-01_flat.csv"
    found = audited(path, "--place", "1_variable_attribute_code", "--total", "09")
    assert ends(found) == [(0, 0)] * 4 + [(2, 2), (7, 7)]


@pytest.mark.parametrize("name", ["both", "both2", "name", "name2"])
def test_codes_with_their_labels(name: str) -> None:
    folder = FILES / "20-sdmx-labels-name"
    found = audited(folder / f"{name}.csv", release=folder / "town.yaml")
    recovered = found.filter(pl.col("status") == "recovered")
    assert recovered.select("geoid", "cell", "least").rows() == [("A101", 5, 3), ("A101", 7, 12)]


def test_answers_about_a_known_format_are_taken() -> None:
    path = FILES / "23-eurostat-two-flags" / "e.tsv"
    shutil.copy(path, ".")
    assert "--total T" in recon("init", path.name, code=2).stderr
    assert "'T' is everybody" in recon("init", path.name, *TOTALS).stdout


def test_percentages_beside_stars_give_them_back() -> None:
    assert ends(audited(OFFICES / "percent_headers" / "pct.csv")) == [
        (2, 2),
        (3, 3),
        (37, 37),
        (53, 53),
    ]


def test_one_star_does_not_hide_what_a_place_is_part_of() -> None:
    path = OFFICES / "long_levels" / "L5.csv"
    assert "--total England" in recon("init", path, code=2).stderr
    assert ends(audited(path, "--total", "England")) == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("name", ["e3", "e4", "e6", "e7", "e8"])
def test_ages_of_persons_males_and_females_are_two_features(name: str) -> None:
    shutil.copy(OFFICES / "init_crash" / f"{name}.csv", ".")
    recon("init", f"{name}.csv")
    recon("ingest", "-q")
    recon("reconstruct", "-q")


@pytest.mark.parametrize("name", ["n1", "n2", "n3", "n4"])
def test_units_below_a_heading_tell_counts_from_percentages(name: str) -> None:
    shutil.copy(OFFICES / "percent_headers" / f"{name}.csv", ".")
    shown = " ".join(recon("init", f"{name}.csv", width=200).stdout.split())
    assert "Under 25" in shown
    assert "is age 0-24" in shown
    recon("ingest", "-q")


@pytest.mark.parametrize("name", ["i4", "i6", "i7", "mean"])
def test_incomes_ages_and_teachers_are_asked_about(name: str) -> None:
    asked = recon("init", OFFICES / "percent_headers" / f"{name}.csv", code=2).stderr
    assert "--leave-out" in asked or "--total" in asked


@pytest.mark.parametrize(
    "name",
    [
        "census_ethnic_age_sex_sa2.csv",
        "drug_referrals.xlsx",
        "hiv_county_table12.xlsx",
        "padron_2024.csv",
    ],
)
def test_layouts_of_offices_are_read_without_an_answer(name: str) -> None:
    shutil.copy(OFFICES / "offices" / name, ".")
    recon("init", name)
    recon("ingest", "-q")
    recon("reconstruct", "-q")
