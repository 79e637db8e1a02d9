"""Workbooks of made-up offices in layouts drawn at random, and whether they are read right.

The truth is a histogram of every school. A workbook publishes margins of it in sheets, each laid
out by chance: titles, one to three header rows, merged cells, blank columns, parents in a column,
in indents or in headings, totals under many names, footnotes, hidden sheets, stars, rounding, and
now and then a slip. `judge` compares what is read with the truth, cell by cell.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.ingest.partitions import file_mapping
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.errors import ReconError
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.formats import FileMapping
from recon_cli.sources.formats.reading import SheetReader
from recon_cli.sources.tables import open_sheets
from tests.support.workbooks import WorkbookSheet, workbook_of

#: A place, the largest first; empty for all together.
Place = tuple[str, ...]
#: Feature → value; a feature that is not there has any.
Cell = tuple[tuple[str, str], ...]
Verdict = Literal["right", "looser", "said", "question", "refused", "WRONG"]

_DISTRICTS: Final = ("North", "South", "East Riding", "Vale", "Ashby")
_SCHOOLS: Final = (
    "Oak Academy", "Elm Primary", "St Mary's", "All Saints", "Ashby", "Birch Lane", "Cedar Hall",
    "County High", "Dale End", "Fern Grove", "Total Learning Trust", "Hill Top",
)  # fmt: skip
FEATURES: Final[dict[str, tuple[str, ...]]] = {
    "Sex": ("Boys", "Girls"),
    "Year group": ("Year 7", "Year 8", "Year 9"),
    "Free school meals": ("Eligible for FSM", "Not eligible"),
    "Ethnic group": ("White", "Asian", "Black", "Any other group"),
}
_TOTALS: Final = ("All pupils", "Total", "Persons", "All")
_SLIPS: Final = ("minus", "sum", "merged", "twice", "word", "half")


@dataclass
class Truth:
    """What a workbook publishes.

    Attributes:
        counts: (Sheet, row, column) → place, cell, and the text that is published.
        hidden: Sheets that are no part of it.
        slip: What was damaged, if something was.
        style: How it was laid out, for messages.
    """

    counts: dict[tuple[str, int, int], tuple[Place, Cell, str]] = field(default_factory=dict)
    slip: str = ""
    style: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """What came of a workbook.

    Attributes:
        verdict: ``right``: every count in its cell, and no more freedom than the truth has;
            ``looser``: every count in its cell, in a schema that allows more; ``said``: columns
            were left out, and named; a ``question``; ``refused``.
        about: The message, or what is wrong.
    """

    verdict: Verdict
    about: str


Histogram = Mapping[Place, Mapping[tuple[str, ...], int]]


def write_office(path: Path, seed: int) -> Truth:
    """A workbook drawn by a seed, and what is in it."""
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    truth = Truth()
    people = _people(draw)
    law = draw.choice(("exact", "exact", "stars", "rounded"))
    sheets: dict[str, WorkbookSheet] = {}
    style = _PlaceStyle.drawn(draw)
    truth.style += [law, *style.words()]
    names = list(FEATURES)
    draw.shuffle(names)
    chosen = [tuple(names[:2]), (names[2],), (names[3],)][: draw.choice((1, 2, 3))]
    if draw.random() < 0.3:
        sheets["Notes"] = WorkbookSheet([["About these tables"], ["Published", 2023]])
    for features in chosen:
        name = " by ".join(features)[:31]
        sheets[name] = _sheet(draw, truth, name, people, features, style, law)
    if draw.random() < 0.25:
        sheets["Working"] = WorkbookSheet([["Place", "All"], ["x1", 3], ["y1", 4]], hidden=True)
    if draw.random() < 0.2:
        _slip(draw, truth, sheets)
    path.write_bytes(workbook_of(sheets))
    return truth


def _people(draw: random.Random) -> Histogram:
    """School → a count for each combination of all features."""
    found: dict[Place, dict[tuple[str, ...], int]] = {}
    kinds = list(itertools.product(*FEATURES.values()))
    taken: set[str] = set()
    for district in draw.sample(_DISTRICTS, draw.choice((2, 3, 4))):
        for school in draw.sample(_SCHOOLS, draw.choice((2, 3, 4, 5))):
            taken.add(school)
            weights = [draw.random() ** 2 for _ in kinds]
            picked = draw.choices(kinds, weights, k=draw.choice((20, 60, 150)))
            found[district, school] = Counter(picked)
    return found


def _count(people: Histogram, place: Place, cell: Cell) -> int:
    said = dict(cell)
    wanted = [(at, said[name]) for at, name in enumerate(FEATURES) if name in said]
    return sum(
        count
        for school, kinds in people.items()
        if school[: len(place)] == place
        for kind, count in kinds.items()
        if all(kind[at] == value for at, value in wanted)
    )


@dataclass(frozen=True)
class _PlaceStyle:
    """How rows say what they are of, in all sheets of a workbook."""

    nesting: str
    district_total: str
    whole: str
    whole_first: bool
    codes: bool
    header: str

    @classmethod
    def drawn(cls, draw: random.Random) -> _PlaceStyle:
        nesting = draw.choice(
            ("merged", "repeated", "filled", "indent", "blanks", "headings", "sums", "flat")
        )
        return cls(
            nesting,
            draw.choice(("", "All schools", "Total", "{} total", "{}", "Total {}")),
            draw.choice(("", "County", "All schools", "Total", "Kent")),
            draw.random() < 0.3,
            draw.random() < 0.2 and nesting in ("merged", "repeated", "filled"),
            draw.choice(("School", "School name", "School")),
        )

    def words(self) -> list[str]:
        return [self.nesting, self.district_total, self.whole, "codes" * self.codes]


def _sheet(  # noqa: C901, PLR0917 - a branch for each way to lay it out
    draw: random.Random,
    truth: Truth,
    name: str,
    people: Histogram,
    features: Sequence[str],
    style: _PlaceStyle,
    law: str,
) -> WorkbookSheet:
    sheet = WorkbookSheet([])
    width = _left_width(style)
    is_beside = len(features) == 2 and draw.random() < 0.25
    cells, spacers = (_beside if is_beside else _cells)(draw, features)
    columns: list[Cell | None] = []
    for i, cell in enumerate(cells):
        if i in spacers:
            columns.append(None)
        columns.append(cell)
    for _ in range(draw.choice((0, 1, 2))):
        sheet.rows.append([draw.choice((f"Table {draw.randint(1, 9)}: {name}", "January 2023"))])
        if draw.random() < 0.4:
            last = len(sheet.rows) - 1
            sheet.merges.append((last, 0, last, width + len(columns) - 1))
    if sheet.rows and draw.random() < 0.7:
        sheet.rows.append([])
    if is_beside:
        _header_beside(draw, sheet, style, columns)
    else:
        _header(draw, sheet, style, columns, features)
    for place, left, indent in _places(people, style):
        row = len(sheet.rows)
        published = place if place != ("",) else None
        values: list[object] = []
        for at, own in enumerate(columns):
            if own is None or published is None:
                values.append("")
                continue
            text = _published(_count(people, published, own), law, draw)
            truth.counts[name, row + 1, width + at] = (published, own, text)
            values.append(int(text) if text.isdigit() and draw.random() < 0.97 else text)
        if indent:
            sheet.indents[row, width - 1] = indent
        sheet.rows.append([*left, *values])
    _merge_parents(sheet, style, width)
    for note in range(draw.choice((0, 0, 1, 2))):
        sheet.rows += [[], [f"{note + 1}. Figures are of January. Source: the office."]]
    return sheet


def _left_width(style: _PlaceStyle) -> int:
    has_parent = style.nesting in ("merged", "repeated", "filled")
    return (2 if has_parent else 1) * (2 if style.codes else 1)


def _cells(draw: random.Random, features: Sequence[str]) -> tuple[list[Cell], set[int]]:
    """The cells of a sheet in order, and before which of them a column is blank."""
    total = draw.choice(("first", "last", "both", "none" if len(features) > 1 else "first"))
    inner: list[list[Cell]] = []
    if len(features) == 1:
        (only,) = features
        inner = [[((only, value),)] for value in FEATURES[only]]
        if draw.random() < 0.3 and only == "Free school meals" and total != "none":
            inner = inner[:1]
    else:
        one, two = features
        with_sub = total in ("both", "first") and draw.random() < 0.6
        for value in FEATURES[one]:
            own: list[Cell] = [((one, value), (two, each)) for each in FEATURES[two]]
            inner.append([((one, value),), *own] if with_sub else own)
        if total == "both":
            inner.insert(0, [(), *[((two, each),) for each in FEATURES[two]]])
    cells = [cell for group in inner for cell in group]
    if total != "none" and () not in cells:
        cells = [*cells, ()] if total == "last" else [(), *cells]
    starts = {cells.index(group[0]) for group in inner[1:]}
    return cells, {at for at in starts if draw.random() < 0.15}


def _beside(draw: random.Random, features: Sequence[str]) -> tuple[list[Cell], set[int]]:
    """Features side by side, and a total in front of them, behind them, or nowhere."""
    cells: list[Cell] = [((name, value),) for name in features for value in FEATURES[name]]
    total = draw.choice(("first", "first", "last", "none"))
    if total != "none":
        cells.insert(0 if total == "first" else len(cells), ())
    return cells, set()


def _header_beside(
    draw: random.Random, sheet: WorkbookSheet, style: _PlaceStyle, columns: Sequence[Cell | None]
) -> None:
    """The feature above its values, in merged cells; or the values alone, under a total."""
    titles = _titles(style)
    total = draw.choice(_TOTALS)
    cells = [cell or () for cell in columns]
    upper = [cell[0][0] if cell else total for cell in cells]
    lower = [cell[0][1] if cell else "" for cell in cells]
    if () in cells and draw.random() < 0.4:
        sheet.rows.append([*titles, *(word or total for word in lower)])
        return
    top, width = len(sheet.rows), len(titles)
    firsts = [word if not i or word != upper[i - 1] else "" for i, word in enumerate(upper)]
    sheet.rows.append([*titles, *firsts])
    sheet.rows.append([*[""] * width, *lower])
    for word in dict.fromkeys(upper):
        at = [width + i for i, each in enumerate(upper) if each == word]
        bottom = top + (word == total)
        if len(at) > 1 or bottom > top:
            sheet.merges.append((top, at[0], bottom, at[-1]))
    sheet.merges += [(top, i, top + 1, i) for i in range(width)]


def _titles(style: _PlaceStyle) -> list[str]:
    """What stands over the places and their codes."""
    has_parent = style.nesting in ("merged", "repeated", "filled")
    titles = ["District", style.header] if has_parent else [style.header]
    if style.codes:
        titles = [t for title in titles for t in (f"{title.removesuffix(' name')} code", title)]
    return titles


def _header(
    draw: random.Random,
    sheet: WorkbookSheet,
    style: _PlaceStyle,
    columns: Sequence[Cell | None],
    features: Sequence[str],
) -> None:
    total = draw.choice(_TOTALS)
    titles = _titles(style)
    top = len(sheet.rows)
    width = len(titles)
    mark = draw.choice(("", "", " [1]"))
    if len(features) == 1:
        words = [_words(cell, features[0], total) for cell in columns]
        if draw.random() < 0.3:
            at = [width + i for i, cell in enumerate(columns) if cell]
            sheet.rows.append(
                [features[0] if i == at[0] else "" for i in range(width + len(columns))]
            )
            if len(at) > 1 and at[-1] - at[0] == len(at) - 1:
                sheet.merges.append((top, at[0], top, at[-1]))
        sheet.rows.append([*titles, *(word + mark * bool(word) for word in words)])
        return
    one, two = features
    if draw.random() < 0.25 and None not in columns:
        phrases = [
            " ".join(dict(cell)[f] for f in features if f in dict(cell)) or total
            for cell in columns
            if cell is not None
        ]
        sheet.rows.append([*titles, *phrases])
        return
    upper = [_words(cell, one, total) for cell in columns]
    lower = [
        ""
        if cell is None
        else _words(cell, two, "" if cell == () and not _has(columns, one) else total)
        for cell in columns
    ]
    merged = draw.random() < 0.7
    shown: list[object] = []
    runs: list[tuple[int, int]] = []
    for i, word in enumerate(upper):
        if i and word and word == upper[i - 1]:
            shown.append("" if merged or draw.random() < 0.8 else word)
            runs[-1] = (runs[-1][0], i)
        else:
            shown.append(word)
            runs.append((i, i))
    if draw.random() < 0.2:
        title = f"{one} and {two}"
        sheet.rows.append([*[""] * width, title, *[""] * (len(columns) - 1)])
        sheet.merges.append((top, width, top, width + len(columns) - 1))
        top += 1
    below = draw.random() < 0.5 and not merged
    sheet.rows.append([*([""] * width if below else titles), *shown])
    sheet.rows.append([*(titles if below else [""] * width), *lower])
    if merged:
        sheet.merges += [(top, width + a, top, width + b) for a, b in runs if b > a]
        sheet.merges += [(top, i, top + 1, i) for i in range(width)]
        sheet.merges += [
            (top, width + i, top + 1, width + i)
            for i, word in enumerate(lower)
            if not word and upper[i]
        ]


def _has(columns: Sequence[Cell | None], feature: str) -> bool:
    """Whether everybody of a feature is crossed with the other one."""
    return any(cell and feature not in dict(cell) for cell in columns)


def _words(cell: Cell | None, feature: str, total: str) -> str:
    return "" if cell is None else dict(cell).get(feature, total)


def _places(  # noqa: C901 - a branch for each way to lay it out
    people: Histogram, style: _PlaceStyle
) -> list[tuple[Place, list[object], int]]:
    """Place (``("",)`` of a heading), the cells left of the counts, and the indent, by row."""
    rows: list[tuple[Place, list[object], int]] = []
    districts = list(dict.fromkeys(district for district, _ in people))
    is_flat = style.nesting == "flat"
    for d, district in enumerate(districts):
        own = [school for school in people if school[0] == district]
        named = style.district_total.format(district)
        parent = style.nesting in ("merged", "repeated", "filled")
        if style.nesting in ("indent", "blanks"):
            rows.append(((district,), [district], 0))
        if style.nesting == "headings":
            rows.append((("",), [district], 0))
        for s, school in enumerate(own):
            text = school[1]
            left: list[object] = [text]
            if style.nesting == "blanks":
                left = [f"   {text}"]
            if parent:
                shown = district if s == 0 or style.nesting == "repeated" else ""
                left = [shown, text]
                if style.codes:
                    left = [f"{d + 1:02}" if shown else "", shown, f"{d + 1:02}{s + 1:02}", text]
            rows.append((school, left, 1 if style.nesting == "indent" else 0))
        if style.nesting == "sums":
            rows.append(((district,), [district], 0))
        if named and parent and not style.codes:
            shown = district if style.nesting == "repeated" else ""
            rows.append(((district,), [shown, named], 0))
        if named and style.nesting == "headings":
            rows.append(((district,), [named], 0))
        if named and parent and style.codes:
            rows.append(((district,), [f"{d + 1:02}", district, "", named], 0))
    if style.whole:
        width = _left_width(style)
        left = [""] * width
        left[1 if style.codes else 0] = style.whole
        whole: tuple[Place, list[object], int] = ((), left, 0)
        rows = [whole, *rows] if style.whole_first and style.nesting != "merged" else [*rows, whole]
    return rows if not is_flat else [row for row in rows if len(row[0]) != 1]


def _merge_parents(sheet: WorkbookSheet, style: _PlaceStyle, width: int) -> None:
    if style.nesting != "merged":
        return
    at = 1 if style.codes else 0
    starts = [i for i, row in enumerate(sheet.rows) if len(row) > width and row[at] and i]
    starts = [i for i in starts if sheet.rows[i][width - 1] not in ("School", "School name")]
    for start, end in itertools.pairwise([*starts, len(sheet.rows)]):
        if end - start > 1:
            sheet.merges.append((start, at, end - 1, at))


def _published(count: int, law: str, draw: random.Random) -> str:
    if law == "stars":
        return "*" if 0 < count < 3 else str(count)
    if law == "rounded":
        below = count - count % 5
        return str(below + 5 if draw.random() < (count % 5) / 5 else below)
    return str(count)


def _slip(draw: random.Random, truth: Truth, sheets: dict[str, WorkbookSheet]) -> None:
    """One mistake, as people make them."""
    truth.slip = draw.choice(_SLIPS)
    (name, row, column) = draw.choice(list(truth.counts))
    place, cell, text = truth.counts[name, row, column]
    cells = sheets[name].rows[row - 1]
    match truth.slip:
        case "minus":
            cells[column] = -3
        case "word":
            cells[column] = "n/a?"
        case "half":
            cells[column] = 2.5
        case "sum":
            wrong = (int(text) if text.isdigit() else 0) + 50
            cells[column] = wrong
            truth.counts[name, row, column] = (place, cell, str(wrong))
        case "merged":
            sheets[name].merges.append((row - 1, column, row, column))
        case _:
            sheets[name].rows.insert(row, list(cells))
            shifted = {
                (n, r + (n == name and r > row), c): value
                for (n, r, c), value in truth.counts.items()
            }
            truth.counts = shifted
            sheets[name].indents = {
                (r + (r >= row), c): indent for (r, c), indent in sheets[name].indents.items()
            }
            sheets[name].merges = [
                (a + (a >= row), b, c + (c >= row), d) for a, b, c, d in sheets[name].merges
            ]


# --- judgement --------------------------------------------------------------------------------


def mapping_of(path: Path, found: RecognisedFiles) -> FileMapping:
    """The mapping that `recon ingest` would read in the config."""
    said = {"source": found.source, "paths": [str(path)], "mapping": dict(found.mapping)}
    return file_mapping(Ingest.model_validate(said, context={"base": path.parent}))


def judge(path: Path, truth: Truth) -> Judged:
    """What `recon init` makes of a workbook, beside the truth."""
    try:
        found = recognise([path])
    except ReconError as error:
        return Judged("refused", str(error))
    if found.questions:
        return Judged("question", found.questions[0].text)
    mapping = mapping_of(path, found)
    read: dict[tuple[str, int, int], tuple[str, int, str]] = {}
    try:
        for _, sheet, said in open_sheets("sheet", [path], mapping):
            reader = SheetReader(sheet, found.schema, said, frozenset(found.markers))
            name = sheet.sheet.label.rpartition(", sheet ")[2]
            columns = {each.at: each.column for each in sheet.counts}
            at_of = {ordinal: columns[at] for at, ordinal in reader.ordinals.items()}
            for batch in reader.long():
                for row in batch.rows(named=True):
                    text = row.get("marker") or "" if row["value"] is None else str(row["value"])
                    key = (name, row["row"], at_of[row["ordinal"]])
                    read[key] = (row["geoid"], row["ordinal"], text)
    except ReconError as error:
        return Judged("refused", str(error))
    return _compared(found, truth, read)


def _compared(  # noqa: PLR0911 - each return is another fault
    found: RecognisedFiles, truth: Truth, read: Mapping[tuple[str, int, int], tuple[str, int, str]]
) -> Judged:
    lost = [key for key in truth.counts if key not in read]
    said = {key[2] for key in lost}
    if lost:
        told = any(each.column for each in found.left_out)
        columns = {key[::2] for key in lost}
        whole = all(key in lost for key in truth.counts if key[::2] in columns)
        if not (whole and told):
            return Judged("WRONG", f"lost {len(lost)} of {len(truth.counts)}: {lost[0]}, {said}")
    if more := [key for key in read if key not in truth.counts]:
        return Judged("WRONG", f"{len(more)} counts that are none: {more[0]}")
    geoids: dict[Place, str] = {}
    sets: dict[Cell, set[int]] = {}
    ordinals: dict[int, Cell] = {}
    for key, (geoid, ordinal, text) in read.items():
        place, cell, published = truth.counts[key]
        if text != published:
            return Judged("WRONG", f"{key}: {text!r} for {published!r}")
        if geoids.setdefault(place, geoid) != geoid:
            return Judged("WRONG", f"{key}: {place} is {geoid} and {geoids[place]}")
        if ordinals.setdefault(ordinal, cell) != cell:
            return Judged("WRONG", f"{key}: {cell} and {ordinals[ordinal]} are one cell")
        sets.setdefault(cell, set()).add(ordinal)
    if problem := _misplaced(geoids):
        return Judged("WRONG", problem)
    return _meaning(found, sets, left_out=bool(lost))


def _misplaced(geoids: Mapping[Place, str]) -> str:
    for one, two in itertools.permutations(geoids, 2):
        inside = two[: len(one)] == one
        if geoids[two].startswith(geoids[one]) != inside:
            return f"{one} is {geoids[one]}, {two} is {geoids[two]}"
    return ""


def _meaning(found: RecognisedFiles, sets: Mapping[Cell, set[int]], *, left_out: bool) -> Judged:
    """Whether the drafted cells allow the truth, and nothing that it does not allow."""
    index = CellIndex.of(found.schema)
    sizes = [len(feature.values) for feature in found.schema.features]
    masks = {
        cell: [
            found.schema.table_by_name[index.tables[index.table_of[o]]]
            .cells[int(index.cell_of[o]) - 1]
            .masks
            for o in ordinals
        ]
        for cell, ordinals in sets.items()
    }

    def pattern_of(kind: Sequence[int]) -> tuple[bool, ...]:
        return tuple(
            all(mask >> value & 1 for mask, value in zip(each, kind, strict=True))
            for own in masks.values()
            for each in own
        )

    drafted = {pattern_of(kind) for kind in itertools.product(*map(range, sizes))}
    true = set()
    for kind in itertools.product(*FEATURES.values()):
        values = dict(zip(FEATURES, kind, strict=True))
        true.add(
            tuple(
                all(values[name] == value for name, value in cell)
                for cell, own in masks.items()
                for _ in own
            )
        )
    if not true <= drafted:
        return Judged("WRONG", f"the schema forbids the truth: {found.draft}")
    if left_out:
        return Judged("said", "columns were left out")
    return Judged("right" if true == drafted else "looser", "")
