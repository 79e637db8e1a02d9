"""Links by pass, beside what the guessers get right of the same links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from recon_cli.score.collect import Collected
from recon_cli.score.control import rounded, withhold
from recon_cli.score.gains import PANELS
from recon_cli.score.intervals import interval, ratio
from recon_cli.score.rates import Rules
from recon_cli.score.sizes import ALL
from recon_cli.score.sums import Sums, concat

#: A row is one rate of one pass, or of all.
PASS_RATE: Final = {
    "panel": pl.String,
    "against": pl.String,
    "source": pl.String,
    "pass": pl.String,
    "rate": pl.String,
    "count": pl.Float64,
    "of": pl.Float64,
    "pct": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "withheld": pl.Boolean,
}
#: Rate → what is counted, and of what: the attacker's records, or the links.
RATES: Final = {
    "putative": ("putative", "records"),
    "confirmed": ("confirmed", "records"),
    "precision": ("confirmed", "putative"),
    "expected": ("expected_confirmed", "putative"),
    "modal": ("modal_confirmed", "putative"),
    "proportional": ("proportional_confirmed", "putative"),
    "same_unit": ("same_unit", "putative"),
}


def make_passes(
    collected: Collected, passes: Sequence[str], sources: Sequence[str], rules: Rules
) -> pl.DataFrame:
    """The rates of every pass.

    Args:
        collected: With links by pass.
        passes: Their names, in the order they were made.
        sources: Those to show: with records, for guessers stand beside each.
        rules: Coverage, kind of interval, disclosure control.

    Returns:
        `PASS_RATE`, for every pass with links and for `ALL`. ``precision`` is of the links as ties
        were broken, ``expected`` the mean over all ways to break them; ``modal`` and
        ``proportional`` are what the guessers get right of the same links.
    """
    frames = [pl.DataFrame(schema=PASS_RATE)]
    links = collected.passes
    if links is None:
        return frames[0]
    together = Sums(
        links.keys.with_columns(pl.lit(ALL).alias("pass")), links.measures, links.values
    )
    links = concat([together, links]).where(pl.col("source").is_in(list(sources)))
    for panel, condition in PANELS.items():
        for attacker in collected.targets.keys["attacker"].unique().sort():
            here = (pl.col("attacker") == attacker) & condition
            records = collected.targets.where(here).by().of("records")
            counted = links.where(here).by("source", "pass")
            for rate, (part, whole) in RATES.items():
                parts = counted.of(part)
                wholes = records + 0 * parts if whole == "records" else counted.of(whole)
                low, high = interval(parts, wholes, rules.kind, rules.coverage)
                rows = counted.keys.with_columns(
                    pl.lit(panel).alias("panel"),
                    pl.lit(attacker).alias("against"),
                    pl.lit(rate).alias("rate"),
                    pl.Series("count", parts[:, 0]),
                    pl.Series("of", wholes[:, 0]),
                    pl.Series("pct", ratio(parts, wholes)[:, 0], nan_to_null=True),
                    pl.Series("low", low, nan_to_null=True),
                    pl.Series("high", high, nan_to_null=True),
                    pl.lit(bool(records[0, 0] < rules.control.threshold)).alias("withheld"),
                )
                frames.append(rows.select(list(PASS_RATE)))
    order = {name: at for at, name in enumerate([*passes, ALL])}
    places = {name: at for at, name in enumerate(sources)}
    whole_table = rounded(withhold(pl.concat(frames)), rules.control.digits)
    return whole_table.sort(
        "panel",
        "against",
        pl.col("source").replace_strict(places, return_dtype=pl.Int32),
        pl.col("pass").replace_strict(order, return_dtype=pl.Int32),
        maintain_order=True,
    )
