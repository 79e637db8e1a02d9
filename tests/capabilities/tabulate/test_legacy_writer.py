"""The writer of census files: their header, and every refusal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.tabulate.legacy_writer import write_legacy
from recon_cli.errors import SourceError
from recon_cli.frames import COUNTS
from recon_cli.schema import Release, load_release
from tests.support.legacy_files import KEY, invented, read, unpack


@pytest.fixture(scope="module")
def release() -> Release:
    return load_release("sf1_2010")


def test_same_counts_same_bytes(release: Release, tmp_path: Path) -> None:
    geounits, counts = invented(release)
    first = write_legacy(release, geounits, counts, tmp_path / "first.zip")
    shuffled = geounits.sample(fraction=1, shuffle=True, seed=3)
    again = write_legacy(release, shuffled, counts.reverse(), tmp_path)
    assert again.read_bytes() == first.read_bytes()


def test_header_fields(release: Release, tmp_path: Path) -> None:
    geounits, counts = invented(release)
    path = write_legacy(release, geounits, counts, tmp_path)
    lines = unpack(path)["algeo2010.sf1"].decode().splitlines()
    assert [len(line) for line in lines] == [500] * 13
    assert lines[0].startswith("SF1ST AL14000000  0000001  01001")
    assert [line[18:25] for line in lines] == [f"{i:07}" for i in range(1, 14)]
    assert lines[0][226:316].strip() == "Census Tract 1"
    assert lines[7][226:316].strip() == "Census Tract 202"
    assert lines[2][226:316].strip() == "Block 1000"
    people = counts.filter(pl.col("table") == "P1").select("geoid", "count").rows()
    blocks = {
        line[27:32] + line[54:60] + line[61:65]: line for line in lines if line[61:65].strip()
    }
    others = {line[27:32] + line[54:61].strip(): line for line in lines if not line[61:65].strip()}
    population = {geoid: int(line[318:327]) for geoid, line in {**blocks, **others}.items()}
    assert {geoid: n for geoid, n in population.items() if n} == dict(people)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (("01001000199", "P1", 1, 5), "not among the geounits"),
        (("01001000100", "P1", 2, 5), "is not published there"),
        (("010010001001000", "PCT12", 1, 5), "is not published there"),
        (("01001000100", "P1", 1, -5), "negative"),
    ],
)
def test_counts_that_have_no_place(
    release: Release, tmp_path: Path, count: tuple[str, str, int, int], message: str
) -> None:
    geounits, _ = invented(release)
    counts = pl.DataFrame([count], schema=COUNTS, orient="row")
    with pytest.raises(SourceError, match=message):
        write_legacy(release, geounits, counts, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ([("01001000100", "tract"), ("02001000100", "tract")], "found states 01, 02"),
        ([("99001000100", "tract")], "no state has FIPS code '99'"),
        ([("01001000100", "block")], "expected 15 digits"),
        ([("0100100010x", "tract")], "expected 11 digits"),
        ([("01001000100", "tract")] * 2, "is duplicated"),
        ([("01", "state")], "nothing to write"),
    ],
)
def test_geounits_that_are_no_state(
    release: Release, tmp_path: Path, units: list[tuple[str, str]], message: str
) -> None:
    geounits = pl.DataFrame(units, schema=["geoid", "level"], orient="row")
    with pytest.raises(SourceError, match=message):
        write_legacy(release, geounits, pl.DataFrame(schema=COUNTS), tmp_path)


def test_count_twice(release: Release, tmp_path: Path) -> None:
    geounits, _ = invented(release)
    counts = pl.DataFrame([("01001000100", "P1", 1, 5)] * 2, schema=COUNTS, orient="row")
    with pytest.raises(SourceError, match="table P1, cell 1 occurs twice"):
        write_legacy(release, geounits, counts, tmp_path)


def test_population_wider_than_its_field(release: Release, tmp_path: Path) -> None:
    geounits, _ = invented(release)
    counts = pl.DataFrame([("01001000100", "P1", 1, 10**9)], schema=COUNTS, orient="row")
    with pytest.raises(SourceError, match="'1000000000' does not fit into characters 319 to 327"):
        write_legacy(release, geounits, counts, tmp_path)
    assert not list(tmp_path.iterdir())


def test_levels_without_tables_are_not_written(release: Release, tmp_path: Path) -> None:
    geounits, counts = invented(release)
    county = pl.DataFrame([("01001", "county")], schema=["geoid", "level"], orient="row")
    more = pl.DataFrame([("01001", "P1", 1, 5)], schema=COUNTS, orient="row")
    path = write_legacy(release, pl.concat([geounits, county]), pl.concat([counts, more]), tmp_path)
    assert read(release, [path])[1].equals(counts.sort(KEY))
