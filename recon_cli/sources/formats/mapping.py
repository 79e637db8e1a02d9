"""Mappings: the meaning of a user's files, where the files do not state it themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class DimensionMapping:
    """How a dimension column is read.

    Attributes:
        feature: The feature or recode; None for a dimension that is left out.
        values: Code or label → value of the feature or group of the recode, or ``total``.
    """

    feature: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ShareMapping:
    """Numerator and denominator of a column of percentages or rates.

    Attributes:
        of: Header of the column of counts in the numerator.
        base: Header of the column of counts in the denominator.
        times: Factor of the quotient: 100, or 1,000 for a rate.
    """

    of: str
    base: str
    times: int = 100


@dataclass(frozen=True)
class StatisticMapping:
    """Role of a column of means, medians or the like.

    Attributes:
        table: The table of statistics that it is printed in.
        of: Header of the column that counts the people whom it summarises.
    """

    table: str
    of: str


@dataclass(frozen=True)
class FileMapping:
    """The keys of ``ingest.mapping``.

    Attributes:
        sheet: For a workbook: the names of the sheets that are read; all that are not hidden if
            empty.
        header: Numbers of the header rows; recognised by their content if empty.
        place: Header of the column with the geoids.
        parent: Headers of the columns of places that enclose a place, the largest first.
        place_per_sheet: Whether each sheet has one place, after which it is named.
        above: What a row above a block of rows names: their ``place``, or ``kind``.
        geoids: Text in the column of places → geoid, where places have names and no codes.
        levels: Only rows of geounits of these levels are read, if there are any.
        where: Header → the values of that column whose rows are read.
        columns: Header of a column of counts → code of its cell; None for a column to leave out.
        leave_out: Header of a column, or name of a sheet or of one of its tables, to leave out →
            why its numbers give nothing away.
        columns_of: File name → ``columns`` of that file alone, where files share headers.
        dimensions: Header of a dimension column → how it is read.
        labels: For a sheet that is read by its numbers: what its labels count, by where they stand
            (`columns`, `rows`, or the header of a dimension column): label → feature → values.
        percentages: For such a sheet: header of a column of percentages → its numerator and
            denominator.
        statistics: For such a sheet: header of a column of means, medians or the like → its role.
        tables: Sheet, or file without sheets → the table of its counts; further tables of a sheet
            have the names of `table_name`.
        thousands: Separator of groups of three digits.
        parentheses: What numbers in parentheses are: ``numbers``, or ``withheld``.
        unpublished: Texts in place of a count that is not published.
        zeros: Texts that stand for nobody.
    """

    sheet: Sequence[str] = ()
    header: Sequence[int] = ()
    place: str | None = None
    parent: Sequence[str] = ()
    place_per_sheet: bool = False
    above: str | None = None
    geoids: Mapping[str, str] = field(default_factory=dict)
    levels: Sequence[str] = ()
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: Mapping[str, str | None] = field(default_factory=dict)
    leave_out: Mapping[str, str] = field(default_factory=dict)
    columns_of: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    dimensions: Mapping[str, DimensionMapping] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]] = field(default_factory=dict)
    percentages: Mapping[str, ShareMapping] = field(default_factory=dict)
    statistics: Mapping[str, StatisticMapping] = field(default_factory=dict)
    table: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    thousands: str | None = None
    parentheses: str | None = None
    unpublished: Sequence[str] = ()
    zeros: Sequence[str] = ()

    def __post_init__(self) -> None:
        no_cells = {name: None for name in self.leave_out if name not in self.columns}
        object.__setattr__(self, "columns", {**self.columns, **no_cells})

    def of_file(self, name: str) -> FileMapping:
        """Return the mapping of one file, of one sheet, or of one of its tables."""
        own = self.columns_of.get(name, {})
        table = self.tables.get(name, self.table)
        return replace(self, columns={**self.columns, **own}, table=table)


def table_name(name: str, number: int) -> str:
    """Return the name in a mapping of a table of a sheet or file, numbered from 1.

    Example:
        >>> table_name("Ages", 1), table_name("Ages", 2)
        ('Ages', 'Ages, table 2')
    """
    return name if number == 1 else left_name(name, number)


def left_name(name: str, number: int) -> str:
    """Return the name of a table that is left out, numbered even if it is the first.

    Example:
        >>> left_name("Ages", 1)
        'Ages, table 1'
    """
    return f"{name}, table {number}"


NO_MAPPING = FileMapping()
