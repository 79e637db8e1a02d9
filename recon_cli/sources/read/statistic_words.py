"""Words of headers that name a statistic of values; they propose, and decide nothing."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

from recon_cli.sources.read.words import (
    Sense,
    either,
    found_in,
    in_latin,
    is_word,
    meanings,
    pattern_of,
    says,
)

#: What a header may name.
StatisticWord = Literal["mean", "median", "minimum", "maximum", "mode", "quantile", "deviation"]

_STATISTICS: Final = {word: Sense(word) for word in get_args(StatisticWord)}


def statistic_named(header: str) -> StatisticWord | None:
    """Return the statistic of values that a header names; None where it names none, or several.

    >>> statistic_named("All ages: Median age"), statistic_named("Durchschnittsalter")
    ('median', 'mean')
    >>> statistic_named("Meaning"), statistic_named("Mean and median"), statistic_named("Rate")
    (None, None, None)
    """
    found = [kind for kind, sense in _STATISTICS.items() if says(header, sense)]
    return found[0] if len(found) == 1 else None


def order_named(header: str) -> str:
    """Return the share of people below the quantile that a header names; empty if it does not say.

    >>> order_named("Lower quartile age"), order_named("90th percentile"), order_named("Quartile")
    ('1/4', '90/100', '')
    """
    if named := found_in(header, Sense.ORDER):
        return meanings(Sense.ORDER)[named[0]]
    ordinal = rf"\b(\d{{1,2}})\.?(?:{either(Sense.ORDINAL)})? ({either(Sense.QUANTILE)})\b"
    found = re.search(ordinal, in_latin(header).replace("_", " "))
    parts = meanings(Sense.QUANTILE)[found[2]] if found else ""
    return f"{found[1]}/{parts}" if found and parts and int(found[1]) < int(parts) else ""


def words_beside(header: str) -> tuple[str, ...]:
    """Return the words of a header that name neither a statistic nor a unit, nor join others.

    >>> words_beside("Median age at diagnosis"), words_beside("All ages: Number")
    (('age', 'diagnosis'), ('all', 'ages'))
    """
    plain = pattern_of(*_STATISTICS.values()).sub(" ", in_latin(header).replace("_", " "))
    return tuple(
        word
        for word in re.findall(r"[^\W_]+", plain)
        if not (is_word(word, Sense.JOINING) or says(word, Sense.UNIT))
    )
