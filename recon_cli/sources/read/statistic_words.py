"""Words of headers that name a statistic of values; they propose, and decide nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from pydantic import TypeAdapter

from recon_cli.sources.read.words import Entry, Sense, in_latin, says
from recon_cli.strict_yaml import parse_yaml

#: What a header may name.
StatisticWord = Literal["mean", "median", "minimum", "maximum", "mode", "quantile", "deviation"]

_ENTRIES: Final = TypeAdapter(dict[StatisticWord, tuple[Entry, ...]])
#: Which quartile a header names.
_QUARTILES: Final = {
    "1/4": re.compile(r"\b(?:lower|first|1st|1|unteres?|erstes|premier|1er) quartile?\b"),
    "3/4": re.compile(r"\b(?:upper|third|3rd|3|oberes?|drittes|troisieme|3e) quartile?\b"),
}
_ORDINAL: Final = re.compile(r"\b(\d{1,2})\.?(?:st|nd|rd|th|er|e|eme)? (percentile|decile)\b")
#: Words that join others.
_JOINING: Final = frozenset(("of", "in", "the", "at", "for", "des", "der", "von", "de", "la", "du"))


@cache
def _patterns() -> Mapping[StatisticWord, re.Pattern[str]]:
    text = files("recon_cli.sources.read").joinpath("statistics.yaml").read_text("utf-8")
    entries = _ENTRIES.validate_python(parse_yaml(text, source="statistics.yaml").data)
    return {
        kind: re.compile(
            r"(?<![^\W_])(?:"
            + "|".join(re.escape(in_latin(each.word)) for each in words)
            + r")(?![^\W_])"
        )
        for kind, words in entries.items()
    }


def statistic_named(header: str) -> StatisticWord | None:
    """Return the statistic of values that a header names; None where it names none, or several.

    >>> statistic_named("All ages: Median age"), statistic_named("Durchschnittsalter")
    ('median', 'mean')
    >>> statistic_named("Meaning"), statistic_named("Mean and median"), statistic_named("Rate")
    (None, None, None)
    """
    plain = in_latin(header).replace("_", " ")
    found = [kind for kind, pattern in _patterns().items() if pattern.search(plain)]
    return found[0] if len(found) == 1 else None


def order_named(header: str) -> str:
    """Return the share of people below the quantile that a header names; empty if it does not say.

    >>> order_named("Lower quartile age"), order_named("90th percentile"), order_named("Quartile")
    ('1/4', '90/100', '')
    """
    plain = in_latin(header).replace("_", " ")
    for order, pattern in _QUARTILES.items():
        if pattern.search(plain):
            return order
    found = _ORDINAL.search(plain)
    return f"{found[1]}/{100 if found[2] == 'percentile' else 10}" if found else ""


def words_beside(header: str) -> tuple[str, ...]:
    """Return the words of a header that name neither a statistic nor a unit, nor join others.

    >>> words_beside("Median age at diagnosis"), words_beside("All ages: Number")
    (('age', 'diagnosis'), ('all', 'ages'))
    """
    plain = in_latin(header).replace("_", " ")
    for pattern in _patterns().values():
        plain = pattern.sub(" ", plain)
    return tuple(
        word
        for word in re.findall(r"[^\W_]+", plain)
        if word not in _JOINING and not says(word, Sense.UNIT)
    )
