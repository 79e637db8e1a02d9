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

#: Where labels stand that are headers of columns of counts, in a mapping.
COLUMNS: Final = "columns"
#: Feature → its values, or groups of a recode, by their names; what is not there has all.
Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class CountColumn:
    """A column of counts.

    Attributes:
        at: Its place in the sheet, from 0.
        origin: Its place in the file, where that is another.
        code: Published code of its cell, where the format has codes: ``P12_003N``.
        table: Published name of its table, where the format tells it.
        number: Number of the cell in the table, where the format tells it.
        parts: The words of its label, outermost first.
        said: What a mapping says that it counts: feature → values.
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
    """A column of shares: what a count is of another count in the row.

    Attributes:
        at: Its place in the sheet, from 0.
        part: Place of the column of counts that it is the share of.
        base: Place of the column of counts that it is the share among.
        times: 100 of percentages.
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
        of: Place of that column of counts.
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
    """Columns that say what a row counts.

    Attributes:
        code: Place of the column with its codes.
        label: Place of the column with their labels, if there is one.
        said: What a mapping says of each label: feature → values.
        origin: Its place in the file, where that is another; negative where there is none.
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
        dimensions: Columns that say what the counts of a row are of; none in a wide sheet.
        flags: Columns that say why a count is not there.
        where: Place of a column → the values whose rows are counts, unless the user says so.
        number: Pattern of a count with a flag behind it; its first group is the count.
        labels: Published code of a cell → its label in words, where the file has them.
        levels: What the places are called, the largest first, where the file says it.
        names: Code of a place → its name, where the file has both.
        questions: What could not be told, and how it was taken.
        left_out: Numbers of the file that are in none of these columns.
        place_column: Place in the file of the column of places, where that is another.
        shares: Columns of percentages of the counts, in digits with a decimal point.
        statistics: Columns of means, medians and the like; numbers with a decimal point, and texts
            in place of them as they are.
        kind: Place of the column that says what kind of place a row is of.
        repeated: Row of the file that prints another one again → that row.
        table_number: Which of the tables of its sheet it is, from 1, where numbers tell them apart.
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
        """Add what a mapping says of the labels of columns and dimensions.

        Args:
            labels: By where they stand, as `FileMapping` has them.
            sheet: Name of the sheet, or of the file where it is none.
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


#: A document with counts, the others beside it, and what the user says.
Reader = Callable[[Document, Sequence[Document], FileMapping], tuple[CountSheet, ...]]


def alone(read: Callable[[Document, Sequence[Document], FileMapping], CountSheet]) -> Reader:
    """Return the reader of a format whose documents have one table each."""
    return lambda document, beside, mapping: (read(document, beside, mapping),)


@dataclass(frozen=True)
class Format:
    """A published format: how its documents are told, and how their columns get their roles."""

    name: str
    title: str
    recognises: Callable[[Document], bool]
    read: Reader
