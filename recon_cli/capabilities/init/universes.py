"""Find the tables that count the same people, by their totals of the same places."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping

from recon_cli.capabilities.init.proposal.evidence import CERTAIN_BITS

#: Place → its number of people, where a table has it exactly or rounded.
Totals = Mapping[Hashable, float]


def separate_tables(totals: Mapping[str, Totals], slack: float) -> list[str]:
    """Return the first table of each group whose totals agree, beyond what chance would give.

    Two totals of n people agree by chance about once in n cases.

    Args:
        totals: The totals of each table; empty if the table has no column of everybody.
        slack: How far two totals of the same people may differ, being rounded.

    Example:
        >>> same = {"a": 812.0, "b": 367.0}
        >>> more = {**same, "c": 90.0}
        >>> separate_tables({"T1": same, "T2": more, "T3": {"a": 800.0}, "T4": {}}, 0)
        ['T1', 'T3', 'T4']
    """
    groups: dict[str, dict[Hashable, float]] = {}
    for name, own in totals.items():
        for known in groups.values():
            if _agree(own, known, slack):
                known |= {place: total for place, total in own.items() if place not in known}
                break
        else:
            groups[name] = dict(own)
    return list(groups)


def _agree(one: Totals, other: Totals, slack: float) -> bool:
    both = [(total, other[place]) for place, total in one.items() if place in other]
    bits = sum(math.log2((1 + min(pair)) / (1 + slack)) for pair in both if min(pair) > slack)
    return bits >= CERTAIN_BITS and all(abs(a - b) <= slack for a, b in both)
