"""The ranking of parts: what is proven without each, and what each adds.

When left out alone, a part with the same content as another adds nothing, and neither does the
other; their Shapley values share the common content: the average addition, over whatever else is
published already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Final, TypeVar

import numpy as np
import polars as pl

from recon_cli.capabilities.contributions.parts import Part

Player = TypeVar("Player")
#: A set of parts that is left out.
LeftOut = frozenset[Part]
#: Names of the rows of the whole publication, and of numbers of people alone.
WHOLE, NOTHING = "all", "numbers of people"

#: The measures of `Proven`.
MEASURES = ("certain", "disclosed", "claims")
#: One row a part, or tables left out together; first the whole publication (``left_out`` is
#: `WHOLE`), then the one that adds most. ``certain``, ``disclosed`` and ``claims`` are what is
#: proven without it, ``…_added`` how much less than of the whole; ``…_shapley`` and ``…_error``
#: the Shapley value with its standard error, null where none was asked for.
CONTRIBUTIONS: Final = pl.Schema(
    {
        "left_out": pl.String,
        "kind": pl.String,
        **dict.fromkeys(MEASURES, pl.Int64),
        **{f"{name}_added": pl.Int64 for name in MEASURES},
        **{f"{name}_{of}": pl.Float64 for name in MEASURES for of in ("shapley", "error")},
    }
)


@dataclass(frozen=True)
class SampledMean:
    """A mean over sampled orders.

    Attributes:
        error: Its standard error; None for fewer than two orders.
    """

    value: float
    error: float | None


def draw_orders(
    players: Sequence[Player], orders: int, rng: np.random.Generator
) -> list[tuple[Player, ...]]:
    """Draw uniform random orders."""
    return [tuple(players[i] for i in rng.permutation(len(players))) for _ in range(orders)]


def coalitions(orders: Iterable[Sequence[Player]]) -> list[frozenset[Player]]:
    """List the sets that arise when players join in these orders, each once; also the empty set.

    >>> [sorted(each) for each in coalitions(["ab"])]
    [[], ['a'], ['a', 'b']]
    """
    found = {frozenset(order[:size]): None for order in orders for size in range(len(order) + 1)}
    return list(found)


def shapley_values(
    orders: Sequence[Sequence[Player]], worth: Callable[[frozenset[Player]], float]
) -> Mapping[Player, SampledMean]:
    """Average over orders what each player adds when it joins: Eq. (shapley).

    Source: Castro, Gómez & Tejada (2009), Polynomial calculation of the Shapley value based on
    sampling.

    Args:
        worth: Returns the value of each of `coalitions`.

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


@dataclass(frozen=True)
class Proven:
    """Sums over geounits.

    Attributes:
        certain: People whose record, of all columns that the whole publication tells apart, is in
            every solution of their unit.
        disclosed: People for whom some columns determine another one (attribute disclosure).
        claims: Verified claims, of any columns.
    """

    certain: int = 0
    disclosed: int = 0
    claims: int = 0

    def __add__(self, other: Proven) -> Proven:
        return Proven(
            self.certain + other.certain,
            self.disclosed + other.disclosed,
            self.claims + other.claims,
        )


def attacks_needed(
    parts: Sequence[Part], sets: Mapping[str, LeftOut], orders: Sequence[Sequence[Part]]
) -> list[LeftOut]:
    """List what to leave out, each set once: nothing, each part, the named sets, coalitions.

    Args:
        parts: Each is left out alone.
        sets: Name → parts that are left out together.
        orders: Orders in which parts join, for Shapley values.
    """
    every = frozenset(parts)
    needed = {frozenset[Part](): None, every: None}
    needed |= {frozenset({part}): None for part in parts}
    needed |= dict.fromkeys(sets.values())
    needed |= {every - there: None for there in coalitions(orders)}
    return list(needed)


def rank_contributions(
    parts: Sequence[Part],
    sets: Mapping[str, LeftOut],
    orders: Sequence[Sequence[Part]],
    proven: Mapping[LeftOut, Proven],
) -> pl.DataFrame:
    """Compose the ranking.

    Args:
        orders: Orders in which parts join; none for no Shapley values.
        proven: Result for each of `attacks_needed`.

    Returns:
        Columns of `CONTRIBUTIONS`.
    """
    every = frozenset(parts)
    whole = proven[frozenset()]
    rows = [_row(part.name, part.kind, whole, proven[frozenset({part})]) for part in parts]
    for name in MEASURES if orders else ():
        values = shapley_values(orders, _worth(every, proven, name))
        for row, part in zip(rows, parts, strict=True):
            row[f"{name}_shapley"], row[f"{name}_error"] = values[part].value, values[part].error
    by = "shapley" if orders else "added"
    frame = pl.DataFrame(rows, schema=CONTRIBUTIONS)
    ranked = frame.sort(
        *(f"{name}_{by}" for name in ("disclosed", "certain", "claims")),
        descending=True,
        maintain_order=True,
    )
    ends = [
        _row(name, "set", whole, proven[left_out])
        for name, left_out in [*sets.items(), (NOTHING, every)]
    ]
    first = pl.DataFrame([_row(WHOLE, "", whole, whole)], schema=CONTRIBUTIONS)
    return pl.concat([first, ranked, pl.DataFrame(ends, schema=CONTRIBUTIONS)])


def _worth(
    every: LeftOut, proven: Mapping[LeftOut, Proven], measure: str
) -> Callable[[LeftOut], float]:
    def worth(there: LeftOut) -> float:
        return float(getattr(proven[every - there], measure))

    return worth


def _row(name: str, kind: str, whole: Proven, left: Proven) -> dict[str, object]:
    row: dict[str, object] = {"left_out": name, "kind": kind}
    for measure in MEASURES:
        row[measure] = getattr(left, measure)
        row[f"{measure}_added"] = getattr(whole, measure) - getattr(left, measure)
    return row
