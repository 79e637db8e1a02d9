"""Find the columns of a wide table that are counts, and ask about those that numbers leave open."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray
from recon_cli.capabilities.init.open_question import (
    OpenQuestion,
    ask_ways,
    each_some_of_next,
    flag,
)
from recon_cli.capabilities.init.proposal.evidence import STRONG_POSITIONS, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.parallels import slipped_parallels
from recon_cli.capabilities.init.proposal.possible_sums import possible_splits, possible_whole
from recon_cli.capabilities.init.proposal.ratios import ratio_slips
from recon_cli.capabilities.init.proposal.relation import Axis, Kind, Relation
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.capabilities.init.proposal.row_totals import ask_groups_beside
from recon_cli.capabilities.init.proposal.said_sums import open_sums
from recon_cli.capabilities.init.proposal.slips import Slip, slips
from recon_cli.capabilities.init.proposal.subsets import subset_sums
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.capabilities.init.proposal.table_numbers import columns_of, intervals_of
from recon_cli.sources.formats.vocabulary import interval
from recon_cli.sources.read.choices import Choices, column_names, columns_named
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.statistic_words import statistic_named
from recon_cli.sources.read.words import Sense, says

#: Most columns that each have answers of their own, beside those for all together.
_MOST_APART: Final = 4
#: Most columns of counts among which sums of two are tried.
_MOST_COUNTS: Final = 16
#: Most ways to cut columns into two that a question offers.
_MOST_SPLITS: Final = 3
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{4}|(19|20)\d\d")


@dataclass(frozen=True)
class WideColumns:
    """The columns of numbers of a wide table.

    Attributes:
        headers: Column → its words, outermost first.
        withheld: Cells whose numbers a flag beside them takes back.
        rows: The label of each row; empty in a long table.
        questions: Questions about the table, to which those about columns are added.
        told: Sums that the user says, though numbers do not show them.
    """

    grid: Grid
    region: Region
    headers: Mapping[int, tuple[str, ...]]
    choices: Choices
    withheld: BoolArray
    rows: Sequence[str]
    questions: list[OpenQuestion]
    told: list[Relation] = field(default_factory=list)

    @cached_property
    def every(self) -> Intervals:
        """Return the numbers of all columns, as lines."""
        return columns_of(self.grid, self.region)

    @cached_property
    def _names(self) -> dict[int, str]:
        return column_names(self.headers)

    def _header(self, at: int) -> str:
        return self._names[at]

    def _said(self, words: Sequence[str]) -> tuple[int, ...]:
        return columns_named(self.headers, words)

    def roles(self, relations: Relations) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the columns of counts, and those of statistics; ask about the rest."""
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
        no_counts = {at for at in unrelated if at not in said and self._is_no_count(at)}
        unrelated = [at for at in unrelated if at not in no_counts]
        for at, kind in relations.columns.items():
            is_count = at in said or (kind is not Kind.STATISTIC and at not in other | no_counts)
            (counts if is_count else statistics).append(at)
        rows = relations.sums(Axis.ROWS)
        other_said = {*self._said(self.choices.apart)}
        open_ = [at for at in unrelated if at not in said | other | other_said]
        left_out = {*self._said(tuple(self.choices.leave_out))}
        used = [at for at in counts if at not in left_out]
        slipped = self._slipped(relations, open_, used) if relations.base == 1 else set()
        open_ = [at for at in open_ if at not in slipped]
        open_ = [at for at in open_ if not says(" ".join(self.headers[at]), Sense.OF_WHICH)]
        some = [at for at in used if at in said]
        if has_counts:  # a total of people who are counted in part
            open_ = [at for at in open_ if not self._is_whole(at, used)]
        elif len(open_) == 1 and some and self._is_most(open_[0], [*open_, *some]):
            open_ = []  # all others are said to count some of its people
        loose = [at for at in unrelated if at in {*open_, *said}]
        called = self._ask_called(relations, loose)
        if called or (relations.base == 1 and self._ask_subsets(loose)):
            open_ = []  # what is asked of sums may tell of them
        is_classed = not has_counts and self._are_apart(open_)
        for run in self._asked_together(open_, relations):
            is_told = is_classed or self._ask_possible(run, used, relations.base)
            is_told = is_told or (relations.base == 1 and self._ask_groups(run))
            odd = [at for at in run if self._breaks(at, rows)]
            if not is_told and (has_counts or not rows or odd):
                asked = run if has_counts or not rows else odd
                inside = {at: self._inside(at, relations) for at in asked}
                sums = self._wider(relations, asked) | self._second_sums(asked, used)
                self._ask_unrelated(asked, sums, used, inside)
        for each in relations.sums(Axis.COLUMNS):
            is_asked = called >= {each.line, *each.of}
            if left_out.isdisjoint((each.line, *each.of)) and not (is_asked or self._holds(each)):
                self.questions.append(self._ask_sum(each))
        return tuple(counts), tuple(statistics)

    def _slipped(self, relations: Relations, open_: Sequence[int], used: Sequence[int]) -> set[int]:
        """Ask about sums of columns that a few numbers break; return these columns."""
        slipped = self._ask_slips(used) if open_ else set()
        for slip in slipped_parallels(relations, self.headers, self.every):
            own = {slip.total, *slip.parts}
            if own <= {*used} - slipped:
                self._ask_slip(slip.total, slip.parts, slip)
                slipped |= own
        return slipped

    def _ask_groups(self, run: Sequence[int]) -> bool:
        """Ask whether columns side by side are totals of others; return whether there was cause."""
        block = self.every
        own = block.take(np.array(run, np.intp), np.arange(block.low.shape[1]))
        asked = ask_groups_beside(own, [self._header(at) for at in run], tuple(run))
        self.questions.extend(filter(None, [asked]))
        return asked is not None

    def _ask_subsets(self, columns: Sequence[int]) -> bool:
        """Ask about sums of any columns that stand in no relation; return whether there are any."""
        settled = {*self.choices.apart, *(each.total for each in self.choices.sums)}
        asked = len(self.questions)
        known = [] if self.choices.are_known else columns
        for each in subset_sums(self.every, known):
            total, parts = self._header(each.total), [self._header(at) for at in each.parts]
            if total not in settled:
                self.questions.append(
                    OpenQuestion(
                        f"{total!r} = {' + '.join(map(repr, parts))} in {each.support.shown} rows, "
                        "which may be chance: is it so?",
                        {
                            "yes": flag("sum", f"{total} = {' + '.join(parts)}"),
                            "no": flag("apart", total),
                        },
                        (each.total, *each.parts),
                    )
                )
        return len(self.questions) > asked

    def _ask_called(self, relations: Relations, columns: Sequence[int]) -> set[int]:
        """Ask about sums of columns whose headers call them parts of another; return all of these.

        *Owned: outright* is a part of *Owned*; and *Owned* with all others is part of a *Total*.
        No number breaks these sums, and not all of them are shown.
        """
        at = {self._header(column): column for column in relations.columns}
        groups: dict[int, list[int]] = {}
        for name, column in at.items():
            whole = at.get(name.rpartition(": ")[0])
            if whole is not None and not says(self.headers[column][-1], Sense.OF_WHICH):
                groups.setdefault(whole, []).append(column)
        withheld = self.withheld

        def may_be(total: int, parts: Sequence[int]) -> bool:
            own = relations.support(self.grid, self.region, withheld, total, tuple(parts))
            return len(parts) > 1 and not own.broken

        called = {total: parts for total, parts in groups.items() if may_be(total, parts)}
        every = list(dict.fromkeys(i for own in called.items() for i in (own[0], *own[1])))
        strong = {e.line for e in relations.sums(Axis.COLUMNS) if e.support.is_strong}
        said = {*self._said((*self.choices.apart, *self.choices.count))}
        if {*called} <= strong or not {*every} & {*columns} or {*every} <= said:
            return set()
        inner = {part for parts in called.values() for part in parts}
        heads = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
        heads = [at for at in heads if at not in inner and not self._is_left_out(at)]
        wholes = [at for at in heads if says(" ".join(self.headers[at]), Sense.TOTAL)]
        rest = [at for at in heads if at not in wholes]
        has_whole = len(wholes) == 1 and wholes[0] not in called and may_be(wholes[0], rest)
        sums = [
            f"{self._header(total)} = {' + '.join(map(self._header, parts))}"
            for total, parts in (*called.items(), *([(wholes[0], rest)] if has_whole else ()))
        ]
        names = [self._header(column) for column in every]
        self.questions.append(
            OpenQuestion(
                f"columns are called as parts of others: {'; '.join(sums)}: too few rows show it, "
                "none forbids it; is it so?",
                {
                    "yes": flag("sum", *sums),
                    **(
                        {f"yes, without {sums[-1]!r}": flag("sum", *sums[:-1])} if has_whole else {}
                    ),
                    "no, nobody is in two of them": flag("apart", *names),
                    "no, some are in several": flag("count", *names),
                },
                tuple(every),
            )
        )
        return {*every}

    def _ask_sum(self, each: Relation) -> OpenQuestion:
        """Ask whether columns add up to another, or which do, where numbers do not tell."""
        whole = self._header(each.line)
        ways = [[self._header(at) for at in parts] for parts in (each.of, *each.rivals)]
        if each.rivals:
            return ask_ways(whole, ways, (each.line, *each.of))
        parts = " + ".join(map(repr, ways[0]))
        rows = f"{each.support.shown} row" + "s" * (each.support.shown != 1)
        is_near = each.support.shown >= STRONG_POSITIONS
        why = "which may be chance" if is_near else f"{each.support.open} leave it open"
        return OpenQuestion(
            f"{whole!r} = {parts} in {rows}, {why}: is it so?",
            {
                "yes": flag("total", whole),
                "no": flag("apart", whole),
                "no, and nobody is in two of them": flag("apart", whole, *ways[0]),
            },
            (each.line, *each.of),
        )

    def _is_no_count(self, at: int) -> bool:
        """Test whether a column that adds up with no other has the header of a statistic.

        Its base is found, or asked about, when the schema is drafted.
        """
        if self.is_statistic(at):
            return True
        numbers = self.grid.values[self.region.body, at]
        is_headed = says(" ".join(self.headers[at][-1:]), Sense.PERCENTAGE)
        return is_headed and bool(np.nanmax(numbers, initial=0.0) <= 100)

    def is_statistic(self, at: int) -> bool:
        """Test whether a column is said to be a statistic, or its header names one."""
        is_named = statistic_named(" ".join(self.headers[at])) is not None
        return is_named or at in self._said(tuple(self.choices.statistics))

    def _breaks(self, at: int, rows: Sequence[Relation]) -> bool:
        """Test whether a column breaks most sums of rows that it can show, as medians do."""
        values = self.grid.values[:, at]
        told = off = 0
        for each in rows:
            parts = values[list(each.of)]
            over = np.nansum(parts) - values[each.line]
            if not each.support.is_strong or np.isnan(over):
                continue
            is_off = over > len(parts) or (not np.isnan(parts).any() and -over > len(parts))
            off += is_off
            told += is_off or not np.isnan(parts).any()
        return 2 * off > told

    def _is_whole(self, at: int, counts: Sequence[int]) -> bool:
        """Test whether a word calls a column the total, and it is nowhere less than others."""
        return says(" ".join(self.headers[at]), Sense.TOTAL) and self._is_most(at, counts)

    def _is_most(self, at: int, counts: Sequence[int]) -> bool:
        """Test whether a column is nowhere less than others."""
        own = intervals_of(self.grid, replace(self.region, numeric=np.array(list(counts), np.intp)))
        most = own.high[:, [counts.index(at)]]
        return bool((own.low <= most).all())

    def _holds(self, each: Relation) -> bool:
        """Test whether a sum of columns needs no question: strong, answered, or called total."""
        said = self._said((*self.choices.total, *self.choices.apart))
        is_called = says(" ".join(self.headers[each.line]), Sense.TOTAL) and not each.rivals
        return each.support.is_strong or each.line in said or is_called

    def is_taken(self, each: Relation) -> bool:
        """Test whether a sum that needs no question is accepted."""
        return self._holds(each) and each.line not in self._said(self.choices.apart)

    def _is_left_out(self, at: int) -> bool:
        return at in self._said(tuple(self.choices.leave_out))

    def _are_apart(self, columns: Sequence[int]) -> bool:
        """Test whether headers name kinds that exclude each other.

        Dates, ages, and all combinations of the words of two groups do.
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

    def _asked_together(self, open_: Sequence[int], relations: Relations) -> Iterator[list[int]]:
        """Yield columns side by side; beside counts that add up, ages apart from others."""
        has_counts = any(kind is Kind.COUNT for kind in relations.columns.values())
        for run in _runs(open_, [int(at) for at in relations.columns]):
            ages = [at for at in run if interval(" ".join(self.headers[at][-1:])) is not None]
            others = [at for at in run if at not in ages]
            yield from [ages, others] if has_counts and len(ages) > 1 and others else [run]

    def _ask_slips(self, counts: Sequence[int]) -> set[int]:
        """Ask about sums that a row or two break; return their columns."""
        inner = replace(self.region, numeric=np.array(list(counts), dtype=np.intp))
        block = intervals_of(self.grid, inner).transposed
        found: set[int] = set()
        for each in slips(block):
            if _has_further_part(block, each):
                continue  # it is asked whether that is one
            total, parts = counts[each.total], [counts[i] for i in each.parts]
            found |= {total, *parts}
            self._ask_slip(total, parts, each)
        return found

    def _ask_slip(self, total: int, parts: Sequence[int], slip: Slip) -> None:
        """Ask about a sum that a row or two break, or accept it if the user says so."""
        if total in self._said(self.choices.total):
            support = Support(slip.shown, 0, len(slip.broken), 0.0, 0.0, is_said=True)
            self.told.append(Relation(Axis.COLUMNS, total, tuple(parts), support))
            return
        row = int(self.region.body[slip.broken[0]])
        shown = " + ".join(repr(self._header(at)) for at in parts)
        numbers = " + ".join(str(self.grid.texts[row, at]) for at in parts)
        self.questions.append(
            OpenQuestion(
                f"row {self.grid.rows[row]}: {self._header(total)!r} is "
                f"{self.grid.texts[row, total]}, and {shown} are {numbers}; they add up in "
                f"{slip.shown} other rows: mend the file, or take it as it is",
                {
                    "as it is": flag("total", self._header(total)),
                    **self._without_rows(self.region.body[list(slip.broken)]),
                    f"leave {self._header(total)!r} out": flag("leave-out", self._header(total)),
                },
                (total, *parts),
            )
        )

    def _without_rows(self, rows: NDArray[np.intp]) -> dict[str, str]:
        """Return the answer that leaves out rows of a wide table, if their labels are unique."""
        if not self.rows:
            return {}
        labels = [self.rows[at] for at in np.searchsorted(self.region.body, rows).tolist()]
        if any(self.rows.count(label) > 1 for label in labels) or len(labels) == len(self.rows):
            return {}
        return {f"leave {' and '.join(map(repr, labels))} out": flag("leave-out", *labels)}

    def ask_wrong_shares(self, counts: Sequence[int], statistics: Sequence[int]) -> None:
        """Ask about columns that are percentages of others except in a row or two."""
        for each, broken in ratio_slips(self.every, statistics, counts):
            row, header = int(self.region.body[broken[0]]), self._header(each.line)
            line, part, base = (
                self.grid.texts[row, at] for at in (each.line, each.part, each.base)
            )
            self.questions.append(
                OpenQuestion(
                    f"row {self.grid.rows[row]}: {header!r} is {line}, where "
                    f"{self._header(each.part)!r} is {part} and {self._header(each.base)!r} "
                    f"{base}; it is their quotient in {each.support.shown} other rows: mend the "
                    "file, or leave it out",
                    {
                        f"leave {header!r} out": flag("leave-out", header),
                        **self._without_rows(self.region.body[list(broken)]),
                    },
                    (each.line,),
                )
            )

    def _ask_possible(self, run: Sequence[int], counts: Sequence[int], base: int) -> bool:
        """Ask whether columns side by side add up to a total; return whether one is possible."""
        inner = Region(
            self.region.header,
            self.region.body,
            self.region.headings,
            np.array(list(counts), dtype=np.intp),
            self.region.stub,
        )
        block = intervals_of(self.grid, inner).transposed
        lines = [counts.index(at) for at in run]
        whole = possible_whole(block, lines, base)
        if whole is None:
            return False
        parts = [at for at in run if at != counts[whole]]
        if set(run) <= set(self._said(self.choices.apart)):
            return True
        if counts[whole] in self._said(self.choices.total):
            told = Support(0, len(self.region.body), 0, 0.0, 0.0, is_said=True)
            self.told.append(Relation(Axis.COLUMNS, counts[whole], tuple(parts), told))
            return True
        shown = " + ".join(repr(self._header(at)) for at in parts)
        name = self._header(counts[whole])
        splits = [
            [" + ".join(self._header(parts[i]) for i in own) for own in split]
            for split in possible_splits(block, whole, [counts.index(at) for at in parts])
        ]
        twice = {
            f"no, it is {' and again '.join(sums)}": flag("sum", f"{name} = {sums[0]}")
            + " "
            + flag("sum", f"{name} = {sums[1]}")
            for sums in splits[:_MOST_SPLITS]
        }
        self.questions.append(
            OpenQuestion(
                f"{name!r} may be {shown}: too few rows show it, none of {len(self.region.body)} "
                "forbids it; is it so?",
                {
                    "yes": flag("total", name),
                    **twice,
                    "no, they exclude each other": flag("apart", *map(self._header, run)),
                },
                (counts[whole], *parts),
            )
        )
        return True

    def _wider(self, relations: Relations, run: Sequence[int]) -> dict[str, str]:
        """Return answers that columns are further parts of a sum, and their flags.

        A sum holds with and without columns that are zero in all rows that show it.
        """
        withheld = self.withheld
        found: dict[str, str] = {}
        for each in relations.sums(Axis.COLUMNS):
            if not each.support.is_strong or {*run} & {each.line, *each.of}:
                continue
            parts = (*each.of, *run)
            borne = relations.support(self.grid, self.region, withheld, each.line, parts)
            if borne.shown and not borne.broken:
                total, own = self._header(each.line), [self._header(at) for at in sorted(parts)]
                more = f"{'is' if len(run) == 1 else 'are'} in {total!r}, too"
                found[more] = flag("sum", f"{total} = {' + '.join(own)}")
        return found

    def _second_sums(self, run: Sequence[int], counts: Sequence[int]) -> dict[str, str]:
        """Return answers that a column in no relation is in sums of two columns, and their flags.

        A total that is divided already may be divided again, into two; some row shows such a sum,
        and no number breaks it.
        """
        others = [at for at in counts if at not in run]
        if len(run) > 1 or len(others) > _MOST_COUNTS:
            return {}
        ways = [(run[0], *two) for two in itertools.combinations(others, 2)]
        ways += [(total, run[0], part) for total, part in itertools.permutations(others, 2)]
        positions = np.arange(self.every.low.shape[1])
        found: dict[tuple[int, ...], float] = {}
        for way in ways:
            own = support_of(self.every.take(np.array(way), positions), np.zeros(len(positions)))
            if own.shown >= STRONG_POSITIONS - 1 and not own.broken:
                found[way] = own.bits
        best = sorted(found, key=lambda way: -found[way])[:_MOST_SPLITS]
        sums = [
            f"{self._header(total)} = {' + '.join(map(self._header, sorted(parts)))}"
            for total, *parts in best
        ]
        every = {f"adds up so: {', and '.join(sums)}": flag("sum", *sums)} if sums else {}
        return every | {f"adds up so: {each}": flag("sum", each) for each in sums}

    def _inside(self, at: int, relations: Relations) -> int | None:
        """Return a total that a column may contain: the column is nowhere less, and somewhere more.

        If the user says that this total is some of another column, compare and return that one.
        """
        sums = [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong]
        parts = {part for each in sums for part in each.of}
        outer = {part: total for total, *own in self._open_sums() for part in own}
        for total in dict.fromkeys(each.line for each in sums if each.line not in parts):
            whole = total
            while outer.get(whole, at) != at:
                whole = outer.pop(whole)
            if self._is_most(at, (whole, at)) and not self._is_most(whole, (whole, at)):
                return whole
        return None

    def _open_sums(self) -> list[tuple[int, ...]]:
        return open_sums(self.choices.sums, self._said)

    def _ask_unrelated(
        self,
        run: Sequence[int],
        wider: Mapping[str, str],
        counts: Sequence[int],
        inside: Mapping[int, int | None],
    ) -> None:
        """Ask what columns are that stand in no relation to the counts.

        Args:
            run: The columns.
            wider: Answers that the columns are in a sum → the flags that say so.
            counts: All columns of counts.
            inside: Column → a total that the column may contain, with others.
        """
        shown = ", ".join(repr(self._header(at)) for at in run)
        is_one = len(run) == 1
        headers = [self._header(at) for at in run]
        if is_one and (same := self._same_as(run[0])) is not None:
            text = (
                f"{shown} has the numbers of {self._header(same)!r}, and some that are withheld "
                "there: take it out of what you publish; to be left out here?"
            )
            self.questions.append(
                OpenQuestion(text, {"leave it out": flag("leave-out", headers[0])}, (run[0], same))
            )
            return
        answers = {f"{shown} {more}": said for more, said in wider.items()}
        if not is_one:
            every = "both are" if len(run) == 2 else f"all {len(run)} are"
            apart = f"{every} counts of these people, and nobody is in two of them"
            answers |= {
                apart: flag("apart", *headers),
                f"{every} counts, and none is among another": flag("count", *headers),
            }
            most = next((at for at in run if self._is_most(at, run)), None)
            if most is not None and len(run) > 2:
                rest = [self._header(at) for at in run if at != most]
                answers[f"the others count some of {self._header(most)!r}"] = flag("count", *rest)
                answers |= self._chain(run)
            size = np.nansum(self.grid.values[self.region.body], axis=0)
            rising = sorted(run, key=size.__getitem__)
            if (inner := inside[rising[0]]) is not None:
                answers |= self._chain([inner, *rising])
            if {*counts} - {*run}:
                answers[f"{every} to be left out"] = flag("leave-out", *headers)
        if len(run) <= _MOST_APART:
            for at, header in zip(run, headers, strict=True):
                if (total := inside[at]) is None:
                    answers[f"{header!r} is a count of these people"] = flag("count", header)
                else:
                    own = flag("sum", f"{header} = {self._header(total)} + ...")
                    answers[f"{header!r} counts these people, and others"] = own
                answers[f"{header!r} is to be left out"] = flag("leave-out", header)
        self.questions.append(
            OpenQuestion(
                f"{shown} {'is' if is_one else 'are'} in no relation to the counts: a median, a "
                "count of something else, or to be left out?",
                answers,
                tuple(run),
            )
        )

    def _chain(self, run: Sequence[int]) -> dict[str, str]:
        """Return the answer that each column counts some of the next, if none is ever more."""
        for own in (run, run[::-1]):
            steps = itertools.pairwise(own)
            if all(self._is_most(more, (less, more)) for less, more in steps):
                return each_some_of_next([self._header(at) for at in own])
        return {}

    def _same_as(self, at: int) -> int | None:
        """Return a column that has the same numbers, of which more are withheld."""
        values = self.grid.values[self.region.body]
        own = values[:, at]
        for other in self.region.numeric.tolist():
            told = ~np.isnan(values[:, other])
            is_more = told.sum() < (~np.isnan(own)).sum() and len(np.unique(own[told])) > 1
            if other != at and is_more and (own[told] == values[told, other]).all():
                return int(other)
        return None


def _has_further_part(block: Intervals, slip: Slip) -> bool:
    """Test whether a sum holds in all rows with one more line as a part, or with all others.

    Where the further part is zero, or withheld, the sum holds without it.
    """
    lines = [slip.total, *slip.parts]
    others = [i for i in range(len(block.low)) if i not in lines]
    positions = np.arange(block.low.shape[1])
    ways = [*([*lines, other] for other in others), [*lines, *others]]
    return any(
        not support_of(block.take(np.array(way), positions), np.zeros(len(positions))).broken
        for way in ways[: len(others) + (len(others) > 1)]
    )


def _runs(some: Sequence[int], columns: Sequence[int]) -> list[list[int]]:
    """Group some columns into runs that stand side by side."""
    runs: list[list[int]] = []
    for place, at in enumerate(columns):
        if at not in some:
            continue
        if runs and place and columns[place - 1] == runs[-1][-1]:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs
