"""Seeded changes of a file: of its bytes, its lines, its fields, or the values of its JSON."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any, Final

#: Changes bytes by chance.
Change = Callable[[bytes, random.Random], bytes]

#: What may stand in place of a number or a word.
NUMBERS: Final = (
    *("", "0", "-3", "+5", "007", "1.5", "5.0", "5.000", "1,234", "1.234", "1 234", "1e3", "1E400"),
    *(
        "NaN",
        "inf",
        "*",
        "..C",
        "<3",
        "x",
        "null",
        "true",
        "99999999999",
        "2147483648",
        "٣",
        "\u00a05",
    ),
    *("12:30:45", "2021-01-05", "0x10", "1_000", "=1+1", "9" * 400, "5\t", '5"', "5;5"),
)
_JUNK: Final[tuple[Any, ...]] = (
    *(None, True, False, -1, 0, 1.5, 10**10, 1e300, "", "x", "1", "5.000", [], {}, [[]]),
    *([1, 2], {"a": 1}, {"0": 3}, float("nan"), "total", "sex", ["sex", "age"]),
)
_BYTES: Final = (
    *(b"\0", b'"', b",", b";", b"\t", b"\n", b"\r", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"'"),
    *(b"#", b":", b"{", b"]", b"&a", b"*a", b"- ", b"  ", b"0", b"1", "é".encode(), b"\x1a"),
)


def _flip(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


def _insert(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(_BYTES) + data[at:]


def _delete(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + data[at + draw.choice((1, 1, 1, 2, 7, 60)) :]


def _truncate(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def _repeat(data: bytes, draw: random.Random) -> bytes:
    first, last = sorted((draw.randrange(len(data)), draw.randrange(len(data))))
    return data[:last] + data[first:last][:5000] + data[last:]


def _zeros(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + b"\0" * 16 + data[at + 16 :]


def _append(data: bytes, draw: random.Random) -> bytes:
    return data + draw.choice((data, b"\n\n", b"\0", b"total", b"\n,,,,\n", b"x" * 1000))


BYTES: Final[dict[str, Change]] = {
    "a bit flipped": _flip,
    "a byte put in": _insert,
    "bytes left out": _delete,
    "cut off": _truncate,
    "a part repeated": _repeat,
    "zeros written over": _zeros,
    "more at the end": _append,
}


def _lines(change: Callable[[list[bytes], random.Random], None]) -> Change:
    def of_lines(data: bytes, draw: random.Random) -> bytes:
        lines = data.splitlines(keepends=True)
        change(lines, draw)
        return b"".join(lines)

    return of_lines


def _line_twice(lines: list[bytes], draw: random.Random) -> None:
    at = draw.randrange(len(lines))
    lines.insert(draw.randrange(len(lines) + 1), lines[at])


def _line_lost(lines: list[bytes], draw: random.Random) -> None:
    del lines[draw.randrange(len(lines))]


def _lines_swapped(lines: list[bytes], draw: random.Random) -> None:
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _shuffled(lines: list[bytes], draw: random.Random) -> None:
    body = lines[1:]
    draw.shuffle(body)
    lines[1:] = body


def _blank_lines(lines: list[bytes], draw: random.Random) -> None:
    for _ in range(3):
        lines.insert(draw.randrange(len(lines) + 1), draw.choice((b"\n", b"\r\n", b"  \n")))


def _indented(lines: list[bytes], draw: random.Random) -> None:
    at = draw.randrange(len(lines))
    lines[at] = b"  " + lines[at] if draw.random() < 0.5 else lines[at].removeprefix(b"  ")


def _word(data: bytes, draw: random.Random) -> bytes:
    """One word or number in place of another."""
    places = list(re.finditer(rb"[\w.+-]+", data))
    place = draw.choice(places)
    new = draw.choice(places)[0] if draw.random() < 0.4 else draw.choice(NUMBERS).encode()
    return data[: place.start()] + new + data[place.end() :]


def _one_more(data: bytes, draw: random.Random) -> bytes:
    """A number one greater."""
    place = draw.choice(list(re.finditer(rb"(?<![\w.])[0-9]{1,9}(?![\w.])", data)))
    return data[: place.start()] + b"%d" % (int(place[0]) + 1) + data[place.end() :]


def _recoded(data: bytes, draw: random.Random) -> bytes:
    text = data.decode("utf-8", "replace").replace("Place", "Cañon")
    how = draw.choice(("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32", "cp1252"))
    return text.encode(how, "replace")


def _line_ends(data: bytes, draw: random.Random) -> bytes:
    plain = data.replace(b"\r\n", b"\n")
    return plain.replace(b"\n", draw.choice((b"\r\n", b"\r", b"\n", b"\n\n", b" \n")))


LINES: Final[dict[str, Change]] = {
    "a line twice": _lines(_line_twice),
    "a line lost": _lines(_line_lost),
    "lines swapped": _lines(_lines_swapped),
    "blank lines": _lines(_blank_lines),
    "a word replaced": _word,
    "a number one greater": _one_more,
    "another encoding": _recoded,
    "other line ends": _line_ends,
}
_INDENTED: Final[dict[str, Change]] = {"a line indented": _lines(_indented)}
_SHUFFLED: Final[dict[str, Change]] = {"lines shuffled": _lines(_shuffled)}


Rows = list[list[str]]


def _field(rows: Rows, draw: random.Random) -> None:
    row = draw.choice([row for row in rows if row])
    row[draw.randrange(len(row))] = draw.choice(NUMBERS)


def _column_twice(rows: Rows, draw: random.Random) -> None:
    at, to = draw.randrange(len(rows[0])), draw.randrange(len(rows[0]) + 1)
    for row in rows:
        row.insert(to, row[at] if at < len(row) else "")


def _column_lost(rows: Rows, draw: random.Random) -> None:
    at = draw.randrange(len(rows[0]))
    for row in rows:
        del row[at : at + 1]


def _columns_swapped(rows: Rows, draw: random.Random) -> None:
    one, other = draw.randrange(len(rows[0])), draw.randrange(len(rows[0]))
    first = draw.choice((0, 0, 1))  # with their headers, or without
    for row in rows[first:]:
        if max(one, other) < len(row):
            row[one], row[other] = row[other], row[one]


def _longer(rows: Rows, draw: random.Random) -> None:
    draw.choice(rows).append(draw.choice(NUMBERS))


def _header_case(rows: Rows, draw: random.Random) -> None:
    rows[0] = [draw.choice((str.upper, str.lower, str.title, str))(cell) for cell in rows[0]]


def _blanks(rows: Rows, draw: random.Random) -> None:
    for row in rows:
        row[:] = [f" {cell} " if draw.random() < 0.5 else cell for cell in row]


def _thousands(rows: Rows, draw: random.Random) -> None:
    mark = draw.choice(",. '")
    for row in rows[1:]:
        row[:] = [f"1{mark}{cell.zfill(3)}" if len(cell) < 4 else cell for cell in row]


_FIELDS: Final[dict[str, Callable[[Rows, random.Random], None]]] = {
    "a field replaced": _field,
    "a column twice": _column_twice,
    "a column lost": _column_lost,
    "columns swapped": _columns_swapped,
    "a field too many": _longer,
    "headers in other capitals": _header_case,
    "blanks around fields": _blanks,
    "thousands parted": _thousands,
}


def fields(delimiter: str) -> dict[str, Change]:
    """Changes of the fields of delimited text."""

    def of_rows(change: Callable[[Rows, random.Random], None]) -> Change:
        def changed(data: bytes, draw: random.Random) -> bytes:
            text = data.decode("utf-8-sig", "replace")
            rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
            change(rows, draw)
            written = io.StringIO()
            dialect = draw.choice(("excel", "unix"))  # all is quoted in the latter
            csv.writer(written, dialect, delimiter=delimiter).writerows(rows)
            return written.getvalue().encode()

        return changed

    def other_delimiter(data: bytes, draw: random.Random) -> bytes:
        return data.replace(delimiter.encode(), draw.choice(",;\t|").encode())

    found = {name: of_rows(change) for name, change in _FIELDS.items()}
    return {**found, "another delimiter": other_delimiter}


def _json(change: Callable[[Any, random.Random], None]) -> Change:
    def changed(data: bytes, draw: random.Random) -> bytes:
        tree = {"top": json.loads(data)}
        nodes = list(_nodes(tree))
        change(draw.choice(nodes), draw)
        return json.dumps(tree.get("top")).encode()

    return changed


def _nodes(node: Any) -> Any:
    """Every object and list that is not empty."""
    if node and isinstance(node, dict | list):
        yield node
        for each in node.values() if isinstance(node, dict) else node:
            yield from _nodes(each)


def _keys(node: Any) -> list[Any]:
    return list(node) if isinstance(node, dict) else list(range(len(node)))


def _replaced(node: Any, draw: random.Random) -> None:
    node[draw.choice(_keys(node))] = draw.choice(_JUNK)


def _removed(node: Any, draw: random.Random) -> None:
    del node[draw.choice(_keys(node))]


def _exchanged(node: Any, draw: random.Random) -> None:
    one, other = draw.choice(_keys(node)), draw.choice(_keys(node))
    node[one], node[other] = node[other], node[one]


def _added(node: Any, draw: random.Random) -> None:
    value = node[draw.choice(_keys(node))] if draw.random() < 0.5 else draw.choice(_JUNK)
    if isinstance(node, list):
        node.insert(draw.randrange(len(node) + 1), value)
    else:
        node[draw.choice(("x", "sex", "0", "999", "size", "label", "index"))] = value


JSON: Final[dict[str, Change]] = {
    "a value replaced": _json(_replaced),
    "a value removed": _json(_removed),
    "values exchanged": _json(_exchanged),
    "a value added": _json(_added),
}


def of_member(name: str, changes: dict[str, Change]) -> dict[str, Change]:
    """Changes of one file in a zip."""

    def within(change: Change) -> Change:
        def changed(data: bytes, draw: random.Random) -> bytes:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = {each: archive.read(each) for each in archive.namelist()}
            members[name] = change(members[name], draw)
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                for each, content in members.items():
                    archive.writestr(each, content)
            return packed.getvalue()

        return changed

    return {f"within the zip: {each}": within(change) for each, change in changes.items()}


DELIMITED: Final = {**BYTES, **LINES, **_SHUFFLED}
YAML: Final = {**BYTES, **LINES, **_INDENTED}
