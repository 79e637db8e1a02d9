"""Sums of columns with headers like those of shown sums, where few of their numbers are printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from recon_cli.capabilities.init.proposal.evidence import Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis, Kind, Relation
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.capabilities.init.proposal.slips import Slip, slip
from recon_cli.sources.read.row_labels import Path

#: Fewest shown sums after which an alike sum is accepted that no row shows or breaks.
_FEWEST_ALIKE = 2
#: A sum's shape: how far each part is from its total, and the words that tell them apart.
_Shape = tuple[tuple[int, frozenset[str]], ...]


def with_parallels(
    relations: Relations,
    headers: Mapping[int, Path],
    support: Callable[[int, tuple[int, ...]], Support],
) -> Relations:
    """Return relations with the sums of columns that read like sums that numbers show.

    Such a total is as far from its parts, and its header differs from theirs in the same words.
    No row breaks the sum; and two rows show it, or several shown sums read so (one is enough where
    headers cross). Remove as chance a sum that counts such a total beside its parts, and one of
    only some of its parts, where the others are zero.

    Args:
        headers: Column → its words.
        support: Returns how far the rows bear out a sum, from its total and parts.
    """
    found: list[Relation] = []
    told: set[tuple[int, tuple[int, ...]]] = set()
    for each, total, parts, often in _alike(relations, headers):
        own = support(total, parts)
        fewest = 1 if _are_crossed(total, parts, headers) else _FEWEST_ALIKE
        is_shown = not own.broken and (own.shown > 1 or often >= fewest)
        if (total, parts) not in told and is_shown:
            told.add((total, parts))
            own = replace(own, is_alike=not own.is_strong)
            found.append(replace(each, line=total, of=parts, support=own))
    parts_of = [(each.line, {*each.of}) for each in found]
    kept = [
        each
        for each in (*relations.found, *found)
        if not (each.is_sum and each.axis is Axis.COLUMNS)
        or not any(
            (line in each.of and parts & {*each.of}) or (line == each.line and {*each.of} < parts)
            for line, parts in parts_of
        )
    ]
    return _with(relations, kept)


def slipped_parallels(
    relations: Relations, headers: Mapping[int, Path], block: Intervals
) -> list[Slip]:
    """Return sums of columns that read like shown sums, and that a few rows break.

    Args:
        headers: Column → its words.
        block: The numbers, lines by number of their column.
    """
    found = {own[1:3]: slip(block, *own[1:3]) for own in _alike(relations, headers)}
    return [each for each in found.values() if each is not None]


def _alike(
    relations: Relations, headers: Mapping[int, Path]
) -> Iterator[tuple[Relation, int, tuple[int, ...], int]]:
    """Yield sums of columns that read like shown sums, and are not shown themselves.

    Yields:
        The shown sum; the total and its parts; and how many shown sums read so.
    """
    told = {(each.line, each.of) for each in relations.found}
    strong = [each for each in relations.sums(Axis.COLUMNS) if each.support.is_strong]
    shapes = Counter(_shape(each.line, each.of, headers) for each in strong)
    columns = {at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC}
    for each in strong:
        shape = _shape(each.line, each.of, headers)
        for total in sorted(columns):
            parts = tuple(at + total - each.line for at in each.of)
            is_new = (total, parts) not in told and {*parts} <= columns
            if is_new and _shape(total, parts, headers) == shape:
                yield each, total, parts, shapes[shape]


def with_nobody(relations: Relations, headers: Mapping[int, Path], block: Intervals) -> Relations:
    """Return relations in which columns of zeros are parts of the sums beside which they stand.

    Zeros are in no sum that numbers show. So the header of such a column has to be under the same
    words as the part beside it, or none of its numbers withheld. Skip sums of every k-th column.

    Args:
        headers: Column → its words.
        block: The numbers, lines by number of their column.
    """
    alone = {at for at, kind in relations.columns.items() if kind is Kind.UNRELATED}
    nobody = {at for at in alone if _is_nobody(block, at)}

    def belongs(at: int, beside: int) -> bool:
        if at not in nobody:
            return False
        is_under = len(headers[at]) > 1 and headers[at][:-1] == headers[beside][:-1]
        is_told = bool(block.known[at][block.present[at]].all())
        return is_under or is_told

    found: list[Relation] = []
    for each in relations.found:
        parts = list(each.of)
        are_together = parts == list(range(parts[0], parts[-1] + 1))
        if each.is_sum and each.axis is Axis.COLUMNS and are_together:
            while belongs(parts[0] - 1, parts[0]):
                parts.insert(0, parts[0] - 1)
            while belongs(parts[-1] + 1, parts[-1]):
                parts.append(parts[-1] + 1)
        found.append(replace(each, of=tuple(parts)))
    return _with(relations, found)


def _is_nobody(block: Intervals, at: int) -> bool:
    return bool(block.known[at].any()) and not block.low[at].any()


def _with(relations: Relations, found: list[Relation]) -> Relations:
    """Return relations with other sums, whose unrelated columns become counts."""
    related = {
        at
        for each in found
        if each.is_sum and each.axis is Axis.COLUMNS
        for at in (each.line, *each.of)
    }
    kinds = {
        at: Kind.COUNT if kind is Kind.UNRELATED and at in related else kind
        for at, kind in relations.columns.items()
    }
    return replace(relations, found=tuple(found), columns=kinds)


def _shape(total: int, parts: tuple[int, ...], headers: Mapping[int, Path]) -> _Shape:
    whole = headers[total]
    return tuple((at - total, _words_apart(headers[at], whole)) for at in parts)


def _are_crossed(total: int, parts: tuple[int, ...], headers: Mapping[int, Path]) -> bool:
    """Test whether a total differs from its parts in only one of several rows of headers."""
    whole = headers[total]
    if len(whole) < 2 or any(len(headers[at]) != len(whole) for at in parts):
        return False
    rows = {i for at in parts for i, word in enumerate(headers[at]) if word != whole[i]}
    return len(rows) == 1


def _words_apart(path: Path, whole: Path) -> frozenset[str]:
    """Return the words of a header that another lacks, row by row of the headers.

    Example:
        >>> _words_apart(("Other outcome", "Other"), ("Other outcome", "All"))
        frozenset({'other'})
    """
    if len(path) != len(whole):
        return _words(path) - _words(whole)
    rows = zip(path, whole, strict=True)
    return frozenset[str]().union(*(_words((one,)) - _words((other,)) for one, other in rows))


def _words(path: Path) -> frozenset[str]:
    return frozenset(word for words in path for word in words.casefold().split())
