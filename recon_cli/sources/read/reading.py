"""How a sheet is read: a role for every cell, relations with their evidence, and questions."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.sources.formats.place import GEOIDS
from recon_cli.sources.formats.vocabulary import interval
from recon_cli.sources.read.crossed import ValueSum, fitting_marks, value_sums
from recon_cli.sources.read.grid import MOST_CELLS, Grid
from recon_cli.sources.read.headers import header_paths
from recon_cli.sources.read.intervals import Intervals
from recon_cli.sources.read.lattice import Lattice
from recon_cli.sources.read.names import Names
from recon_cli.sources.read.numbers import ENGLISH, GERMAN, Convention
from recon_cli.sources.read.parallels import with_nobody, with_parallels
from recon_cli.sources.read.regions import Region, Regions
from recon_cli.sources.read.relations import Axis, Kind, Relation, Relations, intervals_of
from recon_cli.sources.read.row_labels import PART_OF, Path, filled_down, row_labels
from recon_cli.sources.read.shares import Share, find_shares
from recon_cli.sources.read.sums import Support, possible_whole, slips
from recon_cli.sources.read.words import Sense, says
from recon_cli.sources.tabular.sheet import Sheet

#: Cells that a text has to be nobody in, in every sum, before it stands for nobody everywhere.
_FEWEST_ZEROS: Final = 5
#: The same of dashes, which offices print for nothing.
_FEWEST_DASHES: Final = 2
#: Columns of which each has answers of its own, beside those for all together.
_MOST_APART: Final = 4
DASHES: Final = frozenset(("-", "\u2013", "\u2014", "\u2212"))
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{4}|(19|20)\d\d")


class Role(IntEnum):
    """What a cell is."""

    BLANK = 0
    TITLE = 1
    HEADER = 2
    UNIT = 3
    NOTE = 4
    PLACE = 5
    PARENT = 6
    LABEL = 7
    COUNT = 8
    STATISTIC = 9
    MARKER = 10
    FLAG = 11
    FOOTNOTE = 12
    LEFT_OUT = 13


@dataclass(frozen=True)
class Choices:
    """What is said of a sheet, which overrules what its numbers propose.

    Attributes:
        header: Numbers of the header rows.
        place: Header of the column of places.
        parent: Headers of the columns that say what a place is part of, the largest first.
        count: Headers of the columns of counts.
        are_kinds: Whether the rows are kinds of what is counted, of one place.
        leave_out: Header of a column that is not used → why.
        total: Columns, or values of a dimension, that others add up to, though too little shows it.
        apart: Headers of columns, or of a dimension, that exclude each other.
        zeros: Texts that stand for nobody.
        thousands: What is between groups of three digits.
        where: Header → the values of that column whose rows are read.
        dimension: Headers of the columns that a row of a long table is counted by.
        codes_first: Whether places are called by their codes, where a column has both.
        are_known: Whether a format says what places, dimensions and counts are.
        is_whole: Whether all is said: nothing is proposed, and no number is added up.
        shares: Header of a column that is a share → header of the counts that it is of, header of
            those that it is among, and what it is printed per.
    """

    header: tuple[int, ...] = ()
    place: str | None = None
    parent: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    are_kinds: bool | None = None
    leave_out: Mapping[str, str] = field(default_factory=dict)
    total: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    thousands: str | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dimension: tuple[str, ...] = ()
    codes_first: bool = False
    are_known: bool = False
    is_whole: bool = False
    shares: Mapping[str, tuple[str, str, int]] = field(default_factory=dict)


NO_CHOICES: Final = Choices()


@dataclass(frozen=True)
class Question:
    """Something that the numbers leave open.

    Attributes:
        text: What is asked, with the numbers that tell the answers apart.
        answers: For each answer the flags that give it.
        columns: The columns of the sheet that it is about.
    """

    text: str
    answers: Mapping[str, str]
    columns: tuple[int, ...] = ()


def flag(name: str, *values: str) -> str:
    """Return a flag with its values as a shell takes them.

    Example:
        >>> print(flag("count", "Girls", "Pupils' parents"))
        --count Girls --count 'Pupils'"'"' parents'
    """
    return " ".join(f"--{name} {shlex.quote(value)}" for value in values)


@dataclass(frozen=True)
class TableReading:
    """One table of a sheet.

    Attributes:
        grid: The cells, with labels in each row that they are for.
        headers: Column → its words, outermost first.
        names: The columns that name its rows.
        counts: Columns of counts.
        statistics: Columns of percentages, means and the like that nothing is made of.
        left_out: Column → why it is not used.
        lattice: Features among the columns of counts.
        values: Of a long table the sums among the values of its dimensions.
        rows: The words that name each row, outermost first.
        are_kinds: Whether its rows are kinds of what is counted, of one place.
        said_counts: Columns of which somebody says that they count some of the others' people.
        said_totals: Columns that others are taken to add up to.
        said_apart: Columns of which somebody says that they exclude each other.
        not_chosen: Column → the rows that are not read for what stands in it.
        shares: Columns that are shares of counts.
        left_rows: Rows that are not used, by their words: percentages, or as somebody says.
        row_reasons: Words of such a row → why it is not used, as somebody says.
    """

    grid: Grid
    region: Region
    headers: Mapping[int, tuple[str, ...]]
    names: Names
    relations: Relations
    counts: tuple[int, ...]
    statistics: tuple[int, ...]
    left_out: Mapping[int, str]
    lattice: Lattice
    place: int | None
    values: tuple[ValueSum, ...]
    withheld: BoolArray
    questions: tuple[Question, ...]
    rows: tuple[Path, ...]
    are_kinds: bool
    said_counts: tuple[int, ...] = ()
    said_totals: tuple[int, ...] = ()
    said_apart: tuple[int, ...] = ()
    not_chosen: Mapping[int, NDArray[np.intp]] = field(default_factory=dict)
    shares: tuple[Share, ...] = ()
    left_rows: tuple[tuple[str, int], ...] = ()
    row_reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def parents(self) -> list[int]:
        """Return the columns that say what a place is part of, the largest first."""
        chain: list[int] = []
        at = self.place
        while at in self.names.parents and self.names.parents[at] not in chain:
            at = self.names.parents[at]
            chain.insert(0, at)
        return chain

    def header(self, at: int) -> str:
        """The words of a column as they are named in keys and flags."""
        return column_names(self.headers)[at]


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
            _fill_roles(roles, grid, table)
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


def column_names(headers: Mapping[int, Path]) -> dict[int, str]:
    """Column → how keys and flags call it: its words, with its number where others have them too.

    Example:
        >>> column_names({0: ("Sex", "Girls"), 1: ("%",), 2: ("%",), 3: ()})
        {0: 'Sex: Girls', 1: '% (column 2)', 2: '% (column 3)', 3: 'column 4'}
    """
    joined = {at: ": ".join(path) for at, path in headers.items()}
    often = Counter(joined.values())
    return {
        at: f"column {at + 1}"
        if not name
        else (name if often[name] == 1 else f"{name} (column {at + 1})")
        for at, name in joined.items()
    }


def columns_named(headers: Mapping[int, Path], words: Sequence[str]) -> tuple[int, ...]:
    """Columns whose header is one of some words; where none is, those whose last word is.

    Example:
        >>> columns_named({0: ("Sex", "Girls"), 1: ("Sex", "Boys")}, ["Girls"])
        (0,)
    """
    if not words:
        return ()
    names = column_names(headers)
    exact = [at for at in headers if names[at] in words]
    if exact:
        return tuple(exact)
    return tuple(at for at, path in headers.items() if {": ".join(path), *path[-1:]} & {*words})


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
            _Draft(filled_down(grid, region), region, choices).table() for region in regions.tables
        ),
    )


def _fill_roles(roles: NDArray[np.uint8], grid: Grid, table: TableReading) -> None:
    region = table.region
    for row in region.header:
        texts = [str(text) for text in grid.texts[row].tolist() if text]
        units = sum(says(t, Sense.UNIT) or says(t, Sense.PERCENTAGE) for t in texts)
        roles[row] = Role.UNIT if texts and 2 * units > len(texts) else Role.HEADER
    for row in region.headings:
        roles[row] = Role.PARENT
    body = region.body
    roles[body] = Role.FOOTNOTE  # what stands beside a number and is neither word nor number
    names = table.names
    for at in (*region.stub.tolist(), *names.keys, *names.twins, *names.constants):
        roles[body, at] = Role.LABEL
    for at in names.parents.values():
        roles[body, at] = Role.PARENT
    if table.place is not None:
        roles[body, table.place] = Role.PLACE
    for at in names.flags:
        roles[body, at] = Role.FLAG
    _fill_numbers(roles, grid, table)
    for at in table.left_out:
        roles[body, at] = Role.LEFT_OUT
    for label, row in table.left_rows:
        roles[row] = Role.LABEL
        numbers = region.numeric[grid.is_number[row, region.numeric]]
        roles[row, numbers] = Role.LEFT_OUT if label in table.row_reasons else Role.STATISTIC


def _runs(some: Sequence[int], columns: Sequence[int]) -> list[list[int]]:
    """Some columns, those that stand side by side together."""
    runs: list[list[int]] = []
    for place, at in enumerate(columns):
        if at not in some:
            continue
        if runs and place and columns[place - 1] == runs[-1][-1]:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _fill_numbers(roles: NDArray[np.uint8], grid: Grid, table: TableReading) -> None:
    body = table.region.body
    names = table.names
    named = {*names.keys, *names.twins, *names.constants}
    for at in table.region.numeric.tolist():
        if at in named:
            continue
        is_number = grid.is_number[body, at] & ~table.withheld[body, at]
        is_number &= ~np.isin(grid.values[body, at], list(table.relations.codes))
        role = Role.COUNT if at in table.counts else Role.STATISTIC
        roles[body, at] = np.where(is_number, role, Role.MARKER)


class _Draft:
    """A reading of one table in the making."""

    def __init__(self, grid: Grid, region: Region, choices: Choices) -> None:
        self.grid = grid
        self.choices = choices
        self.region = region
        self.headers = header_paths(grid, region)
        self.columns = column_names(self.headers)
        self.questions: list[Question] = []
        self.told: list[Relation] = []
        self.not_chosen: dict[int, NDArray[np.intp]] = {}
        self.left_rows: list[tuple[str, int]] = []
        for header, values in choices.where.items():
            for at in self._said((header,)):
                body = self.region.body
                is_chosen = np.isin(self.grid.texts[body, at].astype(str), list(values))
                self.not_chosen[at] = body[~is_chosen]
                self.region = replace(self.region, body=body[is_chosen])

    def _said(self, words: Sequence[str]) -> tuple[int, ...]:
        """Columns whose header, or its last word, is one of some."""
        return columns_named(self.headers, words)

    def _header(self, at: int) -> str:
        return self.columns[at]

    def table(self) -> TableReading:
        """Return the table as it is said to be, or as its numbers propose."""
        self._leave_rows(lambda label, _: label in self.choices.leave_out)
        table = self._settled() if self.choices.is_whole else self._proposed()
        rates = {row for row, kind in table.relations.rows.items() if kind is Kind.STATISTIC}
        if rates and self._leave_rows(lambda _, row: row in rates):
            self.questions, self.told = [], []
            table = self._proposed()
        reasons = {label: self.choices.leave_out.get(label, "") for label, _ in self.left_rows}
        said = {label: why for label, why in reasons.items() if label in self.choices.leave_out}
        return replace(table, left_rows=tuple(self.left_rows), row_reasons=said)

    def _leave_rows(self, is_left: Callable[[str, int], bool]) -> bool:
        """Take rows out of the body, by their words and number; report whether there were some.

        A row stays whose words are those of one that stays.
        """
        names = self._names()
        body = self.region.body
        if names.is_long:
            return False
        words = [PART_OF.join(path) for path in row_labels(self.grid, self.region, names.chain)]
        rows = list(zip(words, body.tolist(), strict=True))
        kept = {label for label, row in rows if not is_left(label, row)}
        left = [(label, row) for label, row in rows if is_left(label, row) and label not in kept]
        if not left or not kept:
            return False
        self.left_rows += left
        is_kept = ~np.isin(body, [row for _, row in left])
        self.region = replace(self.region, body=body[is_kept])
        return True

    def _settled(self) -> TableReading:
        """The table as it is said to be."""
        names = self._names()
        said = set(self._said(self.choices.count))
        numeric = [int(at) for at in self.region.numeric]
        counts = tuple(at for at in numeric if at in said)
        left_out = {
            at: reason
            for header, reason in self.choices.leave_out.items()
            for at in self._said((header,))
        }
        shares = self._said_shares()
        used = {*said, *left_out, *names.keys, *(each.line for each in shares)}
        others = tuple(at for at in numeric if at not in used)
        return TableReading(
            self.grid,
            self.region,
            self.headers,
            names,
            Relations((), {}, {}, 1, frozenset()),
            counts,
            others,
            left_out,
            Lattice((), ()),
            self._place(names),
            (),
            self._withheld(names),
            (),
            tuple(row_labels(self.grid, self.region, names.chain)),
            bool(self.choices.are_kinds),
            not_chosen=self.not_chosen,
            shares=shares,
        )

    def _said_shares(self) -> tuple[Share, ...]:
        """The columns that are said to be shares of others."""
        found = []
        for header, (part, base, times) in self.choices.shares.items():
            own = [self._said((each,)) for each in (header, part, base)]
            if all(len(each) == 1 for each in own):
                found.append(Share(own[0][0], own[1][0], own[2][0], times))
        return tuple(found)

    def _proposed(self) -> TableReading:
        names = self._names()
        withheld = self._withheld(names)
        keys = {*names.keys, *names.twins, *names.constants}
        numeric = [int(at) for at in self.region.numeric if int(at) not in keys]
        left_out = {
            at: reason
            for header, reason in self.choices.leave_out.items()
            for at in self._said((header,))
        }
        # What is left out is no count, and may still tell what others are: percentages.
        used = np.array(numeric, dtype=np.intp)
        inner = Region(
            self.region.header, self.region.body, self.region.headings, used, self.region.stub
        )
        values: tuple[ValueSum, ...] = ()
        if names.is_long:
            relations = self._of_rows(inner)
            values = self._values(inner, names, relations, withheld)
            counts, statistics = self._long_counts(relations, values)
        else:
            key = names.keys[-1] if names.keys else None
            relations = Relations.of(self.grid, inner, withheld, key=key)
            relations = with_parallels(
                relations,
                self.headers,
                lambda total, parts: relations.support(self.grid, inner, withheld, total, parts),
            )
            relations = with_nobody(relations, self.headers, self._every(inner))
            counts, statistics = self._wide_counts(relations)
            relations = replace(relations, found=(*relations.found, *self.told))
        counts = tuple(at for at in counts if at not in left_out)
        statistics = tuple(at for at in statistics if at not in left_out)
        shares: list[Share] = []
        if not names.is_long:
            shares = find_shares(self._every(inner), relations, counts, statistics, self.headers)
            statistics = tuple(at for at in statistics if at not in {e.line for e in shares})
        lattice = Lattice.of(
            [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong], self.headers
        )
        place = self._place(names)
        return TableReading(
            self.grid,
            self.region,
            self.headers,
            names,
            relations,
            counts,
            statistics,
            left_out,
            lattice,
            place,
            values,
            withheld,
            tuple(self.questions),
            tuple(row_labels(self.grid, self.region, names.chain)),
            not names.is_long and self._are_kinds(names, relations),
            () if self.choices.are_known else self._said(self.choices.count),
            tuple(e.line for e in relations.sums(Axis.COLUMNS) if self._is_taken(e)),
            self._said(self.choices.apart),
            self.not_chosen,
            tuple(shares),
        )

    def _every(self, region: Region) -> Intervals:
        """The numbers of all columns in the rows of a table, columns as lines."""
        every = replace(region, numeric=np.arange(self.grid.shape[1]))
        return intervals_of(self.grid, every).transposed

    def _are_kinds(self, names: Names, relations: Relations) -> bool:
        """Whether the rows of a wide table are kinds of what is counted, of one place."""
        if self.choices.are_kinds is not None or self.choices.place is not None:
            return bool(self.choices.are_kinds)
        key = names.keys[-1] if names.keys else None
        words = " ".join(self.headers.get(key, ())) if key is not None else ""
        last = words.split()[-1] if words else ""
        if says(last, Sense.KIND):
            return True
        if says(words, Sense.PLACE) or names.parents:
            return False
        wholes = Counter(each.line for each in relations.sums(Axis.ROWS) if each.support.is_strong)
        return any(times > 1 for times in wholes.values()) or says(words, Sense.KIND)

    def _names(self) -> Names:
        names = Names.of(self.grid, self.region)
        if self.choices.is_whole or self.choices.are_known:
            names = self._said_names(names)
        elif not names.is_long:
            names = self._with_place(names)
        if self.choices.count:
            said = set(self._said(self.choices.count))
            names = replace(names, keys=tuple(at for at in names.keys if at not in said))
        names = self._of_one_place(self._parents(names))
        return self._by_codes(names) if self.choices.codes_first else names

    def _are_codes(self, at: int) -> bool:
        """Whether a column has letters and digits alone, with a digit in each."""
        texts = self.grid.texts[self.region.body, at].astype(str)
        return all(text.isalnum() and any(map(str.isdigit, text)) for text in set(texts.tolist()))

    def _by_codes(self, names: Names) -> Names:
        """The names of rows with codes of places in place of what people call them."""
        said = set(self._said((self.choices.place,))) if self.choices.place else set()
        for code, key in names.twins.items():
            is_better = self._are_codes(code) and not self._are_codes(key)
            if key in names.keys and key not in said and is_better:
                keys = tuple(code if at == key else at for at in names.keys)
                twins = {at: code if to == key else to for at, to in names.twins.items()}
                twins = {**{at: to for at, to in twins.items() if at != code}, key: code}
                parents = {code if at == key else at: to for at, to in names.parents.items()}
                return replace(names, keys=keys, twins=twins, parents=parents)
        return names

    def _of_one_place(self, names: Names) -> Names:
        """The names of rows that are all of one place, which a column says."""
        said = set(self._said((self.choices.place,))) if self.choices.place else set()
        able = [
            at
            for at in names.constants
            if at in said
            or (not said and says(self._header(at), Sense.PLACE))
            or (not said and self._header(at).casefold() in GEOIDS)
        ]
        is_told = any(says(self._header(at), Sense.PLACE) for at in names.keys)
        if len(able) != 1 or able[0] in names.keys or (is_told and not said):
            return names
        constants = tuple(at for at in names.constants if at != able[0])
        return replace(names, keys=(able[0], *names.keys), constants=constants, is_long=True)

    def _said_names(self, names: Names) -> Names:
        """The names of rows as they are said: the place, and the dimensions of a long table."""
        said = self._said((self.choices.place,)) if self.choices.place else ()
        place = said or names.keys[-1:]  # another sheet may call it otherwise
        dimensions = self._said(self.choices.dimension)
        keys = (*place, *(at for at in dimensions if at not in place))
        parents = {} if said else names.parents
        return replace(names, keys=keys, parents=parents, is_long=bool(dimensions))

    def _parents(self, names: Names) -> Names:
        """The names with the parents that are said, the largest first."""
        said = [at for header in self.choices.parent for at in self._said((header,))]
        if not said:
            return names
        keys = replace(names, keys=tuple(at for at in names.keys if at not in said))
        chain = [self._place_within(keys, said[-1]), *reversed(said)]
        place = tuple(chain[:1])
        return replace(
            names,
            keys=tuple(at for at in names.keys if at not in said) or place,
            parents=dict(itertools.pairwise(chain)),
            is_long=names.is_long and len(set(names.keys) - set(said)) > 1,
        )

    def _with_place(self, names: Names) -> Names:
        """The names of rows of a wide table by the column of places that is said."""
        said = self._said((self.choices.place,)) if self.choices.place else ()
        if not said or said[0] in names.keys:
            return names
        place = said[0]
        parents = {at: to for at, to in names.parents.items() if at == place or to != place}
        if (key := names.twins.get(place)) in parents:
            parents[place] = parents[key]
        twins = {at: to for at, to in names.twins.items() if at != place}
        constants = tuple(at for at in names.constants if at != place)
        return replace(names, keys=(place,), parents=parents, twins=twins, constants=constants)

    def _place_within(self, names: Names, parent: int) -> int:
        """The column of places that are part of those in another: as said, or by their values."""
        said = self._said((self.choices.place,)) if self.choices.place else ()
        able = [at for at in names.keys if self._is_within(at, parent)]
        return (*said, *able, *names.keys[-1:], parent)[0]

    def _is_within(self, inner: int, outer: int) -> bool:
        """Whether each text of a column stands beside one text of another."""
        pairs = self.grid.texts[np.ix_(self.region.body, np.array([inner, outer]))].astype(str)
        return len(np.unique(pairs, axis=0)) == len(np.unique(pairs[:, 0]))

    def _withheld(self, names: Names) -> BoolArray:
        """Numbers that a flag beside them takes back: a zero with a flag is no zero."""
        found = np.zeros(self.grid.shape, dtype=bool)
        for flag in names.flags:
            filled = self.grid.texts[self.region.body, flag] != ""
            for at in self.region.numeric.tolist():
                own = self.grid.values[self.region.body, at]
                if ((own == 0) | np.isnan(own))[filled].all():
                    found[self.region.body[filled & (own == 0)], at] = True
        return found

    def _place(self, names: Names) -> int | None:
        """The column of places: as said, as a word proposes, else the one with most values."""
        if self.choices.place is not None and (said := self._said((self.choices.place,))):
            return said[0]
        if not names.keys:
            return None
        if not names.is_long:
            return names.keys[-1]
        if (inner := [at for at in names.keys if at in names.parents]) and self.choices.parent:
            return inner[0]
        by_word = [at for at in names.keys if says(self._header(at), Sense.PLACE)]
        coded = [at for at in names.keys if self._header(at).casefold() in GEOIDS]
        for able in (by_word, coded):
            if len(able) == 1:
                return able[0]
        sizes = {at: len(set(self.grid.texts[self.region.body, at].tolist())) for at in names.keys}
        able = by_word or list(names.keys)
        chosen = max(able, key=lambda at: (sizes[at], -at))
        shown = ", ".join(repr(self._header(at)) for at in able)
        self.questions.append(
            Question(
                f"which of {shown} has the places? taken: {self._header(chosen)!r}",
                {self._header(at): flag("place", self._header(at)) for at in able},
                tuple(able),
            )
        )
        return chosen

    # --- wide -------------------------------------------------------------------------------

    def _wide_counts(self, relations: Relations) -> tuple[tuple[int, ...], tuple[int, ...]]:
        said = set(self._said(self.choices.count))
        other = {at for at in relations.columns if at not in said and self.choices.are_known}
        counts: list[int] = []
        statistics: list[int] = []
        has_counts = any(kind is Kind.COUNT for kind in relations.columns.values())
        unrelated = [
            at
            for at, kind in relations.columns.items()
            if kind is Kind.UNRELATED and not self._is_left_out(at)
        ]
        for at, kind in relations.columns.items():
            is_count = at in said or (kind is not Kind.STATISTIC and at not in other)
            (counts if is_count else statistics).append(at)
        rows = relations.sums(Axis.ROWS)
        other_said = {*self._said(self.choices.apart)}
        open_ = [at for at in unrelated if at not in said | other | other_said]
        left_out = {*self._said(tuple(self.choices.leave_out))}
        used = [at for at in counts if at not in left_out]
        slipped = self._ask_slips(used) if open_ and relations.base == 1 else set()
        open_ = [at for at in open_ if at not in slipped]
        open_ = [at for at in open_ if not says(" ".join(self.headers[at]), Sense.OF_WHICH)]
        is_classed = not has_counts and self._are_apart(open_)
        for run in _runs(open_, [int(at) for at in relations.columns]):
            is_told = is_classed or self._ask_possible(run, used)
            if not is_told and (has_counts or not rows):
                self._ask_unrelated(run)
        for each in relations.found:
            is_used = left_out.isdisjoint((each.line, *each.of))
            if each.is_sum and each.axis is Axis.COLUMNS and is_used and not self._holds(each):
                parts = " + ".join(repr(self._header(at)) for at in each.of)
                self.questions.append(
                    Question(
                        f"{self._header(each.line)!r} = {parts} in {each.support.shown} row, "
                        f"{each.support.open} leave it open: is it so?",
                        {
                            "yes": flag("total", self._header(each.line)),
                            "no": flag("apart", self._header(each.line)),
                        },
                        (each.line, *each.of),
                    )
                )
        return tuple(counts), tuple(statistics)

    def _holds(self, each: Relation) -> bool:
        """Whether a sum of columns is shown, or said; one row is enough where words say so, too."""
        said = self._said((*self.choices.total, *self.choices.apart))
        words = " ".join(self.headers[each.line])
        return each.support.is_strong or each.line in said or says(words, Sense.TOTAL)

    def _is_taken(self, each: Relation) -> bool:
        """Whether a sum that is not strong is taken for one all the same."""
        return self._holds(each) and each.line not in self._said(self.choices.apart)

    def _is_left_out(self, at: int) -> bool:
        return at in self._said(tuple(self.choices.leave_out))

    def _are_apart(self, columns: Sequence[int]) -> bool:
        """Whether headers are of kinds that exclude each other by what they say.

        So are dates, ages, and every combination of the words of two groups.
        """
        if len(columns) < 2:
            return False
        labels = [" ".join(self.headers[at]) for at in columns]
        if all(map(interval, labels)) or all(map(_DATE.fullmatch, labels)):
            return len(set(labels)) == len(labels)
        parts = [re.split(r",\s|\s-\s|:\s", ": ".join(self.headers[at])) for at in columns]
        if len({len(own) for own in parts}) > 1 or len(parts[0]) != 2:
            return False
        sets = [list(dict.fromkeys(own[i] for own in parts)) for i in (0, 1)]
        full = {(one, other) for one in sets[0] for other in sets[1]}
        return min(map(len, sets)) > 1 and {tuple(own) for own in parts} == full

    def _ask_slips(self, counts: Sequence[int]) -> set[int]:
        """Ask about sums that a row or two break; return their columns."""
        inner = replace(self.region, numeric=np.array(list(counts), dtype=np.intp))
        block = intervals_of(self.grid, inner).transposed
        found: set[int] = set()
        for each in slips(block):
            total, parts = counts[each.total], [counts[i] for i in each.parts]
            found |= {total, *parts}
            if total in self._said(self.choices.total):
                support = Support(each.shown, 0, len(each.broken), 0.0, 0.0)
                self.told.append(Relation(Axis.COLUMNS, total, tuple(parts), support))
                continue
            row = int(self.region.body[each.broken[0]])
            shown = " + ".join(repr(self._header(at)) for at in parts)
            numbers = " + ".join(str(self.grid.texts[row, at]) for at in parts)
            self.questions.append(
                Question(
                    f"row {self.grid.rows[row]}: {self._header(total)!r} is "
                    f"{self.grid.texts[row, total]}, and {shown} are {numbers}; they add up in "
                    f"{each.shown} other rows: mend the file, or take it as it is",
                    {
                        "as it is": flag("total", self._header(total)),
                        "leave it out": flag("leave-out", self._header(total)),
                    },
                    (total, *parts),
                )
            )
        return found

    def _ask_possible(self, run: Sequence[int], counts: Sequence[int]) -> bool:
        """Ask whether columns side by side add up to a total that nothing forbids."""
        inner = Region(
            self.region.header,
            self.region.body,
            self.region.headings,
            np.array(list(counts), dtype=np.intp),
            self.region.stub,
        )
        block = intervals_of(self.grid, inner).transposed
        lines = [counts.index(at) for at in run]
        whole = possible_whole(block, lines)
        if whole is None:
            return False
        parts = [at for at in run if at != counts[whole]]
        if set(run) <= set(self._said(self.choices.apart)):
            return True
        if counts[whole] in self._said(self.choices.total):
            told = Support(0, len(self.region.body), 0, 0.0, 0.0)
            self.told.append(Relation(Axis.COLUMNS, counts[whole], tuple(parts), told))
            return True
        shown = " + ".join(repr(self._header(at)) for at in parts)
        self.questions.append(
            Question(
                f"{self._header(counts[whole])!r} may be {shown}: too few rows show it, none "
                f"of {len(self.region.body)} forbids it; is it so?",
                {
                    "yes": flag("total", self._header(counts[whole])),
                    "no": flag("apart", *map(self._header, run)),
                },
                (counts[whole], *parts),
            )
        )
        return True

    def _ask_unrelated(self, run: Sequence[int]) -> None:
        shown = ", ".join(repr(self._header(at)) for at in run)
        is_one = len(run) == 1
        headers = [self._header(at) for at in run]
        answers: dict[str, str] = {}
        if not is_one:
            every = "both are" if len(run) == 2 else f"all {len(run)} are"
            apart = f"{every} counts of these people, and nobody is in two of them"
            answers = {
                apart: flag("apart", *headers),
                f"{every} counts of these people": flag("count", *headers),
                f"{every} to be left out": flag("leave-out", *headers),
            }
        if len(run) <= _MOST_APART:
            answers |= {
                f"{header!r} is {what}": flag(name, header)
                for header in headers
                for what, name in (
                    ("a count of these people", "count"),
                    ("to be left out", "leave-out"),
                )
            }
        self.questions.append(
            Question(
                f"{shown} {'is' if is_one else 'are'} in no relation to the counts: a median, a "
                "count of something else, or to be left out?",
                answers,
                tuple(run),
            )
        )

    # --- long -------------------------------------------------------------------------------

    def _of_rows(self, region: Region) -> Relations:
        """Relations among the columns of a long table; its rows are looked at by dimension."""
        found = Relations.of(self.grid, region, with_rows=False)
        return replace(found, rows=dict.fromkeys(found.rows, Kind.COUNT))

    def _values(
        self, region: Region, names: Names, relations: Relations, withheld: BoolArray
    ) -> tuple[ValueSum, ...]:
        whole = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
        found = [
            each for at in whole for each in value_sums(self.grid, region, names.keys, at, withheld)
        ]
        return tuple(self._as_said(each) for each in found)

    def _as_said(self, each: ValueSum) -> ValueSum:
        """A sum of values as it is said to be, where no number shows it; else it is asked."""
        is_apart = self._header(each.dimension) in self.choices.apart
        if each.support.shown or is_apart or each.total in self.choices.total:
            return replace(each, is_said=each.total in self.choices.total)
        parts = " + ".join(map(repr, each.parts[:4])) + " + …" * (len(each.parts) > 4)
        self.questions.append(
            Question(
                f"{self._header(each.dimension)}: {each.total!r} may be {parts}: no row shows it, "
                "none forbids it; is it so?",
                {
                    "yes": flag("total", each.total),
                    "no": flag("apart", self._header(each.dimension)),
                },
                (each.dimension,),
            )
        )
        return each

    def _long_counts(
        self, relations: Relations, values: Sequence[ValueSum]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The column of counts: the one whose numbers add up; two of them are asked about."""
        whole = [
            at
            for at, kind in relations.columns.items()
            if kind is not Kind.STATISTIC and not self._is_left_out(at)
        ]
        said = self._said(self.choices.count)
        across = [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong]
        joined = {at for each in across for at in (each.line, *each.of)}
        if joined and (self.choices.are_known or not said):
            return self._wide_counts(relations)
        adding = [at for at in whole if any(e.count == at for e in values)]
        counts = said or tuple((adding or whole)[:1])
        if len(whole) > 1 and not said:
            shown = ", ".join(repr(self._header(at)) for at in whole)
            those = ", ".join(repr(self._header(at)) for at in adding) or "none"
            self.questions.append(
                Question(
                    f"which of {shown} is the count? shown to add up: {those}",
                    {self._header(at): flag("count", self._header(at)) for at in whole},
                    tuple(whole),
                )
            )
        return counts, tuple(at for at in relations.columns if at not in counts)
