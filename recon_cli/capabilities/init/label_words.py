"""Words of the labels of lines: what several have in common, and what tells each apart."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from recon_cli.capabilities.init.names import usual_name
from recon_cli.capabilities.init.spans import do_overlap
from recon_cli.sources.formats.vocabulary import Interval, interval
from recon_cli.sources.read.row_labels import Path
from recon_cli.sources.read.words import Sense, says

_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{4}|(19|20)\d\d([-/]\d\d)?")
#: Greatest age.
_OLDEST: Final = 120
_SEPARATORS: Final = " -–—:,;/|\u00a0"


def are_apart(labels: Sequence[str]) -> bool:
    """Test whether labels exclude each other by their words alone.

    Ages that do not overlap do so, and dates, and the sexes.

    Example:
        >>> are_apart(["0-4", "5+"]), are_apart(["2022", "2023"]), are_apart(["Ill", "Poor"])
        (True, True, False)
    """
    if len(set(labels)) < len(labels):
        return False
    spans = [span for label in labels if (span := interval(label)) is not None]
    if len(spans) == len(labels) and do_overlap(spans):
        return False
    dates = [found[0] for label in labels if (found := _DATE.search(label))]
    return bool(usual_name(labels)) or len(set(dates)) == len(labels)


def ends_in_note(span: Interval) -> bool:
    """Test whether a number is too large for an age, so that its last digit is a footnote's."""
    return max(span[0], span[1] or 0) > _OLDEST


def crossing(paths: Sequence[Path], whole: Path) -> list[tuple[str, ...]] | None:
    """Split labels that are all combinations of the words of two groups or more.

    Returns:
        For each position in a label, the words of all labels; None unless all combinations occur.

    Example:
        >>> crossing([("Boys", "0-4"), ("Boys", "5+"), ("Girls", "0-4"), ("Girls", "5+")], ("All",))
        [('Boys', 'Boys', 'Girls', 'Girls'), ('0-4', '5+', '0-4', '5+')]
    """
    own = [tuple(word for word in path if word not in whole) for path in paths]
    if len({len(words) for words in own}) > 1 or len(own[0]) < 2 or len(set(own)) < len(own):
        return None
    groups = [tuple(words) for words in zip(*own, strict=True)]
    sizes = [len(set(words)) for words in groups]
    if min(sizes) < 2 or math.prod(sizes) != len(own):
        return None
    return groups


def shared(paths: Sequence[Path], whole: Path) -> tuple[str, list[str]]:
    """Return what labels have in common beside their whole, and the words that tell them apart.

    Args:
        whole: The label of the whole whose parts the labels are.

    Example:
        >>> shared([("Sex", "Girls"), ("Sex", "Boys")], ("All pupils",))
        ('Sex', ['Girls', 'Boys'])
        >>> shared([("Aged 16-24 - Males",), ("Aged 16-24 - Females",)], ("Aged 16-24 - Total",))
        ('', ['Males', 'Females'])
    """
    own = [[word for word in path if word not in whole] or list(path[-1:]) for path in paths]
    common: list[str] = []
    while all(len(words) > 1 for words in own) and len({words[0] for words in own}) == 1:
        common.append(own[0][0])
        own = [words[1:] for words in own]
    while all(len(words) > 1 for words in own) and len({words[-1] for words in own}) == 1:
        own = [words[:-1] for words in own]
    joined = [" ".join(words) for words in own]
    name = common[-1] if common else ""
    if len(whole) and len(joined) > 1:
        usual, short = usual_name(joined), without_ends(joined)
        # "Year 7" says what 7 is, and so does "Level 7".
        name = name or (usual if usual_name(short) != usual else "")
        if not name and not usual and all(label.isdigit() for label in short):
            name = joined[0].removesuffix(short[0]).strip(_SEPARATORS)
            name = "" if says(name, Sense.UNIT) else name
        joined = short
    if len(set(joined)) < len(joined):
        joined = [" ".join(path) for path in paths]
    if len(set(joined)) < len(joined):
        joined = [f"{label} {i}" for i, label in enumerate(joined, start=1)]
    return name, joined


def without_ends(labels: list[str]) -> list[str]:
    """Return labels without the words with which all of them begin, or end.

    Example:
        >>> without_ends(["Persons 0-9", "Persons 10+"])
        ['0-9', '10+']
    """
    words = [re.split(r"\s+", label) for label in labels]
    first = last = 0
    while all(len(own) > first + 1 for own in words) and len({own[first] for own in words}) == 1:
        first += 1
    kept = [own[first:] for own in words]
    while all(len(own) > last + 1 for own in kept) and len({own[-1 - last] for own in kept}) == 1:
        last += 1
    found = [" ".join(own[: len(own) - last]).strip(_SEPARATORS) for own in kept]
    return found if all(found) and len(set(found)) == len(labels) else labels
