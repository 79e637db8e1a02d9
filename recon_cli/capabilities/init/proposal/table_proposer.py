"""Propose how one table of a sheet is read, by its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.chance import (
    as_doubted,
    doubt_chance,
    settle_rows,
    without_chance,
)
from recon_cli.capabilities.init.proposal.crossed import ValueSum
from recon_cli.capabilities.init.proposal.crossed_headers import with_crossed
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.lattice import Lattice
from recon_cli.capabilities.init.proposal.long_values import LongValues
from recon_cli.capabilities.init.proposal.parallels import with_nobody, with_parallels
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis, Kind
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.capabilities.init.proposal.row_blocks import ask_above
from recon_cli.capabilities.init.proposal.row_totals import (
    possible_groups,
    with_groups,
    with_lone_total,
    with_nested,
)
from recon_cli.capabilities.init.proposal.said_sums import with_said_sums, with_sums_of_heads
from recon_cli.capabilities.init.proposal.shares import find_shares
from recon_cli.capabilities.init.proposal.table_numbers import columns_of, intervals_of
from recon_cli.capabilities.init.proposal.wide_columns import WideColumns
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.names import Names
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.row_labels import PART_OF, row_labels, rows_named
from recon_cli.sources.read.table_reader import TableReader
from recon_cli.sources.read.table_reading import Share
from recon_cli.sources.read.words import Sense, is_word, says

#: What all percentages add up to.
_HUNDRED: Final = 100.0
#: Rows of one value have statistics if a larger share of their numbers is not whole.
_BROKEN: Final = 0.5


class TableProposer(TableReader):
    """A table, and the state of the search for its reading."""

    def __init__(self, grid: Grid, region: Region, choices: Choices) -> None:
        super().__init__(grid, region, choices)
        self.questions: list[OpenQuestion] = []

    def table(self) -> ProposedTable:
        """Return the table as its numbers propose, unless the user says otherwise."""
        self._leave_rows_out()
        self._leave_values(self._values_of_statistics().__contains__)
        self._leave_repeated()
        table = self._proposed()
        rates = {row for row, kind in table.relations.rows.items() if kind is Kind.STATISTIC}
        if rates and self._leave_rows(lambda _, row: row in rates):
            self.questions = []
            table = self._proposed()
        return replace(
            table,
            counted_rows=rows_named(table.rows, self.choices.count),
            rows_total=rows_named(table.place_paths, self.choices.total),
            rows_apart=rows_named(table.place_paths, self.choices.apart),
        )

    def _place(self, names: Names) -> int | None:
        """Return the column of places; ask where several may be."""
        able = self._named.places(names)
        if self.choices.place is None and len(able) > 1:
            called = {at: self._header(at) for at in names.keys if at in able}
            shown = ", ".join(map(repr, called.values()))
            is_named = any(map(self._named.is_of_places, able))
            none = {} if is_named else {"none: all is about one place": "--one-place"}
            self.questions.append(
                OpenQuestion(
                    f"which of {shown} has the places? taken: {called[able[0]]!r}",
                    {name: flag("place", name) for name in called.values()} | none,
                    tuple(called),
                )
            )
        return next(iter(able), None)

    def _values_of_statistics(self) -> frozenset[str]:
        """Return values of a long table whose rows have percentages, rates and the like.

        Return none unless all numbers of some other value, a count, are whole.
        """
        names = self._named.told
        if not names.is_long:
            return frozenset()
        columns = np.array([at for at in self.region.numeric if at not in names.keys], np.intp)
        inside = np.ix_(self.region.body, columns)
        is_told = self.grid.is_number[inside]
        is_broken = self.grid.are_broken(inside) & is_told
        is_other = is_told & (self.grid.values[inside] != _HUNDRED)
        found: set[str] = set()
        for at in names.keys:
            values, number = self.grid.coded((self.region.body, at))
            told, broken, other = np.zeros((3, len(values), len(columns)), dtype=np.int64)
            np.add.at(told, number, is_told)
            np.add.at(broken, number, is_broken)
            np.add.at(other, number, is_other)
            # Beside rates in columns of their own, others are whole in the rows of some value; not
            # those in which all are the hundred per cent.
            is_whole = ((told > 1) & (broken == 0) & (other > 0)).any(axis=0)
            told, broken, other = (each[:, is_whole].sum(axis=1) for each in (told, broken, other))
            if ((broken == 0) & (told > 1)).any():
                rates = np.flatnonzero((broken > _BROKEN * other) & (told > 1))
                found |= {values[i] for i in rates.tolist()}
        return frozenset(found)

    def _proposed(self) -> ProposedTable:
        names = self._named.names(self.kinds)
        withheld = self._withheld(names)
        keys = {*names.keys, *names.twins, *names.constants}
        numeric = [int(at) for at in self.region.numeric if int(at) not in keys]
        left_out = self._left_out
        # What is left out is no count, and may still tell what others are: percentages.
        used = np.array(numeric, dtype=np.intp)
        inner = Region(
            self.region.header, self.region.body, self.region.headings, used, self.region.stub
        )
        values: tuple[ValueSum, ...] = ()
        if names.is_long:
            relations = self._of_rows(inner)
            values = self._values(inner, names, relations, withheld)
        else:
            names, relations = self._of_wide(inner, names, withheld)
        rows = () if names.is_long else tuple(map(PART_OF.join, self._paths(names)))
        columns = WideColumns(
            self.grid, self.region, self.headers, self.choices, withheld, rows, self.questions
        )
        if names.is_long:
            counts, statistics = self._long_counts(columns, relations, values)
        else:
            counts, statistics = columns.roles(relations)
        relations = replace(relations, found=(*relations.found, *columns.told))
        counts = tuple(at for at in counts if at not in left_out)
        self._ask_measures(counts)
        statistics = tuple(at for at in statistics if at not in left_out)
        shares: list[Share] = []
        if not names.is_long:
            shares = find_shares(columns.every, relations, counts, statistics, self.headers)
            statistics = tuple(at for at in statistics if at not in {e.line for e in shares})
            if relations.base == 1:
                columns.ask_wrong_shares(counts, statistics)
        lattice = Lattice.of(
            [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong], self.headers
        )
        return ProposedTable(
            grid=self.grid,
            region=self.region,
            headers=self.headers,
            names=names,
            counts=counts,
            statistics=statistics,
            left_out=left_out,
            place=self._place(names),
            withheld=withheld,
            rows=self._paths(names),
            are_kinds=not names.is_long and self._are_kinds(names, relations),
            not_chosen=self.not_chosen,
            shares=tuple(shares),
            left_rows=tuple(self.left_rows),
            row_reasons=self._row_reasons,
            repeated=self.repeated,
            codes=relations.codes,
            relations=relations,
            lattice=lattice,
            values=values,
            questions=tuple(self.questions),
            said_counts=() if self.choices.are_known else self._said(self.choices.count),
            taken_sums=tuple(
                (e.line, *e.of) for e in relations.sums(Axis.COLUMNS) if columns.is_taken(e)
            ),
            said_apart=self._said(self.choices.apart),
            counted_values=self.choices.count,
            apart_values=self.choices.apart,
            said_sums=tuple(self.choices.sums),
        )

    def _of_wide(self, inner: Region, names: Names, withheld: BoolArray) -> tuple[Names, Relations]:
        """Return the names of the rows of a wide table, and its sums across and down."""
        key = names.keys[-1] if names.keys else None
        relations = Relations.of(self.grid, inner, withheld, key=key)
        said, ask = self.choices, self.questions.append
        every = columns_of(self.grid, inner)
        relations = with_crossed(relations, self.headers, every, said, ask)
        relations = with_parallels(
            relations,
            self.headers,
            lambda total, parts: relations.support(self.grid, inner, withheld, total, parts),
        )
        relations = with_nobody(relations, self.headers, every)
        relations = self._with_said_sums(relations, inner, withheld)
        relations = with_sums_of_heads(relations, every)
        found = (as_doubted(each, self.headers) for each in relations.found)
        relations = replace(relations, found=tuple(found))
        relations = relations.discounted(self.grid, inner, withheld)
        whole = [at for at in inner.numeric if relations.columns[at] is not Kind.STATISTIC]
        block = intervals_of(self.grid, replace(inner, numeric=np.array(whole, np.intp)))
        self.kinds = self._kinds_of_places(names, relations, block)
        names = self._named.names(self.kinds)
        rows = dict(zip(self.region.body.tolist(), self._paths(names), strict=True))
        borne = partial(relations.support, self.grid, inner, withheld, axis=Axis.ROWS)
        are_kinds = self._are_kinds(names, relations)
        column = self._header(names.keys[-1]) if names.keys else ""
        above = ask_above([*rows.values()], column, is_said=said.place is not None)
        if above is not None and (above.needs_answer or not are_kinds):
            ask(above)
        if are_kinds:
            relations = with_nested(relations, rows, borne, said, ask)
        else:
            relations = with_lone_total(relations, rows, borne, said, ask)
        relations = with_groups(
            relations, rows, block, borne, said=said, ask=ask, are_kinds=are_kinds
        )
        if not are_kinds:
            relations = settle_rows(
                doubt_chance(without_chance(relations, rows), rows),
                rows,
                said.total,
                said.apart,
                ask,
            )
        return names, relations

    def _kinds_of_places(
        self, names: Names, relations: Relations, block: Intervals
    ) -> frozenset[int]:
        """Return columns that say of what kind places are, and not what they are part of.

        By such a column, rows of one kind (villages) add up to a row of another (a district). In a
        column of parents, a total has the same parent as its parts, or is their parent. Ask where
        numbers only allow such a sum.
        """
        said = self.choices
        found = {*self._said(tuple(said.leave_out))}
        body = self.region.body.tolist()
        labels = row_labels(self.grid, self.region, names.keys[-1:])
        rows = {row: labels[i][-1] for i, row in enumerate(body) if labels[i]}
        guessed = {*names.parents.values()} - {*self._said(said.parent)} - found
        if not guessed or len({*labels}) < len(labels):
            return frozenset(found)
        strong = {
            each.line: each.of for each in relations.sums(Axis.ROWS) if each.support.is_strong
        }
        at = {row: i for i, row in enumerate(body)}
        shown = {at[total]: [at[row] for row in parts] for total, parts in strong.items()}
        slack = relations.base - 1
        ways = possible_groups(block, slack, shown)
        possible = [(body[i], [body[p] for p in own]) for way in ways for i, own in way.items()]
        for column in guessed:
            text = dict(zip(body, self.grid.texts[body, column], strict=True))
            across = sum(_is_across(*each, text, rows) for each in strong.items())
            within = sum(
                {text[row] for row in parts} == {text[total]} for total, parts in strong.items()
            )
            may_be = next((each for each in possible if _is_across(*each, text, rows)), None)
            if across > max(within, 1):
                found.add(column)
            elif not within and may_be is not None:
                total, parts = may_be
                self._ask_of_kind(column, rows[total], [rows[row] for row in parts])
        return frozenset(found)

    def _ask_of_kind(self, column: int, total: str, parts: Sequence[str]) -> None:
        header = self._header(column)
        self.questions.append(
            OpenQuestion(
                f"{header!r} says what places are part of, or of what kind they are? As far as "
                f"numbers go, {total} = {' + '.join(parts)}",
                {
                    "of what kind": flag("leave-out", header),
                    "what they are part of": flag("parent", header),
                },
            )
        )

    def _with_said_sums(
        self, relations: Relations, region: Region, withheld: BoolArray
    ) -> Relations:
        paths = self._paths(self._named.names(self.kinds)) if self.choices.sums else ()
        body = region.body.tolist()
        lines_of: dict[Axis, Callable[[str], Sequence[int]]] = {
            Axis.COLUMNS: lambda name: self._said((name,)),
            Axis.ROWS: lambda name: [body[i] for i in rows_named(paths, [name])],
        }
        for axis, own in lines_of.items():
            support = partial(relations.support, self.grid, region, withheld, axis=axis)
            relations = with_said_sums(relations, axis, self.choices.sums, own, support)
        return relations

    def _are_kinds(self, names: Names, relations: Relations) -> bool:
        """Test whether the rows of a wide table are kinds of what is counted, of one place."""
        if self.choices.are_kinds is not None or self.choices.place is not None:
            return bool(self.choices.are_kinds)
        key = names.keys[-1] if names.keys else None
        words = " ".join(self.headers.get(key, ())) if key is not None else ""
        last = words.split()[-1] if words else ""
        if says(last, Sense.KIND):
            return True
        if (says(words, Sense.PLACE) and not says(words, Sense.KIND)) or names.parents:
            return False
        last_words = [path[-1] for path in row_labels(self.grid, self.region, names.chain)]
        if all(
            any(is_word(word, sex) for word in last_words) for sex in (Sense.MALE, Sense.FEMALE)
        ):
            return True
        if any(says(word, Sense.OF_WHICH) for word in last_words):
            return True  # no place is some of the people of another
        wholes = Counter(each.line for each in relations.sums(Axis.ROWS) if each.support.is_strong)
        return any(times > 1 for times in wholes.values()) or says(words, Sense.KIND)

    def _ask_measures(self, counts: Sequence[int]) -> None:
        """Ask about columns that words say to be of money, weight or time, though they add up."""
        said = {*self._said(self.choices.count), *self._said(self.choices.apart)}
        measured = [
            at
            for at in counts
            if at not in said and says(" ".join(self.headers[at]), Sense.MEASURE)
        ]
        asked = {at for each in self.questions for at in each.columns}
        if self.choices.are_known or {*measured} <= asked:
            return
        headers = [self._header(at) for at in measured]
        shown = ", ".join(map(repr, headers[:4])) + ", …" * (len(headers) > 4)
        self.questions.append(
            OpenQuestion(
                f"{shown}: of money, or another measure, by these words: counts, or to be left "
                "out?",
                {
                    "to be left out": flag("leave-out", *headers),
                    "counts of these people": flag("count", *headers),
                },
                tuple(measured),
            )
        )

    # --- long -------------------------------------------------------------------------------

    def _of_rows(self, region: Region) -> Relations:
        """Find relations among the columns of a long table; its rows are searched by dimension."""
        found = Relations.of(self.grid, region, with_rows=False)
        return replace(found, rows=dict.fromkeys(found.rows, Kind.COUNT))

    def _values(
        self, region: Region, names: Names, relations: Relations, withheld: BoolArray
    ) -> tuple[ValueSum, ...]:
        """Return the sums among the values of a long table."""
        values = LongValues(
            self.grid, region, self.headers, names, withheld, self.choices, self.questions.append
        )
        whole = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
        place = self._named.places(names)[:1]
        places = {*place, *(at for one in names.parents.items() for at in one if place)}
        return tuple(values.sums(whole, relations.base, places))

    def _long_counts(
        self, columns: WideColumns, relations: Relations, values: Sequence[ValueSum]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the column of counts, whose numbers add up; ask if there are two."""
        whole = [
            at
            for at, kind in relations.columns.items()
            if kind is not Kind.STATISTIC and at not in self._left_out
        ]
        said = self._said(self.choices.count)
        whole = [at for at in whole if at in said or not columns.is_statistic(at)]
        across = [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong]
        joined = {at for each in across for at in (each.line, *each.of)}
        if joined:
            return columns.roles(relations)
        adding = [at for at in whole if any(e.count == at and not e.slip for e in values)]
        counts = said or tuple((adding or whole)[:1])
        if len(whole) > 1 and not said:
            shown = ", ".join(repr(self._header(at)) for at in whole)
            those = ", ".join(repr(self._header(at)) for at in adding) or "none"
            self.questions.append(
                OpenQuestion(
                    f"which of {shown} is the count? shown to add up: {those}",
                    {self._header(at): flag("count", self._header(at)) for at in whole},
                    tuple(whole),
                )
            )
        return counts, tuple(at for at in relations.columns if at not in counts)


def _is_across(
    total: int, parts: Sequence[int], kinds: Mapping[int, str], names: Mapping[int, str]
) -> bool:
    """Test whether parts are of one kind, which is neither their total's kind nor its name."""
    groups = {kinds[row] for row in parts}
    return len(groups) == 1 and not groups & {kinds[total], names.get(total)}
