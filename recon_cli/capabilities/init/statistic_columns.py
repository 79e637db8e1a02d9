"""Columns of means, medians, minima and maxima: the people and values of each, or a question.

See `recon_cli.capabilities.init.statistic_draft` for how they are compared with counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, get_args

import numpy as np

from recon_cli.capabilities.init.conditions import Condition, Key, key_of
from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal import relation
from recon_cli.capabilities.init.statistic_draft import (
    OLDEST,
    DraftedShare,
    DraftedStatistic,
    Kind,
    Observed,
    SaidStatistic,
    Scale,
    agreement,
    are_of_whole,
    greatest_value,
    spoken,
)
from recon_cli.errors import ConfigError
from recon_cli.sources.formats.normal_form import ROWS
from recon_cli.sources.formats.sheet_texts import statistic_text
from recon_cli.sources.read.choices import columns_named
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.statistic_words import order_named, statistic_named, words_beside
from recon_cli.sources.read.table_reading import Share
from recon_cli.sources.read.words import Sense, says

#: Axis → label → whom it counts.
Labels = Mapping[str, Mapping[str, Condition]]
_COLUMNS: Final = "columns"
#: Kind → a caveat in the question whether it is of whole numbers.
_ALONE: Final[dict[Kind, str]] = {
    "median": " (and not interpolated in groups)",
    "mean": " (and not of the middles of groups)",
}
#: Most combinations of places and values that can be listed, as tables of shares require.
_MOST_LISTED: Final = 100_000
#: The feature whose range is proposed where no count tells its values apart.
_AGE: Final = "age"


@dataclass(frozen=True)
class FoundColumn:
    """A column of a statistic that is used.

    Attributes:
        scale: The feature of its values; None where no count tells them apart.
        ends: The least and the greatest value; None where the values are the categories.
        cells: Places, and groups of people there, for which it is printed.
        marks: Texts in place of numbers.
    """

    part: Part
    at: int
    statistic: DraftedStatistic | DraftedShare
    scale: Scale | None
    ends: tuple[int, int] | None
    cells: tuple[tuple[Hashable, Key], ...]
    conditions: tuple[Condition, ...]
    marks: tuple[str, ...]

    @property
    def header(self) -> str:
        """Return the name of the column in a mapping."""
        return self.part.table.header(self.at)


@dataclass(frozen=True)
class _Row:
    """A row of a table: its place, and whom it counts; None if unknown."""

    number: int
    place: Hashable
    condition: Condition | None


class StatisticColumns:
    """Search of the tables of a draft for columns of statistics.

    Args:
        labels: Whom the labels of counts count.
        scales: The features whose categories are numbers.
        features: The names of all features.
        said: What a user says of columns, by their headers.
        combinations: Most combinations of places and values of features.
    """

    def __init__(  # noqa: PLR0917 - what a draft knows
        self,
        parts: Sequence[Part],
        labels: Labels,
        scales: Sequence[Scale],
        features: Sequence[str],
        said: Mapping[str, str],
        combinations: int,
    ) -> None:
        self.combinations = combinations
        self.parts = [part for part in parts if part.is_sheet]
        self.labels, self.scales, self.features = labels, list(scales), list(features)
        self.said = {name: SaidStatistic.parse(name, text) for name, text in said.items()}
        self.questions: list[OpenQuestion] = []

    def found(self) -> list[FoundColumn]:
        """Return the columns that are used; collect questions about others."""
        every: dict[str, list[FoundColumn | None]] = {}
        for part in self.parts:
            for at in part.table.statistics:
                every.setdefault(part.table.header(at), []).append(self._column(part, at))
            for each in part.table.shares:
                every.setdefault(part.table.header(each.line), []).append(self._share(part, each))
        kept: list[FoundColumn] = []
        for columns in every.values():
            used = [each for each in columns if each is not None]
            # A mapping says of a header one thing, for all sheets.
            if len(used) == len(columns) and len({each.statistic for each in used}) == 1:
                kept += used
        return kept

    def _column(self, part: Part, at: int) -> FoundColumn | None:
        header = part.table.header(at)
        said = self._said_of(part, at)
        kind = said.kind or next((k for k in get_args(Kind) if k == statistic_named(header)), None)
        if kind is None:
            if said == SaidStatistic():
                return None
            raise ConfigError(
                f"--statistic {header}: say which: {', '.join(get_args(Kind))}, such as "
                f"'{header}=mean age 0..110'"
            )
        if kind == "quantile":
            said = replace(said, order=said.order or order_named(header))
            if not said.order:
                return None  # of which share of people nothing says
        if said.feature and all(said.feature != each.name for each in self.scales):
            return self._of_new(part, at, kind, said)
        scales = [each for each in self.scales if said.feature in {"", each.name}]
        if said.feature:
            return self._of_said(part, at, kind, said, scales[0])
        for scale in scales:
            found = self._shown(part, at, kind, scale, scales, order=said.order)
            if found is not None:
                return found
        self._ask(part, at, kind, said.order, scales)
        return None

    def _share(self, part: Part, share: Share) -> FoundColumn | None:
        """Return a share whose base is withheld in some row; None if it only narrows counts."""
        table = part.table
        rows = table.region.body[table.grid.is_number[table.region.body, share.line]]
        is_told = table.grid.is_number[rows, share.base] & ~table.withheld[rows, share.base]
        base, counted = self._counted(part, share.base), self._counted(part, share.part)
        is_small = table.relations.base == 1 and self.combinations <= _MOST_LISTED
        if not is_small or is_told.all() or base is None or counted is None:
            return None
        more = {name: values for name, values in counted.items() if base.get(name) != values}
        if not more or {**base, **more} != counted or more.keys() & base.keys():
            return None
        if not self._are_bounded(part, rows[~is_told], base):
            return None
        statistic = DraftedShare(table.header(share.base), key_of(more), share.times)
        return self._used(part, share.line, statistic, None, None)

    def _are_bounded(self, part: Part, rows: Sequence[int], base: Condition) -> bool:
        """Test whether some count bounds the people of a condition in rows that withhold them.

        This count is printed for more people, or for a place to which others add up.
        """
        table = part.table
        told = table.grid.is_number & ~table.withheld
        wholes = [
            each.line for each in table.relations.sums(relation.Axis.ROWS) if each.support.is_strong
        ]
        wholes += [int(table.region.body[i]) for i in table.rows_total]
        around = [
            of
            for of in table.counts
            if (own := self._counted(part, of)) is not None
            and all(base.get(name) == values for name, values in own.items())
        ]
        return all(told[row, around].any() or told[np.ix_(wholes, around)].any() for row in rows)

    def _said_of(self, part: Part, at: int) -> SaidStatistic:
        names = (name for name in self.said if at in columns_named(part.table.headers, [name]))
        return next((self.said[name] for name in names), SaidStatistic())

    # --- by numbers and words ---------------------------------------------------------------

    def _shown(
        self, part: Part, at: int, kind: Kind, scale: Scale, scales: Sequence[Scale], *, order: str
    ) -> FoundColumn | None:
        """Return a statistic of a scale if exact counts show it for one group of people alone.

        For a scale of groups, the header must name the values; and means, modes and quantiles need
        single values, as do medians that may be interpolated in groups.
        """
        is_of_values = kind in {"mean", "mode", "quantile"}
        if not scale.is_single and (is_of_values or not self._is_named(part, at, scale)):
            return None
        if not scale.is_single and kind == "median" and not are_of_whole(self._printed(part, at)):
            return None
        worded = self._counts_of(part, at, scale.name)
        others = [each for each in part.table.counts if each not in worded and scale.is_single]
        tried = len(scales) * (len(worded) + len(others))
        for able in (worded, others):
            agreed = {
                of: told
                for of in able
                if (
                    told := agreement(kind, scale, self._rows(part, at, of, scale), order)
                ).is_strong(tried)
            }
            same = {key_of(self._counted(part, of) or {}) for of in agreed}
            if len(same) == 1:
                of, told = next(iter(agreed.items()))
                values = tuple(zip(scale.keys, (low for low, _ in scale.spans), strict=True))
                statistic = DraftedStatistic(
                    kind,
                    scale.name,
                    part.table.header(of),
                    told.definition,
                    values if scale.is_single else (),
                    order,
                )
                ends = scale.least, greatest_value(scale, self._printed(part, at), None)
                return self._used(part, at, statistic, scale, None if scale.is_single else ends)
        return None

    def _is_named(self, part: Part, at: int, scale: Scale) -> bool:
        """Test whether a header names the values of a scale, or names no values."""
        words = set(words_beside(part.table.header(at)))
        worded = self._counts_of(part, at, scale.name)
        called = {word for of in worded for word in words_beside(part.table.header(of))}
        return bool(words & set(scale.name.split("_"))) or words <= called

    def _counts_of(self, part: Part, at: int, feature: str) -> list[int]:
        """Return the columns of counts whose people a column may summarise, by their headers."""
        table = part.table
        counts = [of for of in table.counts if self._counted(part, of) is not None]
        if len(counts) == 1:
            return counts
        path = table.headers.get(at, ())
        if len(path) > 1 and (same := [of for of in counts if part.words(of) == path[:-1]]):
            return same
        own = [w for w in words_beside(table.header(at)) if w not in feature.split("_")]
        if all(says(word, Sense.TOTAL) for word in own):
            return [of for of in counts if not self._counted(part, of)][:1]
        return [of for of in counts if sorted(words_beside(table.header(of))) == sorted(own)]

    # --- as it is said ----------------------------------------------------------------------

    def _of(self, part: Part, at: int, said: SaidStatistic, feature: str) -> int | None:
        """Return the column of counts whose people a column summarises, by the user or headers."""
        if said.of:
            named = columns_named(part.table.headers, [said.of])
            if of := [each for each in part.table.counts if each in named]:
                return of[0]
            raise ConfigError(
                f"--statistic {part.table.header(at)}: of {said.of}: no column of counts is "
                "called so"
            )
        worded = self._counts_of(part, at, feature)
        if len({key_of(self._counted(part, of) or {}) for of in worded}) == 1:
            return worded[0]
        return None

    def _of_new(self, part: Part, at: int, kind: Kind, said: SaidStatistic) -> FoundColumn | None:
        """Return a statistic of values that no count tells apart."""
        header = part.table.header(at)
        if said.feature in self.features:
            raise ConfigError(
                f"--statistic {header}: {said.feature} is a feature whose categories are no numbers"
            )
        if said.ends is None:
            raise ConfigError(
                f"--statistic {header}: no count tells {said.feature} apart: say its least and "
                f"greatest value, such as '{header}={spoken(kind, said.feature, (0, 110))}'"
            )
        of = self._of(part, at, said, said.feature)
        if of is None:
            self._ask_whose(part, at, spoken(kind, said.feature, said.ends))
            return None
        statistic = DraftedStatistic(kind, said.feature, part.table.header(of), order=said.order)
        return self._used(part, at, statistic, None, said.ends)

    def _of_said(
        self, part: Part, at: int, kind: Kind, said: SaidStatistic, scale: Scale
    ) -> FoundColumn | None:
        """Return a statistic of a scale as the user says, unless a row of counts forbids it."""
        header = part.table.header(at)
        of = self._of(part, at, said, scale.name)
        if of is None:
            self._ask_whose(part, at, spoken(kind, scale.name, said.ends))
            return None
        if kind == "mean" and scale.greatest is None and said.ends is None:
            raise ConfigError(
                f"--statistic {header}: say the greatest {scale.name}, such as "
                f"'{header}={spoken(kind, scale.name, (scale.least, OLDEST))}'"
            )
        if said.ends is not None and said.ends[1] < max(low for low, _ in scale.spans):
            raise ConfigError(
                f"--statistic {header}: {said.ends[1]} is below the categories of {scale.name}: "
                f"{', '.join(scale.keys)}"
            )
        told = agreement(kind, scale, self._rows(part, at, of, scale), said.order)
        if told.broken is not None:
            counts = ", ".join(
                f"{key}: {n}" for key, n in zip(scale.keys, told.broken.counts, strict=True) if n
            )
            raise ConfigError(
                f"--statistic {header}: {told.broken.text} is no {kind} of {counts} ({scale.name})"
            )
        values = tuple(zip(scale.keys, (low for low, _ in scale.spans), strict=True))
        is_single = scale.is_single and said.ends is None
        statistic = DraftedStatistic(
            kind,
            scale.name,
            part.table.header(of),
            told.definition,
            values if is_single else (),
            said.order,
        )
        ends = scale.least, greatest_value(scale, self._printed(part, at), said.ends)
        return self._used(part, at, statistic, scale, None if is_single else ends)

    def _used(
        self,
        part: Part,
        at: int,
        statistic: DraftedStatistic | DraftedShare,
        scale: Scale | None,
        ends: tuple[int, int] | None,
    ) -> FoundColumn:
        grid = part.table.grid
        counted = self._labelled(_COLUMNS, statistic.of, part) or {}
        cells: dict[tuple[Hashable, Key], Condition] = {}
        marks: dict[str, None] = {}
        for row in self._table_rows(part):
            text = statistic_text(grid, str(grid.texts[row.number, at]))
            if not text or row.condition is None:
                continue
            condition = {**row.condition, **counted}
            cells[row.place, key_of(condition)] = condition
            if not grid.is_number[row.number, at]:
                marks[text] = None
        conditions = {key_of(each): each for each in cells.values()}
        return FoundColumn(
            part,
            at,
            statistic,
            scale,
            ends,
            tuple(cells),
            tuple(conditions.values()),
            tuple(marks),
        )

    # --- questions --------------------------------------------------------------------------

    def _ask(self, part: Part, at: int, kind: Kind, order: str, scales: Sequence[Scale]) -> None:
        """Ask for the range of values that are counted in groups, or what a loose column is."""
        header = part.table.header(at)
        leave = {"to be left out": flag("leave-out", header)}
        for scale in scales:
            if scale.is_single or not self._is_named(part, at, scale):
                continue
            of = self._of(part, at, SaidStatistic(), scale.name)
            rows = [] if of is None else self._rows(part, at, of, scale)
            told = None if of is None else agreement(kind, scale, rows, order)
            if told is not None and told.broken is not None:
                continue
            ends = scale.least, scale.greatest or max(OLDEST, scale.width + scale.least)
            said = f"{header}={spoken(kind, scale.name, ends)}"
            self.questions.append(
                OpenQuestion(
                    f"{header!r}: a {kind} of {scale.name} by its header, of which groups alone "
                    f"are counted: of whole numbers{_ALONE.get(kind, '')}, from where to where?",
                    {f"from {ends[0]} to {ends[1]}": flag("statistic", said), **leave},
                    (at,),
                )
            )
            return
        if part.table.relations.columns.get(at) is relation.Kind.UNRELATED:
            answers = {**leave, "a count of these people": flag("count", header)}
            if _AGE in words_beside(header) and _AGE not in self.features:
                said = f"{header}={spoken(kind, _AGE, (0, OLDEST))}"
                answers[f"a {kind} of whole ages from 0 to {OLDEST}"] = flag("statistic", said)
            self.questions.append(
                OpenQuestion(
                    f"{header!r} is in no relation to the counts: a {kind} by its header (of what: "
                    f"--statistic '{header}={kind} NAME LEAST..GREATEST'), a count of something "
                    "else, or to be left out?",
                    answers,
                    (at,),
                )
            )

    def _ask_whose(self, part: Part, at: int, said: str) -> None:
        header = part.table.header(at)
        names = [part.table.header(of) for of in part.table.counts[:4]]
        self.questions.append(
            OpenQuestion(
                f"{header!r}: of whom is it the {said}?",
                {
                    **{
                        f"of {name!r}": flag("statistic", f"{header}={said} of {name}")
                        for name in names
                    },
                    "to be left out": flag("leave-out", header),
                },
                (at,),
            )
        )

    # --- numbers ----------------------------------------------------------------------------

    def _printed(self, part: Part, at: int) -> Iterator[Fraction]:
        grid = part.table.grid
        for row in part.table.region.body.tolist():
            if grid.is_number[row, at]:
                yield Fraction(statistic_text(grid, str(grid.texts[row, at])))

    def _rows(self, part: Part, at: int, of: int, scale: Scale) -> list[Observed]:
        """Return the rows whose people are counted exactly in each category of a scale."""
        counted = self._counted(part, of) or {}
        grid = part.table.grid
        found = []
        for row in self._table_rows(part):
            whose = None if row.condition is None else {**row.condition, **counted}
            if whose is None or scale.name in whose or not grid.is_number[row.number, at]:
                continue
            keys = [key_of({**whose, scale.name: (key,)}) for key in scale.keys]
            counts = [self._exact.get((row.place, key)) for key in keys]
            known = tuple(each for each in counts if each is not None)
            if len(known) == len(counts):
                found.append(Observed(statistic_text(grid, str(grid.texts[row.number, at])), known))
        return found

    @cached_property
    def _exact(self) -> dict[tuple[Hashable, Key], int]:
        """Map places and people to their number, where it is printed and was not rounded."""
        found: dict[tuple[Hashable, Key], int] = {}
        for part in self.parts:
            table = part.table
            if table.relations.base > 1:
                continue
            grid, is_known = table.grid, table.grid.is_number & ~table.withheld
            counted = {of: self._counted(part, of) for of in table.counts}
            for row in self._table_rows(part):
                for of, condition in counted.items():
                    if row.condition is None or condition is None or not is_known[row.number, of]:
                        continue
                    whose = key_of({**row.condition, **condition})
                    found.setdefault((row.place, whose), int(grid.values[row.number, of]))
        return found

    def _counted(self, part: Part, of: int) -> Condition | None:
        """Return whom a column of counts counts; None if unknown."""
        return self._labelled(_COLUMNS, part.column(of), part)

    def _labelled(self, axis: str, label: str, part: Part) -> Condition | None:
        own = self.labels.get(f"{axis} of {part.name}", {})
        return own.get(label, self.labels.get(axis, {}).get(label))

    def _table_rows(self, part: Part) -> list[_Row]:
        table = part.table
        body = table.region.body.tolist()
        if table.are_kinds:
            told = [self._labelled(ROWS, PART_OF.join(path), part) for path in table.rows]
            places: list[str] = [table.only_place] * len(body)
        else:
            places = table.place_texts
            told = [self._dimensions(part, row) for row in body]
        return [_Row(*each) for each in zip(body, places, told, strict=True)]

    def _dimensions(self, part: Part, row: int) -> Condition | None:
        """Return whom a row of a long table counts, by its dimensions; None if unknown."""
        table = part.table
        found: dict[str, tuple[str, ...]] = {}
        for at in table.names.keys if table.names.is_long else ():
            if at == table.place:
                continue
            own = self._labelled(table.header(at), str(table.grid.texts[row, at]), part)
            if own is None:
                return None
            found |= own
        return found
