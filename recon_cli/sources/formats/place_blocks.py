"""Sheets in which rows stand in blocks, each below a row that names the place they are about."""

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
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.words import Sense, says
from recon_cli.sources.tabular.sheet import HEAD_ROWS, ROW, Sheet

#: The header of the column of places that the rows of blocks get.
PLACE: Final = "place"
#: What the row that names a place counts, where it has numbers.
_EVERYBODY: Final = ("Total", "All", "Everybody")
#: Rows of a block at least, beside the one that names its place.
_FEWEST: Final = 2
#: Kinds, and places, that a question names.
_NAMED: Final = 3


@dataclass(frozen=True)
class Block:
    """Rows below one that names their place, numbered from 0.

    Attributes:
        head: The row that names the place.
        stop: The row behind the last one.
    """

    head: int
    stop: int


def blocks_of(labels: Sequence[str]) -> list[Block]:
    """Find the blocks among rows that are called alike in each of them.

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
    return found if len(found) > 1 and is_whole else []


def _kinds(labels: Sequence[str], often: Counter[str]) -> list[str]:
    """Return the labels of the longest run between two that are there once."""
    runs: list[list[str]] = [[]]
    for before, label in zip(("", *labels), labels, strict=False):
        if label and often[label] > 1 and label not in runs[-1]:
            runs[-1].append(label)
        elif before:
            runs.append([])
    longest = max(runs, key=len)
    return longest if len(longest) >= _FEWEST else []


def ask_place_above(
    rows: Sequence[tuple[str, ...]], column: str, *, is_said: bool
) -> Question | None:
    """Ask what rows are that are called alike below each of several others.

    Args:
        rows: The words that name each row, outermost first.
        column: The header of the column with the last of these.
        is_said: Whether somebody says that this column has places.

    Example:
        >>> rows = [(place, sex) for place in ("Ash", "Elm") for sex in ("Women", "Men")]
        >>> print(ask_place_above(rows, "Area", is_said=False).text[:64])
        'Women', 'Men' stand below each of 'Ash', 'Elm': kinds of people
    """
    below: dict[tuple[str, ...], list[str]] = {}
    for path in rows:
        if len(path) > 1:
            below.setdefault(path[:-1], []).append(path[-1])
    kinds = max(below.values(), key=len, default=[])
    often = Counter(itertools.chain(*below.values()))
    is_alike = all([k for k in kinds if k in {*own}] == own for own in below.values())
    is_alike = is_alike and all(2 * often[kind] > len(below) for kind in kinds)
    is_kind = any(interval(k) is not None or says(k, Sense.MALE, Sense.FEMALE) for k in kinds)
    if len(below) < _FEWEST or len(kinds) < _FEWEST or not is_alike or (is_said and not is_kind):
        return None
    shown = ", ".join(map(repr, kinds[:_NAMED])) + ", …" * (len(kinds) > _NAMED)
    places = ", ".join(repr(path[-1]) for path in list(below)[:_NAMED])
    places += ", …" * (len(below) > _NAMED)
    answers = {"kinds of people, of the place above them": "--place-above"}
    if is_kind:
        told = "kinds of people, and no places"
        inner = (PART_OF.join(path) for path in rows if len(path) > 1)
        answers[f"without {shown}"] = flag("leave-out", *inner)
    else:
        told = "kinds of people there, or parts of the place?"
        answers["parts of the place"] = flag("place", column)
    return Question(f"{shown} stand below each of {places}: {told}", answers)


def with_place_column(sheet: Sheet) -> Sheet:
    """Return a sheet with a last column of the place that each row of its blocks is about.

    Rows that name places and have no numbers are left out; others count everybody there.

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
            f"{sheet.label}: expected rows that are called alike below each place, found none; "
            "leave out `mapping.place_above` (`recon init` without --place-above)"
        )
    between = {*range(blocks[0].head, blocks[-1].stop)}
    between -= {row for block in blocks for row in range(block.head, block.stop)}
    if between:
        raise SourceError(
            f"{sheet.where(int(rows[ROW][min(between)]))}: {labels[min(between)]!r} stands between "
            "the blocks of places and is in none; put the places into a column of their own"
        )
    inner = {label for block in blocks for label in labels[block.head + 1 : block.stop]}
    everybody = next((word for word in _EVERYBODY if word not in inner), "Total of all")
    places: list[str | None] = [None] * rows.height
    if blocks[0].head:
        places[blocks[0].head - 1] = PLACE
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
