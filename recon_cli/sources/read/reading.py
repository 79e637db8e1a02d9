"""How a sheet is read: tables, a role for every cell, and questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.sources.read.choices import NO_CHOICES, Choices, Question
from recon_cli.sources.read.crossed import fitting_marks
from recon_cli.sources.read.grid import MOST_CELLS, Grid
from recon_cli.sources.read.numbers import ENGLISH, GERMAN, Convention
from recon_cli.sources.read.regions import Regions
from recon_cli.sources.read.relations import Axis
from recon_cli.sources.read.roles import Role, fill_roles
from recon_cli.sources.read.row_labels import filled_down
from recon_cli.sources.read.table_draft import TableDraft
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.tabular.sheet import Sheet

#: Cells that a text has to be nobody in, in every sum, before it stands for nobody everywhere.
_FEWEST_ZEROS: Final = 5


#: The same of dashes, which offices print for nothing.
_FEWEST_DASHES: Final = 2


DASHES: Final = frozenset(("-", "\u2013", "\u2014", "\u2212"))


@dataclass(frozen=True)
class Reading:
    """A sheet as it is read.

    Attributes:
        ambiguous: A number that may be of thousands or of parts, where no sum decides which.
    """

    grid: Grid
    tables: tuple[TableReading, ...]
    ambiguous: str = ""

    @classmethod
    def of(cls, sheet: Sheet, choices: Choices = NO_CHOICES, most: int = MOST_CELLS) -> Reading:
        """Propose a reading by the numbers of a sheet, and by what is said of it.

        Args:
            most: Cells at most that it is proposed from.
        """
        grid = Grid.of(sheet, most).with_zeros(choices.zeros)
        if choices.thousands:
            grid = grid.under(GERMAN if choices.thousands == "." else ENGLISH)
        first = _read(grid, choices)
        if not choices.is_whole and not choices.zeros and (zeros := zero_marks(first.tables)):
            grid = grid.with_zeros(zeros)
            first = _read(grid, choices)
        if choices.thousands:
            return first
        for other in grid.alternatives:
            second = _read(grid.under(other), choices)
            if _weight(second) > _weight(first):
                first = second
            elif _weight(second) == _weight(first):
                first = replace(first, ambiguous=_ambiguous(first, other))
        return first

    @cached_property
    def roles(self) -> NDArray[np.uint8]:
        """(rows × columns) The role of each cell; blank are the empty ones alone."""
        grid = self.grid
        roles = np.zeros(grid.shape, dtype=np.uint8)
        filled = grid.filled
        above = min((min((*t.region.header, *t.region.body)) for t in self.tables), default=0)
        rows = np.arange(grid.shape[0])
        roles[filled] = Role.NOTE
        first = int(np.argmax(filled.any(axis=1))) if filled.any() else 0
        if above > first:
            is_title = filled & ((rows >= first) & (rows < above))[:, None]
            roles[is_title] = Role.TITLE
        for table in self.tables:
            fill_roles(roles, grid, table)
        roles[~filled] = Role.BLANK
        return roles

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that is asked."""
        return tuple(each for table in self.tables for each in table.questions)

    def cells(self) -> dict[Role, int]:
        """How many cells have each role."""
        found = np.bincount(self.roles.ravel(), minlength=len(Role))
        return {role: int(found[role]) for role in Role if found[role]}


def zero_marks(tables: Sequence[TableReading]) -> frozenset[str]:
    """Return texts in place of counts that stand for nobody: every sum that they are in says so."""
    fits: dict[str, set[tuple[int, int, int]]] = defaultdict(set)
    breaks: set[str] = set()
    for number, table in enumerate(tables):
        grid = table.grid
        body = table.region.body
        if table.relations.base > 1:
            continue
        sums = [each for each in table.relations.found if each.is_sum and each.support.is_strong]
        for each in sums:
            lines = [each.line, *each.of]
            where = np.array(lines, dtype=np.intp)
            counts = np.array(table.counts, dtype=np.intp)
            at = np.ix_(body, where) if each.axis is Axis.COLUMNS else np.ix_(where, counts)
            texts, values = grid.texts[at], grid.values[at]
            if each.axis is Axis.ROWS:
                texts, values = texts.T, values.T
            is_open = np.isnan(values)
            for row in np.flatnonzero(is_open.any(axis=1)).tolist():
                marks = {str(text) for text in texts[row][is_open[row]].tolist()}
                if len(marks) > 1 or not (mark := marks.pop()):
                    continue
                own = np.where(is_open[row], 0.0, values[row])
                if own[0] != own[1:].sum():
                    breaks.add(mark)
                    continue
                places = np.argwhere(is_open[row]).ravel().tolist()
                fits[mark] |= {(number, row, lines[place]) for place in places}
        for count in {each.count for each in table.values if each.support.is_strong}:
            told = fitting_marks(grid, table.region, table.names.keys, count, table.values)
            for mark, rows in told[0].items():
                fits[mark] |= {(number, row, count) for row in rows}
            breaks |= told[1]
    return frozenset(
        mark
        for mark, cells in fits.items()
        if mark not in breaks
        and len(cells) >= (_FEWEST_DASHES if mark in DASHES else _FEWEST_ZEROS)
    )


def _weight(reading: Reading) -> float:
    """How much the sums and shares of a reading tell."""
    across = sum(e.support.bits for t in reading.tables for e in t.relations.found)
    return across + sum(e.support.bits for t in reading.tables for e in t.values)


def _ambiguous(reading: Reading, other: Convention) -> str:
    """A number that is used and is another one by another convention; empty if there is none."""
    for table in reading.tables:
        grid, used = table.grid, [*table.counts, *(each.line for each in table.shares)]
        texts = grid.texts[np.ix_(table.region.body, np.array(used, dtype=np.intp))]
        for text in np.unique(texts.astype(str)).tolist():
            one, two = grid.convention.number(text), other.number(text)
            if one is not None and two is not None and one.value != two.value:
                return str(text)
    return ""


def _read(grid: Grid, choices: Choices) -> Reading:
    regions = Regions.of(grid, choices.header)
    return Reading(
        grid,
        tuple(
            TableDraft(filled_down(grid, region), region, choices).table()
            for region in regions.tables
        ),
    )
