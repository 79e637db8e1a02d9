"""Places with names and no codes: drafted geoids, and a run from an office's table to its audit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from recon_cli.capabilities.ingest.options import Mapping
from recon_cli.capabilities.init.places import draft_geoids
from recon_cli.capabilities.init.survey import Survey, rounding_base
from recon_cli.cli import main
from recon_cli.errors import SourceError

TABLE = """\
School,Year 1 girls,Year 1 boys,Year 2 girls,Year 2 boys,Total
Ashby,*,*,0,14,17
St Birch,5,5,*,0,11
Cedar,0,0,5,9,14
Elm,9,4,<3,5,20
"""


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["A", "A1", "A101", "A102"], None),
        (["E01", "E02", "W01"], None),
        (["01", "02", "12"], None),
        (["1", "12", "13"], None),  # every place of one digit has parts
        (["1", "12", "13", "2"], {"1": "A1", "12": "A2", "13": "A3", "2": "A4"}),
        (["Ashby", "Elm"], {"Ashby": "A1", "Elm": "A2"}),
        (["All schools", "Ashby", "Elm"], {"All schools": "A", "Ashby": "A1", "Elm": "A2"}),
        (["All", "Ash", "Elm"], {"All": "A", "Ash": "A1", "Elm": "A2"}),
        (["North", "South"], None),  # of one length: they can be geoids
        (["North-East", "South"], {"North-East": "A1", "South": "A2"}),
    ],
)
def test_names_are_numbered_and_codes_kept(
    places: list[str], expected: dict[str, str] | None
) -> None:
    assert draft_geoids(pl.Series("geoid", places), said=False) == expected


def test_codes_of_any_form_are_kept_where_the_header_says_so() -> None:
    codes = pl.Series("geoid", ["1", "2", "BK01", "QN0102"])
    assert draft_geoids(codes, said=True) is None
    assert draft_geoids(codes, said=False) is not None
    assert draft_geoids(pl.Series("geoid", ["Ashby", "Elm"]), said=True) is not None


def test_an_offices_table_with_names_and_stars_is_audited_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schools.csv").write_text(TABLE, encoding="utf-8")
    done = CliRunner().invoke(main, ["init", "schools.csv"])
    assert done.exit_code == 0, done.output
    assert "protection.yaml" in done.output
    done = CliRunner().invoke(main, ["run", "--until", "audit"])
    assert done.exit_code == 0, done.output
    audit = pl.read_parquet("work/schools/audit/**/*.parquet")
    # Names in the file's order: Ashby A1, Cedar A2, Elm A3, St Birch A4 (sorted).
    found = {
        (geoid, cell): (least, greatest, status)
        for geoid, cell, least, greatest, status in audit.select(
            "geoid", "cell", "least", "greatest", "status"
        ).rows()
    }
    assert found == {
        ("A1", 1): (0, 3, "safe"),
        ("A1", 2): (0, 3, "safe"),
        ("A3", 3): (2, 2, "recovered"),
        ("A4", 3): (1, 1, "recovered"),
    }


ROUNDED = """\
Practice,Total,Male 0-15,Male 16-64,Male 65+,Female 0-15,Female 16-64,Female 65+
Ash,140,40,15,20,35,*,30
Birch,90,15,*,10,5,25,30
Cedar,130,15,25,35,5,35,15
Elm,130,10,*,10,40,40,30
"""


def test_counts_that_look_rounded_are_drafted_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("practices.csv").write_text(ROUNDED, encoding="utf-8")
    done = CliRunner().invoke(main, ["init", "practices.csv"])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "whether counts are rounded: all are multiples of 5" in said
    assert "whether 'Male 0-15' is 'Male' with '0-15'" in said
    draft = Path("recon.protection.yaml").read_text(encoding="utf-8")
    assert "- {markers: ['*'], law: {suppressed: {flagged: may-be-zero}}}" in draft
    assert "- {law: {rounded: {base: 5}}}" in draft
    schema = Path("practices.yaml").read_text(encoding="utf-8")
    assert "age: {categories: [0-15, 16-64, 65+]}" in schema
    assert "      - total\n      - {by: sex, cells: [{by: age}]}\n" in schema
    done = CliRunner().invoke(main, ["run", "--until", "audit"])
    assert done.exit_code == 0, done.output
    audit = pl.read_parquet("work/practices/audit/**/*.parquet")
    assert set(audit["status"]) == {"safe"}


TIDY_SCHEMA = """\
release: wards
title: Wards
features: {sex: {categories: [women, men]}}
geography: {levels: [{level: ward, digits: 3}], partition: ward}
microdata: [sex]
histogram: [sex]
families:
  - {levels: [ward], cells: [total, {by: sex}], tables: {T: {}}}
"""


@pytest.mark.parametrize(
    ("counts", "law"),
    [
        ((9, "*", "*"), "  - {law: {suppressed: {flagged: may-be-zero}}}"),
        ((10**6, 10**5, 9 * 10**5), "  - {law: {rounded: {base: 100000}}}"),
    ],
)
def test_tidy_files_with_protected_counts_are_drafted_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: tuple[object, ...], law: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.schema.yaml").write_text(TIDY_SCHEMA)
    rows = "".join(f"A10,T,{cell},{count}\n" for cell, count in enumerate(counts, start=1))
    Path("wards.csv").write_text(f"geoid,table,cell,count\n{rows}")
    arguments = ["init", "wards.csv", "--release", "wards.schema.yaml"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert law in Path("recon.protection.yaml").read_text().splitlines()
    assert CliRunner().invoke(main, ["run", "--until", "audit"]).exit_code == 0
    # A law that is there already stays, and is the one that is used.
    Path("recon.protection.yaml").rename("protection.yaml")
    done = CliRunner().invoke(main, [*arguments, "--force"])
    assert done.exit_code == 0, done.output
    assert "protection.yaml, as it is there" in done.output
    assert "not told" not in done.output
    assert not Path("recon.protection.yaml").exists()
    assert CliRunner().invoke(main, ["run", "--until", "audit"]).exit_code == 0


def test_a_tidy_file_with_other_texts_is_refused_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.schema.yaml").write_text(TIDY_SCHEMA)
    Path("wards.csv").write_text("geoid,table,cell,count\nA10,T,1,9\nA10,T,2,many\n")
    done = CliRunner().invoke(main, ["init", "wards.csv", "--release", "wards.schema.yaml"])
    assert done.exit_code == SourceError.exit_code
    assert "line 3: geoid A10, table T, cell 2: expected a whole number" in done.output


@pytest.mark.parametrize(
    ("positive", "divisor", "base"),
    [(48, 5, 5), (8, 5, None), (9, 5, 5), (20, 2, 2), (19, 2, None), (500, 1, None), (0, 0, None)],
)
def test_few_multiples_may_be_chance(positive: int, divisor: int, base: int | None) -> None:
    found = Survey(pl.Series(["A1"]), 1, {}, {}, positive=positive, divisor=divisor)
    assert rounding_base([found]) == base
    exact = Survey(pl.Series(["A1"]), 1, {}, {}, positive=3, divisor=1)
    assert rounding_base([found, exact]) is None


def test_two_names_cannot_have_one_geoid() -> None:
    with pytest.raises(ValueError, match="'Elm' and 'Ashby' cannot both be 'A1'"):
        Mapping(geoids={"Ashby": "A1", "Elm": "A1"})
    with pytest.raises(ValueError, match="letters and digits only"):
        Mapping(geoids={"Ashby": "A-1"})
