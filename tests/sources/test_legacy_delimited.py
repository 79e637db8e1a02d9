"""State files since 2020, and redistricting data of 2010: real samples, round trips, refusals."""

from __future__ import annotations

import csv
import gzip
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

from recon_cli.capabilities.ingest.options import SourceFormat
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.capabilities.init.state_header import summarise
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.tabulate.legacy_writer import write_legacy
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import COUNTS
from recon_cli.publication import GeounitBatch, Publication, describe_geounits
from recon_cli.schema import Release, load_release, packaged_releases
from recon_cli.sources.legacy import PRODUCTS, LegacySource, legacy_layout, open_legacy
from recon_cli.verification import verify
from tests.support.command_line import recon
from tests.support.paths import DATA, needs_shared

SOURCES = DATA / "sources"
PL_SAMPLE = SOURCES / "pl2020_ri2018_prototype"
DHC_SAMPLE = SOURCES / "dhc2020_syracuse_blocks"
PPMF = SOURCES / "ppmf_2010_perry_al"
#: Tables in the segments that the DHC sample has.
DHC_TABLES = ("P1", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P12A")
RELEASES = ("pl_2020", "pl_2010", "dhc_2020")
GEO, SEGMENT = "rigeo2020.pl", "ri000012020.pl"

Counts = dict[tuple[str, str, int], int]


def read(source: LegacySource) -> GeounitBatch:
    batches = list(source.batches())
    return GeounitBatch(
        pl.concat([batch.geounits for batch in batches]),
        pl.concat([batch.counts for batch in batches]),
    )


def as_dict(counts: pl.DataFrame) -> Counts:
    return {(geoid, table, cell): count for geoid, table, cell, count in counts.iter_rows()}


def by_hand(folder: Path, release: Release, levels: set[str]) -> tuple[list[str], Counts]:
    """Geounits and counts of a folder of members, line by line with the csv module."""
    units = dict(_by_hand(folder, release, levels))
    return list(units), {key: count for counts in units.values() for key, count in counts.items()}


def _by_hand(folder: Path, release: Release, levels: set[str]) -> Iterator[tuple[str, Counts]]:
    names = sorted(path for path in folder.iterdir() if path.is_file())
    (layout,) = release.layouts.values()
    rows: dict[int, dict[int, list[str]]] = {}
    for path in names:
        if "geo" not in path.name:
            lines = csv.reader(path.read_text().splitlines(), delimiter="|")
            rows[int(path.name[2:7])] = {int(line[4]): line for line in lines}
    (header,) = (path for path in names if "geo" in path.name)
    for line in csv.reader(header.read_text().splitlines(), delimiter="|"):
        if line[2] not in levels or line[4] != "00":
            continue
        counts = {
            (line[9], name, number): int(rows[segment][int(line[7])][first + number - 1])
            for segment, form in layout["segments"].items()
            if segment in rows
            for name, first in form["tables"].items()
            for number in range(1, len(release.table_by_name[name].cells) + 1)
        }
        yield line[9], {key: count for key, count in counts.items() if count}


def publication(release: Release, source: LegacySource) -> Publication:
    batch = read(source)
    geounits = describe_geounits(release, source.coverage, batch)
    return Publication.of(release, geounits, batch.counts, source.coverage)


@needs_shared
def test_four_tracts_are_read_reconstructed_and_verified() -> None:
    release = load_release("pl_2020")
    source = open_legacy(release, [PL_SAMPLE])
    published = publication(release, source)
    geoids, counts = by_hand(PL_SAMPLE, release, {"750", "150", "140"})
    assert sorted(published.geounits["geoid"]) == sorted(geoids)
    assert len(geoids) == 387 + 16 + 4
    assert as_dict(published.counts) == counts
    assert published.geounits.filter(level="block")["population"].sum() == 16_612
    made = reconstruct(release, published, release.tables, seed=1)
    verification = verify(release, published, made.microdata, release.tables)
    assert verification.ok
    assert verification.cells_compared == 407 * 298


@needs_shared
def test_microdata_of_the_demonstration_have_their_published_tables() -> None:
    release = load_release("pl_2020")
    race, kinds = (release.features[release.feature_index[n]] for n in ("race", "group_quarters"))
    with gzip.open(PPMF / "ppmf_20210428_eps12-2_P_01105.csv.gz", "rt") as file:
        people = list(csv.DictReader(file))
    records = pl.DataFrame(
        {
            "geoid_block": [
                p["TABBLKST"] + p["TABBLKCOU"] + p["TABTRACT"] + p["TABBLK"] for p in people
            ],
            "age": [{"1": 17, "2": 18}[p["VOTING_AGE"]] for p in people],
            "race": [race.values[int(p["CENRACE"]) - 1] for p in people],
            "hispanic": [p["CENHISP"] == "2" for p in people],
            "group_quarters": [kinds.values[int(p["GQTYPE_PL"])] for p in people],
        },
        schema_overrides={"age": pl.Int16, "race": pl.Int16},
    )
    with gzip.open(PPMF / "pl_counts_tidy.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    expected = {(r["geoid"], r["table"], int(r["cell"])): int(r["count"]) for r in rows}
    assert len(expected) == 9_620
    assert as_dict(tabulate(release, records)) == expected


@needs_shared
def test_blocks_of_the_dhc_are_read_from_the_segments_that_are_there(tmp_path: Path) -> None:
    release = load_release("dhc_2020")
    with pytest.raises(SourceError, match=r"ny00001….dhc \(segment 1, tables H8\), found none"):
        open_legacy(release, [DHC_SAMPLE])
    source = open_legacy(release, [DHC_SAMPLE], tables=DHC_TABLES)
    batch = read(source)
    geoids, counts = by_hand(DHC_SAMPLE, release, {"100"})
    assert batch.geounits["geoid"].to_list() == geoids
    assert as_dict(batch.counts) == counts
    assert counts["360670001001003", "P1", 1] == 11
    assert {table for pattern in source.coverage for table in pattern.cells} == set(DHC_TABLES)
    zipped = shutil.make_archive(str(tmp_path / "ny2020.dhc"), "zip", DHC_SAMPLE)
    again = read(open_legacy(release, [Path(zipped)], tables=DHC_TABLES))
    assert again.counts.equals(batch.counts)


@needs_shared
def test_a_cell_that_is_not_shown_is_not_published(tmp_path: Path) -> None:
    release = load_release("dhc_2020")
    for path in DHC_SAMPLE.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    member = tmp_path / "ny000052020.dhc"
    lines = [line.split("|") for line in member.read_text().splitlines()]
    for row, columns in {0: [10, 11], 2: range(10, 18), 3: [11, 10]}.items():
        for column in columns:
            lines[row][column] = "."
    member.write_text("".join("|".join(line) + "\n" for line in lines))
    source = open_legacy(release, [tmp_path], tables=DHC_TABLES)
    batch = read(source)
    first, second, third, fourth = (source.coverage[at] for at in batch.geounits["pattern"])
    assert second == source.coverage[0]
    assert first == fourth
    assert first.cells["P3"] == (3, 4, 5, 6, 7, 8)
    assert "P3" not in third.cells
    assert {**third.cells, "P3": second.cells["P3"]} == second.cells
    assert "P3" not in batch.counts.filter(geoid="360670001001003")["table"]
    assert len(source.coverage) == 5


def invented(release: Release, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Geounits and arbitrary counts of two tracts of Rhode Island."""
    rng = random.Random(seed)  # noqa: S311 - test data
    blocks = [
        f"44001{tract}{number}" for tract in ("000100", "020200") for number in range(1000, 1004)
    ]
    geoids = sorted({block[:digits] for block in blocks for digits in (11, 12, 15)})
    levels = release.geography.by_digits
    counts = [
        (geoid, table.name, cell.number, rng.choice([1, 9, 10, 4321]))
        for geoid in geoids
        for table in release.tables
        for cell in table.cells
        if rng.random() < 0.1
    ]
    geounits = pl.DataFrame({"geoid": geoids, "level": [levels[len(g)].name for g in geoids]})
    return geounits, pl.DataFrame(counts, schema=COUNTS, orient="row")


@pytest.mark.parametrize("name", RELEASES)
def test_written_counts_are_read_back(name: str, tmp_path: Path) -> None:
    release = load_release(name)
    geounits, counts = invented(release, 1)
    path = write_legacy(release, geounits, counts, tmp_path)
    year, layout = name[-4:], legacy_layout(release)
    assert path.name == f"ri{year}.{layout.suffix}.zip"
    for chunk in (2, 20_000):
        batch = read(open_legacy(release, [path], chunk_records=chunk))
        found = batch.geounits.select("geoid", "level").sort("geoid")
        assert found.equals(geounits.sort("geoid"))
        assert as_dict(batch.counts) == as_dict(counts)
    bytes_before = path.read_bytes()
    assert write_legacy(release, geounits, counts, tmp_path).read_bytes() == bytes_before


def test_a_written_header_has_97_columns_and_the_geoid_in_its_parts(tmp_path: Path) -> None:
    release = load_release("pl_2020")
    with zipfile.ZipFile(write_legacy(release, *invented(release, 1), tmp_path)) as archive:
        lines = [line.split("|") for line in archive.read(GEO).decode().splitlines()]
    assert {len(line) for line in lines} == {97}
    assert lines[2][:11] == [
        *["PLST", "RI", "750", "00", "00", "000", "00", "0000003"],
        *["7500000US440010001001000", "440010001001000", ""],
    ]
    assert [lines[2][at] for at in (12, 14, 32, 33, 34, 87)] == [
        *["44", "001", "000100", "1", "1000", "Block 1000"]
    ]
    assert [line[87] for line in lines[:2]] == ["Census Tract 1", "Block Group 1"]


@pytest.mark.parametrize("name", RELEASES)
def test_files_of_another_census_are_refused(name: str, tmp_path: Path) -> None:
    """The two kinds of redistricting files differ in form only, and DHC files in their names."""
    release = load_release(name)
    path = write_legacy(release, *invented(release, 2), tmp_path)
    for other in set(RELEASES) - {name}:
        with pytest.raises(SourceError, match=r"expected a header of|no geography member"):
            open_legacy(load_release(other), [path])
    with pytest.raises(ConfigError, match="has no sf1-legacy layout"):
        open_legacy(release, [path], layout="sf1-legacy")


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str, Callable[[bytes], bytes]], LegacySource]:
    """Written files after a change of one member."""
    release = load_release("pl_2020")
    path = write_legacy(release, *invented(release, 3), tmp_path)
    folder = tmp_path / "members"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)

    def change(name: str, by: Callable[[bytes], bytes]) -> LegacySource:
        before = (folder / name).read_bytes()
        after = by(before)
        assert after != before
        (folder / name).write_bytes(after)
        return open_legacy(release, [folder])

    return change


Changed = Callable[[str, Callable[[bytes], bytes]], LegacySource]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (GEO, b"|440010001001000|", b"|44001000100100|", r"line 3.*15 digits in GEOCODE"),
        (GEO, b"|440010001001000|", b"|44001000100100X|", r"column 10\), found '44001000100100X'"),
        (GEO, b"|0000003|", b"|x|", "line 3: expected a LOGRECNO of digits, found 'x'"),
        (GEO, b"|0000003|", b"|2|", "line 3: LOGRECNO 0000002 occurs twice"),
        (GEO, b"|Block 1000|", b"|Block|1000|", "line 3: expected 97 columns, found 98"),
        (SEGMENT, b"PLST|RI|000|01|0000003|", b"PLST|RI|000|01|3|-", "found '-"),
        (SEGMENT, b"PLST|RI|000|01|0000003|", b"PLST|RI|000|01|", "expected 149 columns"),
        (SEGMENT, b"PLST|RI|000|01|0000001|", b"PLST|RI|000|03|0000001|", "CIFSN. 01, found '03'"),
    ],
)
def test_what_is_wrong_is_named(
    changed: Changed, name: str, old: bytes, new: bytes, message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        read(changed(name, lambda data: data.replace(old, new, 1)))


def test_record_numbers_need_no_zeros_and_names_no_encoding(changed: Changed) -> None:
    expected = as_dict(invented(load_release("pl_2020"), 3)[1])
    source = changed(GEO, lambda data: data.replace(b"|000000", b"|"))
    assert as_dict(read(source).counts) == expected
    source = changed(GEO, lambda data: data.replace(b"Block 1000", "Cañon".encode("latin-1")))
    assert as_dict(read(source).counts) == expected
    source = changed(GEO, lambda data: data.replace(b"\n", b"\r\n"))
    assert as_dict(read(source).counts) == expected


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_the_name_of_a_state_in_either_encoding(encoding: str, tmp_path: Path) -> None:
    release = load_release("pl_2020")
    path = write_legacy(release, *invented(release, 3), tmp_path)
    folder = tmp_path / "members"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    first, *rest = (folder / GEO).read_text().splitlines()
    columns = first.split("|")
    columns[2], columns[87], columns[90] = "040", "Hagåtña", "1234"
    (folder / GEO).write_bytes("\n".join(["|".join(columns), *rest, ""]).encode(encoding))
    about = summarise(folder, legacy_layout(release))
    assert (about.postal, about.name, about.people) == ("RI", "Hagåtña", 1234)


@pytest.mark.parametrize("name", RELEASES)
def test_a_synthetic_population_is_tabulated_and_verified(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release = load_release(name)
    recon(
        "data", "synth", "--set", f"release={name}", "--set", "work=w", "--set", "synth.people=800"
    )
    recon("data", "tabulate", "w/persons", "--to", "all.zip", "--set", f"release={name}")
    published = publication(release, open_legacy(release, [Path("all.zip")]))
    persons = pl.read_parquet("w/persons/**/*.parquet", hive_partitioning=False)
    assert ("group_quarters" in persons.columns) == ("group_quarters" in release.feature_index)
    verification = verify(release, published, persons, release.tables)
    assert verification.ok
    assert published.counts["table"].n_unique() > len(release.tables) // 2


def test_every_legacy_layout_can_be_a_source() -> None:
    packaged = {name for each in packaged_releases() for name in load_release(each).layouts}
    assert set(PRODUCTS) == packaged
    assert set(PRODUCTS) == {each for each in get_args(SourceFormat) if each.endswith("-legacy")}


@pytest.mark.parametrize("name", RELEASES)
def test_init_recognises_them_zipped_or_not(name: str, tmp_path: Path) -> None:
    release = load_release(name)
    path = write_legacy(release, *invented(release, 4), tmp_path)
    folder = tmp_path / "members"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    for each in (path, folder):
        found = recognise([each])
        assert (found.source, found.release) == (legacy_layout(release).name, name)
        assert found.about[0].startswith("Rhode Island, in part: ")
