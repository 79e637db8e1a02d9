"""A file of records in the words of whoever made it → the release's columns and values."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import polars as pl

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema import Release, Value
from recon_cli.sources.damage import columns_found

_SHOWN = 12


@dataclass(frozen=True)
class Translation:
    """What a file calls things.

    Attributes:
        columns: Header in the file → column of the release.
        values: Column of the release → code in the file → value of the release, or None.
        sheet: Of a workbook: the name of the sheet.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Value | None]] = field(default_factory=dict)
    sheet: str | None = None

    def check(self, release: Release, others: Collection[str]) -> None:
        """Refuse what the release does not have.

        Args:
            others: Columns beyond the release's that the file may have.

        Raises:
            ConfigError: A column is not the release's, is given twice, or has no such value; the
                message begins with the key.
        """
        options = [option for feature in release.features for option in feature.options]
        place = release.geoid_column
        known = [place, *(f.name for f in release.features), *release.recode_by_name, *options]
        for header, column in self.columns.items():
            if column not in (*known, *others):
                close = difflib.get_close_matches(column, [*known, *others], n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ConfigError(
                    f"columns.{header}: the release has no column {column!r} "
                    f"(columns: {_some([*known, *others])}){hint}"
                )
        targets = list(self.columns.values())
        if twice := [column for column in targets if targets.count(column) > 1]:
            raise ConfigError(f"columns: two columns of the file are {twice[0]!r}")
        for column, codes in self.values.items():
            if column != place:
                _check_values(release, column, codes)

    def apply(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame with the release's columns and values.

        A code that `values` does not name stays what it is.

        Raises:
            ConfigError: The frame lacks a column, or has one already; the message begins with the
                key.
        """
        headers = frame.collect_schema()
        for header, column in self.columns.items():
            if header not in headers:
                found = columns_found(headers, self.columns)
                raise ConfigError(f"columns: no column {header!r} ({found})")
            if column in headers and column not in self.columns:
                raise ConfigError(f"columns.{header}: the file has a column {column!r}, too")
        renamed = frame.rename(dict(self.columns))
        for column in self.values:
            if column not in renamed.collect_schema():
                found = columns_found(renamed.collect_schema(), self.columns.values())
                raise ConfigError(f"values: no column {column!r} ({found})")
        return renamed.with_columns(
            _recoded(column, codes, renamed.collect_schema()[column])
            for column, codes in self.values.items()
        )


def _recoded(column: str, codes: Mapping[str, Value | None], dtype: pl.DataType) -> pl.Expr:
    text = pl.col(column).cast(pl.String)
    if dtype.is_float():
        text = text.str.strip_suffix(".0")
    text = text.str.strip_chars()
    new = [None if value is None else str(value) for value in codes.values()]
    return text.replace_strict(
        pl.Series(list(codes), dtype=pl.String),
        pl.Series(new, dtype=pl.String),
        default=text,
        return_dtype=pl.String,
    )


def _check_values(release: Release, column: str, codes: Mapping[str, Value | None]) -> None:
    try:
        labels = release.column_groups(column).labels
    except SchemaError as error:
        raise ConfigError(f"values: {error}") from error
    known = {str(label).lower() for label in labels}
    for code, value in codes.items():
        if value is not None and str(value).lower() not in known:
            raise ConfigError(
                f"values.{column}.{code}: {value!r} is not a value of {column} "
                f"(values: {_some(map(str, labels))})"
            )


def _some(names: Collection[str] | map[str]) -> str:
    listed = list(names)
    rest = f", … {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + rest
