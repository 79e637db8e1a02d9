"""Published files read with the standard library alone: what a damaged one says, if it can be told.

Each reader knows one layout of `tests.support.layouts` by the names of its columns, and gives up
(`Unclear`) on whatever it does not expect: then a file has to be refused, or read as it was before.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from xml.etree import ElementTree

from tests.support.layouts import AGES, CELLS, SEXES

#: Geoid → number of a cell → its count, where it is not 0.
Table = dict[str, dict[int, int]]
Row = Sequence[str]

_MOST: Final = 2**31 - 1
_PARTS: Final = {
    (s[i], a[j]): n for n, (s, a) in enumerate(CELLS, 1) for i in (0, 1) for j in (0, 1)
}


class Unclear(Exception):  # noqa: N818 - not an error
    """What the file says cannot be told."""


def text_of(data: bytes) -> str:
    """UTF-8 or UTF-16, by their marks and bytes; else Latin-1.

    Raises:
        Unclear: It has NUL in it, which no text has.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _decoded(data, "utf-16")
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if "\0" in text:
        raise Unclear("NUL")
    return text


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unclear(encoding) from error


def rows_of(data: bytes, delimiter: str) -> list[Row]:
    """The rows with text in them, blanks around a cell taken away."""
    reader = csv.reader(io.StringIO(text_of(data), newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [[cell.strip() for cell in row] for row in reader]
    except csv.Error as error:
        raise Unclear(str(error)) from error
    return [row for row in rows if any(row)]


def count_of(text: str) -> int:
    """A whole number."""
    match = re.fullmatch(r"\+?([0-9]{1,10})(\.(0{1,2}|0{4,}))?", text, re.ASCII)
    if match is None or int(match[1]) > _MOST:
        raise Unclear(text)
    return int(match[1])


def _is_note(row: Row, place: str, counts: Sequence[str]) -> bool:
    """A row without counts whose place is none; it fills a cell or two."""
    if any(counts) or re.fullmatch(r"[A-Za-z0-9]{15}|[A-Za-z0-9]{11}", place, re.ASCII):
        return False
    if sum(map(bool, row)) > 2:
        raise Unclear("a row of something else")
    return True


def geoid_of(text: str) -> str:
    """A block or a tract."""
    if not re.fullmatch(r"[A-Za-z0-9]{15}|[A-Za-z0-9]{11}", text, re.ASCII):
        raise Unclear(text)
    return text


def table_of(counts: Iterable[tuple[str, int, int]]) -> Table:
    """Geoid, cell and count of each published number; each once."""
    found: Table = {}
    seen: set[tuple[str, int]] = set()
    for geoid, cell, count in counts:
        if (geoid, cell) in seen:
            raise Unclear("twice")
        seen.add((geoid, cell))
        found.setdefault(geoid, {})
        if count:
            found[geoid][cell] = count
    if not found:
        raise Unclear("empty")
    return found


def place_of(header: Row, name: str) -> int:
    """Of a header that is there once."""
    if header.count(name) != 1:
        raise Unclear(name)
    return list(header).index(name)


def checked(rows: Sequence[Row]) -> tuple[Row, list[Row]]:
    """The header, and the rows below it, none longer, each filled up to it."""
    if not rows:
        raise Unclear("empty")
    header, *body = rows
    if any(len(row) > len(header) for row in body):
        raise Unclear("a field too many")
    return header, [[*row, *[""] * (len(header) - len(row))] for row in body]


def long_table(
    rows: Sequence[Row],
    roles: tuple[str, str, str, str],
    known: Sequence[str],
    only: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """A row per count.

    Args:
        rows: With their header.
        roles: Headers of the geoids, the sexes and the ages, as codes or words, and the counts.
        known: All headers.
        only: Header → what its column has in the rows that count.
    """
    header, body = checked(rows)
    if sorted(header) != sorted(known):
        raise Unclear("other headers")
    columns = [place_of(header, name) for name in roles]
    chosen = [(place_of(header, name), text) for name, text in only.items()]
    counts = []
    for row in body:
        if any(row[at] != text for at, text in chosen):
            continue
        geoid, *parts, count = (row[at] for at in columns)
        if _is_note(row, geoid, [count]):
            continue
        counts.append((geoid_of(geoid), _cell(*parts), count_of(count)))
    return table_of(counts)


def _cell(sex: str, age: str) -> int:
    if (sex, age) not in _PARTS:
        raise Unclear(f"{sex}, {age}")
    return _PARTS[sex, age]


def wide_table(
    rows: Sequence[Row],
    place: str,
    cells: Mapping[str, int],
    *,
    geoid: Callable[[str], str] = geoid_of,
    count: Callable[[str], int] = count_of,
) -> Table:
    """A row per place; a column that is not there is not published.

    Args:
        rows: With their header.
        place: Header of the places.
        cells: Header of each count → number of its cell.
        geoid: Of what is in the column of places.
        count: Of what is in a column of counts.
    """
    header, body = checked(rows)
    at = place_of(header, place)
    columns = {place_of(header, name): cell for name, cell in cells.items() if name in header}
    if body and body[0][at] in ("Geography", "Id"):
        body = body[1:]  # the labels of the columns
    if not columns:
        raise Unclear("other headers")
    return table_of(
        (geoid(row[at]), cell, count(row[column]))
        for row in body
        if not _is_note(row, row[at], [row[column] for column in columns])
        for column, cell in columns.items()
    )


def _codes(prefix: str) -> dict[str, int]:
    return {prefix.format(i): i for i in range(1, len(CELLS) + 1)}


def tidy(data: bytes) -> Table:
    header, body = checked(rows_of(data, ","))
    names = [name.lower() for name in header]
    if sorted(names) != ["cell", "count", "geoid", "table"]:
        raise Unclear("other headers")
    at = {name: i for i, name in enumerate(names)}
    counts = []
    for row in body:
        cell = count_of(row[at["cell"]])
        if row[at["table"]] != "P99" or not 1 <= cell <= len(CELLS):
            raise Unclear("cell")
        counts.append((geoid_of(row[at["geoid"]]), cell, count_of(row[at["count"]])))
    return table_of(counts)


def _geo_id(text: str) -> str:
    match = re.fullmatch(r"([0-9]{3}0000US)([0-9]{15})|([0-9]{3}0000US)([0-9]{11})", text, re.ASCII)
    return geoid_of((match[2] or match[4]) if match else text)


def data_census_gov(data: bytes) -> Table:
    return wide_table(
        rows_of(data, ","),
        "GEO_ID",
        _codes("P99_{:03}N"),
        geoid=_geo_id,
    )


def factfinder(data: bytes) -> Table:
    rows = rows_of(data, ",")

    def revised(text: str) -> int:
        match = re.fullmatch(r"([0-9]+)\(r([0-9]+)\)", text, re.ASCII)
        return count_of(match[1] if match else text)

    return wide_table(
        rows,
        "GEO.id",
        _codes("D{:03}"),
        geoid=_geo_id,
        count=revised,
    )


def nhgis(data: bytes) -> Table:
    def gisjoin(text: str) -> str:
        match = re.fullmatch(r"G(\d\d)0(\d{3})0(\d{6}|\d{10})", text, re.ASCII)
        if match is None:
            raise Unclear(text)
        return geoid_of("".join(match.groups()))

    return wide_table(rows_of(data, ","), "GISJOIN", _codes("ZZZ{:03}"), geoid=gisjoin)


def ons_bulk(data: bytes) -> Table:
    cells = {f"Sex: {s[1]}; Age: {a[1]}; measures: Value": i for i, (s, a) in enumerate(CELLS, 1)}
    return wide_table(rows_of(data, ","), "geography code", cells)


def nomis(data: bytes) -> Table:
    known = (
        "DATE GEOGRAPHY GEOGRAPHY_NAME GEOGRAPHY_CODE C_SEX C_SEX_NAME C_AGE C_AGE_NAME MEASURES"
    )
    headers = [*known.split(), "MEASURES_NAME", "OBS_VALUE", "OBS_STATUS"]
    rows = rows_of(data, ",")
    _constant(rows, {"C_SEX": "C_SEX_NAME", "C_AGE": "C_AGE_NAME"})
    return long_table(
        rows,
        ("GEOGRAPHY_CODE", "C_SEX_NAME", "C_AGE_NAME", "OBS_VALUE"),
        headers,
        {"MEASURES": "20100"},
    )


def _constant(rows: Sequence[Row], labels: Mapping[str, str]) -> None:
    """Each code has one label."""
    header, body = checked(rows)
    for code, label in labels.items():
        pairs = {
            (row[place_of(header, code)], row[place_of(header, label)])
            for row in body
            if row[place_of(header, "MEASURES")] == "20100"
        }
        if len({code for code, _ in pairs}) < len(pairs):
            raise Unclear("a code of two labels")


def _sdmx(data: bytes, header: str, sex: str, age: str, geo: str) -> Table:
    rows, names = rows_of(data, ","), header.split(",")
    head, body = checked(rows)
    for name in names:  # dimensions that are left out have one value
        if name not in (sex, age, geo, "OBS_VALUE") and name in head:
            column = {row[place_of(head, name)] for row in body if row[place_of(head, "OBS_VALUE")]}
            if len(column) > 1 and name in ("freq", "TIME_PERIOD"):
                raise Unclear(name)
    return long_table(rows, (geo, sex, age, "OBS_VALUE"), names)


def sdmx_csv_1(data: bytes) -> Table:
    names = "DATAFLOW,LAST UPDATE,freq,sex,age,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS"
    return _sdmx(data, names, "sex", "age", "geo")


def sdmx_csv_2(data: bytes) -> Table:
    names = "STRUCTURE,STRUCTURE_ID,ACTION,SEX,AGE,GEO,TIME_PERIOD,OBS_VALUE,OBS_STATUS,CONF_STATUS"
    return _sdmx(data, names, "SEX", "AGE", "GEO")


def long(data: bytes) -> Table:
    rows = rows_of(data, ";")
    header, body = checked(rows)
    names = ["Code", "Age", "Sex", "Area", "Year", "Value", "Flag"]
    if sorted(header) != sorted(names):
        raise Unclear("other headers")
    code, value = place_of(header, "Code"), place_of(header, "Value")
    body = [row for row in body if not _is_note(row, row[code], [row[value]])]
    if len({row[place_of(header, "Year")] for row in body}) > 1:
        raise Unclear("years")
    areas = {(row[place_of(header, "Code")], row[place_of(header, "Area")]) for row in body}
    if not len(areas) == len({code for code, _ in areas}) == len({area for _, area in areas}):
        raise Unclear("areas")
    return long_table(rows, ("Code", "Sex", "Age", "Value"), names)


def eurostat_tsv(data: bytes) -> Table:
    header, *body = rows_of(data, "\t") or [[]]
    if list(header) != ["freq,sex,age,unit,geo\\TIME_PERIOD", "2011", "2021"]:
        raise Unclear("other headers")
    counts = []
    fixed = set()
    for row in body:
        if len(row) == 1 and row[0].count(",") < 2:
            continue  # a note
        if len(row) != len(header) or row[0].count(",") != header[0].count(","):
            raise Unclear("fields")
        freq, sex, age, unit, geoid = (word.strip() for word in row[0].split(","))
        fixed.add((freq, unit))
        counts.append(
            (geoid_of(geoid), _cell(sex, age), count_of(re.sub(" [a-z]{1,3}$", "", row[2])))
        )
    if len(fixed) > 1:
        raise Unclear("several units")
    return table_of(counts)


def statcan(data: bytes) -> Table:
    header, body = checked(rows_of(data, ","))
    names = [f"C{i}_COUNT_{name}" for i, name in ((3, "TOTAL"), (5, "MEN+"), (7, "WOMEN+"))]
    upper = [name.upper() for name in header]
    known = {name: place_of(upper, name) for name in names if name in upper}
    place, age = place_of(header, "ALT_GEO_CODE"), place_of(header, "CHARACTERISTIC_NAME")
    return table_of(
        (geoid_of(row[place]), _cell(sex[1], row[age]), count_of(row[known[name]]))
        for row in body
        if not _is_note(row, row[place], [row[at] for at in known.values()])
        for sex, name in zip(SEXES, names, strict=True)
        if name in known
    )


def _json(data: bytes) -> Any:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise Unclear("a key twice")
        return dict(pairs)

    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise Unclear("no JSON") from error


def _json_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unclear("no number")
    if isinstance(value, float):
        if not value.is_integer():
            raise Unclear("a fraction")
        value = int(value)
    return count_of(str(value).strip())


def census_api(data: bytes) -> Table:
    found = _json(data)
    if not isinstance(found, list) or not found or not all(isinstance(row, list) for row in found):
        raise Unclear("no rows")
    header, *body = found
    names = ["state", "county", "tract", "block"]
    codes = [name for name in header if isinstance(name, str) and name.startswith("P99_")]
    cells = {code: int(code[4:7]) for code in codes if re.fullmatch(r"P99_0[0-9]{2}N", code)}
    place = [name for name in names if name in header]
    if sorted(map(str, header)) != sorted([*cells, *place]) or place != names[: len(place)]:
        raise Unclear("other headers")
    counts = []
    for row in body:
        if len(row) != len(header):
            raise Unclear("fields")
        of = dict(zip(header, row, strict=True))
        if not all(isinstance(of[name], str | int) for name in place):
            raise Unclear("place")
        geoid = geoid_of("".join(str(of[name]).strip() for name in place))
        counts += [(geoid, cell, _json_count(of[code])) for code, cell in cells.items()]
    return table_of(counts)


def json_stat(data: bytes) -> Table:
    cube = _json(data)
    if isinstance(cube, dict) and len(cube) == 1:
        (cube,) = cube.values()
    try:
        shape = cube if "id" in cube else cube["dimension"]
        names, sizes = shape["id"], shape["size"]
        if names != ["sex", "age", "geo", "time"]:
            raise Unclear("dimensions")
        codes = [_json_codes(cube["dimension"][name]["category"]) for name in names]
        if list(sizes) not in ([len(each) for each in codes], [len(each) for each in codes[:-1]]):
            raise Unclear("sizes")
        labels = [cube["dimension"][name]["category"].get("label", {}) for name in names]
        values = cube["value"]
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        given = {int(at): value for at, value in pairs if value is not None}
        combinations = list(itertools.product(*codes))
        if isinstance(values, list) and len(values) != len(combinations):
            raise Unclear("values")
        if cube.get("status") or len(given) < len(combinations) or len(codes[-1]) != 1:
            raise Unclear("unpublished values")
        counts = []
        for at, (sex, age, geoid, _) in enumerate(combinations):
            words = (labels[0].get(sex, sex), labels[1].get(age, age))
            if words[0] in (each[0] for each in SEXES) and words[1] not in dict(AGES).values():
                raise Unclear("a label")
            age_code = {label: code for code, label in AGES}[words[1]]
            counts.append((geoid_of(geoid), _cell(words[0], age_code), _json_count(given[at])))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unclear(str(error)) from error
    return table_of(counts)


def _json_codes(category: Mapping[str, Any]) -> list[str]:
    index = category.get("index", list(category.get("label", {})))
    codes = sorted(index, key=index.__getitem__) if isinstance(index, dict) else index
    if len(set(codes)) < len(codes) or not all(isinstance(code, str) for code in codes):
        raise Unclear("codes")
    return list(codes)


def _number_of_xml(text: str) -> str:
    """``1e3`` and ``5.000`` are numbers as a workbook has them, and ``1,234`` one of a person."""
    if match := re.fullmatch(r"([0-9]{1,4})[eE]\+?([0-5])", text):
        return str(int(match[1]) * 10 ** int(match[2]))
    if match := re.fullmatch(r"([0-9]+)\.0+", text):
        return match[1]
    if re.fullmatch(r"[0-9]{1,3}([, ][0-9]{3})+", text):
        return re.sub("[, ]", "", text)
    return str(int(text)) if text.isdecimal() else text


#: Type of a cell, and the elements in it, whose text is its value.
_FORMS: Final = {
    *((kind, ("v",)) for kind in ("", "n", "str")),
    *((kind, ("f", "v")) for kind in ("", "n", "str")),
    *(("inlineStr", ("is", *["t"] * n)) for n in (0, 1)),
    ("inlineStr", ("is", "r", "t", "r", "t")),
    ("", ()),
}


def _form_of(cell: ElementTree.Element) -> tuple[str, tuple[str, ...]]:
    inside = (each.tag.rpartition("}")[2] for each in cell.iter() if each is not cell)
    return cell.get("t", ""), tuple(inside)


def wide(data: bytes) -> Table:
    """The workbook, by its XML."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            root = ElementTree.fromstring(archive.read("xl/worksheets/sheet2.xml"))  # noqa: S314
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise Unclear(str(error)) from error
    sheet: dict[tuple[int, str], str] = {}
    odd: set[int] = set()
    for cell in (each for each in root.iter() if each.tag.rpartition("}")[2] == "c"):
        match = re.fullmatch(r"([A-Z]+)([0-9]+)", cell.get("r", ""))
        if match is None or (int(match[2]), match[1]) in sheet:
            raise Unclear("a cell's place")
        if _form_of(cell) not in _FORMS:
            odd.add(int(match[2]))
        parts = (each.text or "" for each in cell.iter() if each.tag.rpartition("}")[2] in "vt")
        sheet[int(match[2]), match[1]] = "".join(parts).strip()
    columns = [chr(65 + i) for i in range(17)]
    if any(column not in columns for _, column in sheet):
        raise Unclear("columns")
    last = max((row for row, _ in sheet), default=0)
    if last < 4:
        raise Unclear("no headers")
    if odd - {last}:  # there is the note
        raise Unclear("a cell's type")
    upper, lower, *body = (
        [sheet.get((number, column), "") for column in columns]
        for number in range(3, max((row for row, _ in sheet), default=0) + 1)
    )
    heads = ["Area code", "Name"] + [a[1] for _ in SEXES for a in (*AGES, ("", "Percent young"))]
    groups = ["", ""] + [word for s in SEXES for word in (s[1], "", "", "", "")]
    if lower != heads or upper != groups:
        raise Unclear("other headers")
    cells = [2 + 5 * part + at for part in range(3) for at in range(4)]
    rows = [row for row in body if any(row) and (row[0] != "Source: an office." or any(row[1:]))]
    return table_of(
        (geoid_of(row[0]), cell, count_of(_number_of_xml(row[at])))
        for row in rows
        for cell, at in enumerate(cells, start=1)
    )


#: Layout → its reader.
READERS: Final[dict[str, Callable[[bytes], Table]]] = {
    "tidy": tidy,
    "census_api": census_api,
    "data_census_gov": data_census_gov,
    "factfinder": factfinder,
    "nhgis": nhgis,
    "ons_bulk": ons_bulk,
    "nomis": nomis,
    "eurostat_tsv": eurostat_tsv,
    "sdmx_csv_1": sdmx_csv_1,
    "sdmx_csv_2": sdmx_csv_2,
    "json_stat_1": json_stat,
    "json_stat_2": json_stat,
    "statcan": statcan,
    "long": long,
    "wide": wide,
}


def member_of(data: bytes, name: str) -> bytes:
    """A file in a zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(name)
    except Exception as error:
        raise Unclear(str(error)) from error
