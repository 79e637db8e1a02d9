"""One table in every published layout: what offices and portals would make of the same counts."""

from __future__ import annotations

import csv
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.workbooks import plain_sheets, workbook_of

#: Total, three ages; the same of men and of women: the cells of table P99, from 1.
SEXES: Final = (("T", "Total"), ("M", "Males"), ("F", "Females"))
AGES: Final = (
    ("TOTAL", "Total"),
    ("Y_LT15", "Less than 15 years"),
    ("Y15-64", "From 15 to 64 years"),
    ("Y_GE65", "65 years or over"),
)
CELLS: Final = tuple(itertools.product(SEXES, AGES))

SCHEMA: Final = """\
release: sexage
title: Sex by age
features:
  sex: {categories: [male, female]}
  age: {categories: [0-14, 15-64, 65+]}
geography:
  levels:
    - {level: block, digits: 15}
    - {level: tract, digits: 11}
    - {level: county, digits: 5}
  partition: county
microdata: [sex, age]
histogram: [sex, age]
families:
  - levels: [block, tract]
    cells: [total, {by: age}, {by: sex, cells: [total, {by: age}]}]
    tables: {P99: {code: "P99_###N"}}
"""

#: Geoid → counts of the twelve cells.
Counts = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Layout:
    """Files of one layout.

    Attributes:
        source: As in ``ingest.source``.
        paths: The files to name.
        mapping: What has to be said besides.
    """

    source: str
    paths: tuple[Path, ...]
    mapping: Mapping[str, object] = field(default_factory=dict)


def counts_of(people: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The table of people by block: young, middle and old men, then women. Tracts are added."""
    found: dict[str, list[int]] = {}
    for block, six in people.items():
        for geoid in (block[:11], block):
            men, women = list(six[:3]), list(six[3:])
            both = [a + b for a, b in zip(men, women, strict=True)]
            row = [n for part in (both, men, women) for n in (sum(part), *part)]
            before = found.get(geoid, [0] * len(row))
            found[geoid] = [a + b for a, b in zip(before, row, strict=True)]
    return found


def _csv(path: Path, rows: Iterable[Sequence[object]], **options: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, **options).writerows(rows)  # type: ignore[arg-type]
    return path


def _long(counts: Counts) -> Iterable[tuple[str, tuple[str, str], tuple[str, str], int]]:
    for geoid, row in counts.items():
        for (sex, age), count in zip(CELLS, row, strict=True):
            yield geoid, sex, age, count


def tidy(counts: Counts, folder: Path) -> Layout:
    rows = [
        (geoid, "P99", number, count)
        for geoid, row in counts.items()
        for number, count in enumerate(row, start=1)
    ]
    path = _csv(folder / "tidy.csv", [("geoid", "table", "cell", "count"), *rows])
    return Layout("tidy", (path,))


def census_api(counts: Counts, folder: Path) -> Layout:
    """Two files: tracts with GEO_ID, blocks by the codes of their parents; six cells a file."""
    paths = []
    for level, half in itertools.product((11, 15), (0, 1)):
        cells = range(6 * half, 6 * half + 6)
        place = ["state", "county", "tract", "block"][: 3 + (level == 15)]
        header = [f"P99_{i + 1:03}N" for i in cells] + place
        rows = [
            [*(str(row[i]) for i in cells), geoid[:2], geoid[2:5], geoid[5:11], geoid[11:]][
                : len(header)
            ]
            for geoid, row in counts.items()
            if len(geoid) == level
        ]
        path = folder / f"api_{level}_{half}.json"
        path.write_text(json.dumps([header, *rows]))
        paths.append(path)
    return Layout("census-api", tuple(paths))


def _geo_id(geoid: str) -> str:
    return f"{'1000000' if len(geoid) == 15 else '1400000'}US{geoid}"


def data_census_gov(counts: Counts, folder: Path) -> Layout:
    header = ["GEO_ID", "NAME", *(f"P99_{i:03}N" for i in range(1, 13)), ""]
    labels = ["Geography", "Name", *(f" !!{s[1]}:!!{a[1]}" for s, a in CELLS), ""]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    rows = [[_geo_id(geoid), f"Place, {geoid}", *row, ""] for geoid, row in counts.items()]
    writer.writerows([header, labels, *rows])
    path = folder / "DECENNIALXX2021.P99.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("DECENNIALXX2021.P99-Data.csv", "\ufeff" + text.getvalue())
        archive.writestr("DECENNIALXX2021.P99-Column-Metadata.csv", '"Column Name","Label"\n')
        archive.writestr("DECENNIALXX2021.P99-Table-Notes.txt", "Notes\n")
    return Layout("data-census-gov", (path,))


def factfinder(counts: Counts, folder: Path) -> Layout:
    """A revised count has the new one behind it."""
    header = ["GEO.id", "GEO.id2", "GEO.display-label", *(f"D{i:03}" for i in range(1, 13))]
    labels = ["Id", "Id2", "Geography", *(f"{s[1]} - {a[1]}" for s, a in CELLS)]
    rows = [
        [_geo_id(geoid), geoid, "Place", f"{row[0]}(r{row[0] + 1})", *row[1:]]
        for geoid, row in counts.items()
    ]
    path = _csv(folder / "DEC_10_SF1_P99_with_ann.csv", [header, labels, *rows])
    return Layout("factfinder", (path,))


def nhgis(counts: Counts, folder: Path) -> Layout:
    """One file per level; the codebook says which table ZZZ is."""
    paths = []
    for level, name in ((11, "tract"), (15, "block")):
        stem = f"nhgis0001_ds999_2021_{name}"
        rows = [
            [f"G{g[:2]}0{g[2:5]}0{g[5:]}", "2021", g[:2], *row]
            for g, row in counts.items()
            if len(g) == level
        ]
        header = ["GISJOIN", "YEAR", "STATEA", *(f"ZZZ{i:03}" for i in range(1, 13))]
        paths.append(_csv(folder / f"{stem}.csv", [header, *rows]))
        words = "\n".join(
            f"        ZZZ{i:03}:      {s[1]}: {a[1]}" for i, (s, a) in enumerate(CELLS, start=1)
        )
        (folder / f"{stem}_codebook.txt").write_text(
            "Context Fields\n        GISJOIN:     GIS Join Match Code\n"
            "    Source code: P99\n    NHGIS code:  ZZZ\n" + words + "\n"
        )
    return Layout("nhgis", tuple(paths))


def ons_bulk(counts: Counts, folder: Path) -> Layout:
    labels = [f"Sex: {s[1]}; Age: {a[1]}; measures: Value" for s, a in CELLS]
    rows = [["2021", "Place", geoid, *row] for geoid, row in counts.items()]
    header = ["date", "geography", "geography code", *labels]
    return Layout("ons-bulk", (_csv(folder / "census2021-ts999.csv", [header, *rows]),))


def nomis(counts: Counts, folder: Path) -> Layout:
    """Values and percentages of them, one below the other."""
    header = ["DATE", "GEOGRAPHY", "GEOGRAPHY_NAME", "GEOGRAPHY_CODE", "C_SEX", "C_SEX_NAME"]
    header += ["C_AGE", "C_AGE_NAME", "MEASURES", "MEASURES_NAME", "OBS_VALUE", "OBS_STATUS"]
    rows = []
    for geoid, sex, age, count in _long(counts):
        place = ["2021", "1254", "Place", geoid, SEXES.index(sex), sex[1], AGES.index(age), age[1]]
        rows.append([*place, 20100, "Value", count, "A"])
        rows.append([*place, 20301, "Percent", 12.5, "A"])
    return Layout("nomis", (_csv(folder / "nomis.csv", [header, *rows]),))


def eurostat_tsv(counts: Counts, folder: Path) -> Layout:
    lines = ["freq,sex,age,unit,geo\\TIME_PERIOD\t2011 \t2021 "]
    lines += [f"A,{s[0]},{a[0]},NR,{g}\t: \t{count} p" for g, s, a, count in _long(counts)]
    path = folder / "estat.tsv"
    path.write_text("\n".join(lines) + "\n")
    return Layout("eurostat-tsv", (path,), {"where": {"TIME_PERIOD": "2021"}})


def sdmx_csv_1(counts: Counts, folder: Path) -> Layout:
    header = ["DATAFLOW", "LAST UPDATE", "freq", "sex", "age", "geo", "TIME_PERIOD", "OBS_VALUE"]
    rows = [
        ["X:Y(1.0)", "15/05/24 23:00:00", "A", s[0], a[0], geoid, 2021, count, "", ""]
        for geoid, s, a, count in _long(counts)
    ]
    path = _csv(folder / "sdmx1.csv", [[*header, "OBS_FLAG", "CONF_STATUS"], *rows])
    return Layout("sdmx-csv", (path,))


def sdmx_csv_2(counts: Counts, folder: Path) -> Layout:
    header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "SEX", "AGE", "GEO", "TIME_PERIOD"]
    rows = [
        ["dataflow", "X:Y(1.0)", "I", s[0], a[0], geoid, 2021, count, "A", "F"]
        for geoid, s, a, count in _long(counts)
    ]
    path = _csv(folder / "sdmx2.csv", [[*header, "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"], *rows])
    return Layout("sdmx-csv", (path,))


def _cube(counts: Counts) -> tuple[dict[str, object], list[int]]:
    dimension = {
        "sex": {"category": {"index": {c: i for i, (c, _) in enumerate(SEXES)}}},
        "age": {
            "category": {"index": [c for c, _ in AGES], "label": dict(AGES)},
        },
        "geo": {"category": {"index": {geoid: i for i, geoid in enumerate(counts)}}},
        "time": {"category": {"label": {"2021": "2021"}}},
    }
    return dimension, [row[i] for i in range(len(CELLS)) for row in counts.values()]


def json_stat_1(counts: Counts, folder: Path) -> Layout:
    """Wrapped in a name; the dimension of one category has no size."""
    dimension, values = _cube(counts)
    shape = {"id": ["sex", "age", "geo", "time"], "size": [3, 4, len(counts)]}
    cube = {"P99": {"dimension": {**dimension, **shape}, "value": values}}
    path = folder / "jsonstat1.json"
    path.write_text(json.dumps(cube))
    return Layout("json-stat", (path,))


def json_stat_2(counts: Counts, folder: Path) -> Layout:
    """Values as a dictionary."""
    dimension, values = _cube(counts)
    cube = {
        "version": "2.0",
        "class": "dataset",
        "id": ["sex", "age", "geo", "time"],
        "size": [3, 4, len(counts), 1],
        "dimension": dimension,
        "value": {str(i): value for i, value in enumerate(values)},
    }
    path = folder / "jsonstat2.json"
    path.write_text(json.dumps(cube))
    return Layout("json-stat", (path,))


def statcan(counts: Counts, folder: Path) -> Layout:
    """A row an age, columns of total, men and women, each with a column of symbols."""
    header = ["CENSUS_YEAR", "ALT_GEO_CODE", "CHARACTERISTIC_NAME"]
    for name in ("TOTAL", "MEN+", "WOMEN+"):
        header += [f"C{len(header)}_COUNT_{name}", "SYMBOL"]
    rows = [
        [2021, geoid, ("  " if i else "") + age[1], row[i], "", row[4 + i], "", row[8 + i], ""]
        for geoid, row in counts.items()
        for i, age in enumerate(AGES)
    ]
    path = _csv(folder / "profile.csv", [header, *rows])
    return Layout(
        "statcan-profile", (path,), {"dimensions": {"CHARACTERISTIC_NAME": {"feature": "age"}}}
    )


def long(counts: Counts, folder: Path) -> Layout:
    rows = [
        [geoid, a[1], s[1], f"Place {geoid}", 2023, count, ""]
        for geoid, s, a, count in _long(counts)
    ]
    header = ["Code", "Age", "Sex", "Area", "Year", "Value", "Flag"]
    return Layout("sheet", (_csv(folder / "long.csv", [header, *rows], delimiter=";"),))


def wide(counts: Counts, folder: Path) -> Layout:
    """A workbook with a title, merged headers, percentages, and a note below."""
    upper = ["", ""] + [word for s in SEXES for word in (s[1], "", "", "", "")]
    lower = ["Area code", "Name"] + [a[1] for _ in SEXES for a in (*AGES, ("", "Percent young"))]
    rows: list[Sequence[object]] = [["Table 99: sex by age"], [], upper, lower]
    for geoid, row in counts.items():
        numbers: list[object] = []
        for part in (row[0:4], row[4:8], row[8:12]):
            numbers += [*part, 33.3]
        rows.append([geoid, "Place", *numbers])
    rows += [[], ["Source: an office."]]
    path = folder / "table99.xlsx"
    write_workbook(path, {"Notes": [], "Data": rows})
    left_out = {f"{s[1]}: Percent young": None for s in SEXES}
    return Layout("sheet", (path,), {"columns": left_out})


LAYOUTS: Final[dict[str, Callable[[Counts, Path], Layout]]] = {
    make.__name__: make
    for make in (
        tidy,
        census_api,
        data_census_gov,
        factfinder,
        nhgis,
        ons_bulk,
        nomis,
        eurostat_tsv,
        sdmx_csv_1,
        sdmx_csv_2,
        json_stat_1,
        json_stat_2,
        statcan,
        long,
        wide,
    )
}


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]]) -> None:
    """A workbook of plain cells: numbers as numbers, all else as text."""
    path.write_bytes(workbook_of(plain_sheets(sheets)))
