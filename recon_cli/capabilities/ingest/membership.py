"""Membership files: the areas of each unit, in look-ups that offices publish."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.coverage import UNLISTED
from recon_cli.errors import ConfigError, SourceError
from recon_cli.plurals import plural
from recon_cli.schema import Membership, Release
from recon_cli.schema.areas import ALL
from recon_cli.sources.damage import read_texts, separator_of

_ROW: Final = "_row"
#: Separator of areas' codes in the name of the unit that they share.
_JOINED: Final = "+"


def read_membership(release: Release, files: Mapping[Path, Mapping[str, str]]) -> Membership:
    """Read a look-up of all levels of ``release``: one file, or several that list the same units.

    A CSV or Parquet file with a column for each of its levels. Rows may occur more than once, and
    other columns are ignored, so that a look-up of finer places than the units works, too.

    Args:
        files: File → level → its column, where that is called something else. Several files have
            the unit's column each, as block assignment files of the census have.

    Raises:
        ConfigError: There is no such file, or a column is named for something that is no level.
        SourceError: A file cannot be read, lacks a column, has a code that cannot be a name, or
            puts a unit into two areas of one system; two files have the same system, or list
            different units.
    """
    levels = [level.name for level in release.geography.levels if level.name != ALL]
    unit, told, found = levels[0], dict[str, Path](), dict[Path, pl.DataFrame]()
    for path, columns in files.items():
        if unknown := sorted(set(columns) - set(levels)):
            raise ConfigError(f"columns: no level {unknown[0]!r} (levels: {', '.join(levels)})")
        if not path.is_file():
            raise ConfigError(f"membership: no such file: {path}")
        frame = _read(path)
        named = {level: columns.get(level, level) for level in levels}
        absent = [level for level in levels[1:] if named[level] not in frame.columns]
        for level in absent:
            if len(files) == 1 or level in columns:
                tables = [table.name for table in release.tables if level in table.levels]
                why = f"table {tables[0]} is published by it" if tables else "the schema names it"
                raise SourceError(f"{path}: no column {named[level]}; {why}")
        if len(files) > 1 and named[unit] not in frame.columns:
            raise SourceError(f"{path}: no column {named[unit]}: files are joined by their units")
        here = [level for level in levels if named[level] in frame.columns]
        for level in (level for level in here if level != unit):
            if level in told:
                raise SourceError(f"{path}: {level} is in {told[level]}, too")
            told[level] = path
        found[path] = _units(
            path, frame.select(_ROW, *(_code(named[e]).alias(e) for e in here)), unit, levels
        )
    if untold := [level for level in levels[1:] if level not in told]:
        raise SourceError(f"{', '.join(map(str, files))}: no column {untold[0]}")
    units = _joined(unit, found, levels)
    digest = hashlib.sha256(units.write_csv().encode()).hexdigest()
    lines = {level: (_line(path), found[path][_ROW]) for level, path in told.items()}
    return Membership(", ".join(map(str, files)), units, digest, lines)


def _units(path: Path, codes: pl.DataFrame, unit: str, levels: Sequence[str]) -> pl.DataFrame:
    """Return the distinct rows of a file, and where each is first."""
    if unit not in codes.columns:
        parts = [pl.col(level).fill_null("") for level in levels[1:]]
        codes = codes.with_columns(pl.concat_str(parts, separator=_JOINED).alias(unit))
    here = [level for level in levels if level in codes.columns]
    _check(path, codes, here)
    return codes.group_by(here).agg(pl.col(_ROW).min()).sort(unit)


def _line(path: Path) -> str:
    """Name a line of a file in messages, before its number."""
    return f"{path}: {'row' if path.suffix.lower() == '.parquet' else 'line'}"


def _joined(unit: str, found: Mapping[Path, pl.DataFrame], levels: Sequence[str]) -> pl.DataFrame:
    """Join all files by their units, with columns in the order of ``levels``."""
    first, *others = found
    units = found[first]
    for path in others:
        for one, other in ((first, path), (path, first)):
            lost = found[one].join(found[other], on=unit, how="anti")
            if len(lost):
                where = f"{_line(one)} {lost[_ROW][0]}"
                raise SourceError(f"{other}: no {unit} {lost[unit][0]}, which {where} lists")
        units = units.join(found[path].drop(_ROW), on=unit, how="left")
    return units.select(levels).sort(unit)


def _read(path: Path) -> pl.DataFrame:
    """Read the file as text, with the number of each row."""
    frame = read_texts(path)
    if path.suffix.lower() == ".parquet":
        return frame.with_row_index(_ROW, offset=1)
    _refuse_damaged_lines(path)
    return frame.with_row_index(_ROW, offset=2)


def _refuse_damaged_lines(path: Path) -> None:
    """Refuse a line that is cut off, and a repeated header, which would be read as units."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator_of(path))
        header = next(reader, [])
        for fields in reader:
            if fields == header and len(header) > 1:
                raise SourceError(f"{path}: line {reader.line_num}: the header once more")
            if fields and len(fields) < len(header):
                raise SourceError(
                    f"{path}: line {reader.line_num}: expected {len(header)} fields, "
                    f"found {len(fields)}; a unit in no area has empty fields"
                )


def _code(column: str) -> pl.Expr:
    text = pl.col(column).str.strip_chars()
    return pl.when(text != "").then(text)


def _check(path: Path, codes: pl.DataFrame, levels: Sequence[str]) -> None:
    unit = levels[0]
    where = _line(path)
    if codes.is_empty():
        raise SourceError(f"{path}: expected a row for each {unit}, found none")
    lost = codes.filter(pl.col(unit).is_null())
    if len(lost):
        raise SourceError(f"{where} {lost[_ROW][0]}: no {unit}")
    for level in levels:
        odd = codes.filter(
            pl.col(level).str.contains(r"[\p{Cc}/\\]") | pl.col(level).str.ends_with(UNLISTED)
        )
        if len(odd):
            raise SourceError(
                f"{where} {odd[_ROW][0]}: {level} {odd[level][0]!r}: a code has no slashes or "
                f"control characters, and ends in something else than {UNLISTED!r}"
            )
    distinct = codes.unique(levels, keep="first", maintain_order=True)
    if not (twice := distinct.filter(pl.col(unit).is_duplicated())).is_empty():
        again = twice.filter(~pl.col(unit).is_first_distinct()).row(0, named=True)
        first = twice.filter(pl.col(unit) == again[unit]).row(0, named=True)
        level = next(name for name in levels if first[name] != again[name])
        one, other = (row[level] or "none" for row in (first, again))
        raise SourceError(
            f"{where} {again[_ROW]}: {unit} {again[unit]} is in {plural(level)} {one} and {other}"
        )
