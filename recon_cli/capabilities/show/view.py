"""One geounit in words: the content of `recon show` before layout."""

from __future__ import annotations

from dataclasses import dataclass

from recon_cli.capabilities.audit.words import meaning_of
from recon_cli.frames import OPEN
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words


def shown_count(count: int, high: int | None) -> str:
    """Format a published count, or the interval that a statement proves.

    >>> shown_count(1234, None), shown_count(1, 5), shown_count(1, OPEN)
    ('1,234', '1 to 5', '1 or more')
    """
    if high is None:
        return f"{count:,}"
    return f"{count:,} or more" if high >= OPEN else f"{count:,} to {high:,}"


@dataclass(frozen=True)
class GeounitName:
    """A geounit by its level and geoid.

    Attributes:
        level: Its level in words (``block group``).
        name: Published name; empty where the files have none.
    """

    level: str
    geoid: str
    name: str = ""

    def __str__(self) -> str:
        known = f" ({self.name})" if self.name else ""
        return f"{self.level} {self.geoid}{known}"


@dataclass(frozen=True)
class CellLine:
    """A published cell that is not zero.

    Attributes:
        words: The people that it counts, without what the table's caption states.
        count: Count; the lower bound for a statement.
        high: Upper bound for a statement, `OPEN` if unbounded; None for an exact count.
    """

    code: str
    words: str
    count: int
    high: int | None = None

    @property
    def shown(self) -> str:
        return shown_count(self.count, self.high)


@dataclass(frozen=True)
class TableView:
    """A published table of the geounit.

    Attributes:
        name: Short name, such as ``P12B``.
        about: Common conditions of all its cells; may be empty.
        lines: Its cells above zero.
        zeros: Published cells that are zero.
        withheld: Cells of the table that are not published here.
        is_used: Whether the records were made from it.
    """

    name: str
    about: str
    lines: tuple[CellLine, ...]
    zeros: int
    withheld: int
    is_used: bool

    @property
    def rest(self) -> str:
        """Describe the table's other cells; may be empty."""
        parts = [f"{self.zeros:,} zero"] if self.zeros else []
        parts += [f"{self.withheld:,} not published"] if self.withheld else []
        parts += [] if self.is_used else ["not used by the reconstruction"]
        return "; ".join(parts)


@dataclass(frozen=True)
class RecordKind:
    """Reconstructed people with the same histogram cell, or a cell that could hold some.

    Attributes:
        number: Number in the list, from 1; 0 if no such person was reconstructed.
        values: The histogram columns in words, under their headings.
        people: Number of reconstructed people.
        lower: Lower bound over all solutions: so many of these people are certain.
        upper: Upper bound over all solutions; None if unbounded.
        is_exact: Whether solutions reach both.
        finer: For each finer column the values of this reconstruction, in words.
    """

    number: int
    values: tuple[str, ...]
    words: str
    people: int
    lower: int
    upper: int | None
    is_exact: bool
    finer: tuple[str, ...] = ()

    @property
    def certainty(self) -> str:
        """State how many of the people are certain."""
        if self.lower == self.people:
            return "certain" if self.people == 1 else "all certain"
        return f"{self.lower:,} certain" if self.lower else "not certain"

    @property
    def interval(self) -> str:
        if self.upper is None:
            return f"{self.lower:,} or more"
        if self.lower == self.upper:
            return f"{self.lower:,} exactly"
        return f"{self.lower:,} to {self.upper:,}" + ("" if self.is_exact else " at most")


@dataclass(frozen=True)
class ReasonLine:
    """A published cell in an argument, or a structural zero.

    Attributes:
        geounit: Geounit of the cell; None for the geounit that is shown.
        cell: The cell, with all that it counts in words.
        is_published: False for a structural zero.
    """

    geounit: GeounitName | None
    table: str
    cell: CellLine
    is_published: bool = True


@dataclass(frozen=True)
class Reason:
    """An argument that certain people follow from published cells.

    Attributes:
        lines: The published cells that force them; empty where none were found.
        is_minimal: Whether no cell can be omitted.
        method: How it is proven: ``propagation`` or ``solver``.
        wanting: Name of the region, if there are no lines because cells of its other geounits are
            needed.
    """

    kind: RecordKind
    lines: tuple[ReasonLine, ...]
    is_minimal: bool
    method: str
    words: Words
    wanting: str = ""

    @property
    def statement(self) -> str:
        """State the conclusion."""
        return " ".join(sentences("lines.j2", "statement", __package__, reason=self))

    @property
    def proof(self) -> str:
        """State how it is proven, and whether all the cells are needed."""
        cells = sum(line.is_published for line in self.lines)
        facts = {"reason": self, "cells": cells, "zeros": len(self.lines) - cells}
        return " ".join(sentences("lines.j2", "proof", __package__, **facts))


@dataclass(frozen=True)
class Member:
    """A geounit inside the one that is shown.

    Attributes:
        name: Published name; may be empty.
        people: Number of people; None if unbounded.
        status: Proven status of its reconstruction.
        solvar: Its solution variability in percent, in words; None where it is not measured.
        certain: Certain records, at least.
    """

    geoid: str
    name: str
    people: int | None
    status: str
    solvar: str | None
    certain: int


@dataclass(frozen=True)
class Detail:
    """A line at the top."""

    label: str
    value: str


@dataclass(frozen=True)
class ProtectedCount:
    """A suppressed, rounded or omitted count, with the interval that other counts imply.

    Attributes:
        table: Its table's short name.
        cell: Number of the cell in the table.
        words: The people that it counts.
        low: Least count that its statement admits; 0 if it is left out.
        high: Greatest count that its statement admits; None if unbounded.
        status: One of `recon_cli.capabilities.audit.statuses.STATUSES`.
        least: Least possible count.
        greatest: Greatest possible count; None if unbounded.
        is_small: Whether it is below the threshold of its law.
        reason: The sum of published counts that gives it; empty if none was sought.
    """

    table: str
    cell: int
    called: str
    words: str
    low: int
    high: int | None
    status: str
    least: int
    greatest: int | None
    is_small: bool
    reason: str = ""

    @property
    def is_recovered(self) -> bool:
        """Report whether one value is left."""
        return self.least == self.greatest

    @property
    def published(self) -> str:
        return shown_count(self.low, OPEN if self.high is None else self.high)

    @property
    def interval(self) -> str:
        """Format the interval of possible values."""
        if self.is_recovered:
            return f"{self.least:,}"
        return shown_count(self.least, OPEN if self.greatest is None else self.greatest)

    @property
    def meaning(self) -> str:
        """Describe the information that was not published."""
        if self.is_recovered:
            return meaning_of(self.least, is_small=self.is_small)
        return "somebody" if self.least > 0 == self.low else ""


@dataclass(frozen=True)
class GeounitView:
    """One geounit.

    Attributes:
        enclosing: The geounits that it lies in, finest first.
        details: Lines at the top.
        notes: Missing parts and their remedies; backticks around commands.
        tables: Its published tables with a cell above zero.
        empty_tables: Published tables that are all zero.
        absent_tables: Tables that the schema has for the level, not published here.
        columns: Headings of `RecordKind.values`.
        finer_columns: Headings of `RecordKind.finer`.
        kinds: The reconstructed people.
        possible: Histogram cells without reconstructed people that another solution may fill.
        more_possible: Number of further possible cells.
        bounds: Origin of the intervals.
        protected: Its counts that are not published exactly, recovered ones first.
        claims: Maximal verified claims in words, those about the fewest people first.
        reasons: Why people are certain.
        unexplained: Number of kinds with certain people and without a reason here.
        caution: What the records do not show.
        is_unit: Whether records are placed in it, rather than in geounits inside it.
        member_level: The level of `members`, in the plural; empty where there are none.
        members: The geounits inside, those with people.
        empty_members: Number of further ones without people.
    """

    title: str
    words: Words
    geounit: GeounitName
    enclosing: tuple[GeounitName, ...]
    details: tuple[Detail, ...]
    notes: tuple[str, ...]
    tables: tuple[TableView, ...]
    empty_tables: tuple[str, ...]
    absent_tables: tuple[str, ...]
    columns: tuple[str, ...] = ()
    finer_columns: tuple[str, ...] = ()
    kinds: tuple[RecordKind, ...] = ()
    possible: tuple[RecordKind, ...] = ()
    more_possible: int = 0
    bounds: str = ""
    protected: tuple[ProtectedCount, ...] = ()
    claims: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    unexplained: int = 0
    caution: str = ""
    is_unit: bool = False
    member_level: str = ""
    members: tuple[Member, ...] = ()
    empty_members: int = 0

    @property
    def has_names(self) -> bool:
        """Report whether any of the geounits inside has a name."""
        return any(member.name for member in self.members)
