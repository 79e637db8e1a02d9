"""Views of sheets, with the role of every cell, for a page that shows how they were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.crossed import ValueSum
from recon_cli.capabilities.init.proposal.evidence import Support
from recon_cli.capabilities.init.proposal.proposal import Proposal
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.plurals import counted
from recon_cli.sources.read.roles import Role

#: Most rows at the top and the bottom of a sheet, columns, and relations that are shown.
_TOP, _BOTTOM, _COLUMNS, _RELATIONS = 60, 20, 60, 40
#: Parts of a sum that are named; an ellipsis stands for the others.
_NAMED_PARTS: Final = 4

#: Role → its style on the page, its name for one cell, and for several.
ROLES: Final[Mapping[Role, tuple[str, str]]] = {
    Role.TITLE: ("title", "title"),
    Role.HEADER: ("header", "header"),
    Role.UNIT: ("unit", "unit of a column"),
    Role.PLACE: ("place", "place"),
    Role.PARENT: ("parent", "what a place is part of"),
    Role.LABEL: ("label", "label"),
    Role.COUNT: ("count", "count"),
    Role.MARKER: ("marker", "no number published"),
    Role.FLAG: ("flag", "flag"),
    Role.SHARE: ("share", "percentage of a count"),
    Role.PRINTED: ("printed", "mean, median or the like of people who are counted"),
    Role.STATISTIC: ("statistic", "other number, not used"),
    Role.LEFT_OUT: ("left-out", "left out"),
    Role.FOOTNOTE: ("footnote", "footnote mark"),
    Role.NOTE: ("note", "note"),
}

#: Roles of texts that run on over empty cells to their right.
_RUNNING: Final = (Role.TITLE, Role.NOTE)


@dataclass(frozen=True)
class CellView:
    """The view of a cell.

    Attributes:
        style: CSS class of its role; empty for an empty cell.
        about: Its role in words, with the reason if it is left out.
        rows: Number of rows over which it is merged.
        columns: Number of columns over which it is merged.
        marks: Further classes: its column, its relations of values, a question.
    """

    text: str
    style: str
    about: str
    rows: int = 1
    columns: int = 1
    marks: str = ""


@dataclass(frozen=True)
class RowView:
    """The view of a row; one without cells stands for rows that are not shown.

    Attributes:
        number: Its number in the file, from 1.
        marks: Its own class, and those of relations that it shows (``y3``) or leaves open (``o3``).
        hidden: Number of rows that are not shown here.
    """

    number: int
    cells: tuple[CellView, ...] = ()
    marks: str = ""
    hidden: int = 0


@dataclass(frozen=True)
class RelationView:
    """A sum or a percentage in words, with selectors of its cells.

    Attributes:
        rows: In words, in how many rows it is shown, and in how many open.
        whole: Selectors of the cells of the total, or of the percentage.
        parts: Selectors of the cells of its parts.
    """

    text: str
    rows: str
    whole: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True)
class SheetView:
    """The view of a sheet.

    Attributes:
        roles: Style, name and number of cells of each role in the sheet.
        columns: Numbers of the columns that are shown.
        hidden_columns: Number of columns that are not shown.
        relations: The relations that its numbers show, at most 40.
        more_relations: Number of relations that are not listed.
        left_out: What is not used, a sentence each.
    """

    name: str
    roles: tuple[tuple[str, str, int], ...]
    rows: tuple[RowView, ...]
    columns: tuple[int, ...]
    hidden_rows: int
    hidden_columns: int
    relations: tuple[RelationView, ...]
    more_relations: int
    left_out: tuple[str, ...]
    questions: tuple[OpenQuestion, ...]
    is_whole: bool

    @property
    def used(self) -> int:
        """Return the number of cells with a count, or a text in place of one."""
        return sum(n for style, _, n in self.roles if style in ("count", "marker"))

    @property
    def unused(self) -> int:
        """Return the number of cells with numbers that are not used."""
        return sum(n for style, _, n in self.roles if style in ("statistic", "left-out"))


def sheet_view(reading: Proposal, name: str) -> SheetView:
    """Return the view of a sheet as it was read.

    Args:
        name: Name of the sheet, or of its file.
    """
    grid = reading.grid
    roles = _shown_roles(reading)
    found = np.bincount(roles.ravel(), minlength=len(Role))
    relations = [(table, each) for table in reading.tables for each in _relations(table)]
    shown = relations[:_RELATIONS]
    views = tuple(_view(table, each, i) for i, (table, each) in enumerate(shown))
    rows = _Rows(reading, roles, shown)
    height, width = grid.shape
    return SheetView(
        name,
        tuple(
            (style, word, int(found[role])) for role, (style, word) in ROLES.items() if found[role]
        ),
        tuple(rows.views()),
        tuple(range(min(width, _COLUMNS))),
        max(0, height - _TOP - _BOTTOM),
        max(0, width - _COLUMNS),
        views,
        len(relations) - len(shown),
        tuple(_unused(reading)),
        reading.questions,
        grid.is_whole,
    )


def _shown_roles(reading: Proposal) -> NDArray[np.uint8]:
    """Return the roles; rows that are kinds of one place have labels, not places."""
    roles = reading.roles.copy()
    for table in reading.tables:
        if table.are_kinds:
            own = roles[table.region.body]
            own[own == Role.PLACE] = Role.LABEL
            roles[table.region.body] = own
    return roles


def _unused(reading: Proposal) -> Iterator[str]:
    for table in reading.tables:
        for at in sorted({*table.statistics, *table.left_out}):
            cells = int(table.grid.is_number[table.region.body, at].sum())
            reason = table.left_out.get(at, "")
            if cells:
                yield f"{table.header(at)}: {counted(cells, 'number')}{reason and f', {reason}'}"
        for at, rows in table.not_chosen.items():
            yield f"{table.header(at)}: {counted(len(rows), 'row')} with a value that is not read"


# --- relations ------------------------------------------------------------------------------


def _relations(table: ProposedTable) -> Iterator[Relation | ValueSum]:
    """Yield the sums of columns, then percentages, sums of values, and sums of rows."""
    found = sorted(
        (each for each in table.relations.found if each.support.shown),
        key=lambda each: (not each.is_sum, each.line),
    )
    yield from (each for each in found if each.axis is Axis.COLUMNS)
    yield from (each for each in table.values if each.support.is_strong)
    yield from (each for each in found if each.axis is Axis.ROWS and each.is_sum)


def _view(table: ProposedTable, each: Relation | ValueSum, number: int) -> RelationView:
    """Return a relation in words, with selectors of its cells."""
    if isinstance(each, ValueSum):
        text = f"{table.header(each.dimension)}: {_sum(each.total, each.parts)}"
        support = _support(each.support, "combination")
        return RelationView(text, support, (f".t{number}",), (f".p{number}",))
    lines = (each.line, *each.of)
    if each.axis is Axis.ROWS:
        names = [" / ".join(table.rows[_place(table, at)]) for at in lines]
        cells = [f".r{at} > td" for at in lines]
    else:
        names = [table.header(at) for at in lines]
        cells = [f".n.c{at}" for at in lines]
    text = _sum(names[0], names[1:])
    if not each.is_sum:
        per = "" if each.per == 1 else f"{each.per:,.0f} × "
        text = f"{names[0]} = {per}{names[1]} / {names[2]}"
    support = _support(each.support, "column" if each.axis is Axis.ROWS else "row")
    return RelationView(text, support, tuple(cells[:1]), tuple(cells[1:]))


def _place(table: ProposedTable, row: int) -> int:
    return int(np.searchsorted(table.region.body, row))


def _sum(total: str, parts: Sequence[str]) -> str:
    named = list(parts)
    if len(named) > _NAMED_PARTS + 1:
        more = f"… ({len(named) - _NAMED_PARTS} more)"
        named = [*named[: _NAMED_PARTS - 1], more, named[-1]]
    return f"{total} = {' + '.join(named)}"


def _support(support: Support, noun: str) -> str:
    every = support.shown + support.open + support.broken
    told = [f"shown in {support.shown:,} of {counted(every, noun)}"]
    if support.open:
        told.append(f"{support.open:,} left open by what is not published")
    if support.broken:
        told.append(f"{support.broken:,} do not add up")
    return ", ".join(told)


def _rows_of(table: ProposedTable, each: Relation) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that show a relation of columns, and those that leave it open."""
    body = table.region.body
    lines = np.array((each.line, *each.of), dtype=np.intp)
    values = np.where(table.withheld, np.nan, table.grid.values)[np.ix_(body, lines)]
    is_known = ~np.isnan(values).any(axis=1)
    if not each.is_sum:
        return body[is_known], body[~is_known]
    off = np.abs(values[:, 0] - values[:, 1:].sum(axis=1))
    allowed = (table.relations.base - 1) * len(lines) + 1e-6
    return body[is_known & (off <= allowed)], body[~is_known]


# --- cells ----------------------------------------------------------------------------------


class _Rows:
    """The rows of a sheet that are shown.

    Args:
        roles: The role of each cell.
        relations: The relations that are listed beside the sheet, in order.
    """

    def __init__(
        self,
        reading: Proposal,
        roles: NDArray[np.uint8],
        relations: Sequence[tuple[ProposedTable, Relation | ValueSum]],
    ) -> None:
        self.grid = reading.grid
        self.roles = roles
        self.reasons = {at: why for t in reading.tables for at, why in t.left_out.items() if why}
        self.asked = {at for each in reading.questions for at in each.columns}
        self.of_rows: dict[int, list[str]] = {}
        self.of_values: dict[tuple[int, str], list[str]] = {}
        for number, (table, each) in enumerate(relations):
            if isinstance(each, ValueSum):
                for kind, names in (("t", (each.total,)), ("p", each.parts)):
                    for name in names:
                        key = each.dimension, name
                        self.of_values.setdefault(key, []).append(f"{kind}{number}")
            elif each.axis is Axis.COLUMNS:
                for kind, rows in zip("yo", _rows_of(table, each), strict=True):
                    for row in rows.tolist():
                        self.of_rows.setdefault(row, []).append(f"{kind}{number}")

    def views(self) -> Iterator[RowView]:
        """Yield the first rows, how many follow, and the last."""
        height = self.grid.shape[0]
        if height <= _TOP + _BOTTOM:
            yield from self._block(0, height)
            return
        yield from self._block(0, _TOP)
        yield RowView(0, hidden=height - _TOP - _BOTTOM)
        yield from self._block(height - _BOTTOM, height)

    def _block(self, first: int, last: int) -> Iterator[RowView]:
        """Yield consecutive rows, with merged cells cut at the ends of the block."""
        width = min(self.grid.shape[1], _COLUMNS)
        spans, covered = self._spans(first, last, width)
        for row in range(first, last):
            cells = [
                self._cell(row, at, *spans.get((row, at), (1, 1)))
                for at in range(width)
                if (row, at) not in covered
            ]
            marks = " ".join((f"r{row}", *self.of_rows.get(row, ())))
            yield RowView(int(self.grid.rows[row]), tuple(cells), marks)

    def _spans(
        self, first: int, last: int, width: int
    ) -> tuple[dict[tuple[int, int], tuple[int, int]], set[tuple[int, int]]]:
        """Map the first of merged cells to their rows and columns; return the covered cells, too.

        A title runs on over the empty cells to its right.
        """
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        covered: set[tuple[int, int]] = set()
        for (top, left), (lowest, rightmost) in self.grid.spans().items():
            bottom, right = min(lowest, last - 1), min(rightmost, width - 1)
            if first <= top < last and left < width:
                spans[top, left] = bottom - top + 1, right - left + 1
                inside = ((r, c) for r in range(top, bottom + 1) for c in range(left, right + 1))
                covered |= {*inside} - {(top, left)}
        for row in range(first, last):
            filled = np.flatnonzero(self.grid.filled[row, :width])
            at = int(filled[0]) if len(filled) == 1 else -1
            is_free = at >= 0 and not {(row, right) for right in range(at, width)} & covered
            if is_free and (row, at) not in spans and self.roles[row, at] in _RUNNING:
                spans[row, at] = 1, width - at
                covered |= {(row, right) for right in range(at + 1, width)}
        return spans, covered

    def _cell(self, row: int, at: int, rows: int, columns: int) -> CellView:
        role = Role(int(self.roles[row, at]))
        text = str(self.grid.texts[row, at])
        style, about = ROLES.get(role, ("", ""))
        if role is Role.LEFT_OUT and (reason := self.reasons.get(at)):
            about = f"{about}: {reason}"
        marks = [*self.of_values.get((at, text), ())]
        if role in (Role.COUNT, Role.MARKER, Role.SHARE, Role.STATISTIC, Role.LEFT_OUT):
            marks += ["n", f"c{at}"]
        if at in self.asked and role is Role.HEADER and text:
            marks.append("asked")
            about = f"{about}, asked about"
        return CellView(text, style, about, rows, columns, " ".join(marks))
