"""Workbooks that say a cell in two ways, or ask for all memory: each refused in a line, soon."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from recon_cli.sources.documents import open_documents
from recon_cli.sources.tabular.workbook import open_workbook
from tests.support.workbooks import WorkbookSheet, workbook_of

#: Reads each of the named files; prints why it is refused, the seconds and the peak of memory.
_READER: Final = r"""
import json, re, sys, time
from pathlib import Path
from recon_cli.errors import SourceError
from recon_cli.sources.documents import open_documents
from recon_cli.sources.tabular.workbook import open_workbook
for name in sys.argv[1:]:
    started, message = time.process_time(), ""
    try:
        open_workbook(open_documents(Path(name))[0])
    except SourceError as error:
        message = str(error)
    # Not ru_maxrss: it begins with what the process that started this one had.
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
    print(json.dumps([message, time.process_time() - started, peak]))
"""
_SHEET: Final = "xl/worksheets/sheet1.xml"
_BOOK: Final = "xl/workbook.xml"
_STYLES: Final = "xl/styles.xml"

Change = Callable[[dict[str, str]], None]


def _members() -> dict[str, str]:
    """A workbook of one sheet: two rows of a place and a count, the first place indented."""
    rows: list[list[object]] = [["geoid", "count"], ["A", 15], ["B", 7]]
    sheet = WorkbookSheet(rows, indents={(1, 0): 1})
    data = workbook_of({"Data": sheet})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def _within(part: str, old: str, new: str) -> Change:
    def change(members: dict[str, str]) -> None:
        changed = re.sub(old, new, members[part], count=1)
        assert changed != members[part], members[part]
        members[part] = changed

    return change


def _cell(new: str) -> Change:
    """Another cell in the place of B2, which holds 15."""
    return _within(_SHEET, r'<c [^>]*r="B2".*?</c>', new)


def _sheets(members: dict[str, str]) -> None:
    entry = re.search(r"<sheet .*?/>", members[_BOOK])
    assert entry is not None
    more = "".join(entry[0].replace("Data", f"s{i}") for i in range(5000))
    members[_BOOK] = members[_BOOK].replace(entry[0], entry[0] + more)


def _shared(members: dict[str, str]) -> None:
    """100,000 cells that share one text of a million characters."""
    members["xl/sharedStrings.xml"] = f"<sst><si><t>{'x' * 1_000_000}</t></si></sst>"
    cells = '<c t="s"><v>0</v></c>' * 10_000
    _within(_SHEET, "<row .*</row>", f"<row>{cells}</row>" * 10)(members)


def _missing(members: dict[str, str]) -> None:
    members["xl/sharedStrings.xml"] = "<sst><si><t>15</t></si></sst>"
    _cell('<c r="B2" t="s"><v>-1</v></c>')(members)


def _merged(members: dict[str, str]) -> None:
    merges = '<mergeCell ref="A1:XFD1048576"/>' * 1000
    _within(_SHEET, "</sheetData>", f"</sheetData><mergeCells>{merges}</mergeCells>")(members)


HOSTILE: Final[dict[str, tuple[Change, str]]] = {
    "no_references": (
        _within(_SHEET, "<row .*</row>", f'<row r="1048576">{"<c><v>1</v></c>" * 1000}</row>'),
        "larger than 5,000,000 cells",
    ),
    "far_reference": (_cell('<c r="A99999999"><v>1</v></c>'), "is no cell of row 2"),
    "far_column": (_cell('<c r="ZZZ2"><v>1</v></c>'), "more than 16,384 columns"),
    "far_row": (_within(_SHEET, '<row r="2"', '<row r="1048577"'), "row 1048577 after row 1"),
    "indent_2e9": (_within(_STYLES, 'indent="1"', 'indent="2000000000"'), "an indent is 20000"),
    "indent_1e20": (_within(_STYLES, 'indent="1"', f'indent="{10**20}"'), "an indent is 10000"),
    "indent_4301": (_within(_STYLES, 'indent="1"', f'indent="{"9" * 4301}"'), "an indent is 999"),
    "sheets": (_sheets, "is there twice"),
    "comment": (_cell('<c r="B2"><v>1<!-- x -->5</v></c>'), "cell B2: a comment within"),
    "instruction": (_cell('<c r="B2"><v>1<?x?>5</v></c>'), "cell B2: an instruction within"),
    "cdata": (_cell('<c r="B2"><v><![CDATA[15]]></v></c>'), "cell B2: a CDATA section within"),
    "element": (_cell('<c r="B2"><v>1<b/>5</v></c>'), "cell B2: <b> within"),
    "reference": (_cell('<c r="B2"><v>1&#51;</v></c>'), "cell B2: a reference within a number"),
    "entity": (_cell('<c r="B2"><v>1&foo;5</v></c>'), "undefined entity"),
    "two_values": (_cell('<c r="B2"><v>1</v><v>5</v></c>'), "cell B2: has two values"),
    "twice": (
        _cell('<c r="B2"><v>1</v></c><c r="B2"><v>5</v></c>'),
        "cell B2: B2 comes after it: twice, or out of order",
    ),
    "second_part": (
        _within(_SHEET, "</sheetData>", '</sheetData><sheetData><row r="9"/></sheetData>'),
        "goes on in a second part",
    ),
    "document_type": (
        _within(_SHEET, "<worksheet", '<!DOCTYPE x [<!ENTITY a "1">]><worksheet'),
        "a document type, which no workbook has",
    ),
    "shared_text": (_shared, "characters"),
    "missing_text": (_missing, "has text number -1"),
    "merges": (_merged, "ranges of merged cells overlap"),
}


def _written(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_the_workbook_itself_is_read(tmp_path: Path) -> None:
    path = _written(tmp_path / "good.xlsx", _members())
    book = open_workbook(open_documents(path)[0])
    assert book.sheets == {"Data": [["geoid", "count"], ["  A", "15"], ["B", "7"]]}


def test_each_is_refused_in_a_line_soon_and_in_little_memory(tmp_path: Path) -> None:
    paths = []
    for name, (change, _) in HOSTILE.items():
        members = _members()
        change(members)
        paths.append(str(_written(tmp_path / f"{name}.xlsx", members)))
    ran = subprocess.run(
        [sys.executable, "-c", _READER, *paths], capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    for path, (message, seconds, peak), (_, expected) in zip(
        paths, found, HOSTILE.values(), strict=True
    ):
        assert message.startswith(path), path
        assert expected in message, message
        assert "\n" not in message
        assert seconds < 5, path
        assert peak < 200, path


@pytest.mark.parametrize(
    "rows",
    [
        '<row><c t="str"><v>a</v></c><c><v>1</v></c></row><row r="4"><c r="b4"><v>2</v></c></row>',
        '<x:row xmlns:x="u" r="1"><x:c r="A1" t="str"><x:v>a</x:v></x:c></x:row>',
        '<!-- x --><row r="1"><c r="A1" t="str"><f>1</f><v>a&amp;&#98;</v></c></row>',
    ],
)
def test_what_is_only_unusual_is_read(rows: str, tmp_path: Path) -> None:
    members = _members()
    _within(_SHEET, "<row .*</row>", rows)(members)
    book = open_workbook(open_documents(_written(tmp_path / "odd.xlsx", members))[0])
    assert book.sheets["Data"][0][0].startswith("a")
