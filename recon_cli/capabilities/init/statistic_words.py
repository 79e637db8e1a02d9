"""Columns of means, medians and the like that a draft does not use, told by their headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from pydantic import TypeAdapter

from recon_cli.coverage import LeftOut
from recon_cli.sources.formats.vocabulary import in_latin
from recon_cli.sources.read.words import Entry
from recon_cli.strict_yaml import parse_yaml

#: What a header may name.
Kind = Literal["mean", "median", "minimum", "maximum", "quantile", "deviation"]

_ENTRIES: Final = TypeAdapter(dict[Kind, tuple[Entry, ...]])
#: In messages; others are called as they are.
_CALLED: Final = {"deviation": "standard deviation"}
#: Columns that are named of each kind.
_NAMED: Final = 3


@cache
def _patterns() -> Mapping[Kind, re.Pattern[str]]:
    text = files("recon_cli.capabilities.init").joinpath("statistics.yaml").read_text("utf-8")
    entries = _ENTRIES.validate_python(parse_yaml(text, source="statistics.yaml").data)
    return {
        kind: re.compile(
            r"(?<![^\W_])(?:"
            + "|".join(re.escape(in_latin(each.word)) for each in words)
            + r")(?![^\W_])"
        )
        for kind, words in entries.items()
    }


def statistic_named(header: str) -> Kind | None:
    """Return the statistic of values that a header names; None where it names none, or several.

    >>> statistic_named("All ages: Median age"), statistic_named("Durchschnittsalter")
    ('median', 'mean')
    >>> statistic_named("Meaning"), statistic_named("Mean and median"), statistic_named("Rate")
    (None, None, None)
    """
    plain = in_latin(header).replace("_", " ")
    found = [kind for kind, pattern in _patterns().items() if pattern.search(plain)]
    return found[0] if len(found) == 1 else None


def told_statistics(left_out: Iterable[LeftOut]) -> Iterator[str]:
    """Say which unused columns seem to be statistics of values, and how they can be used.

    >>> list(told_statistics([LeftOut("ages.csv", "Pupils", 3)]))
    []
    >>> next(told_statistics([LeftOut("ages.csv", "Mean age", 3)]))
    "'Mean age' of ages.csv seems to be a mean"
    """
    named: dict[Kind, list[str]] = {}
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
            "statistics of a sheet are not used, and what they give away is in no result: recon "
            "audit joins those of a tidy file (docs/statistics.md)"
        )
