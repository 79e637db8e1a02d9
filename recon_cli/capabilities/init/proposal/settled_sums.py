"""Choice among sums that were found: one of each, and none that others imply or outweigh."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recon_cli.capabilities.init.proposal.evidence import Sum, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.rivals import with_rivals


def settled(
    found: Sequence[Sum], block: Intervals, measure: Callable[[int, tuple[int, ...]], Support]
) -> list[Sum]:
    """Return each sum once, without those that follow from others.

    Of exact sums for one total that share a part one stays; rounded ones keep the others as rivals.
    """
    unique: dict[tuple[int, tuple[int, ...]], Sum] = {}
    for each in found:
        key = each.total, each.parts
        if key not in unique or each.support.tried < unique[key].support.tried:
            unique[key] = each
    by_total: dict[int, list[Sum]] = {}
    for each in unique.values():
        by_total.setdefault(each.total, []).append(each)
    kept: list[Sum] = []
    for sums in by_total.values():
        if sums[0].is_rounded:
            continue
        # Of overlapping runs the shorter follows from no other, unless far less shows it.
        ranked = sorted(
            (each for each in sums if not _is_outweighed(each, sums)),
            key=lambda s: (len(s.parts), -s.support.bits, s.parts),
        )
        chosen: list[Sum] = []
        for each in ranked:
            own = set(each.parts)
            if any(own & set(other.parts) for other in chosen):
                continue
            if not _is_one_line_alone(each, block):
                chosen.append(each)
        kept += sorted(chosen, key=lambda s: s.parts)
    rounded = [e for e in unique.values() if e.is_rounded and not _is_one_line_alone(e, block)]
    kept += with_rivals(rounded, measure, len(block.low))
    return sorted(_disjoint(kept), key=lambda s: (s.total, s.parts))


def _disjoint(sums: Sequence[Sum]) -> list[Sum]:
    """Remove sums that count a line beside its own parts, if the latter have better evidence."""
    inside: dict[tuple[int, int], float] = {}
    within: dict[int, list[Sum]] = {}
    for each in sums:
        for part in each.parts:
            key = each.total, part
            inside[key] = max(inside.get(key, 0.0), each.support.bits)
            within.setdefault(part, []).append(each)

    def is_beside_its_parts(each: Sum) -> bool:
        return any(
            other.support.bits > each.support.bits and not {*each.parts}.isdisjoint(other.parts)
            for other in within.get(each.total, [])
        )

    return [
        each
        for each in sums
        if not is_beside_its_parts(each)
        and not any(
            inside.get((one, other), 0.0) >= each.support.bits
            for one in each.parts
            for other in each.parts
        )
    ]


def _is_outweighed(each: Sum, sums: Sequence[Sum]) -> bool:
    """Test whether a sum that shares a part with this one has more than twice its evidence."""
    own = set(each.parts)
    return any(
        other.support.bits > 2 * each.support.bits and own & set(other.parts) for other in sums
    )


def _is_one_line_alone(each: Sum, block: Intervals) -> bool:
    """Test whether one part equals the total wherever both are known, and all others are zero."""
    total = block.low[each.total]
    known = block.known[each.total]
    for part in each.parts:
        both = known & block.known[part]
        if both.any() and (block.low[part] == total)[both].all():
            rest = [other for other in each.parts if other != part]
            if not (block.low[rest] > 0).any():
                return True
    return False
