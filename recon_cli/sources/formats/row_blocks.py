"""Sheets in which rows stand in blocks, each below a row that names their place, or kind."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.tabular.sheet import HEAD_ROWS, ROW, Sheet

#: Headers of the column that the rows of blocks get, by what the row above them names.
PLACE: Final = "place"
KIND: Final = "kind"
#: Labels for a row above a block that has numbers itself.
_EVERYBODY: Final = ("Total", "All", "Everybody")


@dataclass(frozen=True)
class Block:
    """Rows below one that names their place or kind, numbered from 0.

    Attributes:
        head: The row that names the block.
        stop: The row after the last one.
    """

    head: int
    stop: int

    @property
    def rows(self) -> slice:
        """The rows below the first."""
        return slice(self.head + 1, self.stop)


def blocks_of(labels: Sequence[str]) -> list[Block]:
    """Find blocks whose rows have the same labels in each block, if most rows are in blocks.

    Args:
        labels: The label of each row; empty without one.

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
    """Return the longest run of labels that each occur more than once, without repeats."""
    runs: list[list[str]] = [[]]
    for before, label in zip(("", *labels), labels, strict=False):
        if label and often[label] > 1 and label not in runs[-1]:
            runs[-1].append(label)
        elif before:
            runs.append([])
    return max(runs, key=len)


def with_column_above(sheet: Sheet, header: str) -> Sheet:
    """Add a last column to a sheet: the label of the row above each block of rows.

    Rows above blocks are left out if they have no numbers; others count everybody in the block.

    Args:
        sheet: The sheet as it stands.
        header: The header of that column: ``place``, or ``kind``.

    Raises:
        SourceError: The sheet has no such blocks, or rows between them.
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
