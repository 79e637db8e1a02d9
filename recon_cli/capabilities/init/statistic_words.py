"""Columns of means, medians and the like that a draft does not use, found by their headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from recon_cli.coverage import LeftOut
from recon_cli.sources.read.statistic_words import StatisticWord, statistic_named

#: Names of kinds in messages, where they differ.
_CALLED: Final = {"deviation": "standard deviation"}
#: Most columns that are named of each kind.
_NAMED: Final = 3


def told_statistics(left_out: Iterable[LeftOut]) -> Iterator[str]:
    """Say which unused columns seem to be statistics of values, and how they can be used.

    >>> list(told_statistics([LeftOut("ages.csv", "Pupils", 3)]))
    []
    >>> next(told_statistics([LeftOut("ages.csv", "Mean age", 3)]))
    "'Mean age' of ages.csv seems to be a mean"
    """
    named: dict[StatisticWord, list[str]] = {}
    for each in left_out:
        kind = statistic_named(each.column)
        if kind is not None:
            named.setdefault(kind, []).append(each.called)
    for kind, columns in named.items():
        more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
        seems = "seems to be a" if len(columns) == 1 else "seem to be of the kind"
        yield f"{', '.join(columns[:_NAMED])}{more} {seems} {_CALLED.get(kind, kind)}"
    if "deviation" in named:
        yield "standard deviations are read in no form"
    if set(named) - {"deviation"}:
        yield (
            "what these give away is in no result: say what they are of by --statistic "
            "(docs/statistics.md)"
        )
