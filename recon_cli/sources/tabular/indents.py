"""How far the cells of an xlsx workbook are indented, which its values do not say."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from typing import Final
from xml.etree import ElementTree

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BOOK: Final = "xl/workbook.xml"
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_STYLES: Final = "xl/styles.xml"
_REFERENCE: Final = re.compile(r"([A-Z]+)([0-9]+)")


def cell_indents(data: bytes) -> dict[tuple[str, int, int], int]:
    """(Name of the sheet, row, column) → indent, for the cells that have one; from 0.

    Raises:
        KeyError: A part of the workbook is missing.
        ParseError: A part is no XML.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        if not {_BOOK, _RELATIONS, _STYLES} <= names:
            return {}
        styles = _indented_styles(archive.read(_STYLES))
        if not styles:
            return {}
        found = {}
        for name, member in _members(archive).items():
            if member in names:
                cells = _cells(archive.read(member), styles)
                found.update({(name, *at): indent for at, indent in cells.items()})
    return found


def _indented_styles(data: bytes) -> dict[str, int]:
    """Number of a style → its indent."""
    formats = _parsed(data).find(f"{_MAIN}cellXfs")
    found = {}
    for number, form in enumerate(() if formats is None else formats):
        alignment = form.find(f"{_MAIN}alignment")
        indent = 0 if alignment is None else int(alignment.get("indent", "0"))
        if indent:
            found[str(number)] = indent
    return found


def _members(archive: zipfile.ZipFile) -> dict[str, str]:
    """Name of a sheet → its part of the archive."""
    targets = {
        # A target is below xl/, or begins with a slash and is below the archive.
        each.get("Id"): posixpath.normpath(posixpath.join("/xl", each.get("Target", "")))[1:]
        for each in _parsed(archive.read(_RELATIONS))
    }
    sheets = _parsed(archive.read(_BOOK)).iter(f"{_MAIN}sheet")
    return {each.get("name", ""): targets.get(each.get(_ID), "") for each in sheets}


def _cells(data: bytes, styles: dict[str, int]) -> dict[tuple[int, int], int]:
    found = {}
    for cell in _parsed(data).iter(f"{_MAIN}c"):
        indent = styles.get(cell.get("s", ""))
        at = _REFERENCE.fullmatch(cell.get("r", ""))
        if indent is not None and at is not None:
            column = 0
            for letter in at[1]:
                column = 26 * column + ord(letter) - ord("A") + 1
            found[int(at[2]) - 1, column - 1] = indent
    return found


def _parsed(data: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in data:  # entities could make a small file fill memory
        raise ElementTree.ParseError("a document type, which no workbook has")
    return ElementTree.fromstring(data)  # noqa: S314 - no document type, so no entities
