"""Ask whether rows with the same labels below each of several others are kinds or places."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Final

from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.sources.formats.row_blocks import KIND, PLACE, blocks_of
from recon_cli.sources.formats.vocabulary import interval
from recon_cli.sources.read.row_labels import PART_OF, Path
from recon_cli.sources.read.words import Sense, says

#: Fewest blocks, and fewest rows in each below its first, where no label is repeated.
_FEWEST: Final = 2
#: Most rows of each sort that a question names.
_NAMED: Final = 3


def ask_above(rows: Sequence[Path], column: str, *, is_said: bool) -> OpenQuestion | None:
    """Ask whether rows with the same labels below each of several others are kinds or places.

    Args:
        rows: The words that name each row, outermost first.
        column: The header of the column with the last of these words.
        is_said: Whether the user says that this column has places.

    Example:
        >>> rows = [(place, sex) for place in ("Ash", "Elm") for sex in ("Women", "Men")]
        >>> print(ask_above(rows, "Area", is_said=False).text[:64])
        'Women', 'Men' stand below each of 'Ash', 'Elm': kinds of people
    """
    is_flat = len({*rows}) < len(rows)
    below = _below(_in_blocks(rows) if is_flat else rows)
    kinds = max(below.values(), key=len, default=[])
    # one kind below each of two may be two places of one name
    is_enough = (len(below) >= _FEWEST and len(kinds) >= _FEWEST) or (
        is_flat and len(below) > _FEWEST
    )
    if not is_enough or not _are_alike(kinds, [*below.values()]):
        return None
    are_kinds = any(map(_is_kind, kinds))
    if is_said and not (are_kinds or is_flat):
        return None
    shown, heads = _named(kinds), _named([path[-1] for path in below])
    of_place, of_kind = "kinds of people, of the place above them", "places; above, whom they count"
    each = {of_place: flag("above", PLACE), of_kind: flag("above", KIND)}
    parts = {} if is_flat else {"parts of the place": flag("place", column)}
    inner = [PART_OF.join((*path, kind)) for path, own in below.items() for kind in own]
    without = {f"without {shown}": flag("leave-out", *(kinds if is_flat else inner))}
    if any(_is_kind(path[-1]) for path in below):
        told, answers = "places, of kinds of people?", {of_kind: each[of_kind], **parts}
    elif are_kinds:
        told, answers = "kinds of people, and no places", {of_place: each[of_place], **without}
    elif is_flat:
        told, answers = "kinds of people there, or places?", each
    else:
        told, answers = "kinds of people there, or parts of the place?", {**each, **parts}
    text = f"{shown} {'stands' if len(kinds) == 1 else 'stand'} below each of {heads}: {told}"
    return OpenQuestion(text, answers, needs_answer=is_flat)


def _in_blocks(rows: Sequence[Path]) -> list[Path]:
    """Return rows of one label each with the label above their block."""
    labels = [path[-1] for path in rows]
    return [(labels[b.head], kind) for b in blocks_of(labels) for kind in labels[b.rows]]


def _below(rows: Sequence[Path]) -> dict[Path, list[str]]:
    found: dict[Path, list[str]] = {}
    for path in rows:
        if len(path) > 1:
            found.setdefault(path[:-1], []).append(path[-1])
    return found


def _are_alike(kinds: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Test whether blocks have their labels in one order, and each label is in most blocks."""
    often = Counter(itertools.chain(*below))
    is_ordered = all([kind for kind in kinds if kind in {*own}] == own for own in below)
    return is_ordered and all(2 * often[kind] > len(below) for kind in kinds)


def _is_kind(label: str) -> bool:
    return interval(label) is not None or says(label, Sense.MALE, Sense.FEMALE)


def _named(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:_NAMED])) + ", …" * (len(labels) > _NAMED)
