"""A schema drafted from published tables that no release fits, and what reads them by it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.capabilities.init.addition import combinations, grid_of_sums, named, sums_of_others
from recon_cli.capabilities.init.axes import (
    Axis,
    Grid,
    axes_of_dimensions,
    grid_of_paths,
    grid_of_phrases,
    label_paths,
    settle_names,
    slug,
    tree,
)
from recon_cli.capabilities.init.crossing import (
    CountIntervals,
    GridDraft,
    checked,
    grid_of_headers,
    tree_differs,
    without_title,
)
from recon_cli.capabilities.init.places import (
    MOST_COUNTS,
    PlaceSums,
    coded_geoids,
    draft_geoids,
    levels_of,
    nested_geoids,
)
from recon_cli.capabilities.init.schema_draft import (
    TableDraft,
    crossed_table,
    draft_schema,
    tree_table,
)
from recon_cli.capabilities.init.survey import published_intervals, rounding_base
from recon_cli.capabilities.init.tables import (
    PERIOD,
    Fit,
    TableFile,
    require_cells,
    rest_of_mapping,
)
from recon_cli.errors import ConfigError, SourceError
from recon_cli.schema import Release, parse_release
from recon_cli.sources.formats import CountColumn, FileMapping
from recon_cli.sources.formats.layout import PART_OF
from recon_cli.sources.formats.place import GEOIDS
from recon_cli.sources.formats.vocabulary import is_total, plain

#: Formats whose geoids are those of the US census.
_CENSUS: Final = ("census-api", "data-census-gov", "factfinder", "nhgis")
#: Formats whose place column may be called anything.
_BY_HEADER: Final = ("wide", "long")
#: Formats whose columns are known by their labels alone.
_BY_LABEL: Final = ("wide", "ons-bulk")


#: Headers of what is no count.
_RATE: Final = re.compile(
    r"%|\b(percent\w*|per cent|rate|mean|median|average|share|ratio)\b", re.IGNORECASE
)
#: Texts in place of counts that are not published.
_SHORTHAND: Final = frozenset((
    "n/a", "na", "n.a.", "np", "n.p.", "s", "[c]", "[x]", "[z]", "[s]", "[low]", "~", "–", "—",
    "suppressed", "…", ".", "..c", "nil", "null",
))  # fmt: skip

#: A file's name, and for each header of a count its cell's code; None for one that is left out.
FileColumns = tuple[str, Mapping[str, str | None]]


@dataclass(frozen=True)
class DraftedRelease:
    """A schema drafted from files, and what reads them by it.

    Attributes:
        questions: What has to be answered.
    """

    draft: str
    release: Release
    fit: Fit
    questions: tuple[str, ...] = ()


def draft_release(
    files: Sequence[TableFile], name: str, leave_out: Collection[str] = ()
) -> DraftedRelease:
    """A schema from the labels or the dimensions of the files.

    Args:
        leave_out: Headers of columns that are no counts.

    Raises:
        SourceError: The files have neither labels nor dimensions, or a column of counts has a
            number that is none.
    """
    census = files[0].form.name in _CENSUS
    geoids = None if census else _geoids(files)
    if geoids is not None:
        files = [_with_geoids(file, geoids) for file in files]
    places = pl.concat([file.survey.geoids for file in files]).unique().sort()
    tables, columns = _tables(files, leave_out)
    first, *others = dict.fromkeys(file.path.name for file in files)
    title = first + (f" and {len(others)} more" if others else "")
    said = max((file.sheet.levels for file in files), key=len)
    named: dict[int, str] = {}
    if geoids is not None or said:
        lengths = sorted(set(places.str.len_chars()))
        named = levels_of(lengths, said, has_whole="A" in places)
    text, unsaid = draft_schema(name, title, tables, places, named, census=census)
    release = parse_release(text, source=f"{name}.yaml")
    mapping, doubts = rest_of_mapping(files, release)
    if columns:
        mapping |= _column_keys(columns)
        pairs = dict.fromkeys(pair for _, own in columns for pair in own.items())
        if left_out := [header for header, code in pairs if code is None]:
            shown = ", ".join(map(repr, left_out[:4])) + ", …" * (len(left_out) > 4)
            doubts.append(f"whether {shown} are counts: they are left out")
    else:
        for file in files:
            require_cells(file, release, FileMapping())
    if geoids is not None:
        mapping["geoids"] = dict(geoids)
        is_nested = any(file.sheet.names for file in files) or PART_OF in "".join(geoids)
        rest = (
            ""
            if is_nested
            else ("; if some are parts of others, their geoids must begin with those")
        )
        doubts.append(
            f"the codes of places: {len(set(geoids.values()))} names are numbered (mapping.geoids)"
            f"{rest}"
        )
    questions = tuple(question for table in tables for question in table.questions)
    for file in files:
        if file.survey.rows * len(file.sheet.counts) > MOST_COUNTS:
            doubts.append(f"whether the places of {file.name} add up: it has too many counts")
        elif file.sheet.dimensions:
            sums = PlaceSums.of(file.sheet, file.survey, rounding_base([file.survey]))
            questions += () if sums is None else tuple(sums.questions(file.sheet, geoids or {}))
    fitting = Fit(tuple(files), mapping, (*unsaid, *doubts))
    return DraftedRelease(text, release, fitting, questions)


def _tables(
    files: Sequence[TableFile],
    leave_out: Collection[str],
) -> tuple[list[TableDraft], list[FileColumns]]:
    """The tables of files, and for each file that labels alone explain: header → code.

    Files with the same headers have the same table.
    """
    tables: dict[str, TableDraft] = {}
    columns: list[FileColumns] = []
    axes: list[Axis] = []
    lengths: dict[str, set[int]] = {}
    seen: dict[tuple[str, ...], tuple[list[TableFile], TableDraft]] = {}
    for file in files:
        counts = _counts(file, leave_out)
        headers = tuple(each.header for each in counts)
        by_label = file.form.name in _BY_LABEL
        if by_label and headers in seen:
            same, table = seen[headers]
            for before in same:
                _require_other_places(before, file)
            same.append(file)
        else:
            table, own_axes = _table(file, counts, len(tables) + 1, axes)
            table = replace(table, title=file.document.sheet or "")
            axes += own_axes
            table = tables.setdefault(table.name, table)
            seen[headers] = [file], table
        lengths.setdefault(table.name, set()).update(file.survey.lengths())
        if by_label:
            codes = (f"{table.name}_{i:03}" for i in range(1, len(headers) + 1))
            own = dict(zip(headers, codes, strict=True))
            of_file = {each.header: own.get(each.header) for each in file.sheet.counts}
            columns.append((file.name, of_file))
    drafts = [replace(each, lengths=frozenset(lengths[name])) for name, each in tables.items()]
    return drafts, columns


def _require_other_places(before: TableFile, file: TableFile) -> None:
    """Refuse two files with the same headers and the same places."""
    again = before.survey.geoids.filter(before.survey.geoids.is_in(file.survey.geoids.implode()))
    if len(again):
        raise ConfigError(
            f"{before.path} and {file.path} have the same headers and {len(again)} places in "
            f"common ({again[0]}): one config reads one publication; write one for each of them"
        )


def _column_keys(columns: Sequence[FileColumns]) -> dict[str, object]:
    """Keys of ``ingest.mapping``: by file where files share headers of different cells."""
    pairs = [pair for _, own in columns for pair in own.items()]
    together = dict(pairs)
    if all(together[header] == code for header, code in pairs):
        return {"columns": together}
    names = [name for name, _ in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"two files are called {twice[0]} and share headers; rename one of them")
    return {"columns_of": dict(columns)}


def _names_codes(files: Sequence[TableFile]) -> bool:
    """Whether the headers say that the places are codes."""
    return all(
        file.form.name not in _BY_HEADER
        or file.sheet.headers[file.sheet.place[0]].casefold() in GEOIDS
        for file in files
    )


def _geoids(files: Sequence[TableFile]) -> Mapping[str, str] | None:
    """Geoids for what stands for the places; None where they are geoids."""
    texts = {file.sheet.sheet.label: file.survey.geoids.to_list() for file in files}
    places = pl.concat([file.survey.geoids for file in files]).unique().sort()
    if any(file.sheet.names for file in files):
        headers = {header.casefold() for file in files for header in file.sheet.headers}
        said = not headers.isdisjoint(("geoid", "geo_id", "geocode"))
        return coded_geoids(places.to_list(), said=said) or None
    if any(PART_OF in place for place in places):
        return nested_geoids(texts)
    return draft_geoids(places, said=_names_codes(files))


def _with_geoids(file: TableFile, geoids: Mapping[str, str]) -> TableFile:
    sheet = file.sheet.with_geoids(geoids)
    mapped = file.survey.geoids.replace(dict(geoids)).sort()
    return replace(file, sheet=sheet, survey=replace(file.survey, geoids=mapped))


def release_name(path: Path) -> str:
    """A name for a release, from a file's."""
    return slug(path.resolve().name.partition(".")[0]) or "release"


def _table(
    file: TableFile, counts: Sequence[CountColumn], number: int, known: Sequence[Axis]
) -> tuple[TableDraft, tuple[Axis, ...]]:
    """A table, and its features; those with the categories of a known one have its name."""
    sheet = file.sheet
    if sheet.dimensions:
        axes = axes_of_dimensions([each.name for each in sheet.dimensions], _categories(file))
        if len(sheet.counts) > 1:
            columns = grid_of_paths([each.parts for each in sheet.counts])
            axes += columns.axes if columns else ()
        name = "_".join(axis.name for axis in axes).upper() or f"TABLE{number}"
        grid = settle_names(Grid.full(axes), known)
        return crossed_table(name, f"{name}_###", grid), grid.axes
    paths = label_paths(replace(sheet, counts=tuple(counts)))
    by_label = file.form.name in _BY_LABEL
    if not all(paths) or not counts:
        raise SourceError(
            f"{sheet.sheet.label}: its columns ({sheet.counts[0].header}, …) have no labels, so no "
            "schema can be drafted; give --release NAME or a schema.yaml"
        )
    words = [tuple(map(plain, path)) for path in paths]
    if twice := next((i for i, path in enumerate(words) if path in words[:i]), None):
        raise SourceError(
            f"{sheet.sheet.label}: columns {counts[words.index(words[twice])].at + 1} and "
            f"{counts[twice].at + 1} have one label, {': '.join(paths[twice])!r}; name them apart, "
            "or leave one out"
        )
    published = None if by_label else counts[0].table
    name = published or f"TABLE{number}"
    spelled = (counts[0].code or "").endswith("N") and not by_label
    code = f"{name}_###{'N' * spelled}"
    ends = published_intervals(sheet, counts, rounding_base([file.survey]))
    told = _grid(paths, ends)
    if told is None:
        nodes = tree(paths)
        table = tree_table(name, code, nodes)
        differs = tree_differs(paths, {i: node.leaves for i, node in enumerate(nodes)}, ends)
        own = [f"{sheet.sheet.label}: {differs}"] * bool(differs)
        return replace(table, questions=(*own, *_odd_words(file, counts))), ()
    grid = settle_names(told.grid, known)
    table = crossed_table(name, code, grid)
    own = [f"{sheet.sheet.label}: {each}" for each in told.questions]
    doubts = (*table.doubts, *told.doubts)
    return replace(table, doubts=doubts, questions=(*own, *_odd_words(file, counts))), grid.axes


def _grid(paths: Sequence[tuple[str, ...]], ends: CountIntervals) -> GridDraft | None:
    """What labels and counts say of the features; None if the labels are a tree."""
    title, bare = without_title(paths)
    if any(len(path) > 1 for path in bare):
        return grid_of_headers(paths, ends)
    labels = [path[0] for path in bare]
    phrases = None if combinations(labels) else grid_of_phrases(labels)
    if phrases is None:
        if (summed := grid_of_sums(labels, ends)) is not None:
            return named(summed, title)
        phrases = grid_of_phrases(labels)
    if phrases is None:
        if (grid := grid_of_paths(bare)) is None:
            return None
        found = checked(grid, ends)
        asked = () if grid.has_everybody else sums_of_others(labels, ends)
        return replace(found, questions=(*found.questions, *asked))
    first, second = (axis.labels[0] for axis in phrases.axes)
    taken = f"whether '{first} {second}' is {first!r} with {second!r}: it is taken so"
    found = checked(phrases, ends)
    return replace(found, doubts=(taken, *found.doubts))


def _categories(file: TableFile) -> dict[str, list[tuple[str, str]]]:
    """Categories of the rows that are counts."""
    chosen = {file.sheet.headers[at]: values for at, values in file.sheet.where.items()}
    return {
        name: [each for each in categories if each[0] in chosen.get(name, (each[0],))]
        for name, categories in file.survey.categories.items()
    }


def _counts(file: TableFile, leave_out: Collection[str]) -> tuple[CountColumn, ...]:
    """Columns that may be counts of those whom a total counts: never more than it."""
    able = _whole_numbers(file, leave_out)
    totals = [i for i, each in enumerate(able) if is_total(each.header)]
    if file.form.name not in _BY_LABEL or len(totals) != 1:
        return able
    ends = published_intervals(file.sheet, able, rounding_base([file.survey]))
    fitting = []
    for i, each in enumerate(able):
        more = ends.more([i], totals[0])
        if more.sum() == 1 < len(more) - 1:
            where = file.sheet.sheet.where(int(ends.rows[more.argmax()]), each.at, each.header)
            raise SourceError(
                f"{where}: more than {able[totals[0]].header!r}, and in no other row; "
                f"{_remedy(each)}"
                if each.header
                else f"{where}: a number in a column that has no header; mend the row"
            )
        if not more.any():
            fitting.append(each)
    return tuple(fitting)


def _remedy(column: CountColumn) -> str:
    return (
        f"mend it, or leave the column out (`recon init --leave-out {shlex.quote(column.header)}`)"
    )


def _whole_numbers(file: TableFile, leave_out: Collection[str]) -> tuple[CountColumn, ...]:
    """Columns that may be counts: no periods, and not mostly numbers that are not whole."""
    able = []
    for each in file.sheet.counts:
        if each.header in leave_out:
            continue
        odd = [found for found in file.survey.odd.get(each.at, ()) if found.is_number]
        often = sum(found.times for found in odd)
        if PERIOD.fullmatch(each.header) or (_RATE.search(each.header) and odd):
            continue
        if odd and file.form.name in _BY_LABEL and often < file.survey.numbers[each.at]:
            raise SourceError(
                f"{file.sheet.sheet.where(odd[0].row, each.at, each.header)}: {odd[0].text!r} is "
                f"no count; {_remedy(each)}"
            )
        if not odd:
            able.append(each)
    return tuple(able)


def _odd_words(file: TableFile, counts: Sequence[CountColumn]) -> tuple[str, ...]:
    """A question for the first text in place of a count that nobody uses."""
    found = [
        f"{file.sheet.sheet.where(odd.row, each.at, each.header)}: {odd.text!r} is no number: it "
        "is taken as a count that is not published"
        for each in counts
        for odd in file.survey.odd.get(each.at, ())
        if not odd.is_number and odd.text.casefold() not in _SHORTHAND
    ]
    return tuple(found[:1]) if file.form.name in _BY_LABEL else ()
