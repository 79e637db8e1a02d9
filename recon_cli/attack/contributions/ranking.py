"""The ranked list of parts: what is proven without each, and what each adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import polars as pl

from recon_cli.attack.contributions.measures import MEASURES, Proven
from recon_cli.attack.contributions.parts import Part
from recon_cli.attack.contributions.shapley import coalitions, shapley_values

#: A set of parts that is left out.
LeftOut = frozenset[Part]
#: What the row of the whole publication is called, and that of numbers of people alone.
WHOLE, NOTHING = "all", "numbers of people"

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


def attacks_needed(
    parts: Sequence[Part], sets: Mapping[str, LeftOut], orders: Sequence[Sequence[Part]]
) -> list[LeftOut]:
    """What is to be left out, each set once: nothing, each part, the named sets, coalitions.

    Args:
        parts: Each is left out alone.
        sets: Name → what is left out together.
        orders: In which parts join, for Shapley values.
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
    """Put the list together.

    Args:
        parts: Each was left out alone.
        sets: Name → what was left out together.
        orders: In which parts join; none for no Shapley values.
        proven: Of each of `attacks_needed`.

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
