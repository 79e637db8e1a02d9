"""Find which place is part of which, by sums and by the words beside the rows of a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.capabilities.init.proposal.evidence import CERTAIN_BITS
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.sources.read.row_labels import is_called_total

#: Words that name a place, outermost first; empty for all places together.
Path = tuple[str, ...]


@dataclass(frozen=True)
class PlaceSum:
    """A place to whose counts those of other places add up; places are given by position."""

    total: int
    parts: tuple[int, ...]

    def is_rival_of(self, other: PlaceSum) -> bool:
        """Test whether another sum is of the same place, or of some of the same parts."""
        return self.total == other.total or not {*self.parts}.isdisjoint(other.parts)


def parents_of(
    paths: Sequence[Path], sums: Sequence[PlaceSum], numbers: Intervals, base: int
) -> dict[int, int]:
    """Map each place to the one that it is part of.

    Exact numbers come before words, and words before numbers that are rounded.
    """
    above: dict[int, int] = {}
    groups: dict[Path, list[int]] = {}
    for i, path in enumerate(paths):
        groups.setdefault(path[:-1], []).append(i)
    inner = {outer: members for outer, members in groups.items() if outer}
    if base == 1:
        _by_sums(above, sums)
        _by_words(above, inner, paths, numbers, base)
    else:
        _by_words(above, inner, paths, numbers, base)
        _by_sums(above, [each for each in sums if not {*each.parts} & {*above}])
    _by_names(above, paths, numbers, base)
    _by_words(above, {(): [i for i in groups.get((), []) if i not in above]}, paths, numbers, base)
    tops = [i for i in range(len(paths)) if i not in above]
    whole = _sum_of_others(tops, paths, numbers, base)
    for i in tops if whole is not None else ():
        if i != whole and whole is not None:
            above[i] = whole
    return above


def _by_sums(above: dict[int, int], sums: Sequence[PlaceSum]) -> None:
    """Put each place under the smallest of the places whose sums it is in."""
    wholes: dict[int, dict[int, int]] = {}
    for each in sums:
        for part in each.parts:
            if part != each.total:
                sizes = wholes.setdefault(part, {})
                sizes[each.total] = min(len(each.parts), sizes.get(each.total, len(each.parts)))
    for part, sizes in wholes.items():
        # A whole is the smaller, the more of the other wholes it is itself in.
        ranked = sorted(
            sizes, key=lambda whole: (-len(_within(whole, wholes) & {*sizes}), sizes[whole])
        )
        whole = next((each for each in ranked if not is_below(each, part, above)), None)
        if part not in above and whole is not None:
            above[part] = whole


def _within(place: int, wholes: Mapping[int, Mapping[int, int]]) -> set[int]:
    """Return all places whose sums a place is in, directly or not."""
    found: set[int] = set()
    waiting = [place]
    while waiting:
        for whole in wholes.get(waiting.pop(), {}):
            if whole not in found:
                found.add(whole)
                waiting.append(whole)
    return found


def _by_words(
    above: dict[int, int],
    groups: Mapping[Path, Sequence[int]],
    paths: Sequence[Path],
    numbers: Intervals,
    base: int,
) -> None:
    by_path = {path: i for i, path in enumerate(paths)}
    for outer, members in groups.items():
        own, parts = by_path.get(outer) if outer else None, members
        if own is None:
            for at, i in enumerate(members):
                is_whole, is_twice = is_called_total(paths[i]), paths[i][-2:-1] == paths[i][-1:]
                if not (is_whole or is_twice):
                    continue
                others = [each for each in members if each != i]
                if is_whole and not _may_be(numbers, i, others) and outer:
                    # Behind the total of the last group stands that of all groups.
                    others = list(members[:at])
                elif is_whole and not outer and not fits(numbers, i, others, base):
                    # What stands behind the total may be beside all: a percentage, another year.
                    above_it = list(members[:at])
                    is_of_these = len(above_it) > 1 and fits(numbers, i, above_it, base)
                    others = above_it if is_of_these else others
                is_named = is_whole and _may_be(numbers, i, others)
                if is_named or (is_twice and fits(numbers, i, others, base)):
                    own, parts = i, others
                    break
        for i in parts:
            if own is not None and i != own and i not in above and not is_below(own, i, above):
                above[i] = own


def _by_names(above: dict[int, int], paths: Sequence[Path], numbers: Intervals, base: int) -> None:
    """Put a place under the row before it that has its first word and its numbers.

    A region with one part stands so: *Auckland Region*, and below it *Auckland*.
    """
    inner = {*above.values()}
    for before, i in itertools.pairwise(range(len(paths))):
        names = paths[before], paths[i]
        if before in inner or {before, i} & {*above} or not all(len(own) == 1 for own in names):
            continue
        first, second = (own[0].casefold().split()[:1] for own in names)
        told = numbers.known[before] & numbers.known[i]
        is_told = told.sum() > 1 and bool(numbers.low[i][told].any())
        if first == second and is_told and fits(numbers, before, [i], base):
            above[i] = before


def _sum_of_others(
    tops: Sequence[int], paths: Sequence[Path], numbers: Intervals, base: int
) -> int | None:
    """Return the place whose counts are those of all others together, as far as rounding allows.

    Small rounded counts fit easily, so that their agreement has to be unlikely by chance.
    """
    if len(tops) < 3 or not numbers.low.shape[1]:
        return None
    at = list(tops)
    low = numbers.low[at]
    whole = int(low.sum(axis=1).argmax())
    slack = (base - 1) * len(at)
    told = numbers.known[at].all(axis=0) & (low[whole] > slack)
    rest = [place for place in at if place != at[whole]]
    bits = float(np.log2((1 + low[whole][told]) / (1 + 2 * slack)).clip(0).sum())
    if base > 1 and bits < CERTAIN_BITS and not is_called_total(paths[at[whole]]):
        return None
    return at[whole] if told.sum() > 1 and fits(numbers, at[whole], rest, base) else None


def fits(numbers: Intervals, whole: int, parts: Sequence[int], base: int) -> bool:
    """Test whether counts can be the sums of others, within what rounding allows."""
    slack = (base - 1) * (len(parts) + 1)
    low, high = numbers.low[list(parts)].sum(axis=0), numbers.high[list(parts)].sum(axis=0)
    are_within = (low <= numbers.high[whole] + slack) & (high >= numbers.low[whole] - slack)
    return bool(parts) and bool(are_within.all())


def is_below(one: int, other: int, above: Mapping[int, int]) -> bool:
    """Test whether a place is within another, so that it cannot be its parent."""
    seen = set[int]()
    while one in above and one not in seen:
        seen.add(one)
        one = above[one]
        if one == other:
            return True
    return False


def _may_be(numbers: Intervals, whole: int, parts: Sequence[int]) -> bool:
    """Test whether places may be parts of another: none of its counts is below theirs."""
    if not parts:
        return False
    return bool((numbers.low[list(parts)].max(axis=0) <= numbers.high[whole] + 0.5).all())
