"""Published tables of any format: which release they are of, and the mapping that they need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.errors import ConfigError, ReconError, SourceError
from recon_cli.scaffold.addition import combinations, grid_of_sums
from recon_cli.scaffold.axes import (
    Grid,
    axes_of_dimensions,
    grid_of_paths,
    grid_of_phrases,
    label_paths,
    slug,
    tree,
)
from recon_cli.scaffold.places import draft_geoids, levels_of
from recon_cli.scaffold.schema_draft import (
    Draft,
    TableDraft,
    crossed_table,
    draft_schema,
    tree_table,
)
from recon_cli.scaffold.survey import (
    Survey,
    has_digits,
    published_intervals,
    rounding_base,
    survey,
)
from recon_cli.schema import Release, parse_release
from recon_cli.sources.formats import (
    CountColumn,
    CountSheet,
    FileMapping,
    Format,
    is_companion,
    recognise_format,
)
from recon_cli.sources.formats.assignment import Assigner
from recon_cli.sources.formats.codes import PRODUCTS
from recon_cli.sources.formats.long import names_counts
from recon_cli.sources.formats.place import GEOIDS
from recon_cli.sources.formats.reading import THOUSANDS, SheetReader
from recon_cli.sources.tables import companions
from recon_cli.sources.tabular import open_documents
from recon_cli.statement.suppression import is_marker

#: Dimensions of which a publication has one value: the last, if there are several.
_TIME: Final = re.compile(r"time|time_period|date|year|period|census_year", re.IGNORECASE)
#: Formats whose geoids are those of the US census.
_CENSUS: Final = ("census-api", "data-census-gov", "factfinder", "nhgis")
#: Formats whose place column may be called anything.
_BY_HEADER: Final = ("wide", "long")
#: Formats whose columns are known by their labels alone.
_BY_LABEL: Final = ("wide", "ons-bulk")


@dataclass(frozen=True)
class TableFile:
    """A file with counts.

    Attributes:
        path: As it was named.
        form: Its format.
        sheet: With the roles of its columns; the rows that are counts.
        survey: What is in it.
    """

    path: Path
    form: Format
    sheet: CountSheet
    survey: Survey


@dataclass(frozen=True)
class Fit:
    """What a release makes of some files.

    Attributes:
        files: Those that it can read.
        mapping: Keys of ``ingest.mapping`` that they need.
        doubts: What could not be told, a sentence each.
    """

    files: tuple[TableFile, ...]
    mapping: Mapping[str, object] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def open_table_files(paths: Sequence[Path], said: FileMapping) -> list[TableFile]:
    """Every file with counts at ``paths``, read once.

    Args:
        paths: Files.
        said: What has to be known to read them at all.

    Raises:
        ConfigError: They are of several formats.
        SourceError: One cannot be read.
    """
    files = []
    for path in paths:
        documents = open_documents(path)
        beside = (*documents, *companions(path))
        for document in documents:
            if len(documents) > 1 and is_companion(document):
                continue
            form = recognise_format(document)
            sheet = form.read(document, beside, said)
            files.append(TableFile(path, form, sheet, survey(sheet)))
    forms = list(dict.fromkeys(file.form.name for file in files))
    if len(forms) > 1:
        examples = ", ".join(
            f"{next(each.path for each in files if each.form.name == name)} ({name})"
            for name in forms
        )
        raise ConfigError(f"one config reads one kind of file, found {examples}; name one kind")
    if not files:
        raise SourceError(f"{paths[0]}: expected files with counts, found none")
    return [_of_one_period(file) for file in files]


def _of_one_period(file: TableFile) -> TableFile:
    """The rows of the last period, where there are several."""
    where = dict(file.sheet.where)
    for each in file.sheet.dimensions:
        categories = file.survey.categories[each.name]
        if _TIME.fullmatch(each.name) and len(categories) > 1:
            where[each.code] = (max(code for code, _ in categories),)
    if where == file.sheet.where:
        return file
    sheet = replace(file.sheet, where=where)
    return replace(file, sheet=sheet, survey=survey(sheet))


def product_of(files: Iterable[TableFile]) -> str | None:
    """The packaged release that the files' names say they are of."""
    found = {
        release
        for file in files
        for product, release in PRODUCTS.items()
        if product in file.sheet.sheet.label
    }
    return found.pop() if len(found) == 1 else None


def fit(files: Sequence[TableFile], release: Release, *, lenient: bool) -> Fit:
    """The mapping with which a release reads the files.

    Args:
        files: The files.
        release: The release.
        lenient: Whether columns that it does not know are left out, with a doubt.

    Raises:
        ReconError: It reads none of them.
    """
    able: list[TableFile] = []
    doubts: list[str] = []
    columns: dict[str, str | None] = {}
    refusals: list[ReconError] = []
    for file in files:
        try:
            unknown = _unknown_columns(file, release) if lenient else []
            if len(unknown) == len(file.sheet.counts):
                unknown = []
            mapping = FileMapping(columns=dict.fromkeys(unknown))
            _assign(file, release, mapping)
        except (ConfigError, SourceError) as error:
            refusals.append(error)
            continue
        able.append(file)
        columns.update(dict.fromkeys(unknown))
        if unknown:
            doubts.append(
                f"what {len(unknown)} columns count, {', '.join(map(repr, unknown[:4]))} among "
                "them: they are left out"
            )
    if not able:
        raise refusals[0]
    doubts += [f"{error}; the file is left out" for error in refusals]
    keys, more = _rest_of_mapping(able, release)
    if columns:
        keys["columns"] = columns
    return Fit(tuple(able), keys, (*doubts, *more))


def markers_of(files: Iterable[TableFile]) -> list[str]:
    """Texts in the files in place of suppressed counts, without the empty one."""
    return sorted(set().union(*(file.survey.markers for file in files)) - {""})


def _unknown_columns(file: TableFile, release: Release) -> list[str]:
    """Headers of columns of counts that are no cell of the release."""
    if file.sheet.dimensions:
        return []
    unknown = []
    for column in file.sheet.counts:
        try:
            Assigner(release, FileMapping()).columns(replace(file.sheet, counts=(column,)))
        except SourceError:
            unknown.append(column.header)
    return unknown


def _assign(file: TableFile, release: Release, mapping: FileMapping) -> None:
    """Ask whether the release has cells for all that the file counts."""
    names = {name for table in release.tables for name in table.levels}
    lengths = {release.geography.by_name[name].digits for name in names}
    if lengths.isdisjoint(file.survey.lengths()):
        raise SourceError(
            f"{file.sheet.sheet.label}: its geoids have "
            f"{', '.join(map(str, file.survey.lengths()))} characters, those of the levels with "
            f"tables in release {release.name!r} {', '.join(map(str, sorted(lengths)))}"
        )
    reader = SheetReader(file.sheet, release, mapping)
    if reader.is_wide:
        _ = reader.ordinals
    else:
        reader.combinations()


def _rest_of_mapping(
    files: Sequence[TableFile], release: Release
) -> tuple[dict[str, object], list[str]]:
    """Periods, levels, texts in place of counts, and thousands."""
    mapping: dict[str, object] = {}
    doubts: list[str] = []
    where = {
        file.sheet.headers[at]: values[0]
        for file in files
        for at, values in file.sheet.where.items()
        if _TIME.fullmatch(file.sheet.headers[at])
    }
    if where:
        mapping["where"] = where
        doubts.append(f"which period is meant: the last, {', '.join(where.values())}, is taken")
    guessed = {
        column.header
        for file in files
        if file.form.name == "long"
        for column in file.sheet.counts
        if not names_counts(column.header)
    }
    doubts += [f"whether {header!r} is the count: it is taken so" for header in sorted(guessed)]
    names = {name for table in release.tables for name in table.levels}
    known = {release.geography.by_name[name].digits: name for name in names}
    found = {length for file in files for length in file.survey.lengths()}
    if odd := sorted(found - set(known)):
        example = next(
            geoid for file in files for geoid in file.survey.geoids if len(geoid) == odd[0]
        )
        mapping["levels"] = [
            level.name
            for level in release.geography.levels
            if level.name in names and level.digits in found
        ]
        doubts.append(
            f"places with geoids of {', '.join(map(str, odd))} characters ({example!r}) are of no "
            "level with tables: they are left out"
        )
    texts = sorted({text for file in files for text in file.survey.unpublished if text})
    if texts:
        mapping["unpublished"] = texts
        doubts.append(
            f"what {', '.join(map(repr, texts))} mean: they are taken as counts that are not "
            "published"
        )
    marks = {file.survey.thousands for file in files} - {None}
    if len(marks) == 1:
        mapping["thousands"] = marks.pop()
    return mapping, doubts


# --- drafting a schema ----------------------------------------------------------------------------


@dataclass(frozen=True)
class DraftedRelease:
    """A schema drafted from files, and what reads them by it.

    Attributes:
        draft: The schema.
        release: The same, built.
        fit: The files and their mapping.
    """

    draft: Draft
    release: Release
    fit: Fit


def draft_release(files: Sequence[TableFile], name: str) -> DraftedRelease:
    """A schema from the labels or the dimensions of the files.

    Args:
        files: The files.
        name: Of the release.

    Raises:
        SourceError: The files have neither labels nor dimensions.
    """
    places = pl.concat([file.survey.geoids for file in files]).unique().sort()
    census = files[0].form.name in _CENSUS
    geoids = None if census else draft_geoids(places, said=_names_codes(files))
    if geoids is not None:
        files = [_with_geoids(file, geoids) for file in files]
        places = pl.concat([file.survey.geoids for file in files]).unique().sort()
    tables: dict[str, TableDraft] = {}
    columns: dict[str, str | None] = {}
    for file in files:
        table = _table(file, len(tables) + 1)
        tables.setdefault(table.name, table)
        if file.form.name in _BY_LABEL:
            codes = (f"{table.name}_{i:03}" for i in range(1, len(_counts(file)) + 1))
            own = {each.header: code for each, code in zip(_counts(file), codes, strict=True)}
            columns |= {each.header: own.get(each.header) for each in file.sheet.counts}
    title = files[0].path.name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    named = {} if geoids is None else levels_of(geoids)
    draft = draft_schema(name, title, list(tables.values()), places, named, census=census)
    release = parse_release(draft.text, source=f"{name}.yaml")
    mapping, doubts = _rest_of_mapping(files, release)
    if columns:
        mapping["columns"] = columns
        if left_out := [header for header, code in columns.items() if code is None]:
            shown = ", ".join(map(repr, left_out[:4])) + ", …" * (len(left_out) > 4)
            doubts.append(f"whether {shown} are counts: they are left out")
    else:
        for file in files:
            _assign(file, release, FileMapping())
    if geoids is not None:
        mapping["geoids"] = dict(geoids)
        doubts.append(
            f"the codes of places: {len(geoids)} names are numbered (mapping.geoids); if some are "
            "parts of others, their geoids must begin with those"
        )
    return DraftedRelease(draft, release, Fit(tuple(files), mapping, tuple(doubts)))


def _names_codes(files: Sequence[TableFile]) -> bool:
    """Whether the headers say that the places are codes."""
    return all(
        file.form.name not in _BY_HEADER
        or file.sheet.headers[file.sheet.place[0]].casefold() in GEOIDS
        for file in files
    )


def _with_geoids(file: TableFile, geoids: Mapping[str, str]) -> TableFile:
    sheet = file.sheet.with_geoids(geoids)
    mapped = file.survey.geoids.replace(dict(geoids)).sort()
    return replace(file, sheet=sheet, survey=replace(file.survey, geoids=mapped))


def release_name(path: Path) -> str:
    """A name for a release, from a file's."""
    return slug(path.resolve().name.partition(".")[0]) or "release"


def _table(file: TableFile, number: int) -> TableDraft:
    sheet = file.sheet
    if sheet.dimensions:
        axes = axes_of_dimensions([each.name for each in sheet.dimensions], _categories(file))
        if len(sheet.counts) > 1:
            columns = grid_of_paths([each.parts for each in sheet.counts])
            axes += columns.axes if columns else ()
        name = "_".join(axis.name for axis in axes).upper() or f"TABLE{number}"
        return crossed_table(name, f"{name}_###", Grid.full(axes))
    counts = _counts(file)
    paths = label_paths(replace(sheet, counts=counts))
    by_label = file.form.name in _BY_LABEL
    if not all(paths) or not counts:
        raise SourceError(
            f"{sheet.sheet.label}: its columns ({sheet.counts[0].header}, …) have no labels, so no "
            "schema can be drafted; give --release NAME or a schema.yaml"
        )
    published = None if by_label else counts[0].table
    name = published or f"TABLE{number}"
    spelled = (counts[0].code or "").endswith("N") and not by_label
    code = f"{name}_###{'N' * spelled}"
    if all(len(path) == 1 for path in paths):
        labels = [path[0] for path in paths]
        phrases = None if combinations(labels) else grid_of_phrases(labels)
        if phrases is None:
            ends = published_intervals(sheet, counts, rounding_base([file.survey]))
            summed = grid_of_sums(labels, *ends)
            if summed is not None:
                table = crossed_table(name, code, summed.grid)
                return replace(table, doubts=(*table.doubts, *summed.doubts))
            phrases = grid_of_phrases(labels)
        if phrases is not None:
            table = crossed_table(name, code, phrases)
            first, second = (axis.labels[0] for axis in phrases.axes)
            doubt = f"whether '{first} {second}' is {first!r} with {second!r}: it is taken so"
            return replace(table, doubts=(*table.doubts, doubt))
    if (grid := grid_of_paths(paths)) is not None:
        return crossed_table(name, code, grid)
    return tree_table(name, code, tree(paths))


def _categories(file: TableFile) -> dict[str, list[tuple[str, str]]]:
    """Categories of the rows that are counts."""
    chosen = {file.sheet.headers[at]: values for at, values in file.sheet.where.items()}
    return {
        name: [each for each in categories if each[0] in chosen.get(name, (each[0],))]
        for name, categories in file.survey.categories.items()
    }


def _counts(file: TableFile) -> tuple[CountColumn, ...]:
    """Columns that may be counts: no decimals, no periods."""
    return tuple(
        each
        for each in file.sheet.counts
        if not _TIME.fullmatch(each.header)
        and not any(
            has_digits(text) and not THOUSANDS.fullmatch(text) and not is_marker(text)
            for text in file.survey.texts.get(each.at, ())
        )
    )
