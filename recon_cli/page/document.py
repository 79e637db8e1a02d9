"""Reports before they are HTML or Markdown: text, figures with their tables, missing parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.markdown import markdown_table, markdown_text
from recon_cli.page.charts import Chart
from recon_cli.page.missing import Missing


@dataclass(frozen=True)
class ResultTable:
    """Rows of text under a header.

    Attributes:
        rows: Cells, as many as columns.
        text_columns: Number of columns, from the left, that hold words instead of numbers.
        is_list: Whether rows are alike, so that a reader may sort and filter them; else their
            order has a meaning, as that of sums and classes.
        pages: Page that the first cell of each row links to, empty for none; or nothing.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int
    is_list: bool = False
    pages: tuple[str, ...] = ()

    def markdown(self) -> str:
        table = markdown_table(self.header, self.rows, self.text_columns)
        return f"## {markdown_text(self.title)}\n\n{table}"


#: Banner of a page about counts or records whose random draws follow from a seed.
NOT_FOR_PUBLICATION: Final = (
    "For study, not for publication: chance follows from a seed (study_seed), and whoever guesses "
    "the seed takes the protection off again."
)


@dataclass(frozen=True)
class Figure:
    """A chart with its title, description and table.

    Attributes:
        name: Stem of its files.
        alt: Description for readers who cannot see it.
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
        text: Paragraphs; ``**`` and backticks as in `Headline`.
        missing: Content that the work folder has no data for.
    """

    key: str
    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    sheets: tuple[ResultTable, ...] = ()
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True)
class Headline:
    """The main result; ``**`` marks emphasis, a backtick marks commands.

    Attributes:
        verdicts: First sentences: whether any person, or any count, is given away.
        notes: Caveats for the reader.
        details: Numbers in support.
    """

    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    details: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.verdicts, *self.details)


@dataclass(frozen=True)
class KeyFigure:
    """A number at the top of the report.

    Attributes:
        note: Smaller text beside it.
    """

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Hyperlink:
    """A page beside this one.

    Attributes:
        finding: The result there, in a few words.
    """

    text: str
    page: str
    finding: str


@dataclass(frozen=True)
class KeyAnswer:
    """The answer to a question that a decision maker asks first.

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
    """A technical term and its meaning; ``[[word]]`` in a text links to it."""

    word: str
    meaning: str


def terms_of(texts: Iterable[str]) -> tuple[Term, ...]:
    """Make terms of texts that begin with a term between asterisks.

    >>> terms_of(["**Certain record** it appears in every reconstruction."])
    (Term(word='Certain record', meaning='it appears in every reconstruction.'),)
    """
    parts = (text.removeprefix("**").partition("** ") for text in texts)
    return tuple(Term(word, meaning) for word, _, meaning in parts)


@dataclass(frozen=True)
class ReportDocument:
    """The whole report.

    Attributes:
        subject: One line under the title.
        answers: Answers beside the headline.
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
        """List all charts, in order."""
        return tuple(figure for section in self.sections for figure in section.figures)


def result_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1
) -> ResultTable:
    """Make a table.

    Args:
        rows: Cells, as many as columns.
        words: Number of columns, from the left, that hold words instead of numbers.
    """
    return ResultTable(title, tuple(header), tuple(tuple(row) for row in rows), words)
