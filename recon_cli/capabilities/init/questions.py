"""The flags of a user about files, and the questions that the files leave open."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import click

from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.sources import FileMapping
from recon_cli.sources.formats.row_blocks import PLACE
from recon_cli.sources.read.choices import Choices, SaidSum


@dataclass(frozen=True)
class Said:
    """The flags of a user about tables, by their names.

    Attributes:
        place: Header of the column of places.
        parent: Headers of the columns with the larger areas around places, the largest first.
        sheet: Sheets of workbooks to read.
        leave_out: Headers of columns that have no counts.
        count: Headers of columns that count some of these people.
        total: Columns, rows or values that others add up to.
        apart: Headers of columns that exclude each other.
        sum: ``TOTAL = PART + PART``: columns, rows or values that add up.
        thousands: The mark between groups of three digits.
        parentheses: The meaning of numbers in parentheses: ``numbers``, or ``withheld``.
        one_place: Whether all is about one place.
        place_per_sheet: Whether each sheet is about one place, whose name the sheet has.
        above: The meaning of a row above a block of rows: their ``place``, or ``kind``.
        header: Numbers of header rows.
        where: ``HEADER=VALUE``: only rows with this value in this column are read.
        statistic: ``HEADER=WHAT``: the meaning of a column of means, medians or the like.
        nil: Texts that stand for zero.
        withheld: Texts that stand for counts that are not published.
        unscaled: Whether numbers are counts as they stand, though words speak of thousands.
    """

    place: str | None = None
    parent: tuple[str, ...] = ()
    sheet: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    sum: tuple[str, ...] = ()
    thousands: str | None = None
    parentheses: str | None = None
    one_place: bool = False
    place_per_sheet: bool = False
    above: str | None = None
    header: tuple[int, ...] = ()
    where: tuple[str, ...] = ()
    statistic: tuple[str, ...] = ()
    nil: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    unscaled: bool = False

    @property
    def chosen_rows(self) -> dict[str, tuple[str, ...]]:
        """Map the headers of ``where`` to the values whose rows are read."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.where:
            header, _, value = each.partition("=")
            found[header] = (*found.get(header, ()), value)
        return found

    @property
    def statistics(self) -> dict[str, str]:
        """Map the headers of ``statistic`` to their meanings; a later flag overrules."""
        parted = (each.partition("=") for each in self.statistic)
        return {header: said for header, _, said in parted}

    @property
    def mapping(self) -> FileMapping:
        """Return the flags that a config keeps, by which files of known formats are read."""
        return FileMapping(
            header=self.header,
            place=self.place,
            parent=self.parent,
            sheet=self.sheet,
            columns=dict.fromkeys(self.leave_out),
            where=self.chosen_rows,
            zeros=self.nil,
            place_per_sheet=self.place_per_sheet,
            above=self.above,
            parentheses=self.parentheses,
        )

    def choices(self, *, codes_first: bool) -> Choices:
        """Return the flags as choices that overrule the numbers of sheets.

        Args:
            codes_first: Whether codes of places come before their names, where there are both.
        """
        return Choices(
            header=self.header,
            place=self.place or (PLACE if self.above == PLACE else None),
            parent=self.parent,
            count=self.count,
            total=self.total,
            apart=self.apart,
            sums=tuple(map(SaidSum.of, self.sum)),
            thousands=self.thousands,
            parentheses=self.parentheses,
            are_kinds=self.one_place or self.place_per_sheet or None,
            place_per_sheet=self.place_per_sheet,
            above=self.above,
            leave_out=dict.fromkeys(self.leave_out, ""),
            where=self.chosen_rows,
            codes_first=codes_first,
            statistics=self.statistics,
            zeros=self.nil,
            withheld=self.withheld,
            unscaled=self.unscaled,
        )

    def with_flags(self, flags: str) -> Said:
        """Add the flags of an answer.

        Example:
            >>> Said(count=("Girls",)).with_flags("--count Boys --place 'Home town'").count
            ('Girls', 'Boys')
        """
        words = iter(shlex.split(flags))
        names = {f"--{each.name.replace('_', '-')}": each.name for each in fields(Said)}
        said: dict[str, Any] = {}
        for word in words:
            if word not in names:
                raise ValueError(f"{word}: no flag that answers a question")
            before = said.get(names[word], getattr(self, names[word]))
            if isinstance(before, bool):
                said[names[word]] = True
            else:
                own = next(words)
                said[names[word]] = (*before, own) if isinstance(before, tuple) else own
        return replace(self, **said)


def is_terminal() -> bool:
    """Test whether somebody can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def choose(question: OpenQuestion) -> str | None:
    """Ask a question at the terminal, and return the flags of the answer.

    Returns:
        None if the reading is to stay as it is.
    """
    click.echo(f"\n? {question.text}", err=True)
    answers = [*question.answers.items()]
    answers += [] if question.needs_answer else [("leave it as it was read", "")]
    for number, (answer, flags) in enumerate(answers, start=1):
        click.echo(f"  {number}  {answer}" + (f"  ({flags})" if flags else ""), err=True)
    chosen: int = click.prompt("which", type=click.IntRange(1, len(answers)), err=True)
    flags = answers[chosen - 1][1]
    return flags or None


def list_questions(questions: Sequence[OpenQuestion]) -> None:
    """Print questions on stderr, each with its answers and their flags."""
    for question in questions:
        click.echo(f"? {question.text}", err=True)
        width = max((len(flags) for flags in question.answers.values()), default=0)
        for answer, flags in question.answers.items():
            click.echo(f"    {flags:<{width}}  {answer}", err=True)
