"""Questions that the numbers of a sheet leave open, with the flags that answer them."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recon_cli.sources.read.choices import SaidSum


@dataclass(frozen=True)
class OpenQuestion:
    """A question that the numbers leave open.

    Attributes:
        text: The question, with the numbers that tell the answers apart.
        answers: Answer → the flags that give it.
        columns: The columns of the sheet that the question is about.
        needs_answer: Whether nothing can be read before there is an answer.
    """

    text: str
    answers: Mapping[str, str]
    columns: tuple[int, ...] = ()
    needs_answer: bool = False

    @property
    def summed(self) -> frozenset[str]:
        """Return the names in the sums of all answers.

        Example:
            >>> sorted(OpenQuestion("Is it so?", {"yes": "--sum 'All = Men + Women'"}).summed)
            ['All', 'Men', 'Women']
        """
        words = (word for flags in self.answers.values() for word in shlex.split(flags))
        sums = (SaidSum.of(word) for word in words if " = " in word)
        return frozenset(name for each in sums for name in each.names)


def flag(name: str, *values: str) -> str:
    """Return a flag with its values as a shell takes them.

    Example:
        >>> print(flag("count", "Girls", "Pupils' parents"))
        --count Girls --count 'Pupils'"'"' parents'
    """
    return " ".join(f"--{name} {shlex.quote(value)}" for value in values)


def each_some_of_next(names: Sequence[str]) -> dict[str, str]:
    """Return the answer that each line counts some of the next, as quarters to date do.

    Example:
        >>> each_some_of_next(["Q1", "Q1-Q2", "Year"])
        {'each counts some of the next': "--sum 'Q1-Q2 = Q1 + ...' --sum 'Year = Q1-Q2 + ...'"}
    """
    steps = itertools.pairwise(names)
    sums = flag("sum", *(f"{more} = {less} + ..." for less, more in steps))
    return {"each counts some of the next": sums}


def ask_ways(
    whole: str, ways: Iterable[Sequence[str]], columns: tuple[int, ...] = ()
) -> OpenQuestion:
    """Ask which of several sets of names add up to a total, where rounded numbers leave it open.

    Example:
        >>> print(ask_ways("All", [["Car", "Bus"], ["Car", "Bus", "Boat"]]).text)
        numbers are rounded, and 'All' may be 'Car' + 'Bus', or 'Car' + 'Bus' + 'Boat': which is it?
    """
    sets = [*map(list, ways)]
    shown = ", or ".join(" + ".join(map(repr, own)) for own in sets)
    said = {" + ".join(own): flag("sum", f"{whole} = {' + '.join(own)}") for own in sets}
    return OpenQuestion(
        f"numbers are rounded, and {whole!r} may be {shown}: which is it?",
        said | {"none": flag("apart", whole)},
        columns,
    )
