"""`recon export`: the office's own files again, the same but for marks or stars."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.comments import Comment

from recon_cli.capabilities.export.addresses import locate_counts
from recon_cli.capabilities.export.findings import _EXACT
from recon_cli.capabilities.export.marked_copies import NOT_FOR_PUBLICATION
from recon_cli.capabilities.export.records import records_workbook
from recon_cli.capabilities.export.rewriting import CellMark, DelimitedText, WrittenWorkbook
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.documents import document_of
from recon_cli.sources.tabular.workbook import Workbook, open_workbook
from tests.support.command_line import recon
from tests.support.office_layouts import judge, mapping_of, write_office
from tests.support.paths import DATA, ROOT, needs_shared
from tests.support.properties import draws
from tests.support.workbooks import WorkbookSheet, workbook_of

OFFICES = ROOT / "fixtures" / "offices"
#: Config, published files, and what is edited in the draft.
LAYOUTS = {
    "schools": (OFFICES / "schools.xlsx", "{below: 5, complementary: true}"),
    "wards": (OFFICES / "wards.xlsx", ""),
    "convictions": (OFFICES / "convictions", "{below: 5, complementary: true}"),
}
MARK = re.compile(r" ?\[(\d+)(?: to \d+| or more)?\]$")


def audited(folder: Path, name: str) -> Path:
    """A config with an audit of an office's files; the files are copied beside it."""
    path, law = LAYOUTS[name]
    config = folder / "office.yaml"
    recon("init", path, "--to", config)
    draft = folder / "office.protection.yaml"
    if law:
        draft.write_text(draft.read_text().replace("{flagged: may-be-zero}", law))
    recon("ingest", "-c", config)
    recon("audit", "-c", config, "--set", "audit.region_seconds=0.2")
    return config


def book(path: Path) -> Workbook:
    return open_workbook(document_of(path))


@pytest.mark.parametrize("name", ["schools", "wards"])
def test_a_workbook_read_back_is_the_same_but_for_marks(tmp_path: Path, name: str) -> None:
    config = audited(tmp_path, name)
    said = recon("export", "-c", config, "--to", tmp_path / "marked").stdout
    path = tmp_path / "marked" / f"{name}.marked.xlsx"
    before, after = book(LAYOUTS[name][0]), book(path)
    assert list(after.sheets) == ["Findings", *before.sheets]
    assert {each: after.sheets[each] for each in before.sheets} == dict(before.sheets)
    assert all(set(after.merges[each]) == set(before.merges[each]) for each in before.sheets)
    assert after.hidden == before.hidden
    assert path.stat().st_mode & 0o777 == 0o600
    first, headers, *findings = after.sheets["Findings"]
    assert first[0] == NOT_FOR_PUBLICATION
    assert "not for publication" in said
    audit = pl.read_parquet(tmp_path / "work" / "**" / "audit" / "**" / "*.parquet")
    told = audit.filter(pl.col("status") != "safe")
    assert len(findings) == told.height > 0
    marked = openpyxl.load_workbook(path)
    for row in findings:
        found = dict(zip(headers, row, strict=True))
        cell = marked[found["Sheet"]][found["Cell"]]
        assert str(cell.value) == found["Published"]
        assert found["In words"] in cell.comment.text
        assert "if the counts were published by" in found["What it rests on"]
        assert cell.fill.fgColor.rgb != "00000000"
    if name == "wards":  # the smaller one
        again = path.read_bytes()
        recon("export", "-c", config, "--to", tmp_path / "marked")
        assert path.read_bytes() == again


def test_tables_of_text_read_back_are_the_same_but_for_marks(tmp_path: Path) -> None:
    config = audited(tmp_path, "convictions")
    recon("export", "-c", config, "--to", tmp_path / "marked")
    audit = pl.read_parquet(tmp_path / "work" / "**" / "audit" / "**" / "*.parquet")
    told = audit.filter(pl.col("status") != "safe")
    numbers: list[int] = []
    for path in sorted((OFFICES / "convictions").iterdir()):
        marked = tmp_path / "marked" / f"{path.stem}.marked.csv"
        first, rest = marked.read_bytes().split(b"\n", 1)
        assert first.decode().strip() == NOT_FOR_PUBLICATION
        rows = list(csv.reader(io.StringIO(rest.decode(), newline="")))
        numbers += [int(m[1]) for row in rows for each in row if (m := MARK.search(each))]
        plain = re.sub(rb" ?\[\d+(?: to \d+| or more)?\]", b"", rest)
        assert plain == path.read_bytes()
    assert sorted(numbers) == sorted(told["least"].to_list())
    assert len(numbers) == 12
    listed = (tmp_path / "marked" / "findings.csv").read_text().splitlines()
    assert listed[0] == NOT_FOR_PUBLICATION
    assert len(listed) == 2 + told.height


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252", "zip"])
def test_text_of_any_encoding_is_written_as_it_was_read(tmp_path: Path, encoding: str) -> None:
    """Of a zip, the table in it."""
    text = "Schule,All pupils,Boys,Girls\r\nÖst,31,14,17\r\nElm,25,*,12\r\nAsh,40,22,18\r\n"
    said = text.encode("utf-8" if encoding == "zip" else encoding)
    path = tmp_path / "pupils.csv"
    path.write_bytes(said)
    if encoding == "zip":
        path = tmp_path / "pupils.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("pupils.csv", said)
    config, exact = tmp_path / "office.yaml", tmp_path / "exact"
    recon("init", path, "--to", config)
    recon("ingest", "-q", "-c", config)
    recon("audit", "-q", "-c", config)
    recon("export", "-c", config, "--to", tmp_path / "marked")
    codec = "utf-8" if encoding == "zip" else encoding
    first, rest = (
        (tmp_path / "marked" / "pupils.marked.csv").read_bytes().decode(codec).split("\r\n", 1)
    )
    assert (first, rest) == (NOT_FOR_PUBLICATION, text.replace("*", "* [13]"))
    truth = tmp_path / "pupils.csv"
    truth.write_bytes(text.replace("25,*,12", "13,1,12").encode(codec))
    given = ("--set", f"ingest.paths=[{truth}]", "--set", "ingest.protection=null")
    recon("ingest", "-q", "-c", config, *given, "--work", exact)
    recon("protect", "suppress", "-q", "-c", config, "--set", f"suppress.counts={exact}")
    recon("export", "-c", config, *given, "--suppressed", tmp_path / "published")
    written = (tmp_path / "published" / "pupils.csv").read_bytes()
    assert written == text.replace("25,*,12", "13,*,*").encode(codec)


def test_a_workbook_with_macros_is_refused_in_one_line(tmp_path: Path) -> None:
    path, config = tmp_path / "pupils.xlsm", tmp_path / "recon.yaml"
    rows: list[list[object]] = [
        ["School", "All pupils", "Boys", "Girls"],
        *(["Oak", 31, "*", "*"], ["Elm", 25, 11, 14], ["Total", 56, 25, 31]),
    ]
    path.write_bytes(workbook_of({"Sex": WorkbookSheet(rows, [])}))
    recon("init", path, "--to", config, "--yes")
    recon("ingest", "-c", config)
    recon("audit", "-c", config)
    refused = recon("export", "-c", config, "--to", tmp_path / "x", code=2).stderr
    assert "only .xlsx workbooks are written; save it as one" in refused
    assert refused.count("\n") == 1


def small_office(folder: Path, east: int = 7) -> Path:
    """Exact counts of four schools in two districts, and a config."""
    rows: list[list[object]] = [
        ["=Pupils by sex", "", "", ""],
        ["", "", "", ""],
        ["District", "School", "All pupils", "Sex", ""],
        ["", "", "", "Boys", "Girls"],
        ["North", "Oak", 12, 11, 1],
        ["", "Elm", 30, 14, 16],
        ["", "All schools", 42, 25, 17],
        ["South", "Ash", 20, 13, east],
        ["", "Fir", 24, 15, 9],
        ["", "All schools", 44, 28, east + 9],
        ["County", "", 86, 53, east + 26],
        ["", "", "", "", ""],
        ["Source: 3 letters", "", "", "", ""],
    ]
    sheet = WorkbookSheet(rows, [(2, 3, 2, 4), (2, 0, 3, 0), (2, 1, 3, 1), (2, 2, 3, 2)])
    hidden = WorkbookSheet([["Place", "All"], ["Oak girls", 1]], hidden=True)
    (folder / "pupils.xlsx").write_bytes(workbook_of({"Sex": sheet, "Working": hidden}))
    config = folder / "office.yaml"
    recon("init", folder / "pupils.xlsx", "--to", config, "--yes", "--force")
    recon("ingest", "-c", config)
    return config


def suppress(config: Path) -> None:
    work = next((config.parent / "work").iterdir())
    recon("protect", "suppress", "-c", config, "--set", f"suppress.counts={work}")


@pytest.fixture(scope="module")
def suppressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, some of them suppressed; its folder is copied."""
    config = small_office(tmp_path_factory.mktemp("suppressed"))
    suppress(config)
    return config


def copied(config: Path, folder: Path) -> Path:
    """Return the config in a copy of its folder."""
    shutil.copytree(config.parent, folder, dirs_exist_ok=True)
    return folder / config.name


def test_suppressed_counts_are_stars_and_nothing_else_changes(
    suppressed: Path, tmp_path: Path
) -> None:
    config = copied(suppressed, tmp_path)
    safe = ("--suppressed", tmp_path / "safe", "--footnote", "")
    said = recon("export", "-c", config, *safe).stdout
    before, after = book(tmp_path / "pupils.xlsx"), book(tmp_path / "safe" / "pupils.xlsx")
    assert list(after.sheets) == ["Sex"]
    assert "Working" in said
    assert set(after.merges["Sex"]) == set(before.merges["Sex"])
    pairs = [
        (one, two)
        for old, new in zip(before.sheets["Sex"], after.sheets["Sex"], strict=True)
        for one, two in zip(old, new, strict=True)
    ]
    withheld = [one for one, two in pairs if two == "*"]
    assert all(one == two for one, two in pairs if two != "*")
    published = pl.read_parquet(tmp_path / "work" / "**" / "suppressed" / "**" / "*.parquet")
    assert len(withheld) == published["count"].null_count() > 1
    assert "1" in withheld


def test_counts_that_were_not_suppressed_are_refused(suppressed: Path, tmp_path: Path) -> None:
    config = copied(suppressed, tmp_path)
    small_office(tmp_path, east=8)
    done = recon("export", "-c", config, "--suppressed", tmp_path / "safe", code=5)
    assert "in suppressed/, which was made of other counts" in done.stderr
    assert not (tmp_path / "safe").exists()


def styled_office(folder: Path) -> Path:
    """The same in a workbook with widths, formats, a comment, and a sum as a formula."""
    config = small_office(folder)
    path = folder / "pupils.xlsx"
    opened = openpyxl.load_workbook(path)
    sheet = opened["Sex"]
    sheet.column_dimensions["B"].width = 33
    sheet["C6"].number_format = '0" pupils"'
    sheet["C6"].comment = Comment("Of whom one is new", "office")
    made, data = io.BytesIO(), io.BytesIO()
    opened.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(data, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                assert b"<v>42</v>" in text
                text = text.replace(b"<v>42</v>", b"<f>SUM(C5:C6)</f><v>42</v>")
            new.writestr(name, text)
    path.write_bytes(data.getvalue())
    recon("ingest", "-c", config)
    return config


@pytest.mark.filterwarnings("ignore:Workbook contains no default style")
def test_formats_stay_and_formulas_become_numbers(tmp_path: Path) -> None:
    config = styled_office(tmp_path)
    suppress(config)
    for stage in ("reconstruct", "solvar", "claims"):
        recon(stage, "-c", config)
    recon("export", "-c", config, "--to", tmp_path / "to", "--suppressed", tmp_path / "safe")
    marked = openpyxl.load_workbook(tmp_path / "to" / "pupils.marked.xlsx")
    safe = openpyxl.load_workbook(tmp_path / "safe" / "pupils.xlsx")
    for each in (marked, safe):
        sheet = each["Sex"]
        assert sheet.column_dimensions["B"].width == 33
        assert sheet["C6"].number_format == '0" pupils"'
        assert sheet["C7"].value == 42
        assert sheet["A1"].value == "=Pupils by sex"
        assert sheet["A1"].data_type == "s"
    assert "Of whom one is new" in marked["Sex"]["C6"].comment.text
    assert not any(cell.comment for row in safe["Sex"].iter_rows() for cell in row)
    _, headers, *rows = marked["Findings"].iter_rows(values_only=True)
    found = [dict(zip(headers, row, strict=True)) for row in rows]
    work = tmp_path / "work" / "**"
    claims = pl.read_parquet(work / "claims" / "**" / "*.parquet")
    told = claims.filter(pl.col("maximal") & ~pl.col("trivial"))
    assert [each["Finding"] for each in found].count("claim") == told.height
    places = claims["geoid_school"].n_unique()
    certain = [each for each in found if each["Finding"] == "certain records"]
    assert len(certain) == places == 4
    assert "at least 12 of 12" in next(e for e in certain if "Oak" in e["Place"])["In words"]
    for each in found:
        assert each["In words"] in marked["Sex"][each["Cell"]].comment.text


@pytest.mark.parametrize("part", ["charts", "pivotCache", "externalLinks"])
def test_what_keeps_numbers_of_its_own_is_refused(tmp_path: Path, part: str) -> None:
    config = small_office(tmp_path)
    with zipfile.ZipFile(tmp_path / "pupils.xlsx", "a") as archive:
        archive.writestr(f"xl/{part}/one.xml", "<a/>")
    suppress(config)
    done = recon("export", "-c", config, "--suppressed", tmp_path / "safe", code=4)
    assert "take them out" in done.stderr


def test_nothing_takes_the_place_of_a_published_file(suppressed: Path, tmp_path: Path) -> None:
    config = copied(suppressed, tmp_path)
    done = recon("export", "-c", config, "--suppressed", tmp_path, code=2)
    assert "is a published file" in done.stderr
    assert "nothing to mark" in recon("export", "-c", config, "--to", tmp_path, code=5).stderr
    with (tmp_path / "pupils.xlsx").open("ab") as file:
        file.write(b" ")
    done = recon("export", "-c", config, "--to", tmp_path / "marked", code=5)
    assert "pupils.xlsx: is not as it was ingested" in done.stderr


def test_without_the_library_one_sentence_says_so(
    suppressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copied(suppressed, tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    done = recon("export", "-c", config, "--suppressed", tmp_path / "safe", code=2)
    assert "pip install recon-cli[workbooks]" in done.stderr


def test_libreoffice_opens_what_is_written(suppressed: Path, tmp_path: Path) -> None:
    program = shutil.which("soffice")
    if program is None:
        pytest.skip("LibreOffice is not installed")
    config = copied(suppressed, tmp_path)
    recon("export", "-c", config, "--suppressed", tmp_path / "safe")
    made = tmp_path / "safe" / "pupils.xlsx"
    home = f"-env:UserInstallation=file://{tmp_path}/home"
    command = [program, home, "--headless", "--convert-to", "csv", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(made)], check=True, timeout=120, capture_output=True)
    rows = list(csv.reader((tmp_path / "pupils.csv").read_text().splitlines()))
    assert [row[0] for row in rows] == [row[0] for row in book(made).sheets["Sex"]]
    assert [row[4] for row in rows] == [row[4] for row in book(made).sheets["Sex"]]


field = st.text("ab1 ,;\"'\n", max_size=4)


@given(
    st.lists(st.lists(field, min_size=2, max_size=2), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n"]),
    field,
    st.booleans(),
)
def test_fields_are_changed_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    end: str,
    other: str,
    mark: bool,
) -> None:
    path = tmp_path_factory.mktemp("text") / "a.csv"
    head = [["Place", "Count"], ["x", "1"]]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(head + rows)
    data = text.getvalue().encode("utf-8-sig" if mark else "utf-8")
    path.write_bytes(data)
    opened = DelimitedText(document_of(path))
    assert opened.written({}) == data
    found = [[opened.field(row, column) for column in (1, 2)] for row in range(1, len(rows) + 3)]
    assert found == head + rows
    changed = opened.written({(2, 2): other}, "Not for anybody")
    again = list(csv.reader(io.StringIO(changed.decode("utf-8-sig"), newline="")))
    assert again == [["Not for anybody"], head[0], ["x", other], *rows]


@pytest.mark.filterwarnings("ignore:Workbook contains no default style")
def test_a_merged_cell_is_marked_at_its_first(tmp_path: Path) -> None:
    path = tmp_path / "one.xlsx"
    path.write_bytes(workbook_of({"One": WorkbookSheet([["County", "", 3]], [(0, 0, 0, 1)])}))
    written = WrittenWorkbook(document_of(path))
    written.mark("One", 1, 2, CellMark("FFB3B3", "about the county"))
    path.write_bytes(written.written())
    assert openpyxl.load_workbook(path)["One"]["A1"].comment.text == "about the county"


def test_counts_of_drawn_layouts_are_where_they_were_read(tmp_path: Path) -> None:
    path, again = tmp_path / "office.xlsx", tmp_path / "again.xlsx"
    seen = 0
    for seed in draws(8, 10):
        truth = write_office(path, seed)
        if judge(path, truth).verdict != "right":
            continue
        found = recognise([path])
        (file,) = locate_counts(
            found.schema,
            "sheet",
            [path],
            mapping_of(path, found),
            markers=frozenset(found.markers) if found.is_protected else None,
        )
        located = {
            (sheet or next(iter(book(path).sheets)), row, column - 1): text
            for sheet, row, column, text in file.counts.select(
                "sheet", "row", "column", "text"
            ).iter_rows()
        }
        assert located == {key: text for key, (_, _, text) in truth.counts.items()}, seed
        written = WrittenWorkbook(file.document)
        for (sheet, row, column), text in located.items():
            value = written.field(sheet, row, column + 1)
            assert ("" if value is None else str(value)) == text, seed
        again.write_bytes(written.written())
        assert book(again).sheets == book(path).sheets, seed
        assert book(again).hidden == book(path).hidden, seed
        for sheet, merges in book(path).merges.items():
            assert set(book(again).merges[sheet]) == set(merges), seed
        seen += 1
    assert seen > 3


def test_disclosures_are_told_at_their_places(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["School", "All pupils", "Boys", "", "Girls", ""],
        ["", "", "Free meals", "Other", "Free meals", "Other"],
        ["Oak", 10, 4, 0, 2, 4],
        ["Elm", 12, 3, 4, 2, 3],
    ]
    sheet = WorkbookSheet(rows, [(0, 0, 1, 0), (0, 1, 1, 1), (0, 2, 0, 3), (0, 4, 0, 5)])
    (tmp_path / "pupils.xlsx").write_bytes(workbook_of({"Meals": sheet}))
    config = tmp_path / "office.yaml"
    recon("init", tmp_path / "pupils.xlsx", "--to", config, "--yes")
    for stage in ("ingest", "reconstruct", "solvar", "claims"):
        recon(stage, "-c", config)
    recon("export", "-c", config, "--to", tmp_path / "marked")
    _, headers, *findings = book(tmp_path / "marked" / "pupils.marked.xlsx").sheets["Findings"]
    told = [dict(zip(headers, row, strict=True)) for row in findings]
    (found,) = (each for each in told if each["Finding"] == "disclosure")
    assert (found["Sheet"], found["Cell"], found["Place"]) == ("Meals", "A3", "Oak")
    # Every boy has free meals; whoever has none is a girl.
    assert found["In words"] == (
        "at least 8 people with a further column that is settled for whoever knows at most 1 of "
        "theirs"
    )
    assert found["What it rests on"].startswith(f"{_EXACT} Proven here means by this program: ")


def _zero_run(folder: Path, files: list[Path]) -> Path:
    """A config whose tables are reconstructed, with the variability of its units."""
    config = folder / "run.yaml"
    listed = ", ".join(str(path) for path in files)
    config.write_text(
        f"release: sf1_2010\nwork: work\ningest: {{source: sf1-legacy, paths: [{listed}]}}\n"
        "reconstruct: {tables: block+tract}\nsolvar:\n"
        "check:\n  rules:\n    - {geography: {at_least: 40}, most: 0}\n"
        "    - {categories: {columns: [sex], at_least: 10, totals: us.csv}, most: 0}\n"
    )
    (folder / "us.csv").write_text("sex,count\nmale,9\nfemale,10\n")
    recon("run", "-c", config, "--until", "solvar")
    return config


def _records(path: Path) -> pl.DataFrame:
    with contextlib.closing(openpyxl.load_workbook(path, read_only=True)) as book:
        first, headers, *rows = book["Records"].iter_rows(values_only=True)
    assert first[0] == NOT_FOR_PUBLICATION
    return pl.DataFrame(rows, schema=[str(each) for each in headers], orient="row")


@needs_shared
def test_records_of_tracts_with_one_solution_are_the_published_ones(tmp_path: Path) -> None:
    """Real tracts: every published record is certain, and unique where the bureau says so."""
    states = {"al": "01", "ca": "06", "il": "17", "nd": "38", "pa": "42", "tx": "48"}
    used = [list(states)[number] for number in draws(2, len(states))]
    published = pl.read_parquet(DATA / "published_records.parquet").rename({"nhopi": "nhpi"})
    is_used = pl.col("geoid_block").str.head(2).is_in([states[state] for state in used])
    published = published.filter(is_used)
    published.write_parquet(tmp_path / "others.parquet")
    config = _zero_run(tmp_path, [DATA / "sf1" / f"{state}2010.sf1.zip" for state in used])
    out = tmp_path / "others.xlsx"
    recon("export", "-c", config, "--records", out, "--of", tmp_path / "others.parquet")
    found = _records(out)
    assert found.height == published.height > 2_000
    flags = ("unique_block_sex_agebin", "unique_block_sex_agebin_race_ethnicity")
    ordered = published.sort("geoid_block", maintain_order=True)
    for ours, theirs in zip(
        ("unique_sex_agebin", "unique_sex_agebin_race_hispanic"), flags, strict=True
    ):
        assert found[ours].equals(ordered[theirs], check_names=False)
    assert found["zero_variability"].all()
    assert found["certain"].all()
    sizes = found.with_columns(size=pl.len().over("geoid_block"))
    assert (sizes["below_geography"] == (sizes["size"] < 40)).all()
    assert (sizes["below_category"] == (sizes["sex"] == "male")).all()
    assert out.stat().st_mode & 0o777 == 0o600


@needs_shared
def test_records_are_exported_to_the_same_bytes(tmp_path: Path) -> None:
    config = _zero_run(tmp_path, [DATA / "sf1" / "ca2010.sf1.zip"])
    made = []
    for name in ("one.xlsx", "two.xlsx"):
        recon("export", "-c", config, "--records", tmp_path / name)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


@needs_shared
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_records(tmp_path: Path) -> None:
    config = _zero_run(tmp_path, [DATA / "sf1" / "ca2010.sf1.zip"])
    recon("export", "-c", config, "--records", tmp_path / "zero.xlsx")
    home = f"-env:UserInstallation=file://{tmp_path / 'home'}"
    convert = ["soffice", home, "--headless", "--convert-to", "csv", "zero.xlsx"]
    subprocess.run(convert, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    first, headers, *rows = (tmp_path / "zero.csv").read_text().splitlines()
    assert first.startswith(NOT_FOR_PUBLICATION)
    assert len(rows) == 112
    assert headers.split(",") == _records(tmp_path / "zero.xlsx").columns


def test_text_in_records_is_no_formula(tmp_path: Path) -> None:
    rows = pl.DataFrame({"=1+1": ["=2+2", "@a", "-b"], "certain": [True, False, True]})
    (tmp_path / "a.xlsx").write_bytes(records_workbook(rows, ["certain"], [("=c", "+d")]))
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells if cell.value is not None} == {"s", "b"}
    assert [cell.value for cell in book["Records"]["A"]][1:] == ["=1+1", "=2+2", "@a", "-b"]
    colours = [cell.fill.fgColor.rgb != "00000000" for cell in book["Records"]["B"]]
    assert colours == [False, False, True, False, True]


def test_records_without_proofs_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    toy = ROOT / "fixtures" / "toy2010.sf1.zip"
    config.write_text(
        f"release: sf1_2010\nwork: work\ningest: {{source: sf1-legacy, paths: [{toy}]}}\n"
        "reconstruct: {tables: block}\n"
    )
    recon("run", "-c", config)
    none = recon("export", "-c", config, "--records", tmp_path / "a.xlsx", code=5)
    assert "no tract is proven to have one solution" in none.stderr
    other = recon("export", "-c", config, "--records", tmp_path / "a.csv", code=2)
    assert "a name that ends in .xlsx" in other.stderr


TRUE = "School,Pupils,Boys,Girls\nOak,31,3,28\nElm,25,13,12\nAsh,40,22,18\nAll schools,96,38,58\n"


def true_config(folder: Path) -> Path:
    """A config that was drafted for true counts, with nothing else done."""
    folder.joinpath("true.csv").write_text(TRUE)
    config = folder / "true.yaml"
    recon("init", folder / "true.csv", "--to", config)
    return config


@pytest.mark.parametrize("mark", ["*", "[c]", "."])
def test_true_counts_become_publishable_by_one_command(tmp_path: Path, mark: str) -> None:
    config, safe = true_config(tmp_path), tmp_path / "safe"
    done = recon("export", "-c", config, "--suppressed", safe, "--below", "5", "--mark", mark)
    rows = [line.split(",") for line in (safe / "true.csv").read_text().splitlines()]
    assert rows[1] == ["Oak", "31", mark, mark]
    withheld = sum(row.count(mark) for row in rows)
    assert f"withheld {withheld}" in " ".join(done.stdout.split())
    assert withheld > 2, "what would give Oak away is withheld, too"
    again = recon("export", "-c", config, "--suppressed", safe, "--mark", mark, width=1000)
    told = [line for line in again.stdout.splitlines() if " recon " in line]
    for command in told:
        done = recon(*shlex.split(command.partition(" recon ")[2]))
    assert "recovered                   0 (0%)" in done.stdout, "it says how it is audited"


def test_percentages_of_what_is_withheld_are_withheld_with_it(tmp_path: Path) -> None:
    """Of 40 people 7.5% are 3: the percentage would give the star away."""
    rows = ["Aton,40,37,3,92.5,7.5", "Bton,55,53,2,96.4,3.6", "Cton,80,66,14,82.5,17.5"]
    path, config, safe = (tmp_path / name for name in ("pct.csv", "pct.yaml", "safe"))
    path.write_text("\n".join(["Ward,All,Well,Ill,Well %,Ill %", *rows, ""]))
    recon("init", path, "--to", config)
    done = recon("export", "-c", config, "--suppressed", safe, "--below", "5", "--mark", "c").stdout
    assert "percentages  4" in done
    assert "a difference among them" not in done
    assert (safe / "pct.csv").read_text().splitlines()[1:] == [
        "Aton,40,c,c,c,c",
        "Bton,55,c,c,c,c",
        rows[2],
    ]


def test_a_footnote_explains_the_mark(tmp_path: Path) -> None:
    lines = [line.split(",") for line in TRUE.splitlines()]
    rows: list[list[object]] = [[int(c) if c.isdigit() else c for c in line] for line in lines]
    path, config, safe = (tmp_path / name for name in ("true.xlsx", "true.yaml", "safe"))
    path.write_bytes(workbook_of({"Pupils": WorkbookSheet(rows), "Notes": WorkbookSheet([["x"]])}))
    recon("init", path, "--to", config)
    for more, footnote in (
        ((), "c: fewer than 5, or not published so that no such count can be worked out"),
        (("--footnote", "c is withheld"), "c is withheld"),
        (("--footnote", ""), None),
    ):
        recon("export", "-c", config, "--suppressed", safe, "--below", "5", "--mark", "c", *more)
        sheet = openpyxl.load_workbook(safe / "true.xlsx")["Pupils"]
        assert sheet["C2"].value == "c"
        assert sheet.cell(sheet.max_row, 1).value == (footnote or "All schools")


@pytest.mark.parametrize("mark", ["7", "hidden by us", ""])
def test_a_mark_that_may_be_read_otherwise_is_refused(tmp_path: Path, mark: str) -> None:
    config = true_config(tmp_path)
    refused = recon("export", "-c", config, "--suppressed", tmp_path / "a", "--mark", mark, code=2)
    assert f"--mark {mark!r}: expected what nobody takes for a count" in refused.stderr
    refused = recon("export", "-c", config, "--to", tmp_path / "a", "--mark", "c", code=2)
    assert "--below, --mark, --footnote and --keep-sheet go with --suppressed" in refused.stderr


def test_a_percentage_in_the_row_of_a_withheld_count_is_withheld(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a row per count, the other numbers of a row are of this count."""
    monkeypatch.chdir(tmp_path)
    rows = ["year,place,kind,number,share"]
    for place, counts in {"Ashby": (14, 3, 25), "Elm": (31, 12, 8), "Oak": (2, 22, 17)}.items():
        whole = sum(counts)
        for kind, count in zip(("home", "care", "away", "all"), (*counts, whole), strict=True):
            rows.append(f"2025,{place},{kind},{count},{100 * count / whole:.1f}")
    Path("kinds.csv").write_text("\n".join(rows) + "\n")
    recon("init", "kinds.csv", "--place", "place")
    told = recon("export", "--suppressed", "out", "--below", "5", "--mark", "c").stdout
    assert "in the rows of withheld counts are withheld, too (share)" in " ".join(told.split())
    table = pl.read_csv("out/kinds.csv", infer_schema_length=0)
    assert table.filter(number="c")["share"].to_list() == ["c"] * table.filter(number="c").height
    assert table.filter(pl.col("number") != "c")["share"].to_list() == [
        row.split(",")[-1]
        for row, number in zip(rows[1:], table["number"], strict=True)
        if number != "c"
    ]
    assert set(table["year"]) == {"2025"}


def test_a_sheet_of_notes_is_kept_where_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = openpyxl.Workbook()
    counts = book.active
    assert counts is not None
    counts.title = "Table"
    for row in (("Area", "All", "Men", "Women"), ("Ashby", 40, 37, 3), ("Elm", 31, 14, 17)):
        counts.append(row)
    notes = book.create_sheet("Notes")
    notes.append(["[note 1] Counts are of people."])
    notes.append(["Telephone", 555])
    book.save("areas.xlsx")
    recon("init", "areas.xlsx", "--all-places")
    plain = recon("export", "--suppressed", "plain", "--below", "5")
    assert "sheet Notes has no counts: it is left out" in " ".join(plain.stdout.split())
    kept = recon("export", "--suppressed", "kept", "--below", "5", "--keep-sheet", "Notes")
    assert "sheet Notes stays, with 1 number that nobody read" in " ".join(kept.stdout.split())
    assert openpyxl.load_workbook("plain/areas.xlsx").sheetnames == ["Table"]
    written = openpyxl.load_workbook("kept/areas.xlsx")
    assert written.sheetnames == ["Table", "Notes"]
    assert written["Notes"]["B2"].value == 555
    wrong = recon("export", "--suppressed", "x", "--keep-sheet", "Cover", code=2).stderr
    assert "--keep-sheet Cover: areas.xlsx has 'Table', 'Notes'" in wrong


def test_means_of_another_sheet_are_named_where_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sexes: list[list[object]] = [
        ["Area", "All", "Men", "Women"],
        ["Ashby", 40, 37, 3],
        ["Elm", 31, 14, 17],
    ]
    ages: list[list[object]] = [["Area", "All", "Mean age"], ["Ashby", 40, 41.2], ["Elm", 31, 39.7]]
    book = {"Sexes": WorkbookSheet(sexes), "Ages": WorkbookSheet(ages)}
    Path("areas.xlsx").write_bytes(workbook_of(book))
    recon("init", "areas.xlsx", "--all-places", "--leave-out", "Mean age")
    told = " ".join(recon("export", "--suppressed", "out", "--below", "5").stdout.split())
    assert "2 numbers beside the counts stay (Mean age), as in Ages!C2" in told
    assert openpyxl.load_workbook("out/areas.xlsx")["Ages"]["C2"].value == 41.2


def test_last_year_and_the_change_since_then_are_named_where_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year over a column is none of the numbers that stay."""
    monkeypatch.chdir(tmp_path)
    rows = ["District,2021,2022,Change,Boys,Girls", "Aln,80,15,-65,15,0", "Bure,2,14,12,11,3"]
    rows += ["Chess,15,8,-7,6,2", "Deben,0,3,3,3,0", "Ebble,58,9,-49,8,1", "Total,155,49,-106,43,6"]
    Path("change.csv").write_text("\n".join([*rows, ""]))
    recon("init", "change.csv", "--leave-out", "2021", "--all-places")
    told = " ".join(recon("export", "--suppressed", "out", "--below", "8").stdout.split())
    assert "12 numbers beside the counts stay (2021, Change), as in B2" in told
