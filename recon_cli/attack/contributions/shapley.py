"""Shapley values: what each part adds on average, whatever else is published already.

Left out alone, a part that says the same as another adds nothing, and so does the other; their
Shapley values share what both say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TypeVar

import numpy as np

Player = TypeVar("Player")


@dataclass(frozen=True)
class SampledMean:
    """A mean over sampled orders.

    Attributes:
        value: The mean.
        error: Its standard error; None for fewer than two orders.
    """

    value: float
    error: float | None


def draw_orders(
    players: Sequence[Player], orders: int, rng: np.random.Generator
) -> list[tuple[Player, ...]]:
    """Orders drawn at random, each as likely as any other."""
    return [tuple(players[i] for i in rng.permutation(len(players))) for _ in range(orders)]


def coalitions(orders: Iterable[Sequence[Player]]) -> list[frozenset[Player]]:
    """The sets that come about when players join in these orders, each once; also the empty one."""
    found = {frozenset(order[:size]): None for order in orders for size in range(len(order) + 1)}
    return list(found)


def shapley_values(
    orders: Sequence[Sequence[Player]], worth: Callable[[frozenset[Player]], float]
) -> Mapping[Player, SampledMean]:
    """What each player adds when it joins, averaged over orders: Eq. (shapley).

    Source: Castro, Gómez & Tejada (2009), Polynomial calculation of the Shapley value based on
    sampling.

    Args:
        orders: Of all players.
        worth: Of each of `coalitions`.

    >>> pair = {frozenset(): 0.0, frozenset("a"): 1.0, frozenset("b"): 0.0, frozenset("ab"): 3.0}
    >>> {name: each.value for name, each in shapley_values(["ab", "ba"], pair.get).items()}
    {'a': 2.0, 'b': 1.0}
    """
    added: dict[Player, list[float]] = {}
    for order in orders:
        worths = [worth(frozenset(order[:size])) for size in range(len(order) + 1)]
        for player, (before, after) in zip(order, pairwise(worths), strict=True):
            added.setdefault(player, []).append(after - before)
    return {player: _estimate(values) for player, values in added.items()}


def _estimate(values: Sequence[float]) -> SampledMean:
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return SampledMean(mean, None)
    spread = sum((value - mean) ** 2 for value in values) / (n - 1)
    return SampledMean(mean, sqrt(spread / n))
