"""Survey a sheet whose columns have roles: its places, categories, and texts that are no counts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.formats.count_sheet import CountSheet, cell_text
from recon_cli.sources.formats.row_refusals import THOUSANDS
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tidy_file import ZERO_FRACTION
from recon_cli.statement.suppression import MARKERS, is_marker
from recon_cli.statement.texts import interval_said

#: Most texts in place of counts that are named.
_MOST_TEXTS: Final = 8
_COUNT: Final = r"^[0-9]+$"
#: Counts are taken for rounded if they are multiples of a base by a smaller chance than this.
_CHANCE: Final = 1e-6


@dataclass(frozen=True)
class OddText:
    """A text of a column that is no count: its first row, and how often it occurs."""

    row: int
    text: str
    times: int

    @property
    def is_number(self) -> bool:
        """Test whether the text has digits."""
        return has_digits(self.text)


@dataclass(frozen=True)
class Survey:
    """The content of a sheet.

    Attributes:
        categories: Dimension → code and label of every category, in order of appearance.
        texts: Position of a column of counts → its texts that are no counts, most frequent first.
        odd: Position of a column of counts → its texts that are neither counts nor usual marks of
            suppressed ones, by their first rows.
        numbers: Position of a column of counts → how many counts it has.
        divisor: The greatest number of which all counts are multiples; 0 if all are zero.
        kinds: The kind of each place, where a format says it: ``geoid, kind``.
    """

    geoids: pl.Series
    rows: int
    categories: Mapping[str, Sequence[tuple[str, str]]]
    texts: Mapping[int, Sequence[str]]
    positive: int = 0
    divisor: int = 0
    odd: Mapping[int, Sequence[OddText]] = field(default_factory=dict)
    numbers: Mapping[int, int] = field(default_factory=dict)
    kinds: pl.DataFrame | None = None

    def lengths(self) -> dict[int, int]:
        """Map numbers of characters to numbers of places, the longest first."""
        return dict(
            self.geoids.str.len_chars().value_counts().sort("geoid", descending=True).iter_rows()
        )

    @property
    def markers(self) -> set[str]:
        """Return texts that agencies put in place of suppressed counts; a blank is one."""
        every = {text for texts in self.texts.values() for text in texts}
        return {text for text in every if is_marker(text) or interval_said(text) is not None}

    @property
    def unpublished(self) -> set[str]:
        """Return other texts that stand for counts that are not published."""
        texts = {text for texts in self.texts.values() for text in texts if not has_digits(text)}
        return texts - self.markers

    @property
    def thousands(self) -> str | None:
        """Return the mark between groups of three digits, if it is the same everywhere."""
        marks = {
            match[1]
            for texts in self.texts.values()
            for text in texts
            if (match := THOUSANDS.fullmatch(text))
        }
        return marks.pop() if len(marks) == 1 else None


def rounding_base(surveys: Sequence[Survey]) -> int | None:
    """Return the base of which all counts are multiples, if they are too many for chance."""
    divisor = math.gcd(*(each.divisor for each in surveys))
    return _unless_by_chance(divisor, sum(each.positive for each in surveys))


def survey_rows(files: Sequence[pl.DataFrame]) -> tuple[set[str], int | None]:
    """Find in tidy rows the texts in place of counts, and the base that counts look rounded to.

    Args:
        files: Each with ``value`` and ``marker``, as `recon_cli.sources.tidy_file` reads
            statements.
    """
    rows = pl.concat([file.select("value", "marker") for file in files])
    counts = rows["value"].drop_nulls().abs().to_numpy()
    divisor = int(np.gcd.reduce(counts, initial=0))
    texts = set(rows["marker"].drop_nulls())
    return texts, _unless_by_chance(divisor, int(np.count_nonzero(counts)))


def _unless_by_chance(divisor: int, positive: int) -> int | None:
    is_chance = divisor < 2 or positive * math.log(divisor) <= -math.log(_CHANCE)
    return None if is_chance else divisor


def has_digits(text: str) -> bool:
    """Test whether a text may be a number."""
    return re.search("[0-9]", text) is not None


def survey(sheet: CountSheet) -> Survey:
    """Read a sheet once.

    Raises:
        SourceError: The sheet is damaged, or no row has a place and counts.
    """
    geoids: list[pl.Series] = []
    categories: dict[str, dict[str, str]] = {each.name: {} for each in sheet.dimensions}
    texts: dict[int, dict[str, int]] = {each.at: {} for each in sheet.counts}
    seen: dict[int, dict[str, int]] = {each.at: {} for each in sheet.counts}
    numbers = dict.fromkeys((each.at for each in sheet.counts), 0)
    rows = positive = divisor = 0
    kinds: list[pl.DataFrame] = []
    for placed in counted_rows(sheet):
        if sheet.kind is not None:
            kinds.append(placed.select("geoid", kind=cell_text(sheet.kind)).unique())
        rows += placed.height
        geoids.append(placed["geoid"].drop_nulls().unique())
        for each in sheet.dimensions:
            for code, label in each.categories(placed):
                categories[each.name].setdefault(code, label)
        for column in sheet.counts:
            written = placed.select(ROW, text=texts_of(sheet, column.at))
            odd = written.filter(~pl.col("text").str.contains(_COUNT))
            for row, word in odd.filter(~pl.col("text").is_in(MARKERS)).unique("text").iter_rows():
                first = seen[column.at].get(word, row)
                seen[column.at][word] = min(row, first)
            number = pl.col("text").cast(pl.UInt64, strict=False)
            counts = written.select(number).to_series().drop_nulls().to_numpy()
            positive += int(np.count_nonzero(counts))
            numbers[column.at] += len(counts)
            divisor = math.gcd(divisor, int(np.gcd.reduce(counts, initial=0)))
            for word, times in odd["text"].value_counts().iter_rows():
                texts[column.at][word] = texts[column.at].get(word, 0) + times
    if not any(map(len, geoids)):
        raise SourceError(f"{sheet.sheet.label}: expected rows with a place and counts, found none")
    return Survey(
        pl.concat(geoids).unique().sort().rename("geoid"),
        rows,
        {name: list(each.items()) for name, each in categories.items()},
        {
            at: sorted(each, key=lambda word: -each[word])[:_MOST_TEXTS]
            for at, each in texts.items()
            if each
        },
        positive,
        divisor,
        {at: _odd(own, texts[at]) for at, own in seen.items() if own},
        numbers,
        pl.concat(kinds).unique().drop_nulls() if kinds else None,
    )


def counted_rows(sheet: CountSheet) -> Iterator[pl.DataFrame]:
    """Yield the rows that have counts, or a place and all dimensions, with ``geoid``."""
    for batch in sheet.sheet.rows(sheet.skip):
        placed = batch.with_columns(geoid=sheet.geoid).filter(_has_counts(sheet))
        for at, values in sheet.where.items():
            placed = placed.filter(cell_text(at).is_in(list(values)))
        yield placed


def texts_of(sheet: CountSheet, at: int) -> pl.Expr:
    """Return a column's counts or flags, whole numbers without a fraction."""
    return _count_text(sheet, at).str.replace(ZERO_FRACTION, "")


def _odd(first: Mapping[str, int], times: Mapping[str, int]) -> tuple[OddText, ...]:
    """Return the texts of a column that are no counts, by their first rows."""
    return tuple(
        OddText(row, text, times[text])
        for text, row in sorted(first.items(), key=lambda pair: pair[1])
        if not is_marker(text) and not THOUSANDS.fullmatch(text)
    )


def _has_counts(sheet: CountSheet) -> pl.Expr:
    told = pl.any_horizontal(_count_text(sheet, each.at) != "" for each in sheet.counts)
    said = [cell_text(each.code).fill_null("") != "" for each in sheet.dimensions]
    return told | pl.all_horizontal(*said, pl.col("geoid") != "")


def _count_text(sheet: CountSheet, at: int) -> pl.Expr:
    """Return a count as it is written, or its flag; a number with a flag is a count."""
    text = sheet.written(at).str.strip_chars()
    if sheet.number is not None:
        text = text.str.replace(sheet.number, "${1}")
    return text.fill_null("")
