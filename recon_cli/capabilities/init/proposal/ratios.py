"""Lines of a block that are percentages or rates of other lines, by their numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import BoolArray, FloatArray
from recon_cli.capabilities.init.proposal.evidence import MARGIN_BITS, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.slips import is_slip, parts_of

#: What a share is printed per: one, hundred, thousand, ten and a hundred thousand.
SCALES: Final = (100.0, 1.0, 1_000.0, 10_000.0, 100_000.0)
#: Positions by which most pairs are ruled out before all positions are compared.
_FIRST: Final = 4
#: Most numbers (pairs × positions) that are compared together.
_AT_ONCE: Final = 1_000_000


@dataclass(frozen=True)
class Ratio:
    """A line that is a count over another count.

    Attributes:
        part: The line of the numerators.
        base: The line of the denominators.
        per: What a quotient of 1 is printed as: 100 for a percentage.
    """

    line: int
    part: int
    base: int
    per: float
    support: Support


def find_ratios(
    block: Intervals, candidates: Sequence[int], counts: Sequence[int], slack: int = 0
) -> list[Ratio]:
    """Find the two lines whose quotient each candidate is, to half a unit of its last digit.

    Args:
        candidates: Lines that may be ratios.
        counts: Lines of whole numbers, which may be part and base.
        slack: Greatest rounding error of a count; ratios are computed before rounding.

    Example:
        >>> numbers = np.array([[40.0, 55.0, 80.0], [10.0, 30.0, 50.0], [25.0, 54.5, 62.5]])
        >>> block = Intervals.exact(numbers, unit=0.1)
        >>> [(each.line, each.part, each.base) for each in find_ratios(block, [2], [0, 1])]
        [(2, 1, 0)]
    """
    at = np.array(counts, dtype=np.intp)
    if len(at) < 2:
        return []
    found: list[Ratio] = []
    for line in candidates:
        best: Ratio | None = None
        for per in SCALES:
            for each in _fitting(block, line, at, per, slack):
                if best is None or _rank(each) > _rank(best):
                    best = each
            if best is not None and best.support.is_strong:
                break
        if best is not None:
            found.append(best)
    return found


def ratio_support(block: Intervals, each: Ratio, slack: int = 0) -> Support:
    """Return the support of one quotient, with no others tried.

    Positions are open where part or base is not printed.

    Example:
        >>> numbers = np.array([[40.0, 80.0], [np.nan, 14.0], [7.5, 17.5]])
        >>> told = Support(0, 0, 0, 0.0, 0.0)
        >>> block = Intervals.exact(numbers, unit=0.1)
        >>> ratio_support(block, Ratio(2, 1, 0, 100.0, told)).shown
        1
    """
    told = np.flatnonzero(block.known[each.line])
    part, base = (
        np.where(block.known[at, told], block.low[at, told], np.nan)
        for at in (each.part, each.base)
    )
    half = block.unit[each.line, told] / 2 * (1 + 1e-9)
    return _Printed(block.low[each.line, told], half, each.per, slack).support(part, base, 0.0)


def ratio_slips(
    block: Intervals, candidates: Sequence[int], counts: Sequence[int]
) -> list[tuple[Ratio, tuple[int, ...]]]:
    """Find quotients that most positions show, and a few break: there a number is wrong.

    Returns:
        Each quotient, as all other positions show it, and the positions that break it.

    Example:
        >>> base, part = np.array([40, 55, 80, 90]), np.array([10, 30, 50, 12])
        >>> block = Intervals.exact(np.array([base, part, [25.0, 54.5, 62.5, 31.3]]), unit=0.1)
        >>> [(each.part, each.base, broken) for each, broken in ratio_slips(block, [2], [0, 1])]
        [(1, 0, (3,))]
    """
    lines = np.arange(len(block.low), dtype=np.intp)
    found = []
    for line in candidates:
        every = np.flatnonzero(block.known[line])
        for some in parts_of(every):
            own = find_ratios(block.take(lines, some), [line], counts)
            if own and own[0].support.is_strong:
                whole = ratio_support(block, own[0])
                alone = (
                    ratio_support(block.take(lines, every[i : i + 1]), own[0])
                    for i in range(len(every))
                )
                broken = [at for at, each in zip(every.tolist(), alone, strict=True) if each.broken]
                if is_slip(whole.shown, broken, len(every)):
                    found.append((replace(own[0], support=whole), tuple(broken)))
                    break
    return found


def _rank(each: Ratio) -> tuple[float, float, int, int]:
    """Rank more shown rows first, then the nearer part, the one to the left."""
    return (
        each.support.bits,
        each.support.shown,
        -abs(each.line - each.part),
        -abs(each.line - each.base),
    )


def _fitting(
    block: Intervals, line: int, at: NDArray[np.intp], per: float, slack: int
) -> list[Ratio]:
    told = np.flatnonzero(block.known[line])
    if len(told) < 2:
        return []
    share = block.low[line, told]
    half = block.unit[line, told] / 2 * (1 + 1e-9)
    numbers = np.where(block.known[at][:, told], block.low[at][:, told], np.nan)
    if np.isnan(numbers).all() or (share < 0).any():
        return []
    order = np.argsort(-np.nan_to_num(numbers).sum(axis=0), kind="stable")[:_FIRST]
    alive = np.ones((len(at), len(at)), dtype=bool)
    np.fill_diagonal(alive, val=False)
    own = np.flatnonzero(at == line)
    alive[own, :] = alive[:, own] = False
    for k in order.tolist():
        part, base = numbers[:, k][:, None], numbers[:, k][None, :]
        room = half[k] * base + (per + share[k]) * slack
        off = np.abs(per * part - share[k] * base) > room + 1e-9
        alive &= ~(off | ((base == 0) & (part > 0)))
    pairs = np.argwhere(alive)
    if not len(pairs):
        return []
    found = []
    tried = math.log2(len(at) ** 2 * len(SCALES)) + MARGIN_BITS
    printed = _Printed(share, half, per, slack)
    step = max(_AT_ONCE // len(told), 1)
    for first in range(0, len(pairs), step):
        some = pairs[first : first + step]
        fitting = printed.are_shown(numbers[some[:, 0]], numbers[some[:, 1]])
        for part, base in some[fitting].tolist():
            support = printed.support(numbers[part], numbers[base], tried)
            if support.bits >= support.tried:
                found.append(Ratio(line, int(at[part]), int(at[base]), per, support))
    return found


@dataclass(frozen=True)
class _Printed:
    """The numbers of a line that may be quotients, and half a unit of their last digits."""

    share: FloatArray
    half: FloatArray
    per: float
    slack: int

    def support(self, part: FloatArray, base: FloatArray, tried: float) -> Support:
        """Weigh a quotient: by chance it takes any value up to `per`, in steps of its last digit.

        A base so small that few quotients are possible weighs less.
        """
        known, some, fits, room = self._compared(part, base)
        shown = some & fits & (part > 0)
        whole = np.where(known, base, 1.0)
        steps = np.minimum(self.per * whole / np.maximum(2 * room, 1e-9), whole) + 1
        bits = np.log2(np.maximum(steps, 1.0))[shown & (part != base)].sum()
        return Support(
            int(shown.sum()),
            int((~known).sum()),
            int((some & ~fits).sum()),
            float(bits),
            tried,
        )

    def are_shown(self, parts: FloatArray, bases: FloatArray) -> BoolArray:
        """Test for each row whether two positions show the quotient, and none breaks it."""
        _, some, fits, _ = self._compared(parts, bases)
        shown = (some & fits & (parts > 0)).sum(axis=1)
        found: BoolArray = ~(some & ~fits).any(axis=1) & (shown >= 2)
        return found

    def _compared(
        self, part: FloatArray, base: FloatArray
    ) -> tuple[BoolArray, BoolArray, BoolArray, FloatArray]:
        """Compare numbers with what is printed.

        Returns:
            Where both are known, where the base is also positive, where the quotient fits, and how
            far it may be off. A share of a base of zero may be anything: 0, a dash, 100.
        """
        known: BoolArray = ~np.isnan(part) & ~np.isnan(base)
        room = self.half * base + (self.per + self.share) * self.slack
        fits = np.abs(self.per * part - self.share * base) <= room + 1e-9
        return known, known & (base > 0), fits, room
