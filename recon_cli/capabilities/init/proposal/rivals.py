"""Choose among sums of rounded numbers, and name those that fit about as well as rivals.

Rounding lets a line be the sum of several sets of others. Sets that share a part exclude each
other: for each total the sums that are likeliest together are chosen, and those that numbers hardly
tell from them become their rivals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from recon_cli.capabilities.init.proposal.evidence import Sum, Support

#: Most bits between two sums that numbers hardly tell apart.
_NEAR_BITS: Final = 7.0
#: Most sums for one total that are compared, the likeliest first.
_MOST_SUMS: Final = 14

#: Returns the support of a total and its parts.
Measure = Callable[[int, tuple[int, ...]], Support]


def with_rivals(found: Sequence[Sum], measure: Measure, lines: int) -> list[Sum]:
    """Return the sums chosen for each total, with rivals that fit about as well.

    Among a sum and its rivals, the one that leaves the fewest lines beside it in no sum is chosen.

    Args:
        found: Sums of rounded numbers, in any number for one total.
        measure: Returns the support of any other sum.
        lines: How many lines there are.
    """
    by_total: dict[int, dict[tuple[int, ...], Sum]] = {}
    for each in found:
        own = by_total.setdefault(each.total, {})
        for other in (each, *_variants(each, measure, lines)):
            before = own.get(other.parts)
            if before is None or other.support.tried < before.support.tried:
                own[other.parts] = other
    best = {total: max(own.values(), key=_margin) for total, own in by_total.items()}
    ranked = {
        total: sorted(own.values(), key=lambda s: (-_margin(s), s.parts))[:_MOST_SUMS]
        for total, own in by_total.items()
    }
    chosen = {total: _likeliest(sums) for total, sums in ranked.items()}
    kept: list[Sum] = []
    for total, sums in chosen.items():
        least = sum(map(_margin, sums)) - _NEAR_BITS
        for each in sums:
            near = [
                other
                for other in ranked[total]
                if _excludes(each, other)
                and _leaves(other.parts, best) != _leaves(each.parts, best)
                and _with(other, ranked[total]) > least
            ]
            others = {at for own in chosen.values() for s in own if s is not each for at in s.parts}
            free = {*range(lines)} - others - {*chosen}
            left = [_left_beside(s, free) for s in [each, *near]]
            read = [each, *near][left.index(min(left))]
            rivals = tuple(s.parts for s in [each, *near] if s is not read)
            is_complete = min(left) == 0 and left.count(0) == 1
            kept.append(replace(read, rivals=rivals, is_complete=is_complete))
    return kept


def _left_beside(each: Sum, free: Set[int]) -> int:
    """Count the lines between and next to the parts of a sum that are in no sum."""
    return len(({*range(each.parts[0] - 1, each.parts[-1] + 2)} & free) - {*each.parts})


def _margin(each: Sum) -> float:
    return each.support.margin


def _excludes(one: Sum, other: Sum) -> bool:
    """Test whether two sums share a part, and are not the same."""
    return one.parts != other.parts and not {*one.parts}.isdisjoint(other.parts)


def _variants(each: Sum, measure: Measure, lines: int) -> Iterator[Sum]:
    """Yield sums with one part less, or with a neighbouring line more, that numbers support."""
    if not each.step:
        return
    first, last = each.parts[0] - each.step, each.parts[-1] + each.step
    more = [(*each.parts, last)] if last < lines and last != each.total else []
    if first >= 0 and first != each.total:
        more.append((first, *each.parts))
    less = [each.parts[:i] + each.parts[i + 1 :] for i in range(len(each.parts))]
    for parts in (*more, *(own for own in less if len(own) > 1)):
        is_inner = parts[0] == each.parts[0] and parts[-1] == each.parts[-1]
        support = measure(each.total, parts)
        support = replace(support, tried=each.support.tried + is_inner * math.log2(len(each.parts)))
        if support.is_told:
            yield replace(each, parts=parts, step=0 if is_inner else each.step, support=support)


def _likeliest(sums: Sequence[Sum]) -> list[Sum]:
    """Return the sums without common parts that are likeliest together."""
    if not sums:
        return []
    first, *rest = sums
    without = _likeliest(rest)
    own = [first, *_likeliest([other for other in rest if not _excludes(first, other)])]
    return own if sum(map(_margin, own)) >= sum(map(_margin, without)) else without


def _with(each: Sum, sums: Sequence[Sum]) -> float:
    """Return the margin of the likeliest sums without common parts that include a given one."""
    others = [o for o in sums if o.parts != each.parts and not _excludes(each, o)]
    return _margin(each) + sum(map(_margin, _likeliest(others)))


def _leaves(parts: Sequence[int], sums: Mapping[int, Sum]) -> frozenset[int]:
    """Return the lines that remain when each line that is a sum is replaced by its parts."""
    found: set[int] = set()
    left, seen = [*parts], set(parts)
    while left:
        line = left.pop()
        inner = [part for part in sums[line].parts if part not in seen] if line in sums else []
        if line in sums and len(inner) == len(sums[line].parts):
            left += inner
            seen |= {*inner}
        else:
            found.add(line)
    return frozenset(found)
