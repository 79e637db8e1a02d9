"""Three made-up offices' files as such offices lay them out, and what is in them truly.

``python -m benchmarks.offices write schools FOLDER`` writes the files of one of ``schools``,
``wards`` and ``convictions``; ``make fixtures`` writes those in ``fixtures/offices``. ``python -m
benchmarks.offices check schools CONFIG`` compares what a run ingested, and what its audit proved,
with the counts that were published and with the true ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.office.publication import (
    SCHOOLS,
    WARDS,
    Office,
    exact_counts,
    histograms,
    rounded,
    stars,
)
from recon_cli.arrays import IntArray
from tests.support.workbooks import WorkbookSheet, workbook_of

#: Where a count stands: file or sheet, row and column from 1 and 0.
Where = tuple[str, int, int]

_YEARS: Final = ("All years", "Year 7", "Year 8", "Year 9", "Year 10", "Year 11")
_ETHNIC: Final = ("All groups", "White", "Asian", "Black", "Mixed", "Any other")
_SUPPORT: Final = ("All", "No support", "SEN support", "Plan")
_SEXES: Final = ("All pupils", "Girls", "Boys")
_AGES: Final = ("All ages", "0-17", "18-44", "45-64", "65-79", "80-89", "90 and over")
_OUTCOMES: Final = ("All", "Home", "Care home", "Transferred", "Rehabilitation", "Left", "Died")
_PATIENTS: Final = ("Persons", "Female", "Male")
_TOWNS: Final = ("Ashby", "Birch", "Cole", "Dunmore", "Easton", "Fenwick")
_KINDS: Final = (
    "Academy",
    "Grammar",
    "High",
    "Hall",
    "College",
    "Park",
    "Manor",
    "Lane",
    "Hill",
    "St Mary's",
)


@dataclass(frozen=True)
class Counts:
    """The counts of one office: of each place and cell what is published, and what is true.

    Attributes:
        true: (geoid, table, cell) → the count.
        text: The same → as it is published.
    """

    true: dict[tuple[str, str, int], int]
    text: dict[tuple[str, str, int], str]

    @classmethod
    def of(cls, office: Office, people: IntArray | None = None) -> Counts:
        """Exact, starred or rounded counts of a made-up office."""
        frame = exact_counts(office, histograms(office) if people is None else people)
        counts = frame["count"].to_numpy()
        published = [str(count) for count in counts]
        if office.law == "stars":
            hidden = stars(office, counts)
            published = [
                "c" if hide else text for hide, text in zip(hidden, published, strict=True)
            ]
        elif office.law == "rounded":
            published = [str(count) for count in rounded(office, counts)]
        keys = list(frame.select("geoid", "table", "cell").iter_rows())
        return cls(
            dict(zip(keys, counts.tolist(), strict=True)), dict(zip(keys, published, strict=True))
        )


#: What is written of one office: files, and for each count where it stands and of what it is.
Written = tuple[dict[str, bytes], dict[Where, tuple[str, str, int]], Counts]


def _crossed_header(
    left: Sequence[str], firsts: Sequence[str], seconds: Sequence[str], top: int
) -> tuple[list[list[object]], list[tuple[int, int, int, int]]]:
    """Two header rows, merged as offices do, below ``top`` other rows."""
    wide, n = len(left), len(seconds)
    upper: list[object] = [*left, *(word if not i else "" for word in firsts for i in range(n))]
    lower: list[object] = [*[""] * wide, *(word for _ in firsts for word in seconds)]
    merges = [(top, at, top + 1, at) for at in range(wide)]
    merges += [(top, wide + i * n, top, wide + i * n + n - 1) for i in range(len(firsts))]
    return [upper, lower], merges


def schools_true() -> Written:
    """Return the same schools with the true counts, before anything was withheld."""
    counts = Counts.of(SCHOOLS)
    files, at, _ = _schools(replace(counts, text={k: str(n) for k, n in counts.true.items()}), "")
    return {"schools_true.xlsx": files["schools.xlsx"]}, at, counts


def schools() -> Written:
    """Sixty schools in six districts: four sheets, each laid out in its own way, stars below 5."""
    return _schools(Counts.of(SCHOOLS), "c: below 5, or hidden to protect such a count.")


def _schools(counts: Counts, footnote: str) -> Written:
    sheets: dict[str, WorkbookSheet] = {
        "Contents": WorkbookSheet([["Pupils in Kentshire, January 2023"], ["1", "Sex and year"]]),
    }
    at: dict[Where, tuple[str, str, int]] = {}
    plans = (
        ("Sex and year", "T1", _SEXES, _YEARS, "merged"),
        ("Free meals", "T2", ("All pupils", "Eligible for free meals"), _ETHNIC, "indent"),
        ("Support", "T3", _SEXES, _SUPPORT, "headings"),
        ("Ethnic group", "T4", _SEXES, _ETHNIC, "repeated"),
    )
    for name, table, firsts, seconds, nesting in plans:
        left = ["District", "School"] if nesting in ("merged", "repeated") else ["School"]
        rows: list[list[object]] = [[f"{name} of pupils, January 2023"], []]
        header, merges = _crossed_header(left, firsts, seconds, len(rows))
        sheet = WorkbookSheet([*rows, *header], merges)
        for geoid, words, indent in _school_rows(nesting):
            row = len(sheet.rows)
            if indent:
                sheet.indents[row, 0] = indent
            values: list[object] = []
            for cell in range(1, len(firsts) * len(seconds) + 1) if geoid else ():
                text = counts.text[geoid, table, cell]
                at[name, row + 1, len(left) + cell - 1] = (geoid, table, cell)
                values.append(int(text) if text.isdigit() else text)
            sheet.rows.append([*words, *values])
        if nesting == "merged":
            first = len(rows) + 2
            sheet.merges += [(first + 11 * d, 0, first + 11 * d + 10, 0) for d in range(6)]
        sheet.rows += [[], [footnote]] if footnote else []
        sheets[name] = sheet
    sheets["Working"] = WorkbookSheet([["Place", "n"], ["x1", 7], ["x2", 9]], hidden=True)
    return {"schools.xlsx": workbook_of(sheets)}, at, counts


def _school_rows(nesting: str) -> Iterator[tuple[str, list[object], int]]:
    """Geoid, the words left of the counts, and their indent; no geoid of a heading."""
    for d, town in enumerate(_TOWNS):
        district = f"W{d:02}"
        own = [(f"{district}{s:03}", f"{town} {kind}") for s, kind in enumerate(_KINDS)]
        own[-1] = (own[-1][0], "St Mary's")  # in every district
        if nesting == "indent":
            yield district, [town], 0
        elif nesting == "headings":
            yield "", [town], 0
        for s, (geoid, name) in enumerate(own):
            if nesting in ("merged", "repeated"):
                yield geoid, [town if not s or nesting == "repeated" else "", name], 0
            else:
                yield geoid, [name], int(nesting == "indent")
        if nesting == "merged":
            yield district, ["", "All schools"], 0
        elif nesting == "repeated":
            yield district, [town, f"{town} total"], 0
        elif nesting == "headings":
            yield district, ["Total"], 0
    two = nesting in ("merged", "repeated")
    yield "W", ["County", *[""] * two], 0


_CODED: Final = replace(WARDS, tables=WARDS.tables[:2], units=20, in_district=10)


def wards() -> Written:
    """Twenty wards in two districts with codes, two sheets, each count rounded to base 3."""
    counts = Counts.of(_CODED)
    at: dict[Where, tuple[str, str, int]] = {}
    sheets: dict[str, WorkbookSheet] = {}
    plans = (
        ("Age", "W1", _PATIENTS, _AGES),
        ("Outcome", "W2", _PATIENTS, _OUTCOMES),
    )
    for name, table, firsts, seconds in plans:
        header, merges = _crossed_header(["Ward code", "Ward"], firsts, seconds, 1)
        rows: list[list[object]] = [[f"Patients: {name.lower()}"], *header]
        for geoid in ("W", *(each for d in range(2) for each in _ward_geoids(d))):
            number = "" if geoid == "W" else f"{int(geoid[1:3]) + 1:02}"
            code = number + (f"{int(geoid[3:]) + 1:02}" if len(geoid) > 3 else "")
            words = _ward_words(geoid)
            row = len(rows) + 1
            values: list[object] = []
            for cell in range(1, len(firsts) * len(seconds) + 1):
                at[name, row, 1 + cell] = (geoid, table, cell)
                values.append(int(counts.text[geoid, table, cell]))
            rows.append([code, words, *values])
        sheets[name] = WorkbookSheet(rows, merges)
    return {"wards.xlsx": workbook_of(sheets)}, at, counts


def _ward_geoids(district: int) -> list[str]:
    return [f"W{district:02}", *(f"W{district:02}{ward:03}" for ward in range(10))]


def _ward_words(geoid: str) -> str:
    if geoid == "W":
        return "All wards"
    town = _TOWNS[int(geoid[1:3])]
    return town if len(geoid) == 3 else f"{town} {_KINDS[int(geoid[3:])]}"


_CONVICTIONS: Final = Office(
    "convictions",
    {
        "offence": ("theft", "violence", "fraud", "drugs"),
        "sex": ("f", "m"),
        "age": ("young", "adult", "old"),
    },
    (
        replace(WARDS.tables[0], name="C1", cells="[total, {by: offence}]", groups=(5,)),
        replace(
            WARDS.tables[0],
            name="C2",
            cells="[total, {by: offence}, {by: sex, cells: [total, {by: offence}]}]",
            groups=(5,) * 3,
        ),
        replace(
            WARDS.tables[0],
            name="C3",
            cells="[total, {by: age}, {by: sex, cells: [total, {by: age}]}]",
            groups=(4,) * 3,
        ),
    ),
    24,
    6,
    seed=11,
    law="stars",
)
_CODES: Final = {
    "OFFENCE": ("TOTAL", "ICCS05", "ICCS02", "ICCS07", "ICCS06"),
    "SEX": ("T", "F", "M"),
    "AGE": ("TOTAL", "Y_LT18", "Y18-64", "Y_GE65"),
}


def convictions() -> Written:
    """SDMX of twenty-four courts in four regions; offence by sex for regions alone."""
    draw = np.random.default_rng(_CONVICTIONS.seed)
    shares = draw.dirichlet([3, 2, 0.5, 1] * 6, size=_CONVICTIONS.units)
    sizes = draw.integers(30, 260, _CONVICTIONS.units)
    people = np.stack([draw.multinomial(n, p) for n, p in zip(sizes, shares, strict=True)])
    counts = Counts.of(_CONVICTIONS, people)
    files: dict[str, bytes] = {}
    at: dict[Where, tuple[str, str, int]] = {}
    plans = (
        ("offence.csv", "C1", ("OFFENCE",), (3, 6)),
        ("offence_sex_regions.csv", "C2", ("SEX", "OFFENCE"), (3,)),
        ("age_sex.csv", "C3", ("SEX", "AGE"), (3, 6)),
    )
    for name, table, dimensions, levels in plans:
        header = ["DATAFLOW", "FREQ", *dimensions, "GEO", "TIME_PERIOD", "OBS_VALUE", "CONF_STATUS"]
        lines = [",".join(header)]
        cells: list[list[str]] = [[]]
        for dimension in dimensions:
            cells = [[*before, code] for before in cells for code in _CODES[dimension]]
        for geoid in sorted({g[:n] for g in _CONVICTIONS.geoids for n in levels}):
            for cell, codes in enumerate(cells, start=1):
                text = counts.text[geoid, table, cell]
                value, flag = ("", "C") if text == "c" else (text, "F")
                lines.append(",".join(["J:CONV(1.0)", "A", *codes, geoid, "2023", value, flag]))
                at[name, len(lines), header.index("OBS_VALUE")] = (geoid, table, cell)
        files[name] = ("\n".join(lines) + "\n").encode()
    return files, at, counts


OFFICES: Final = {make.__name__: make for make in (schools, schools_true, wards, convictions)}


def write(name: str, folder: Path) -> None:
    """Write an office's files."""
    files, _, _ = OFFICES[name]()
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        (folder / file).write_bytes(data)


def check(name: str, config_path: Path) -> dict[str, int]:
    """Compare a run of an office's files with the truth.

    Returns:
        How many counts were ``ingested`` as they were published, how many ``intervals`` hold the
        truth, and how many of these are ``recovered``: the truth alone.

    Raises:
        SystemExit: One count is another, or an interval does not hold the truth.
    """
    from recon_cli.capabilities.ingest.options import Ingest
    from recon_cli.capabilities.ingest.partitions import file_mapping
    from recon_cli.config import load_config
    from recon_cli.sources.cells import CellIndex
    from recon_cli.sources.formats.reading import SheetReader
    from recon_cli.sources.tables import open_sheets

    config = load_config(config_path)
    section = config.section(Ingest)
    release = config.load_release()
    _, places, counts = OFFICES[name]()
    truth = {where: (counts.text[key], counts.true[key]) for where, key in places.items()}
    index = CellIndex.of(release)
    homes: dict[tuple[str, str, int], int] = {}
    ingested = 0
    for _, sheet, said in open_sheets(section.source, section.paths, file_mapping(section)):
        reader = SheetReader(sheet, release, said, markers=frozenset())
        label = sheet.sheet.label
        own = label.rpartition(", sheet ")[2] if ", sheet " in label else Path(label).name
        origin = {each.at: each.column for each in sheet.counts}
        columns = (
            {cell: origin[at] for at, cell in reader.ordinals.items()} if reader.is_wide else {}
        )
        for batch in reader.long():
            for row in batch.rows(named=True):
                at = columns.get(row["ordinal"], sheet.counts[0].column)
                text = (row["marker"] or "") if row["value"] is None else str(row["value"])
                published, true = truth.pop((own, row["row"], at))
                if text.casefold() != published.casefold():
                    raise SystemExit(f"{own}, row {row['row']}: {text} for {published}")
                ingested += 1
                table = index.tables[index.table_of[row["ordinal"]]]
                homes[row["geoid"], table, int(index.cell_of[row["ordinal"]])] = true
    if truth:
        raise SystemExit(f"{len(truth)} counts were not read, {next(iter(truth))} among them")
    audit = pl.read_parquet(config.work / "audit" / "**" / "*.parquet")
    recovered = 0
    for row in audit.rows(named=True):
        true = homes[row["geoid"], row["table"], row["cell"]]
        most = true if row["greatest"] is None else row["greatest"]
        if not row["least"] <= true <= most:
            raise SystemExit(f"{row}: truly {true}")
        recovered += row["status"] == "recovered"
    return {"ingested": ingested, "intervals": audit.height, "recovered": recovered}


def main() -> None:
    """Write an office, or check a run of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    tasks = parser.add_subparsers(dest="task", required=True)
    writing = tasks.add_parser("write")
    writing.add_argument("name", choices=list(OFFICES))
    writing.add_argument("folder", type=Path)
    checking = tasks.add_parser("check")
    checking.add_argument("name", choices=list(OFFICES))
    checking.add_argument("config", type=Path)
    given = parser.parse_args()
    if given.task == "write":
        write(given.name, given.folder)
        return
    for name, number in check(given.name, given.config).items():
        sys.stdout.write(f"{name:12}{number:>8,}\n")


if __name__ == "__main__":
    main()
