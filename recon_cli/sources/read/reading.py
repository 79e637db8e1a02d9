"""How a sheet is read: tables, a role for every cell, and questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.sources.read.choices import NO_CHOICES, Choices, Question
from recon_cli.sources.read.crossed import totals_and_parts
from recon_cli.sources.read.grid import MOST_CELLS, Grid
from recon_cli.sources.read.numbers import ENGLISH, GERMAN, inside
from recon_cli.sources.read.parentheses import NUMBERS, Parentheses
from recon_cli.sources.read.regions import Regions
from recon_cli.sources.read.relations import Axis
from recon_cli.sources.read.roles import Role, fill_roles
from recon_cli.sources.read.row_labels import filled_down
from recon_cli.sources.read.table_draft import TableDraft
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.read.zeros import ZeroMarks, may_be_nobody
from recon_cli.sources.tabular.sheet import Sheet


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
        grid = replace(grid, in_parentheses=choices.parentheses == NUMBERS)
        first = _read(grid, choices)
        if not (choices.parentheses or choices.is_whole):
            first = _with_parentheses(first, choices)
            grid = first.grid
        zeros = frozenset[str]() if choices.is_whole else zero_marks(first.tables) - grid.zeros
        if zeros:
            grid = grid.with_zeros(grid.zeros | zeros)
            first = _read(grid, choices)
        if choices.thousands:
            return first
        for other in grid.alternatives:
            second = _read(grid.under(other), choices)
            if second.weight > first.weight:
                first = second
            elif second.weight == first.weight:
                first, rival = sorted((first, second), key=lambda each: len(each.fractions))
                first = replace(first, ambiguous=_ambiguous(first, rival))
        return first

    @cached_property
    def weight(self) -> float:
        """Measure how much its sums and shares tell, as a power of two."""
        across = sum(e.support.bits for t in self.tables for e in t.relations.found)
        return across + sum(e.support.bits for t in self.tables for e in t.values)

    @cached_property
    def fractions(self) -> frozenset[int]:
        """Return columns of counts that add up, but not as whole numbers, as counts are."""
        return frozenset(
            at
            for table in self.tables
            for each in table.relations.sums(Axis.COLUMNS)
            if each.support.is_strong and {each.line, *each.of} <= {*table.counts}
            for at in (each.line, *each.of)
            if (table.grid.values[table.region.body, at] % 1 > 0).any()
        )

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
            own = roles.copy()
            fill_roles(own, grid, table)
            within = slice(*(table.region.within or (0, grid.shape[1])))
            roles[:, within] = own[:, within]
        roles[~filled] = Role.BLANK
        return roles

    @property
    def questions(self) -> tuple[Question, ...]:
        """Return all that is asked."""
        return tuple(each for table in self.tables for each in table.questions)

    def cells(self) -> dict[Role, int]:
        """Count how many cells have each role."""
        found = np.bincount(self.roles.ravel(), minlength=len(Role))
        return {role: int(found[role]) for role in Role if found[role]}


def zero_marks(tables: Sequence[TableReading]) -> frozenset[str]:
    """Return texts in place of counts that stand for nobody: every sum that they are in says so."""
    marks = ZeroMarks()
    for number, table in enumerate(tables):
        if table.relations.base == 1 and _has_texts(table):
            values = np.where(table.withheld, np.nan, table.grid.values)
            for at in _sums_with_texts(table, np.isnan(values)):
                cells = [(number, int(row), int(column)) for row, column in np.broadcast(*at)]
                marks.weigh(table.grid.texts[at].tolist(), values[at], cells)
    return marks.found()


def _has_texts(table: TableReading) -> bool:
    """Test whether a text among the counts may stand for nobody."""
    grid = table.grid
    cells = np.ix_(table.region.body, np.array(table.counts, dtype=np.intp))
    return any(grid.number(text) is None and may_be_nobody(text) for text in grid.coded(cells)[0])


def _with_parentheses(first: Reading, choices: Choices) -> Reading:
    """Return a reading with numbers in parentheses as sums tell what they are; else ask."""
    found = first.grid.of_words(lambda word: inside(word) is not None, bool)
    at = [np.ix_(table.region.body, np.array(table.counts, np.intp)) for table in first.tables]
    times = [int(found[cells].sum()) for cells in at]
    if not any(times):
        return first
    second = _read(replace(first.grid, in_parentheses=True), choices)
    told = Parentheses()
    for number, table in (*enumerate(first.tables), *enumerate(second.tables)):
        values = replace(table.grid, in_parentheses=True).values
        for cells in _sums_with_texts(table, found):
            places = [(number, int(row), int(column)) for row, column in np.broadcast(*cells)]
            told.weigh(values[cells], found[cells].tolist(), places)
    if told.are_numbers:
        return second
    number = next(i for i, many in enumerate(times) if many)
    table, own = first.tables[number], found[at[number]]
    question = told.question(str(table.grid.texts[at[number]][own][0]), sum(times))
    asked = replace(table, questions=(*table.questions, question))
    return replace(first, tables=(*first.tables[:number], asked, *first.tables[number + 1 :]))


def _sums_with_texts(
    table: TableReading, is_text: BoolArray
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the rows and columns of each total and its parts of which some are texts.

    Args:
        is_text: (rows × columns of the grid) Which cells are.
    """
    body = table.region.body
    counts = np.array(table.counts, dtype=np.intp)
    for each in table.relations.found:
        if not (each.is_sum and each.support.is_strong):
            continue
        lines = np.array([each.line, *each.of], dtype=np.intp)
        if each.axis is Axis.COLUMNS:
            for row in body[is_text[np.ix_(body, lines)].any(axis=1)]:
                yield np.array([row]), lines
        else:
            for column in counts[is_text[np.ix_(lines, counts)].any(axis=0)]:
                yield lines, np.array([column])
    for told in table.values:
        if told.support.is_strong and not told.is_rounded:
            for places in totals_and_parts(table.grid, table.region, table.names.keys, told):
                if is_text[body[places], told.count].any():
                    yield body[places], np.array([told.count])


def _ambiguous(reading: Reading, rival: Reading) -> str:
    """A number that is used and is another one by another convention; empty if there is none.

    Where that would add up fractions of people, it is none.
    """
    other = rival.grid.convention
    for table in reading.tables:
        grid, used = table.grid, [*table.counts, *table.printed]
        used += [each.line for each in table.shares]
        used = [at for at in used if at not in rival.fractions]
        texts, _ = grid.coded(np.ix_(table.region.body, np.array(used, dtype=np.intp)))
        for text in sorted(texts):
            one, two = grid.convention.number(text), other.number(text)
            if one is not None and two is not None and one.value != two.value:
                return text
    return ""


def _read(grid: Grid, choices: Choices) -> Reading:
    # Blanks are nobody in a table, and no numbers around it.
    regions = Regions.of(grid.with_zeros(grid.zeros - {""}), choices.header)
    return Reading(
        grid,
        tuple(
            TableDraft(filled_down(region.of(grid), region), region, choices).table()
            for region in regions.tables
        ),
    )
