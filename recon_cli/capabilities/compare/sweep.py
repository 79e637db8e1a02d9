"""Effects of one parameter of a protection: means over draws, with Student's intervals.

``people`` and ``cells`` are JASON's measure of usefulness, one less half the sum of all errors over
the people: 1 − Σ|published − true| / 2N, for the total populations and for all tables, and ``cells
of NAME`` for one table; it may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import polars as pl
from scipy import stats

from recon_cli.capabilities.account.account import concentrated_epsilon
from recon_cli.capabilities.compare.errors import TOTAL
from recon_cli.capabilities.compare.protection_summary import ProtectionSummary
from recon_cli.page.sizes import ALL

_MEANS: Final = {
    "measure": pl.String(),
    "level": pl.String(),
    "draws": pl.Int64(),
    **dict.fromkeys(("mean", "low", "high"), pl.Float64()),
}
#: One row per protection, value and measure; ``level`` is empty where the measure has none,
#: interval null for one draw. ``epsilon`` is null where nothing is differentially private.
SWEEP: Final = pl.Schema(
    {"protection": pl.String(), "value": pl.String(), "epsilon": pl.Float64(), **_MEANS}
)
#: Differences between draws with the same random bits: of a value from the one before it, and of a
#: protection from the first at the same value. Interval null for one draw.
DIFFERENCES: Final = pl.Schema(
    {
        **dict.fromkeys(("protection", "value", "less_protection", "less_value"), pl.String()),
        **_MEANS,
    }
)
#: Measures of a summary, in this order; those of `PROVEN` only where they are of people.
RISKS: Final = ("gain", "agreement", "posterior", "disclosed", "certain", "links", "all_below")
PROVEN: Final = ("disclosed", "certain")
#: Measures that no draw changes, or that are no quality of the publication.
FIXED: Final = ("posterior", "links")
_COVERAGE: Final = 0.95


@dataclass(frozen=True)
class SweptDraw:
    """The result of one draw at one value.

    Attributes:
        draw: Number of the draw; equal numbers share random bits, whatever protection and value.
        is_of_people: Whether proofs about the publication are about people.
        errors: Columns of `recon_cli.capabilities.compare.errors.ERRORS`.
    """

    of: str
    value: str
    draw: int
    is_of_people: bool
    summary: ProtectionSummary
    errors: pl.DataFrame


def epsilon_spent(notes: Mapping[str, Any]) -> float | None:
    """Return the total ε in the manifest of a protection.

    None if it has none, or mixes Gaussian and geometric noise.
    """
    products = notes.get("products", [notes] if "budget" in notes else [])
    kinds = {each["mechanism"] for each in products}
    total = sum(each["budget"] for each in products)
    if kinds == {"gaussian"}:
        return concentrated_epsilon(total, max(each["delta"] for each in products))
    return total if kinds == {"geometric"} else None


def sweep_table(draws: Sequence[SweptDraw]) -> pl.DataFrame:
    """Tabulate the columns of `SWEEP`: protections and values in the order of the draws."""
    return _means(_numbers(draws), ["protection", "value", "epsilon", "measure", "level"], SWEEP)


def difference_table(draws: Sequence[SweptDraw]) -> pl.DataFrame:
    """Tabulate the columns of `DIFFERENCES`: between values, then between protections.

    Randomness that both sides share cancels: the interval is of the differences of single draws,
    not the sum of two.
    """
    numbers = _numbers(draws)
    values = [*dict.fromkeys(each.value for each in draws)]
    names = [*dict.fromkeys(each.of for each in draws)]
    before = dict(zip(values[1:], values, strict=False))
    protection, value = pl.col("protection"), pl.col("value")
    steps = numbers.filter(value.is_in(values[1:])).with_columns(
        less_protection=protection, less_value=value.replace(before)
    )
    beside = numbers.filter(protection != names[0]).with_columns(
        less_protection=pl.lit(names[0]), less_value=value
    )
    subtracted = numbers.select(
        "draw", "measure", "level", less_protection="protection", less_value="value", _less="number"
    )
    on = ["draw", "measure", "level", "less_protection", "less_value"]
    both = pl.concat([steps, beside]).join(subtracted, on=on, maintain_order="left")
    paired = both.filter(~pl.col("measure").is_in(FIXED)).with_columns(
        number=pl.col("number") - pl.col("_less")
    )
    keys = [name for name in DIFFERENCES if name not in ("draws", "mean", "low", "high")]
    return _means(paired, keys, DIFFERENCES)


def _numbers(draws: Sequence[SweptDraw]) -> pl.DataFrame:
    """Make a row for each draw and measure."""
    rows = [
        (each.of, each.value, each.draw, each.summary.epsilon, measure, level, number)
        for each in draws
        for measure, level, number in _measures(each)
    ]
    keys = ["protection", "value", "epsilon", "measure", "level"]
    schema = {key: SWEEP[key] for key in keys} | {"draw": pl.Int64(), "number": pl.Float64()}
    names = ["protection", "value", "draw", "epsilon", "measure", "level", "number"]
    frame = pl.DataFrame(rows, schema={name: schema[name] for name in names}, orient="row")
    return frame.drop_nulls("number")


def _means(numbers: pl.DataFrame, keys: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    number = pl.col("number")
    quantile = pl.len().map_elements(_quantile, return_dtype=pl.Float64)
    reach = quantile * number.std() / pl.len().sqrt()
    return (
        numbers.group_by(keys, maintain_order=True)
        .agg(draws=pl.len(), mean=number.mean(), _reach=reach)
        .with_columns(low=pl.col("mean") - pl.col("_reach"), high=pl.col("mean") + pl.col("_reach"))
        .select(schema.names())
        .cast(schema)
    )


def _quantile(draws: int) -> float | None:
    if draws < 2:
        return None
    return float(stats.t.ppf((1 + _COVERAGE) / 2, draws - 1))


def _measures(draw: SweptDraw) -> list[tuple[str, str, float | None]]:
    whole = draw.errors.filter(size=ALL)
    names = {TOTAL: "people", ALL: "cells"}
    useful = [
        (names.get(table, f"cells of {table}"), level, None if lost is None else 1 - lost / 200)
        for table, level, lost in whole.select("table", "level", "total_absolute").rows()
    ]
    summary = draw.summary
    risks = [name for name in RISKS if draw.is_of_people or name not in PROVEN]
    errors = [("error", "", summary.unit_error)]
    return [*useful, *errors, *((name, "", getattr(summary, name)) for name in risks)]


def mean_of_draws(draws: Sequence[SweptDraw]) -> tuple[ProtectionSummary, pl.DataFrame]:
    """Average the summary and errors of all draws of a value."""
    first = replace(draws[0].summary, name=f"{draws[0].of} {draws[0].value}")
    if len(draws) == 1:
        return first, draws[0].errors
    numbers = {
        field.name: [getattr(each.summary, field.name) for each in draws]
        for field in fields(ProtectionSummary)
        if field.name not in ("name", "settings")
    }
    means: dict[str, Any] = {name: _mean(values) for name, values in numbers.items()}
    means["people"] = round(means["people"])
    errors = pl.concat([each.errors for each in draws])
    keys = ["level", "table", "size"]
    return (
        replace(first, **means),
        errors.group_by(keys, maintain_order=True)
        .agg(pl.col("cells").first(), pl.exclude(*keys, "cells").mean())
        .select(errors.columns),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
