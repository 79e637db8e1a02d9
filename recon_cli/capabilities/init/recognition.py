"""Recognise published files: their format, their release, and what they are about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from recon_cli.capabilities.fetch.catalogue import catalogued_releases, load_catalogue
from recon_cli.capabilities.init.declared import NOTHING_DECLARED, Declared
from recon_cli.capabilities.init.drafting import draft, geoids_of
from recon_cli.capabilities.init.input_kinds import LEGACY, TABLES, TIDY, files_at
from recon_cli.capabilities.init.known_sheets import part_of
from recon_cli.capabilities.init.names import slug
from recon_cli.capabilities.init.proposal.proposal import Proposal
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable, said_texts
from recon_cli.capabilities.init.protection_draft import with_protection
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.release_fit import Fit, fit, rest_of_mapping
from recon_cli.capabilities.init.sheet_places import sums_of_sheets
from recon_cli.capabilities.init.state_header import summarise
from recon_cli.capabilities.init.survey import Survey, rounding_base, survey_rows
from recon_cli.capabilities.init.tables import TableFile, markers_of, open_table_files, product_of
from recon_cli.coverage import LeftOut
from recon_cli.errors import ConfigError, ReconError, SourceError
from recon_cli.schema import Release, load_release, packaged_releases
from recon_cli.sources import open_legacy
from recon_cli.sources.formats import NO_MAPPING, FileMapping
from recon_cli.sources.formats.codes import cells_by_code
from recon_cli.sources.formats.mapping import table_name
from recon_cli.sources.formats.sheet import SHEET
from recon_cli.sources.legacy import PRODUCTS, header_suffixes, legacy_layout
from recon_cli.sources.read.choices import NO_CHOICES, Choices
from recon_cli.sources.tables import sheets_left_out
from recon_cli.sources.tidy_file import open_file, published_cells
from recon_cli.statement.suppression import is_marker

#: Rows of a tidy file by which it is recognised.
_SAMPLE: Final = 10_000


def recognise(
    paths: Sequence[Path],
    release: str | None = None,
    said: FileMapping = NO_MAPPING,
    choices: Choices = NO_CHOICES,
    declared: Declared = NOTHING_DECLARED,
) -> RecognisedFiles:
    """Recognise the format and the release of the files at ``paths``.

    Args:
        release: A packaged release or the path of a schema; guessed if None.
        said: What the user says of tables, as a config keeps it: header rows, place column.
        choices: What the user says of sheets that are read by their numbers.
        declared: What a user says of how counts were published.

    Raises:
        ConfigError: There is nothing to read, or its kind or release is not clear.
        SourceError: The files are not what they seem to be.
    """
    found = dict.fromkeys(each for path in paths for each in files_at(path))
    kinds = dict.fromkeys(kind for kind, _ in found)
    files = tuple(path for _, path in found)
    if len(kinds) > 1:
        examples = ", ".join(str(next(p for k, p in found if k == kind)) for kind in kinds)
        raise ConfigError(f"one config reads one kind of file, found {examples}; name one kind")
    names = packaged_releases() if release is None else (release,)
    if TABLES not in kinds and declared.lists_all:
        raise ConfigError(f"{files[0]}: --all-places is of tables; name a list in ingest.geounits")
    if TABLES not in kinds and said != NO_MAPPING:
        raise ConfigError(f"{files[0]}: says itself what it counts; leave out what is said of it")
    if LEGACY in kinds:
        return _legacy(files, _loaded(names))
    if TIDY in kinds:
        recognised = _tidy(files, _loaded(names))
    else:
        recognised = _tables(files, names, said, choices, named=release is not None)
    mapping = {**_as_keys(said), **recognised.mapping}
    if said.columns and "columns_of" not in mapping:
        mapping["columns"] = {**said.columns, **recognised.mapping.get("columns", {})}  # type: ignore[dict-item]
    return with_protection(replace(recognised, mapping=mapping), declared, choices.total)


def _loaded(names: Sequence[str]) -> dict[str, Release]:
    return {name: load_release(name) for name in names}


def _as_keys(said: FileMapping) -> dict[str, object]:
    """Return the keys of ``ingest.mapping`` that a user has set."""
    keys = {
        "sheet": list(said.sheet),
        "header": list(said.header),
        "place": said.place,
        "parent": list(said.parent),
        "place_per_sheet": said.place_per_sheet,
        "above": said.above,
        "parentheses": said.parentheses,
    }
    return {name: value for name, value in keys.items() if value}


def _legacy(files: tuple[Path, ...], candidates: dict[str, Release]) -> RecognisedFiles:
    suffixes = {suffix for file in files for suffix in header_suffixes(file)}
    products = {name for name, (suffix, _) in PRODUCTS.items() if suffix in suffixes}
    if not products:
        known = ", ".join(f"algeo2010.{suffix}" for suffix, _ in PRODUCTS.values())
        raise SourceError(f"{files[0]}: no geography member; expected one such as {known}")
    able = {name: each for name, each in candidates.items() if products & set(each.layouts)}
    name = _the_one(files, able or candidates, lambda schema: open_legacy(schema, files))
    schema = candidates[name]
    about = tuple(_state(file, schema) for file in files)
    return RecognisedFiles(legacy_layout(schema).name, name, schema, files, about)


def _state(file: Path, schema: Release) -> str:
    """Describe a state's file, as in ``Alabama: 4,779,736 people``."""
    brief = summarise(file, legacy_layout(schema))
    name = brief.name
    if not name:
        catalogued = schema.name in catalogued_releases()
        parts = load_catalogue(schema.name).parts if catalogued else ()
        known = {part.number: part.name for part in parts}
        name = f"{known.get(brief.number, brief.postal)}, in part"
    return name if brief.people is None else f"{name}: {brief.people:,} people"


def _tidy(files: tuple[Path, ...], candidates: dict[str, Release]) -> RecognisedFiles:
    loose = [open_file(file, has_statements=True) for file in files]
    texts, base = survey_rows([each.collect(each.rows.head(_SAMPLE)) for each in loose])
    markers = sorted(text for text in texts if is_marker(text))
    opened = loose if markers and len(markers) == len(texts) else map(open_file, files)
    samples = [replace(each, rows=each.rows.head(_SAMPLE)) for each in opened]

    def check(schema: Release) -> None:
        published = published_cells(schema)
        for sample in samples:
            sample.placed(schema).check(schema, published)

    name = _the_one(files, candidates, check)
    said = tuple(text for text in markers if text)
    return RecognisedFiles(TIDY, name, candidates[name], files, (), markers=said, base=base)


def _tables(
    paths: tuple[Path, ...],
    names: Sequence[str],
    said: FileMapping,
    choices: Choices,
    *,
    named: bool,
) -> RecognisedFiles:
    """Fit tables to a release that has their cells, or to a drafted one."""
    opened = open_table_files(paths, said, choices)
    if choices.place_per_sheet:
        parts = [part_of(file) for file in opened.files if file.table is not None]
        sums = (*choices.sums, *sums_of_sheets(parts))
        opened = open_table_files(paths, said, replace(choices, sums=sums))
    found = _tables_of(opened.files, names, choices, named=named)
    mapping = {**({"sheet": list(opened.sheets)} if opened.sheets else {}), **found.mapping}
    if found.draft is None:
        mapping = _as_read(opened.files, mapping)
    if said.where:
        chosen = {header: list(values) for header, values in said.where.items()}
        mapping["where"] = {**_periods(found.mapping), **chosen}
    return replace(
        found,
        mapping=mapping,
        doubts=(*opened.notes, *found.doubts),
        left_out=tuple(_left_out(opened.files, found.mapping)),
        unread=tuple(sheets_left_out(paths, FileMapping(sheet=opened.sheets))),
        questions=(*found.questions, *(opened.questions if found.draft is not None else ())),
        readings=_with_printed(opened.readings, found.mapping),
        beside=opened.beside,
    )


def _as_read(files: Sequence[TableFile], mapping: Mapping[str, object]) -> dict[str, object]:
    """Return a mapping with the findings of sheets' numbers, which are not searched again."""
    tables = [file.table for file in files if file.table is not None]
    counts = {table.header(at) for table in tables for at in table.counts}
    columns = {table.header(at) for table in tables for at in table.statistics} - counts
    unused = dict.fromkeys(sorted({*columns, *(row for t in tables for row, _ in t.left_rows)}))
    said = mapping.get("columns", {})
    left_out = {"columns": {**unused, **(said if isinstance(said, Mapping) else {})}}
    return {**said_texts(tables), **mapping, **(left_out if unused else {})}


def _left_out(files: Sequence[TableFile], mapping: Mapping[str, object]) -> Iterator[LeftOut]:
    """Yield the numbers in files that are read that the reading or the draft does not use."""
    columns = mapping.get("columns", {})
    unused = columns if isinstance(columns, Mapping) else {}
    printed = _printed(mapping)
    for file in files:
        told = {each.column for each in file.sheet.left_out}
        yield from (each for each in file.sheet.left_out if each.column not in printed)
        for column in file.sheet.counts:
            numbers = file.survey.numbers.get(column.at, 0)
            if column.header in unused and column.header not in told and numbers:
                yield LeftOut(Path(file.sheet.sheet.label).name, column.header, numbers)


def _printed(mapping: Mapping[str, object]) -> Mapping[str, object]:
    """Return the columns of statistics that a mapping uses."""
    printed = mapping.get("statistics", {})
    return printed if isinstance(printed, Mapping) else {}


def _with_printed(
    readings: Sequence[tuple[str, Proposal]], mapping: Mapping[str, object]
) -> tuple[tuple[str, Proposal], ...]:
    """Return readings in which the columns of statistics that a mapping uses are printed ones."""
    used = _printed(mapping)

    def shown(table: ProposedTable) -> ProposedTable:
        printed = tuple(at for at in table.statistics if table.header(at) in used)
        others = tuple(at for at in table.statistics if at not in printed)
        return replace(table, statistics=others, printed=printed)

    return tuple(
        (name, replace(reading, tables=tuple(map(shown, reading.tables))))
        for name, reading in readings
    )


def _periods(mapping: Mapping[str, object]) -> Mapping[str, object]:
    """Return the periods whose rows a mapping chooses."""
    where = mapping.get("where", {})
    return where if isinstance(where, Mapping) else {}


def _tables_of(
    files: tuple[TableFile, ...],
    names: Sequence[str],
    choices: Choices,
    *,
    named: bool,
) -> RecognisedFiles:
    source = files[0].form.name
    if named:
        ((name, schema),) = _loaded(names).items()
        return _of_release(source, name, schema, fit(_placed(files, schema), schema, lenient=True))
    product = product_of(files)
    fits: dict[str, Fit] = {}
    candidates = _with_codes_of(files, names)
    for name, schema in candidates.items():
        if product in (None, name):
            with contextlib.suppress(ConfigError, SourceError):
                fits[name] = fit(files, schema, lenient=False)
    most = max((len(each.files) for each in fits.values()), default=0)
    best = [name for name, each in fits.items() if len(each.files) == most]
    # A schema that no office published files of gives way to one whose tables have its names.
    best = [name for name in best if candidates[name].layouts] or best
    if len(best) > 1:
        raise ConfigError(
            f"{files[0].path}: fits several releases ({', '.join(best)}); give --release"
        )
    if best:
        return _of_release(source, best[0], candidates[best[0]], fits[best[0]])
    drafted = draft(
        files,
        release_name(files[0].path),
        choices.statistics,
        are_kinds=bool(choices.are_kinds),
    )
    files = _with_geoids(files, drafted.geoids)
    mapping, doubts = rest_of_mapping(files, drafted.release)
    fitting = Fit(files, {**mapping, **drafted.mapping}, (*drafted.doubts, *doubts))
    found = _of_release(source, f"{drafted.release.name}.yaml", drafted.release, fitting)
    return replace(
        found,
        draft=drafted.text,
        questions=drafted.questions,
        printed=drafted.printed,
        missing=drafted.missing,
    )


def _with_codes_of(files: Sequence[TableFile], names: Sequence[str]) -> dict[str, Release]:
    """Return the releases to try: all for files of a known format, or with codes of a release."""
    columns = [column for file in files for column in file.sheet.counts]
    is_of_one = any(file.form is not SHEET for file in files) or any(
        column.table is not None for column in columns
    )
    # The code of a cell has its number in it: without one, no schema has to be loaded.
    coded = {column.code for column in columns if any(map(str.isdigit, column.code or ""))}
    if not (is_of_one or coded):
        return {}
    return _loaded(names) if is_of_one or not coded.isdisjoint(_packaged_codes()) else {}


@cache
def _packaged_codes() -> frozenset[str]:
    return frozenset().union(*map(cells_by_code, _loaded(packaged_releases()).values()))


def _placed(files: Sequence[TableFile], schema: Release) -> tuple[TableFile, ...]:
    """Return files with drafted geoids in place of names, if a release has levels for these."""
    lengths = {level.digits for level in schema.geography.levels}
    if lengths & {length for file in files for length in file.survey.lengths()}:
        return tuple(files)
    geoids = geoids_of(files)
    if not lengths & set(map(len, geoids.values())):
        return tuple(files)
    return _with_geoids(files, geoids)


def _with_geoids(files: Sequence[TableFile], geoids: Mapping[str, str]) -> tuple[TableFile, ...]:
    """Return files with geoids in place of the texts of their places."""
    return tuple(
        replace(
            file,
            sheet=file.sheet.with_geoids(geoids),
            survey=replace(
                file.survey, geoids=file.survey.geoids.replace(dict(geoids)).unique().sort()
            ),
        )
        for file in files
    )


def release_name(path: Path) -> str:
    """Return a name for a release, made from a file's name."""
    return slug(path.resolve().name.partition(".")[0]) or "release"


def _of_release(source: str, name: str, schema: Release, fitting: Fit) -> RecognisedFiles:
    form = fitting.files[0].form
    places = sum(len(file.survey.geoids) for file in fitting.files)
    about = (
        f"{form.title}: {len(fitting.files)} file{'s' * (len(fitting.files) > 1)}, "
        f"{places:,} rows of places",
    )
    paths = tuple(dict.fromkeys(file.path for file in fitting.files))
    markers = tuple(markers_of(fitting.files))
    base, bases = _bases(fitting)
    geoids = fitting.mapping.get("geoids", {})
    names = {
        geoids.get(code, code): name  # type: ignore[attr-defined]
        for file in fitting.files
        for code, name in file.sheet.names.items()
    }
    return RecognisedFiles(
        source,
        name,
        schema,
        paths,
        about,
        fitting.mapping,
        fitting.doubts,
        markers,
        base,
        names=names,
        places=_finest(fitting, schema),
        bases=bases,
    )


def _bases(fitting: Fit) -> tuple[int | None, dict[str, int]]:
    """Return the base to which all counts look rounded, and that of each table if tables differ."""
    base = rounding_base([file.survey for file in fitting.files])
    tables = fitting.mapping.get("tables", {})
    surveys: dict[str, list[Survey]] = {}
    for file in fitting.files:
        name = table_name(file.document.sheet or file.document.name, file.number)
        surveys.setdefault(tables.get(name, ""), []).append(file.survey)  # type: ignore[attr-defined]
    own = {table: rounding_base(each) or base for table, each in surveys.items()}
    if len({*own.values()}) < 2:
        return base, {}
    bases = {table: each for table, each in own.items() if each is not None}
    return min(bases.values()), bases


def _finest(fitting: Fit, schema: Release) -> tuple[str, ...]:
    """Return the geoids of all places of the finest level, each once.

    A larger place without parts in the files is its own part: its geoid and zeros.
    """
    digits = schema.geography.unit.digits
    found = {geoid for file in fitting.files for geoid in file.survey.geoids.to_list()}
    finest = {geoid for geoid in found if len(geoid) == digits}
    inner = {geoid[:n] for geoid in found for n in range(1, len(geoid))}
    return tuple(sorted(finest | {geoid.ljust(digits, "0") for geoid in found - inner}))


def _the_one(
    files: Sequence[Path], candidates: dict[str, Release], read: Callable[[Release], object]
) -> str:
    """Return the name of the only candidate by which the files can be read.

    Raises:
        ConfigError: Several candidates fit, or none of several.
        ReconError: The only candidate does not fit.
    """
    fitting: list[str] = []
    refusals: dict[str, ReconError] = {}
    for name, schema in candidates.items():
        try:
            read(schema)
        except (ConfigError, SourceError) as error:
            refusals[name] = error
        else:
            fitting.append(name)
    if len(fitting) == 1:
        return fitting[0]
    if len(candidates) == 1:
        raise next(iter(refusals.values()))
    what = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    if fitting:
        raise ConfigError(f"{what}: fits several releases ({', '.join(fitting)}); give --release")
    reasons = "".join(f"\n  {name}: {error}" for name, error in refusals.items())
    raise ConfigError(
        f"{what}: fits no packaged release; give --release NAME or a schema.yaml{reasons}"
    )
