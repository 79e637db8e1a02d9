"""Choices of how a sheet is to be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from recon_cli.errors import ConfigError
from recon_cli.sources.read.row_labels import Path

#: Texts in a sum that stand for parts that are not printed.
_OTHERS: Final = ("...", "…")

#: The meaning of numbers in parentheses, as in flags and keys.
NUMBERS: Final = "numbers"
WITHHELD: Final = "withheld"


@dataclass(frozen=True)
class SaidSum:
    """A total and its parts, by their headers, labels or values.

    Attributes:
        is_open: Whether parts that are not printed are in the total, too.

    Example:
        >>> SaidSum.of("All ages = 0-64 + 65+")
        SaidSum(total='All ages', parts=('0-64', '65+'), is_open=False)
        >>> SaidSum.of("Employed = of which women + ...")
        SaidSum(total='Employed', parts=('of which women',), is_open=True)
    """

    total: str
    parts: tuple[str, ...]
    is_open: bool = False

    @classmethod
    def of(cls, text: str) -> SaidSum:
        """Parse a sum.

        Raises:
            ConfigError: The text is no sum of two or more parts.
        """
        total, _, rest = text.partition(" = ")
        told = tuple(filter(None, map(str.strip, rest.split(" + "))))
        parts = tuple(part for part in told if part not in _OTHERS)
        if not total.strip() or not parts or len(told) < 2:
            raise ConfigError(
                f"--sum {text!r}: say it as 'TOTAL = PART + PART', with the blanks; or as 'TOTAL = "
                "PART + ...', where others are in the total"
            )
        return cls(total.strip(), parts, len(parts) < len(told))

    def __str__(self) -> str:
        """Return the text of the sum."""
        return f"{self.total} = {' + '.join((*self.parts, *_OTHERS[: self.is_open]))}"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the total and its parts."""
        return (self.total, *self.parts)


@dataclass(frozen=True)
class Choices:
    """A user's choices for a sheet, which override proposals.

    Attributes:
        header: Numbers of the header rows.
        place: Header of the column of places.
        parent: Headers of the columns of places that enclose a place, the largest first.
        count: Headers of the columns of counts.
        are_kinds: Whether the rows are kinds of what is counted, of one place.
        place_per_sheet: Whether each sheet has one place, after which it is named.
        above: What a row above a block of rows names: their ``place``, or ``kind``.
        leave_out: Header of a column that is not used → why.
        total: Columns, or values of a dimension, that are totals, though numbers hardly show it.
        apart: Headers of columns, or of a dimension, that exclude each other.
        sums: Totals among columns, rows or values, with their parts, whatever numbers show.
        zeros: Texts that stand for nobody.
        withheld: Texts that stand for counts that are not published.
        unscaled: Whether numbers are counts as they stand, though words speak of thousands.
        thousands: Separator of groups of three digits.
        parentheses: What numbers in parentheses are: ``numbers``, or ``withheld``.
        where: Header → the values of that column whose rows are read.
        dimension: Headers of the columns of dimensions of a long table.
        codes_first: Whether codes name the places, where there are codes and names.
        are_known: Whether a format determines places, dimensions and counts.
        is_mapped: Whether a mapping gives columns their roles, and rows the names that it lists,
            not those that words propose.
        shares: Header of a column of shares → headers of the counts in its numerator and in its
            denominator, and its factor.
        statistics: Header of a column of means, medians and the like → its description.
    """

    header: tuple[int, ...] = ()
    place: str | None = None
    parent: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    are_kinds: bool | None = None
    place_per_sheet: bool = False
    above: str | None = None
    leave_out: Mapping[str, str] = field(default_factory=dict)
    total: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    sums: tuple[SaidSum, ...] = ()
    zeros: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    unscaled: bool = False
    thousands: str | None = None
    parentheses: str | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dimension: tuple[str, ...] = ()
    codes_first: bool = False
    are_known: bool = False
    is_mapped: bool = False
    shares: Mapping[str, tuple[str, str, int]] = field(default_factory=dict)
    statistics: Mapping[str, str] = field(default_factory=dict)


NO_CHOICES: Final = Choices()


def column_names(headers: Mapping[int, Path]) -> dict[int, str]:
    """Map columns to names for keys and flags: their words, with a number where words repeat.

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
    """Return columns whose header is one of ``words``; if none is, those whose last word is.

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
