"""Lines of counts: columns of one table, or of several over the same places, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import numpy as np

from recon_cli import plurals
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.evidence import (
    CERTAIN_BITS,
    MARGIN_BITS,
    STRONG_POSITIONS,
    Sum,
)
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.capabilities.init.proposal.relations import sums_of
from recon_cli.capabilities.init.proposal.said_sums import open_sums
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.capabilities.init.proposal.sums import find_sums
from recon_cli.capabilities.init.proposal.table_numbers import intervals_of
from recon_cli.capabilities.init.said import Said
from recon_cli.capabilities.init.structure import Structure
from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.mapping import table_name
from recon_cli.sources.read.choices import columns_named
from recon_cli.sources.read.row_labels import Path as Words
from recon_cli.sources.read.words import Sense, says

#: Most lines of which all are searched across tables; of more, only those that are no parts.
_MOST_LINES: Final = 200
#: Fewest columns of a table that may add up to a column of another one.
_FEWEST_PARTS: Final = 2


@dataclass(frozen=True)
class Part:
    """One table of a file, as its numbers propose to read it.

    Attributes:
        levels: The names of the levels of its places, the largest first.
        called: Header of a column of counts → its name in a mapping.
        is_sheet: Whether it is of no known format, so that the mapping says how it is read.
        published: Name of the table, where the format has one.
        number: Position of the table in its sheet, from 1.
    """

    path: Path
    document: Document
    table: ProposedTable
    levels: tuple[str, ...]
    called: Mapping[str, str]
    is_sheet: bool
    published: str = ""
    number: int = 1

    @property
    def name(self) -> str:
        """Return the name of the sheet or file, with the table's number unless it is the first."""
        return table_name(self.document.sheet or self.document.name, self.number)

    @property
    def title(self) -> str:
        """Return the first words above the headers, below other tables; empty without any."""
        region, grid = self.table.region, self.table.grid
        above = min((*region.header, *region.headings, *region.body.tolist()), default=0)
        others = np.flatnonzero(grid.is_number[:above].sum(axis=1) > 1)
        texts = grid.texts[int(others[-1]) + 1 if len(others) else 0 : above]
        return next((" ".join(str(text).split()) for text in texts.ravel() if text), "")

    @property
    def label(self) -> str:
        """Return the name of the table in messages."""
        return self.table.grid.label

    def column(self, at: int) -> str:
        """Return the name of a column of counts in a mapping."""
        header = self.table.header(at)
        return self.called.get(header, header)

    @property
    def numbers(self) -> Intervals:
        """Return the counts of the table: rows by columns of counts."""
        region = replace(self.table.region, numeric=np.array(self.table.counts, dtype=np.intp))
        return intervals_of(self.table.grid, region)

    def words(self, at: int) -> Words:
        """Return the words of a column without its unit of measurement."""
        path = self.table.headers.get(at, ())
        kept = tuple(
            word
            for word in path
            if not (says(word, Sense.UNIT) and len(word.split()) == 1 and len(path) > 1)
        )
        return kept or path or (self.table.header(at),)


@dataclass(frozen=True)
class _Line:
    """A column of counts, with columns of the same header in tables of other places.

    Attributes:
        columns: For each, the number of its table and the column.
    """

    header: str
    words: Words
    columns: tuple[tuple[int, int], ...]


class Lines:
    """The columns of counts of tables whose rows are the same places, or others.

    Attributes:
        joined: Names of tables that sums across tables join; filled by `structure`.

    Args:
        rows: For each table, the path of the place of each row.
    """

    def __init__(self, parts: Sequence[Part], rows: Sequence[Sequence[Words]]) -> None:
        self.parts = list(parts)
        self.rows = [list(own) for own in rows]
        self.lines = self._joined_lines()
        self.questions: list[OpenQuestion] = []
        self.joined: set[str] = set()

    def _joined_lines(self) -> list[_Line]:
        lines: list[_Line] = []
        places: list[set[Words]] = []
        by_header: dict[str, int] = {}
        for number, part in enumerate(self.parts):
            own = set(self.rows[number])
            for at in part.table.counts:
                header = part.column(at)
                before = by_header.get(header)
                if before is not None and not places[before] & own:
                    line = lines[before]
                    lines[before] = replace(line, columns=(*line.columns, (number, at)))
                    places[before] |= own
                    continue
                own_name = part.title if part.number > 1 and part.title else part.name
                words = part.words(at) if before is None else (own_name, *part.words(at))
                by_header.setdefault(header, len(lines))
                lines.append(_Line(header, words, ((number, at),)))
                places.append(set(own))
        return lines

    @property
    def headers(self) -> list[str]:
        """Return the name of each line in a mapping."""
        return [line.header for line in self.lines]

    @property
    def tables(self) -> dict[int, int]:
        """Map each line to the number of its (first) table."""
        return {i: line.columns[0][0] for i, line in enumerate(self.lines)}

    def of_parts(self) -> Iterator[tuple[Part, list[tuple[str, int]]]]:
        """Yield each table with its columns: the name of each in a mapping, and its line."""
        for number, part in enumerate(self.parts):
            yield (
                part,
                [
                    (line.header, i)
                    for i, line in enumerate(self.lines)
                    if any(each == number for each, _ in line.columns)
                ],
            )

    def structure(self) -> Structure:
        """Find the features of the lines."""
        of_column = {column: i for i, line in enumerate(self.lines) for column in line.columns}
        sums: list[Relation] = []
        subsets: dict[int, int] = {}
        counted: set[int] = set()
        apart: set[int] = set()
        within: list[tuple[int, ...]] = []
        for number, part in enumerate(self.parts):
            at = {column: i for (each, column), i in of_column.items() if each == number}
            sums += column_sums(part.table, at)
            subsets |= {k: v for k, v in subsets_of(part.table, at).items() if k not in subsets}
            counted |= {at[column] for column in part.table.said_counts if column in at}
            apart |= {at[column] for column in part.table.said_apart if column in at}
            table = part.table
            said = open_sums(table.said_sums, partial(columns_named, table.headers))
            within += [tuple(at[column] for column in sum_) for sum_ in said if {*sum_} <= {*at}]
        told = {(each.line, each.of) for each in sums}
        if len(self.parts) > 1:
            sums += [each for each in self._across(sums) if (each.line, each.of) not in told]
            sums += self._said()
            # With fewer parts a sum may hold, too, where nobody is counted in the rest.
            for whole in self._by_words(sums, counted | apart):
                sums = [e for e in sums if e.line != whole.line or not {*e.of} < {*whole.of}]
                sums.append(whole)
        for each in sums:
            own = {self.parts[self.lines[i].columns[0][0]].name for i in (each.line, *each.of)}
            self.joined |= own if len(own) > 1 else set()
        return Structure.of(
            {i: line.words for i, line in enumerate(self.lines)},
            _once(sums),
            self.block,
            subsets=subsets,
            said=Said(frozenset(counted), frozenset(apart), tuple(dict.fromkeys(within))),
            base=max(part.table.relations.base for part in self.parts),
        )

    def _across(self, sums: Sequence[Relation]) -> Iterator[Relation]:
        """Yield sums of lines of several tables.

        If lines are parts in their own table already, the sum must be far from chance. Skip a sum
        with some parts of another sum, if the totals of both have the same numbers.
        """
        parts = {part for each in sums for part in each.of}
        together = {frozenset(each.of) for each in sums}  # and have a total of their own
        heads = [i for i in range(len(self.lines)) if i not in parts]
        of_part = self.tables
        # What another table prints again says nothing more.
        few = range(len(self.lines) if len(self.lines) <= _MOST_LINES else 0)
        first = [i for i in few if not any(self.are_equal(i, other) for other in range(i))]
        for lines, least in ((heads, MARGIN_BITS), (first, CERTAIN_BITS)):
            for each in self._sums_among(lines):
                total, own = lines[each.total], tuple(lines[part] for part in each.parts)
                are_apart = len({of_part[i] for i in (total, *own)}) > 1
                if frozenset(own) in together or self._is_rival(total, own, sums):
                    continue
                if are_apart and each.support.is_strong and each.support.margin >= least:
                    yield Relation(Axis.COLUMNS, total, own, each.support, step=each.step)

    def _is_rival(self, total: int, parts: Sequence[int], sums: Sequence[Relation]) -> bool:
        """Test whether a line with the numbers of a total is a sum with some of the same parts."""
        return any(
            not {*parts}.isdisjoint(each.of) and self.are_equal(total, each.line) for each in sums
        )

    def _said(self) -> Iterator[Relation]:
        """Yield the sums of lines of several tables that the user says.

        Raises:
            SourceError: Numbers break such a sum.
        """
        at = {line.header: i for i, line in enumerate(self.lines)}
        for each in dict.fromkeys(said for part in self.parts for said in part.table.said_sums):
            if each.is_open or not {*each.names} <= {*at}:
                continue
            own = [at[name] for name in each.names]
            if len({self.lines[i].columns[0][0] for i in own}) > 1:
                every = np.arange(self.block.low.shape[1], dtype=np.intp)
                block = self.block.take(np.array(own, dtype=np.intp), every)
                base = max(part.table.relations.base for part in self.parts)
                support = support_of(block, np.full(len(every), 2.0 * (base - 1)))
                if support.broken:
                    where = plurals.counted(support.broken, "row")
                    raise SourceError(f"{flag('sum', str(each))}: numbers break it in {where}")
                yield Relation(Axis.COLUMNS, own[0], tuple(own[1:]), replace(support, is_said=True))

    def _by_words(self, known: Sequence[Relation], said: Set[int]) -> Iterator[Relation]:
        """Yield sums of lines of another table whose headers have all words of the total's header.

        No number breaks these sums. If fewer than two numbers show the sums of a table, they are
        asked about, too.

        Args:
            said: Lines that are no parts, as the user says.
        """
        told = {(each.line, frozenset(each.of)) for each in known}
        words = [_words_of(line.words) for line in self.lines]
        of_part = [line.columns[0][0] for line in self.lines]
        every = np.arange(self.block.low.shape[1], dtype=np.intp)
        slack = np.full(len(every), 2.0 * (max(p.table.relations.base for p in self.parts) - 1))
        for number in range(len(self.parts)):
            found: list[Relation] = []
            for total, own in enumerate(words):
                parts = [i for i, each in enumerate(words) if of_part[i] == number and own < each]
                if of_part[total] == number or len(parts) < _FEWEST_PARTS or said & {*parts}:
                    continue
                block = self.block.take(np.array([total, *parts], dtype=np.intp), every)
                support = support_of(block, slack)
                if not support.broken and (total, frozenset(parts)) not in told:
                    support = replace(support, is_alike=True)
                    found.append(Relation(Axis.COLUMNS, total, tuple(parts), support))
            yield from found
            if found and sum(each.support.shown for each in found) < STRONG_POSITIONS:
                self.questions.append(self._question(found))

    def _question(self, sums: Sequence[Relation]) -> OpenQuestion:
        """Return one question about all sums of the columns of a table."""
        said = []
        for each in sums:
            total, *parts = (self.lines[i].header for i in (each.line, *each.of))
            said.append(f"{total} = {' + '.join(parts)}")
        parts = [self.lines[i].header for each in sums for i in each.of]
        return OpenQuestion(
            f"columns may add up to those of another table: {'; '.join(said)}: too few rows show "
            "it, none forbids it; is it so?",
            {
                "yes": " ".join(flag("sum", each) for each in said),
                "no": flag("count", *dict.fromkeys(parts)),
            },
        )

    def _sums_among(self, lines: Sequence[int]) -> list[Sum]:
        block = self.block.take(
            np.array(lines, dtype=np.intp), np.arange(self.block.low.shape[1], dtype=np.intp)
        )
        return sums_among(block, max(part.table.relations.base for part in self.parts))

    def are_equal(self, one: int, other: int) -> bool:
        """Test whether two lines have the same numbers wherever both have one, within rounding."""
        both = self.block.known[one] & self.block.known[other]
        slack = 2 * (max(part.table.relations.base for part in self.parts) - 1)
        off = np.abs(self.block.low[one] - self.block.low[other])[both]
        return bool(both.any() and (off <= slack).all())

    @cached_property
    def block(self) -> Intervals:
        """Return the numbers of all lines: lines by places."""
        places = {
            place: i for i, place in enumerate(dict.fromkeys(p for own in self.rows for p in own))
        }
        block = Intervals.unknown((len(self.lines), len(places)))
        numbers = [part.numbers for part in self.parts]
        at = [np.array([places[place] for place in own], dtype=np.intp) for own in self.rows]
        for i, line in enumerate(self.lines):
            for number, column in line.columns:
                own = self.parts[number].table.counts.index(column)
                every = np.arange(len(at[number]), dtype=np.intp)
                inner = numbers[number].take(every, np.array([own], dtype=np.intp))
                block.put(np.array([i], dtype=np.intp), at[number], inner.in_a_line)
        return block


def sums_among(block: Intervals, base: int) -> list[Sum]:
    """Return the sums among the lines of a block; of rounded numbers those without a rival."""
    if base == 1:
        return find_sums(block)
    return [each for each in sums_of(block.in_steps(base), base) if not each.rivals]


def _words_of(path: Words) -> frozenset[str]:
    """Return the words of a header.

    Example:
        >>> sorted(_words_of(("Men", "Housing benefit")))
        ['benefit', 'housing', 'men']
    """
    return frozenset(word for text in path for word in text.casefold().split())


def _once(sums: Sequence[Relation]) -> list[Relation]:
    """Return each sum once, by its line and parts."""
    return list({(each.line, each.of): each for each in sums}.values())


def column_sums(table: ProposedTable, at: Mapping[int, int]) -> list[Relation]:
    """Return the sums of a table's columns that numbers show, or the user says.

    Args:
        at: Column → its line.
    """
    return [
        moved(each, at)
        for each in table.relations.sums(Axis.COLUMNS)
        if (each.support.is_strong or (each.line, *each.of) in table.taken_sums)
        and each.line in at
        and all(part in at for part in each.of)
    ]


def moved(each: Relation, at: Mapping[int, int]) -> Relation:
    """Return a relation with its lines renumbered."""
    return replace(each, line=at[each.line], of=tuple(at[part] for part in each.of), rivals=())


def subsets_of(table: ProposedTable, at: Mapping[int, int]) -> dict[int, int]:
    """Map the line of which a percentage is a share to the line that is its hundred per cent."""
    found: dict[int, int] = {}
    for each in table.relations.ratios(Axis.COLUMNS):
        part, base = each.of
        if each.per == 100.0 and part in at and base in at and each.support.is_strong:
            found.setdefault(at[part], at[base])
    return found
