"""A report before it is HTML or Markdown: text, figures with the tables behind them, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from recon_cli.markdown import markdown_table, markdown_text
from recon_cli.page.charts import Chart
from recon_cli.page.missing import Missing
from recon_cli.page.words import Words, percentage, size_label


@dataclass(frozen=True)
class ResultTable:
    """Rows of text under a header.

    Attributes:
        rows: Cells, as many as columns.
        text_columns: How many columns, from the left, are words and not numbers.
        is_list: Whether rows are alike, so that a reader may sort and filter them; else their
            order says something, as that of sums and classes does.
        pages: Of each row the page that its first cell leads to, empty for none; or nothing.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int
    is_list: bool = False
    pages: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The sheet as Markdown."""
        table = markdown_table(self.header, self.rows, self.text_columns)
        return f"## {markdown_text(self.title)}\n\n{table}"


#: Over a page about counts or records whose chance follows from a seed.
NOT_FOR_PUBLICATION: Final = (
    "For study, not for publication: chance follows from a seed (study_seed), and whoever guesses "
    "the seed takes the protection off again."
)


@dataclass(frozen=True)
class Figure:
    """A chart and what goes with it.

    Attributes:
        name: Stem of its files.
        alt: What it shows, for those who do not see it.
        sheets: The numbers behind it.
    """

    name: str
    title: str
    caption: str
    alt: str
    chart: Chart
    sheets: tuple[ResultTable, ...]


@dataclass(frozen=True)
class ReportSection:
    """A part of the report.

    Attributes:
        key: For links to it.
        text: Paragraphs; ``**`` and backticks as in `Headline`.
        missing: What would be here.
    """

    key: str
    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    sheets: tuple[ResultTable, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True)
class Headline:
    """The result; ``**`` marks what is stressed, a backtick what is typed.

    Attributes:
        verdicts: What is stated first: whether anybody, or any count, is given away.
        notes: What a reader should know of it.
        details: How many, and what of them.
    """

    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    details: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is stated."""
        return (*self.verdicts, *self.details)


@dataclass(frozen=True)
class KeyFigure:
    """A number at the top of the report.

    Attributes:
        note: Beside it, smaller.
    """

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Hyperlink:
    """A page beside this one.

    Attributes:
        finding: What was found there, in a few words.
    """

    text: str
    page: str
    finding: str


@dataclass(frozen=True)
class KeyAnswer:
    """What somebody who has to decide asks first.

    Attributes:
        text: The answer, with marks as in `Headline`.
        links: Pages that say more; they end the sentence.
        is_aside: Whether it is asked after the others.
    """

    question: str
    text: str
    links: tuple[Hyperlink, ...] = ()
    is_aside: bool = False


@dataclass(frozen=True)
class Term:
    """A word of the field and what it means here; ``[[word]]`` in a text leads here."""

    word: str
    meaning: str


@dataclass(frozen=True)
class ReportDocument:
    """The whole report.

    Attributes:
        subject: One line under it.
        headline: The result in plain words.
        facts: A few numbers.
        terms: How to read the rest.
        answers: Beside the headline.
        banner: A sentence over everything that nobody must miss; empty for none.
    """

    title: str
    subject: str
    headline: Headline
    facts: tuple[KeyFigure, ...]
    terms: tuple[Term, ...]
    sections: tuple[ReportSection, ...]
    answers: tuple[KeyAnswer, ...] = ()
    banner: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All charts, in order."""
        return tuple(figure for section in self.sections for figure in section.figures)


def result_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1
) -> ResultTable:
    """A table.

    Args:
        rows: Cells, as many as columns.
        words: How many columns, from the left, are words and not numbers.
    """
    return ResultTable(title, tuple(header), tuple(tuple(row) for row in rows), words)


def by_size_words(frame: pl.DataFrame, part: str, whole: str, words: Words, noun: str = "") -> str:
    """The same share of every size class, for those who do not see the chart.

    Args:
        frame: ``size``, ``part`` and ``whole``, the first row over all sizes.
        part: What is counted.
        whole: Of how many.
    """
    shares = [
        f"{size_label(row['size'])}: {percentage(row[part], row[whole])}"
        for row in frame.slice(1).iter_rows(named=True)
        if row[whole]
    ]
    lead = f"By number of {words.people}" + (f", {noun}" if noun else "")
    return f" {lead}: {'; '.join(shares)}." if shares else ""
