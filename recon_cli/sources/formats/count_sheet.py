"""A sheet whose columns have been given their roles by its format: place, counts, dimensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from recon_cli.coverage import LeftOut
from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Sheet

#: Key in a mapping for labels that are headers of columns of counts.
COLUMNS: Final = "columns"
#: Feature → names of values, or of groups of a recode; a feature that is absent has all values.
Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class CountColumn:
    """A column of counts.

    Attributes:
        at: Its place in the sheet, from 0.
        origin: Its place in the file, where that differs.
        code: Published code of its cell, where the format has codes: ``P12_003N``.
        table: Published name of its table, where the format has it.
        number: Number of the cell in the table, where the format has it.
        parts: The words of its label, outermost first.
        said: The people that it counts by a mapping: feature → values.
    """

    at: int
    header: str
    code: str | None = None
    table: str | None = None
    number: int | None = None
    parts: tuple[str, ...] = ()
    said: Values | None = None
    origin: int | None = None

    @property
    def column(self) -> int:
        """Return its place in the file, from 0."""
        return self.at if self.origin is None else self.origin


@dataclass(frozen=True)
class ShareColumn:
    """A column of shares of one count of a row in another.

    Attributes:
        at: Its place in the sheet, from 0.
        part: Place of the column of counts in the numerator.
        base: Place of the column of counts in the denominator.
        times: Factor of the share: 100 for percentages.
        column: Its place in the file, from 0.
    """

    at: int
    header: str
    part: int
    base: int
    times: int
    column: int


@dataclass(frozen=True)
class StatisticColumn:
    """A column of a statistic, such as a mean, of the people that a count of the row counts.

    Attributes:
        at: Its place in the sheet, from 0.
        of: Place of the column with that count.
        table: The table of statistics that it is printed in.
        column: Its place in the file, from 0.
    """

    at: int
    header: str
    of: int
    table: str
    column: int


@dataclass(frozen=True)
class DimensionColumns:
    """The columns of one dimension of what a row counts.

    Attributes:
        code: Place of the column with its codes.
        label: Place of the column with their labels, if there is one.
        said: By a mapping: label → feature → values.
        origin: Place of ``code`` in the file, where that differs; negative where there is none.
    """

    name: str
    code: int
    label: int | None = None
    said: Mapping[str, Values] | None = None
    origin: int | None = None

    @property
    def words(self) -> int:
        """Return the place of the column with what people call the categories."""
        return self.code if self.label is None else self.label

    def categories(self, rows: pl.DataFrame) -> Iterator[tuple[str, str]]:
        """Return code and label of the distinct categories of rows, in order of appearance."""
        pairs = rows.select(
            code=cell_text(self.code).fill_null(""), label=cell_text(self.words).fill_null("")
        )
        for code, label in pairs.unique(maintain_order=True).iter_rows():
            yield code, label or code


@dataclass(frozen=True)
class CountSheet:
    """A sheet with roles.

    Attributes:
        skip: Number of rows above the first row of counts.
        place: Columns that the geoid is made of.
        geoid: The geoid of a row, from those columns.
        dimensions: Dimensions of what the counts of a row count; none in a wide sheet.
        flags: Columns with the reason why a count is missing.
        where: Place of a column → the values whose rows are read, unless the user chooses others.
        number: Pattern of a count with a flag behind it; its first group is the count.
        labels: Published code of a cell → its label in words, where the file has them.
        levels: Names of the levels of places, the largest first, where the file has them.
        names: Code of a place → its name, where the file has both.
        questions: Ambiguities of the file, and how each was resolved.
        left_out: Numbers of the file that are in none of these columns.
        place_column: Place in the file of the column of places, where that differs.
        shares: Columns of percentages of the counts, in digits with a decimal point.
        statistics: Columns of means, medians and the like; numbers with a decimal point, and texts
            in place of them as they are.
        kind: Place of the column with the kind of a row's place.
        repeated: Row of the file that repeats another row → that other row.
        table_number: Number of the table in its sheet, from 1, where numbers distinguish tables.
    """

    sheet: Sheet
    skip: int
    headers: tuple[str, ...]
    place: tuple[int, ...]
    geoid: pl.Expr
    counts: tuple[CountColumn, ...]
    dimensions: tuple[DimensionColumns, ...] = ()
    flags: tuple[int, ...] = ()
    where: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    number: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    place_column: int | None = None
    shares: tuple[ShareColumn, ...] = ()
    statistics: tuple[StatisticColumn, ...] = ()
    kind: int | None = None
    repeated: Mapping[int, int] = field(default_factory=dict)
    table_number: int = 0

    def __post_init__(self) -> None:
        if not self.counts:
            raise SourceError(
                f"{self.sheet.label}: expected columns of counts, found {_some(self.headers)}"
            )
        roles = {*self.place, *self.flags, *self.where, *(each.code for each in self.dimensions)}
        roles |= {each.label for each in self.dimensions if each.label is not None}
        if self.dimensions:  # or two columns may well be named alike: their cells are told apart
            roles |= {each.at for each in self.counts}
        names = [header.casefold() for header in self.headers]
        times = Counter(names)
        for at in sorted(roles):
            if at < len(names) and times[names[at]] > 1:
                raise SourceError(
                    f"{self.sheet.where(max(self.skip, 1))}: {times[names[at]]} columns are "
                    f"named {self.headers[at]!r}; leave one, or name them apart"
                )

    def with_geoids(self, geoids: Mapping[str, str]) -> CountSheet:
        """Put a geoid in place of each name that has one."""
        if not geoids:
            return self
        return replace(self, geoid=self.geoid.replace(dict(geoids)))

    def with_labels(
        self, labels: Mapping[str, Mapping[str, Values]], sheet: str = ""
    ) -> CountSheet:
        """Add the meanings that a mapping gives to labels of columns and dimensions.

        Args:
            labels: Label → feature → values, by where the label stands, as in `FileMapping`.
            sheet: Name of the sheet, or of the file if it has no sheets.
        """
        if not labels:
            return self
        columns = {**labels.get(COLUMNS, {}), **labels.get(f"{COLUMNS} of {sheet}", {})}
        return replace(
            self,
            counts=tuple(replace(each, said=columns.get(each.header)) for each in self.counts),
            dimensions=tuple(
                replace(each, said=labels.get(f"{each.name} of {sheet}", labels.get(each.name)))
                for each in self.dimensions
            ),
        )

    def column(self, header: str) -> int | None:
        """Return the place of the column with that header; None if there is none."""
        return self.headers.index(header) if header in self.headers else None

    def written(self, at: int) -> pl.Expr:
        """Return a count as it is written; where there is none, its flag."""
        if not self.flags:
            return pl.col(str(at))
        return pl.coalesce(cell_text(at), *(cell_text(flag) for flag in self.flags))


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + ", …" * (len(names) > 8)


def cell_text(column: int) -> pl.Expr:
    """Return the text of a column without blanks around it; null where there is none."""
    text = pl.col(str(column)).str.strip_chars()
    return pl.when(text != "").then(text)


#: Reads the tables of a document with counts, given the documents beside it and a mapping.
Reader = Callable[[Document, Sequence[Document], FileMapping], tuple[CountSheet, ...]]


def alone(read: Callable[[Document, Sequence[Document], FileMapping], CountSheet]) -> Reader:
    """Return the reader of a format whose documents have one table each."""
    return lambda document, beside, mapping: (read(document, beside, mapping),)


@dataclass(frozen=True)
class Format:
    """A published format: how to recognise its documents, and to give their columns roles."""

    name: str
    title: str
    recognises: Callable[[Document], bool]
    read: Reader
