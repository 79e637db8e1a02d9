"""How a sheet is read: a role for every cell, relations with their evidence, and questions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.sources.read.crossed import ValueSum, value_sums
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.headers import header_paths
from recon_cli.sources.read.lattice import Lattice
from recon_cli.sources.read.places import Names
from recon_cli.sources.read.regions import Region, Regions
from recon_cli.sources.read.relations import Axis, Kind, Relations, intervals_of
from recon_cli.sources.read.sums import possible_whole
from recon_cli.sources.read.words import Sense, says
from recon_cli.sources.tabular.sheet import Sheet


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
        statistic: Headers of columns of statistics.
        leave_out: Header of a column that is not used → why.
    """

    header: tuple[int, ...] = ()
    place: str | None = None
    parent: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    statistic: tuple[str, ...] = ()
    leave_out: Mapping[str, str] = field(default_factory=dict)


NO_CHOICES: Final = Choices()


@dataclass(frozen=True)
class Question:
    """Something that the numbers leave open.

    Attributes:
        text: What is asked, with the numbers that tell the answers apart.
        answers: For each answer the flag that gives it.
    """

    text: str
    answers: Mapping[str, str]


@dataclass(frozen=True)
class TableReading:
    """One table of a sheet.

    Attributes:
        headers: Column → its words, outermost first.
        names: The columns that name its rows.
        counts: Columns of counts.
        statistics: Columns of percentages, means and the like.
        left_out: Column → why it is not used.
        lattice: Features among the columns of counts.
        values: Of a long table the sums among the values of its dimensions.
    """

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

    def header(self, at: int) -> str:
        """The words of a column as they are named in keys and flags."""
        return ": ".join(self.headers.get(at, ())) or f"column {at + 1}"


@dataclass(frozen=True)
class Reading:
    """A sheet as it is read."""

    grid: Grid
    tables: tuple[TableReading, ...]

    @classmethod
    def of(cls, sheet: Sheet, choices: Choices = NO_CHOICES) -> Reading:
        """Propose a reading by the numbers of a sheet, and by what is said of it."""
        grid = Grid.of(sheet)
        first = _read(grid, choices)
        for other in grid.alternatives:
            second = _read(grid.under(other), choices)
            if _weight(second) > _weight(first):
                first = second
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


def _weight(reading: Reading) -> float:
    """How much the sums of a reading tell."""
    across = sum(e.support.bits for t in reading.tables for e in t.relations.found if e.is_sum)
    return across + sum(e.support.bits for t in reading.tables for e in t.values)


def _read(grid: Grid, choices: Choices) -> Reading:
    regions = Regions.of(grid, choices.header)
    return Reading(grid, tuple(_Draft(grid, region, choices).table() for region in regions.tables))


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
    for row, kind in table.relations.rows.items():
        if kind is Kind.STATISTIC:
            own = roles[row] == Role.COUNT
            roles[row, own] = Role.STATISTIC


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
        self.region = region
        self.choices = choices
        self.headers = header_paths(grid, region)
        self.questions: list[Question] = []

    def _said(self, words: Sequence[str]) -> tuple[int, ...]:
        """Columns whose header, or its last word, is one of some."""
        found = []
        for at, path in self.headers.items():
            if path and (": ".join(path) in words or path[-1] in words):
                found.append(at)
        return tuple(found)

    def _header(self, at: int) -> str:
        return ": ".join(self.headers[at]) or f"column {at + 1}"

    def table(self) -> TableReading:
        names = self._names()
        withheld = self._withheld(names)
        keys = {*names.keys, *names.twins, *names.constants}
        numeric = [int(at) for at in self.region.numeric if int(at) not in keys]
        left_out = {
            at: reason
            for header, reason in self.choices.leave_out.items()
            for at in self._said((header,))
        }
        used = np.array([at for at in numeric if at not in left_out], dtype=np.intp)
        inner = Region(
            self.region.header, self.region.body, self.region.headings, used, self.region.stub
        )
        values: tuple[ValueSum, ...] = ()
        if names.is_long:
            relations = self._of_rows(inner)
            values = self._values(inner, names, relations, withheld)
            counts, statistics = self._long_counts(relations, values)
        else:
            relations = Relations.of(self.grid, inner, withheld)
            counts, statistics = self._wide_counts(relations)
        lattice = Lattice.of(
            [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong], self.headers
        )
        place = self._place(names)
        return TableReading(
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
        )

    def _names(self) -> Names:
        names = Names.of(self.grid, self.region)
        if self.choices.count:
            said = set(self._said(self.choices.count))
            names = replace(names, keys=tuple(at for at in names.keys if at not in said))
        return self._parents(names)

    def _parents(self, names: Names) -> Names:
        """The names with the parents that are said, the largest first."""
        said = [at for header in self.choices.parent for at in self._said((header,))]
        place = self._said((self.choices.place,)) if self.choices.place else names.keys[-1:]
        if not said or not place:
            return names
        chain = [place[0], *reversed(said)]
        return replace(
            names,
            keys=tuple(at for at in names.keys if at not in said) or place,
            parents=dict(itertools.pairwise(chain)),
            is_long=names.is_long and len(set(names.keys) - set(said)) > 1,
        )

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
        if self.choices.place is not None:
            said = self._said((self.choices.place,))
            return said[0] if said else None
        if not names.keys:
            return None
        if not names.is_long:
            return names.keys[-1]
        by_word = [at for at in names.keys if says(self._header(at), Sense.PLACE)]
        if len(by_word) == 1:
            return by_word[0]
        sizes = {at: len(set(self.grid.texts[self.region.body, at].tolist())) for at in names.keys}
        able = by_word or list(names.keys)
        chosen = max(able, key=lambda at: (sizes[at], -at))
        shown = ", ".join(repr(self._header(at)) for at in able)
        self.questions.append(
            Question(
                f"which of {shown} has the places? taken: {self._header(chosen)!r}",
                {self._header(at): f"--place {self._header(at)!r}" for at in able},
            )
        )
        return chosen

    # --- wide -------------------------------------------------------------------------------

    def _wide_counts(self, relations: Relations) -> tuple[tuple[int, ...], tuple[int, ...]]:
        said = set(self._said(self.choices.count))
        other = set(self._said(self.choices.statistic))
        counts: list[int] = []
        statistics: list[int] = []
        has_counts = any(kind is Kind.COUNT for kind in relations.columns.values())
        unrelated = [at for at, kind in relations.columns.items() if kind is Kind.UNRELATED]
        for at, kind in relations.columns.items():
            is_count = at in said or (kind is not Kind.STATISTIC and at not in other)
            (counts if is_count else statistics).append(at)
        rows = relations.sums(Axis.ROWS)
        open_ = [at for at in unrelated if at not in said | other]
        for run in _runs(open_, [int(at) for at in relations.columns]):
            if not self._ask_possible(run, counts) and (has_counts or not rows):
                self._ask_unrelated(run)
        for each in relations.found:
            if each.is_sum and each.axis is Axis.COLUMNS and not each.support.is_strong:
                parts = " + ".join(repr(self._header(at)) for at in each.of)
                self.questions.append(
                    Question(
                        f"{self._header(each.line)!r} = {parts} in {each.support.shown} row, "
                        f"{each.support.open} leave it open: is it so?",
                        {"yes": "--yes"},
                    )
                )
        return tuple(counts), tuple(statistics)

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
        shown = " + ".join(repr(self._header(at)) for at in parts)
        self.questions.append(
            Question(
                f"{self._header(counts[whole])!r} may be {shown}: too few rows show it, none "
                f"of {len(self.region.body)} forbids it; is it so?",
                {"yes": f"--total {self._header(counts[whole])!r}", "no": "--no-total"},
            )
        )
        return True

    def _ask_unrelated(self, run: Sequence[int]) -> None:
        shown = ", ".join(repr(self._header(at)) for at in run)
        is_one = len(run) == 1
        answers = {
            f"{self._header(at)!r} is {what}": f"--{flag} {self._header(at)!r}"
            for at in run
            for what, flag in (
                ("a count of these people", "count"),
                ("to be left out", "leave-out"),
            )
        }
        self.questions.append(
            Question(
                f"{shown} {'is' if is_one else 'are'} in no relation to the counts: a median, a "
                "count of something else, or to be left out?",
                answers,
            )
        )

    # --- long -------------------------------------------------------------------------------

    def _of_rows(self, region: Region) -> Relations:
        """Kinds of the columns of a long table: ratios among them, no sums."""
        found = Relations.of(self.grid, region, with_sums=False)
        return Relations(
            tuple(each for each in found.found if not each.is_sum),
            found.columns,
            dict.fromkeys(found.rows, Kind.COUNT),
            found.base,
            found.codes,
        )

    def _values(
        self, region: Region, names: Names, relations: Relations, withheld: BoolArray
    ) -> tuple[ValueSum, ...]:
        whole = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
        return tuple(
            each for at in whole for each in value_sums(self.grid, region, names.keys, at, withheld)
        )

    def _long_counts(
        self, relations: Relations, values: Sequence[ValueSum]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The column of counts: the one whose numbers add up; two of them are asked about."""
        whole = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
        said = self._said(self.choices.count)
        adding = [at for at in whole if any(e.count == at for e in values)]
        counts = said or tuple((adding or whole)[:1])
        if len(whole) > 1 and not said:
            shown = ", ".join(repr(self._header(at)) for at in whole)
            those = ", ".join(repr(self._header(at)) for at in adding) or "none"
            self.questions.append(
                Question(
                    f"which of {shown} is the count? shown to add up: {those}",
                    {self._header(at): f"--count {self._header(at)!r}" for at in whole},
                )
            )
        return counts, tuple(at for at in relations.columns if at not in counts)
