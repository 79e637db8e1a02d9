"""Places with names and no codes: drafted geoids, and a run from an office's table to its audit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from recon_cli.cli import main
from recon_cli.config.mapping import Mapping
from recon_cli.scaffold.places import draft_geoids

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


def test_two_names_cannot_have_one_geoid() -> None:
    with pytest.raises(ValueError, match="'Elm' and 'Ashby' cannot both be 'A1'"):
        Mapping(geoids={"Ashby": "A1", "Elm": "A1"})
    with pytest.raises(ValueError, match="letters and digits only"):
        Mapping(geoids={"Ashby": "A-1"})
