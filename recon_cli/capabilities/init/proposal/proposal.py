"""The reading of a sheet that its numbers propose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.crossed import totals_and_parts
from recon_cli.capabilities.init.proposal.parentheses import Parentheses
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.capabilities.init.proposal.table_proposer import TableProposer
from recon_cli.capabilities.init.proposal.zeros import ZeroMarks, may_be_nobody
from recon_cli.sources.read.choices import NO_CHOICES, Choices
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.numbers import inside
from recon_cli.sources.read.reading import Reading, ambiguous_number, grid_as_said, tables_of
from recon_cli.sources.tabular.sheet import Sheet


@dataclass(frozen=True)
class Proposal(Reading):
    """A sheet as its numbers propose to read it."""

    tables: tuple[ProposedTable, ...]

    @cached_property
    def weight(self) -> float:
        """Return the evidence of all sums and shares together, in bits."""
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

    @property
    def questions(self) -> tuple[OpenQuestion, ...]:
        """Return the questions about tables that are used."""
        return tuple(each for table in self.tables if not table.left_as for each in table.questions)


def propose(sheet: Sheet, choices: Choices = NO_CHOICES) -> Proposal:
    """Propose a reading of a sheet from its numbers and from what the user says of it."""
    grid = grid_as_said(sheet, choices)
    first = _read(grid, choices)
    if not choices.parentheses:
        first = _with_parentheses(first, choices)
        grid = first.grid
    if zeros := zero_marks(first.tables) - grid.zeros:
        grid = grid.with_zeros(grid.zeros | zeros)
        first = _read(grid, choices)
    for other in grid.alternatives if not choices.thousands else ():
        second = _read(grid.under(other), choices)
        if second.weight > first.weight:
            first = second
        elif second.weight == first.weight:
            first, rival = sorted((first, second), key=lambda each: len(each.fractions))
            first = replace(first, ambiguous=ambiguous_number(first, rival, rival.fractions))
    return first


def zero_marks(tables: Sequence[ProposedTable]) -> frozenset[str]:
    """Return texts in place of counts that stand for zero according to every sum with them."""
    marks = ZeroMarks()
    for number, table in enumerate(tables):
        if table.relations.base == 1 and _has_texts(table):
            values = np.where(table.withheld, np.nan, table.grid.values)
            for at in _sums_with_texts(table, np.isnan(values)):
                cells = [(number, int(row), int(column)) for row, column in np.broadcast(*at)]
                marks.weigh(table.grid.texts[at].tolist(), values[at], cells)
    return marks.found()


def _has_texts(table: ProposedTable) -> bool:
    """Test whether a text among the counts may stand for zero."""
    grid = table.grid
    cells = np.ix_(table.region.body, np.array(table.counts, dtype=np.intp))
    return any(grid.number(text) is None and may_be_nobody(text) for text in grid.coded(cells)[0])


def _with_parentheses(first: Proposal, choices: Choices) -> Proposal:
    """Return a reading with numbers in parentheses as counts if sums confirm it; else ask."""
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
    table: ProposedTable, is_text: BoolArray
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the rows and columns of each sum, its total first, in which some cells are texts.

    Args:
        is_text: (rows × columns of the grid) Which cells are texts.
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


def _read(grid: Grid, choices: Choices) -> Proposal:
    regions = tables_of(grid, choices)
    return Proposal(grid, tuple(TableProposer(*each, choices).table() for each in regions))
