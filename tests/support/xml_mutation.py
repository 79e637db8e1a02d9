"""Seeded changes of a worksheet's XML that leave it well-formed, mostly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Final
from xml.sax.saxutils import escape

from tests.support.mutation import NUMBERS, Change

_CELL: Final = re.compile(r"<c [^>]*>.*?</c>", re.DOTALL)
_ROW: Final = re.compile(r"<row [^>]*>")
_TEXT: Final = re.compile(r"(?<=<v>)[^<]*(?=</v>)|(?<=preserve\">)[^<]*(?=</t>)")
_PLACES: Final = ("A5", "C5", "D6", "B7", "Z9", "XFD1048576", "XFE1", "A0", "a5", "5A", "$C$5", "")
_TYPES: Final = ("n", "s", "b", "str", "e", "d", "inlineStr", "x", "")

TextChange = Callable[[str, random.Random], str]


def _one(pattern: re.Pattern[str], text: str, draw: random.Random) -> re.Match[str]:
    """Draw a place where a pattern stands.

    Raises:
        IndexError: There is none.
    """
    return draw.choice(list(pattern.finditer(text)))


def _put(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def _attribute(pattern: re.Pattern[str], name: str, values: tuple[str, ...]) -> TextChange:
    """Set, change or drop an attribute of an element."""

    def change(text: str, draw: random.Random) -> str:
        found, value = _one(pattern, text, draw), draw.choice(values)
        head, close, rest = found[0].partition(">")
        bare = re.sub(rf' {name}="[^"]*"', "", head)
        return _put(text, found, (f'{bare} {name}="{value}"' if value else bare) + close + rest)

    return change


def _cell_twice(text: str, draw: random.Random) -> str:
    found = _one(_CELL, text, draw)
    return _put(text, found, found[0] * 2)


def _cell_lost(text: str, draw: random.Random) -> str:
    return _put(text, _one(_CELL, text, draw), "")


def _cells_swapped(text: str, draw: random.Random) -> str:
    one, other = sorted((_one(_CELL, text, draw), _one(_CELL, text, draw)), key=re.Match.start)
    if one.start() == other.start():
        return text
    between = text[one.end() : other.start()]
    return text[: one.start()] + other[0] + between + one[0] + text[other.end() :]


def _cell_nested(text: str, draw: random.Random) -> str:
    found, inner = _one(_CELL, text, draw), _one(_CELL, text, draw)
    return _put(text, found, found[0].replace("</c>", f"{inner[0]}</c>"))


def _value(new: Callable[[str, random.Random], str]) -> TextChange:
    def change(text: str, draw: random.Random) -> str:
        found = _one(_TEXT, text, draw)
        return _put(text, found, new(found[0], draw))

    return change


def _parted(between: str) -> TextChange:
    """Put something between two characters of a value."""

    def new(value: str, draw: random.Random) -> str:
        at = draw.randrange(len(value) + 1)
        return value[:at] + between + value[at:]

    return _value(new)


def _second_value(text: str, draw: random.Random) -> str:
    found = _one(re.compile(r"</v>"), text, draw)
    return _put(text, found, f"</v><v>{draw.randrange(20)}</v>")


def _formula(text: str, draw: random.Random) -> str:
    found = _one(re.compile(r"<v>"), text, draw)
    return _put(text, found, "<f>1+1</f><v>")


def _rich(text: str, draw: random.Random) -> str:
    found = _one(re.compile(r"<t [^>]*>([^<]+)</t>"), text, draw)
    at = draw.randrange(len(found[1]) + 1)
    runs = (found[1][:at], found[1][at:])
    return _put(text, found, "".join(f'<r><t xml:space="preserve">{t}</t></r>' for t in runs))


def _merged(text: str, draw: random.Random) -> str:
    refs = ("C5:D5", "A5:A6", "A5:B5", "B5:B6", "C3:D3", "C5:C5", "D6:C5", "A1:XFD1048576", "C5")
    merge = f'<mergeCells><mergeCell ref="{draw.choice(refs)}"/></mergeCells>'
    return text.replace("</sheetData>", f"</sheetData>{merge}", 1)


def _before_data(*choices: str) -> TextChange:
    def change(text: str, draw: random.Random) -> str:
        return text.replace("<sheetData>", f"{draw.choice(choices)}<sheetData>", 1)

    return change


def _document_type(text: str, draw: random.Random) -> str:
    entity = draw.choice(('<!ENTITY a "3">', '<!ENTITY a SYSTEM "file:///etc/hostname">', ""))
    return text.replace("?>", f"?><!DOCTYPE worksheet [{entity}]>", 1)


def _name_space(text: str, draw: random.Random) -> str:
    other = draw.choice(("http://purl.oclc.org/ooxml/spreadsheetml/main", "urn:x", ""))
    return re.sub(r'xmlns="[^"]*"', f'xmlns="{other}"', text, count=1)


def _of_text(change: TextChange) -> Change:
    def changed(data: bytes, draw: random.Random) -> bytes:
        return change(data.decode(), draw).encode()

    return changed


XML: Final[dict[str, Change]] = {
    name: _of_text(change)
    for name, change in (
        ("a cell at another place", _attribute(_CELL, "r", _PLACES)),
        ("a cell of another type", _attribute(_CELL, "t", _TYPES)),
        ("a cell of another style", _attribute(_CELL, "s", ("1", "4", "9", "-1", "1e9", ""))),
        ("a row of another number", _attribute(_ROW, "r", ("1", "5", "6", "0", "-1", "9999999"))),
        ("a row hidden", _attribute(_ROW, "hidden", ("1", "true", "0"))),
        ("a cell twice", _cell_twice),
        ("a cell lost", _cell_lost),
        ("cells swapped", _cells_swapped),
        ("a cell in a cell", _cell_nested),
        ("another value", _value(lambda _, draw: escape(draw.choice(NUMBERS)))),
        ("a comment in a value", _parted("<!-- 7 -->")),
        ("a section in a value", _parted("<![CDATA[7]]>")),
        ("a character by its number", _parted("&#51;")),
        ("an instruction in a value", _parted("<?x 7?>")),
        ("a blank in a value", _parted(" ")),
        ("a second value", _second_value),
        ("a formula", _formula),
        ("rich text", _rich),
        ("merged cells", _merged),
        ("columns hidden", _before_data('<cols><col min="3" max="4" hidden="1"/></cols>')),
        ("another size", _before_data('<dimension ref="A1:B2"/>', '<dimension ref="A1"/>')),
        ("a document type", _document_type),
        ("another name space", _name_space),
    )
}
