"""Names for a schema: features, values and levels, in Latin letters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recon_cli.schema.geography import RESERVED_COLUMNS
from recon_cli.sources.formats.vocabulary import interval, plain
from recon_cli.sources.read.words import Sense, either, in_latin, is_word


def slug(text: str) -> str:
    """Make a name for a schema, in Latin letters without accents.

    >>> slug("Nursing facilities/Skilled"), slug("Garçons"), slug("Κορίτσια")
    ('nursing_facilities_skilled', 'garcons', 'koritsia')
    """
    word = re.sub(r"[^a-z0-9]+", "_", in_latin(text)).strip("_")[:40].strip("_")
    return f"n_{word}" if word[:1].isdigit() else word


def usual_name(labels: Sequence[str]) -> str:
    """Return the feature that labels have by their words alone; empty if unknown.

    >>> usual_name(["Girls", "Boys"]), usual_name(["0-4", "5+"]), usual_name(["Muslim", "Hindu"])
    ('sex', 'age', '')
    >>> usual_name(["2016", "2017"])
    'year'
    """
    known = [plain(label) for label in labels]
    if known and all(re.fullmatch(rf"({either(Sense.GRADE)}) \d+", each) for each in known):
        return known[0].partition(" ")[0]
    if known and all(map(_sex, known)):
        return "sex"
    if known and all(re.fullmatch(r"(1[6-9]|20)\d\d", each) for each in known):
        return "year"
    return "age" if labels and all(map(interval, labels)) else ""


def canonical(label: str) -> str:
    """Return the standard form of a label, for comparison with other tables.

    >>> canonical("Boys") == canonical("male"), canonical(" Year  7")
    (True, 'year 7')
    """
    word = " ".join(plain(label).split())
    return _sex(word) or word


def _sex(label: str) -> str:
    """Return the sex that a label is a word for; empty for any other."""
    senses = [each for each in (Sense.MALE, Sense.FEMALE) if is_word(label, each)]
    return senses[0].value if len(senses) == 1 else ""


def levels_of(lengths: Sequence[int], said: Sequence[str], *, has_whole: bool) -> dict[int, str]:
    """Return the name of each level of drafted geoids by their length.

    Args:
        said: The names of the levels in the files, the largest first.
        has_whole: Whether the shortest geoid is that of all places together.
    """
    finest = sorted(set(lengths), reverse=True)
    names = [slug(each) for each in reversed(said)] or ["place"]
    names += ["area", *(f"area_{n}" for n in range(2, len(finest) + 1))]
    if has_whole:
        names[len(finest) - 1] = "region" if "region" not in names[: len(finest) - 1] else "whole"
    found: dict[int, str] = {}
    for length, name in zip(finest, names, strict=False):
        taken = {*found.values(), *RESERVED_COLUMNS}
        found[length] = name if name and name not in taken else f"level_{length}"
    return found
