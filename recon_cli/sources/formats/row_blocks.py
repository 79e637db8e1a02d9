"""Sheets in which rows stand in blocks, each below a row that names their place, or kind."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.formats.vocabulary import interval
from recon_cli.sources.read.choices import Question, flag
from recon_cli.sources.read.row_labels import PART_OF, Path
from recon_cli.sources.read.words import Sense, says
from recon_cli.sources.tabular.sheet import HEAD_ROWS, ROW, Sheet

#: The header of the column that the rows of blocks get: what the row above them names.
PLACE: Final = "place"
KIND: Final = "kind"
#: What the row above a block counts, where it has numbers.
_EVERYBODY: Final = ("Total", "All", "Everybody")
#: Blocks, and rows that each has below its first, where no row is called as another.
_FEWEST: Final = 2
#: Rows of each sort that a question names.
_NAMED: Final = 3


@dataclass(frozen=True)
class Block:
    """Rows below one that names their place or kind, numbered from 0.

    Attributes:
        head: The row that names it.
        stop: The row behind the last one.
    """

    head: int
    stop: int

    @property
    def rows(self) -> slice:
        """The rows below the first."""
        return slice(self.head + 1, self.stop)


def blocks_of(labels: Sequence[str]) -> list[Block]:
    """Find the blocks among rows that are called alike in each of them, if most rows are in one.

    Args:
        labels: What each row is called; empty where it is by nothing.

    Example:
        >>> blocks_of(["Ashby", "Boys", "Girls", "Birch", "Boys", "Girls", "Source: schools"])
        [Block(head=0, stop=3), Block(head=3, stop=6)]
    """
    often = Counter(labels)
    kinds = _kinds(labels, often)
    found: list[Block] = []
    at = 0
    while kinds and at < len(labels):
        stop, last = at + 1, -1
        while stop < len(labels) and labels[stop] in kinds[last + 1 :]:
            last = kinds.index(labels[stop])
            stop += 1
        is_head = labels[at] and (often[labels[at]] == 1 or stop - at - 1 == len(kinds))
        if stop > at + 1 and is_head:
            found.append(Block(at, stop))
            at = stop
        else:
            at += 1
    between = itertools.pairwise(found)
    is_whole = not any({*labels[a.stop : b.head]} & {*kinds} for a, b in between)
    within = sum(block.stop - block.head for block in found)
    is_most = 2 * within > sum(map(bool, labels))
    return found if len(found) > 1 and is_whole and is_most else []


def _kinds(labels: Sequence[str], often: Counter[str]) -> list[str]:
    """Return the labels of the longest run between two that are there once."""
    runs: list[list[str]] = [[]]
    for before, label in zip(("", *labels), labels, strict=False):
        if label and often[label] > 1 and label not in runs[-1]:
            runs[-1].append(label)
        elif before:
            runs.append([])
    return max(runs, key=len)


def ask_above(rows: Sequence[Path], column: str, *, is_said: bool) -> Question | None:
    """Ask what rows are that are called alike below each of several others.

    Args:
        rows: The words that name each row, outermost first.
        column: The header of the column with the last of these.
        is_said: Whether somebody says that this column has places.

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
    return Question(text, answers, needs_answer=is_flat)


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
    """Test whether rows below others have the same labels in one order, and most of them each."""
    often = Counter(itertools.chain(*below))
    is_ordered = all([kind for kind in kinds if kind in {*own}] == own for own in below)
    return is_ordered and all(2 * often[kind] > len(below) for kind in kinds)


def _is_kind(label: str) -> bool:
    return interval(label) is not None or says(label, Sense.MALE, Sense.FEMALE)


def _named(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:_NAMED])) + ", …" * (len(labels) > _NAMED)


def with_column_above(sheet: Sheet, header: str) -> Sheet:
    """Return a sheet with a last column of what the row above each block of rows says.

    These rows are left out where they have no numbers; others count everybody there.

    Args:
        sheet: The sheet as it stands.
        header: The header of that column: ``place``, or ``kind``.

    Raises:
        SourceError: It has no such blocks, or rows between them.
    """
    rows = pl.concat(list(sheet.batches()))
    columns = [str(at) for at in range(sheet.width)]
    for column in columns:
        labels = [text.strip() for text in rows[column].fill_null("").to_list()]
        if blocks := blocks_of(labels):
            break
    else:
        raise SourceError(
            f"{sheet.label}: expected rows that are called alike below each of several others, "
            "found none; leave out `mapping.above` (`recon init` without --above)"
        )
    between = {*range(blocks[0].head, blocks[-1].stop)}
    between -= {row for block in blocks for row in range(block.head, block.stop)}
    if between:
        raise SourceError(
            f"{sheet.where(int(rows[ROW][min(between)]))}: {labels[min(between)]!r} stands between "
            "the blocks and is in none; put what stands above them into a column of its own"
        )
    inner = {label for block in blocks for label in labels[block.rows]}
    everybody = next((word for word in _EVERYBODY if word not in inner), "Total of all")
    places: list[str | None] = [None] * rows.height
    if blocks[0].head:
        places[blocks[0].head - 1] = header
    for block in blocks:
        places[block.head : block.stop] = [labels[block.head]] * (block.stop - block.head)
        labels[block.head] = everybody
    cells = rows.select(pl.any_horizontal(pl.col(columns).exclude(column).is_not_null()))
    heads = [block.head for block in blocks]
    is_head = pl.Series(range(rows.height)).is_in(heads)
    kept = rows.with_columns(
        pl.when(is_head).then(pl.lit(everybody)).otherwise(pl.col(column)).alias(column),
        pl.Series(str(sheet.width), places, dtype=pl.String),
    ).filter(~is_head | cells.to_series())
    head = tuple(
        tuple((text or "").strip() for text in row)
        for row in kept.head(HEAD_ROWS).drop(ROW).iter_rows()
    )
    numbers = {int(rows[ROW][row]) - 1 for row in heads}
    merges = tuple(each for each in sheet.merges if each[0] not in numbers)
    return replace(
        sheet, head=head, width=sheet.width + 1, batches=lambda: iter([kept]), merges=merges
    )
