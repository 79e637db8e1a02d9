"""Files that are damaged on purpose: a line that says what is wrong, soon and in little memory."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from recon_cli.errors import SourceError
from recon_cli.schema import Release, parse_release
from recon_cli.sources import FileMapping, open_tables, open_tidy
from recon_cli.sources.listing import read_geounit_list
from tests.support.layouts import LAYOUTS, SCHEMA, counts_of

BLOCK = "340210001001000"
ROWS = f"geoid,P99_001N,P99_002N\n{BLOCK},3,1\n340210001001001,2,2\n"


@pytest.fixture(scope="module")
def release() -> Release:
    return parse_release(SCHEMA, source="sexage.yaml")


def refusal(release: Release, source: str, path: Path) -> str:
    """What a file is refused with: one line that begins with its path."""
    started = time.process_time()
    with pytest.raises(SourceError) as refused:
        list(open_tables(release, source, [path], mapping=FileMapping()).batches())
    message = str(refused.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert time.process_time() - started < 20
    return message


def test_columns_of_one_name_that_have_a_role_are_refused(release: Release, tmp_path: Path) -> None:
    layout = LAYOUTS["sdmx_csv_1"](counts_of({BLOCK: [3, 0, 1, 12, 5, 0]}), tmp_path)
    (path,) = layout.paths
    header, *rows = path.read_text().splitlines()
    at = header.split(",").index("sex")
    path.write_text("\n".join(",".join(_twice(row.split(","), at)) for row in (header, *rows)))
    assert "row 1: 2 columns are named 'sex'" in refusal(release, layout.source, path)


def _twice(cells: list[str], at: int) -> list[str]:
    return [*cells[: at + 1], *cells[at:]]


def _members(path: Path, members: list[tuple[str, str]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members:
            archive.writestr(name, text)


def _patched(path: Path, change: Callable[[bytearray, int], None]) -> None:
    """A zip of one file, some of its bytes changed; those of its directory begin at ``at``."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("counts.csv", ROWS)
    data = bytearray(path.read_bytes())
    change(data, data.index(b"PK\x01\x02"))
    path.write_bytes(data)


def _wrong_checksum(data: bytearray, at: int) -> None:
    data[data.index(b"3402")] ^= 1


def _encrypted(data: bytearray, at: int) -> None:
    data[6] |= 1
    data[at + 8] |= 1


def _unknown_method(data: bytearray, at: int) -> None:
    data[8] = data[at + 10] = 99


def _declared_large(data: bytearray, at: int) -> None:
    data[at + 24 : at + 28] = b"\xff\xff\xff\x7f"


def _nameless(data: bytearray, at: int) -> None:
    data[at + 46 : at + 56] = bytes(10)


def _cut_off(data: bytearray, at: int) -> None:
    del data[at:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_wrong_checksum, "Bad CRC-32"),
        (_encrypted, "is encrypted"),
        (_unknown_method, "compression method is not supported"),
        (_declared_large, "64 bytes that unpack to 2,147,483,647|no table is packed so small"),
        (_nameless, "a member has no name"),
        (_cut_off, "not a zip file"),
    ],
)
def test_a_damaged_zip(
    change: Callable[[bytearray, int], None], message: str, release: Release, tmp_path: Path
) -> None:
    path = tmp_path / "counts.zip"
    _patched(path, change)
    assert any(each in refusal(release, "sheet", path) for each in message.split("|"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_of_too_many_files_or_two_of_one_name(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.zip"
    _members(path, [(f"{i}.csv", "") for i in range(70_000)])
    assert "a zip of 70,000 files, more than 1,000; unpack it" in refusal(release, "sheet", path)
    _members(path, [("a.csv", ROWS), ("a.csv", ROWS.replace(",3,", ",4,"))])
    assert "has two files 'a.csv'; which is meant?" in refusal(release, "sheet", path)


def test_a_workbook_that_would_fill_memory(release: Release, tmp_path: Path) -> None:
    (path,) = LAYOUTS["wide"](counts_of({BLOCK: [3, 0, 1, 12, 5, 0]}), tmp_path).paths
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet, *_ = (name for name in members if name.startswith("xl/worksheets/sheet"))
    far = '<row r="1048576"><c s="0" r="XFD1048576"><v>1</v></c></row></sheetData>'
    changed = members[sheet].replace("</sheetData>", far)
    _members(path, list({**members, sheet: changed}.items()))
    assert "larger than 5,000,000 cells" in refusal(release, "sheet", path)
    _members(path, list({**members, "xl/more.xml": " " * ((1 << 28) + 1)}.items()))
    assert "268,435,456 bytes unpacked" in refusal(release, "sheet", path)


def _api(number: str) -> str:
    return (
        '[["P99_001N","P99_002N","state","county","tract","block"],'
        f'[{number},0,"34","021","000100","1000"]]'
    )


@pytest.mark.parametrize(
    ("number", "count"),
    [("5.0", 5), ("5.000", 5), ("1e1", 10), ("-0", 0), ('"5"', 5), ('"5.0"', 5)],
)
def test_a_whole_number_of_json(number: str, count: int, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(_api(number))
    (batch,) = open_tables(release, "census-api", [path], mapping=FileMapping()).batches()
    assert batch.counts["count"].sum() == count


@pytest.mark.parametrize(
    "number",
    [
        *("1e400", "1E+999999999", "1e-400", "9007199254740993", "4.99999999999999999999"),
        *("NaN", "Infinity", "-1", "1.5", "true", "null", '"5.000"', '"NaN"'),
    ],
)
def test_a_number_of_json_that_is_no_count(number: str, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(_api(number))
    message = refusal(release, "census-api", path)
    assert "row 2, column P99_001N" in message
    assert "expected a whole number from 0 to 2147483647" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 200_000, "brackets too deep"),
        ('[{"a": 1, "a": 2}]', "but the key 'a' is there twice"),
        ("[[" + "9" * 5000 + "]]", "expected a column GEO_ID"),
        ('[["P99_001N"', "expected JSON"),
    ],
)
def test_json_that_is_no_table(text: str, message: str, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(f"[{text}]" if text.startswith("[{") else text)
    assert message in str(_api_refusal(release, path))


def _api_refusal(release: Release, path: Path) -> SourceError:
    with pytest.raises(SourceError) as refused:
        open_tables(release, "census-api", [path], mapping=FileMapping())
    return refused.value


@pytest.mark.parametrize(
    ("old", "name"), [("P99_001N", "column 'Y9"), (BLOCK, "row 2, column geoid: 'Y9")]
)
def test_a_label_of_thousands_of_digits_is_told_in_short(
    old: str, name: str, release: Release, tmp_path: Path
) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(ROWS.replace(old, "Y" + "9" * 4300))
    message = refusal(release, "sheet", path)
    assert name in message
    assert len(message) < 700


@pytest.mark.parametrize(("text", "count"), [("5.0", 5), ("5.00", 5), ("5.0000", 5), ("12.0", 12)])
@pytest.mark.parametrize("form", ["tidy", "wide"])
def test_a_fraction_of_zeros_is_none(
    form: str, text: str, count: int, release: Release, tmp_path: Path
) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(_sheet(form, text))
    assert _sum(release, form, path) == count + 1


@pytest.mark.parametrize(
    ("form", "text"),
    [
        *(("tidy", text) for text in ("5.000", "0.000", "1.5", "5,0", "5.", ".0")),
        *(("wide", text) for text in ("5.000", "1.5", "5.")),
    ],
)
def test_a_fraction_that_may_part_thousands_is_refused(
    form: str, text: str, release: Release, tmp_path: Path
) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(_sheet(form, text))
    with pytest.raises(SourceError, match="expected a whole number") as refused:
        _sum(release, form, path)
    if text == "5.000":
        both = {"tidy": "write it as 5 or as 5000", "wide": "if it is 5, write it so"}
        assert both[form] in str(refused.value)


def _sheet(form: str, text: str) -> str:
    if form == "tidy":
        return f'geoid,table,cell,count\n{BLOCK},P99,1,"{text}"\n{BLOCK},P99,2,1\n'
    others = "".join(f"{BLOCK[:-1]}{n},0,0\n" for n in range(2, 6))
    return f'geoid,P99_001N,P99_002N\n{BLOCK},"{text}",1\n{others}'


def _sum(release: Release, form: str, path: Path) -> int:
    opened = (
        open_tidy(release, [path])
        if form == "tidy"
        else open_tables(release, "sheet", [path], mapping=FileMapping())
    )
    return sum(int(batch.counts["count"].sum()) for batch in opened.batches())


def test_a_damaged_parquet_file_is_read_or_refused(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    rows = [(BLOCK, "P99", cell, cell * 7) for cell in range(1, 13)]
    pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row").write_parquet(path)
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 23):
        path.write_bytes(whole[:at] + b"\0" * 16 + whole[at + 16 :])
        try:
            _sum(release, "tidy", path)
        except SourceError as error:  # its reader panics at some of these, too
            refused += "\n" not in str(error) and str(path) in str(error)
    assert refused > len(whole) / 23 / 2


def test_a_note_below_the_counts_is_none(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(f"{ROWS}Source: an office,,\n")
    assert _sum(release, "sheet", path) == 8


def test_a_code_of_two_labels(release: Release, tmp_path: Path) -> None:
    layout = LAYOUTS["nomis"](counts_of({BLOCK: [3, 0, 1, 12, 5, 0]}), tmp_path)
    (path,) = layout.paths
    path.write_text(path.read_text().replace("1,Males", "1,Females", 1))
    message = refusal(release, layout.source, path)
    assert "column 'C_SEX': '1' is both 'Females' and 'Males'" in message


def test_a_label_of_no_code_in_json_stat(release: Release, tmp_path: Path) -> None:
    layout = LAYOUTS["json_stat_2"](counts_of({BLOCK: [3, 0, 1, 12, 5, 0]}), tmp_path)
    (path,) = layout.paths
    path.write_text(path.read_text().replace('"Y15-64": "From', '"Y15-65": "From'))
    message = refusal(release, layout.source, path)
    assert "dimension.age.category.label: 'Y15-65' is no code of the index" in message


def test_a_field_too_many_in_a_row_that_is_not_chosen(release: Release, tmp_path: Path) -> None:
    layout = LAYOUTS["nomis"](counts_of({BLOCK: [3, 0, 1, 12, 5, 0]}), tmp_path)
    (path,) = layout.paths
    path.write_text(path.read_text().replace("20301,Percent,12.5,A", "20301,Percent,12.5,A,,7", 1))
    assert "in a column without a header" in refusal(release, layout.source, path)


@pytest.mark.parametrize("line", ["geoid", "Total", "total"])
def test_a_line_of_a_list_that_is_no_place(line: str, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "geounits.csv"
    path.write_text(f"geoid\n{BLOCK}\n{line}\n")  # as long as the geoid of a county
    with pytest.raises(SourceError, match=f"geoid '{line}': expected letters and digits"):
        read_geounit_list(release, path)


def test_headers_that_differ_in_capitals_alone(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(f"geoid,table,cell,Count,count\n{BLOCK},P99,1,3,4\n")
    with pytest.raises(SourceError, match="columns 'Count' and 'count' are one; leave one"):
        open_tidy(release, [path])
