"""Gains of sources beyond guessing: in precision, and in links by pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.score.collect import Collected
from recon_cli.capabilities.score.control import rounded, withhold
from recon_cli.capabilities.score.intervals import gain_interval, ratio
from recon_cli.capabilities.score.rates import EVERYBODY, NONMODAL, Rules, rate_rows
from recon_cli.capabilities.score.sums import Sums, concat
from recon_cli.capabilities.score.tables import Sources
from recon_cli.page.sizes import ALL

#: A row compares one source with one guesser; ``pct`` and ``guesser_pct`` are precisions.
GAIN: Final = {
    **dict.fromkeys(("panel", "against", "source", "guesser"), pl.String),
    **dict.fromkeys(("links", "pct", "guesser_pct", "gain", "low", "high"), pl.Float64),
    "withheld": pl.Boolean,
}
#: Everybody first: a gain for a few can be a loss for all.
PANELS: Final = {"all": EVERYBODY, "nonmodal": NONMODAL}


def make_gains(collected: Collected, sources: Sources, rules: Rules) -> pl.DataFrame:
    """Compute the gain in precision of every source over every usual guesser (`GAIN`).

    Geounits are resampled together for both, so that effects common to both do not widen the
    interval.

    Args:
        collected: Links, with their slots.
        sources: Sources with records, and guessers.
        rules: Coverage, kind of interval, disclosure control.
    """
    guessers = [name for name in (sources.modal, sources.proportional) if name is not None]
    rows: list[tuple[object, ...]] = []
    for panel, condition in PANELS.items():
        for attacker in collected.targets.keys["attacker"].unique().sort():
            here = (pl.col("attacker") == attacker) & condition
            people = collected.targets.where(here).by().of("records")[0, 0]
            links = collected.links.where(here).by("source")
            parts, wholes = links.of("confirmed"), links.of("putative")
            at = {name: i for i, name in enumerate(links.keys["source"])}
            withheld = people < rules.control.threshold
            for source in sources.records:
                for guesser in guessers:
                    if source in at and guesser in at:
                        ours, theirs = (
                            (parts[[at[name]]], wholes[[at[name]]]) for name in (source, guesser)
                        )
                        numbers = _gain(ours, theirs, rules)
                        shown = [None] * len(numbers) if withheld else numbers
                        rows.append((panel, attacker, source, guesser, *shown, withheld))
    return pl.DataFrame(rows, schema=GAIN, orient="row")


def _gain(
    ours: tuple[FloatArray, FloatArray], theirs: tuple[FloatArray, FloatArray], rules: Rules
) -> list[float | None]:
    low, high = gain_interval(ours, theirs, rules.kind, rules.coverage)
    mine, other = float(ratio(*ours)[0, 0]), float(ratio(*theirs)[0, 0])
    numbers = [float(ours[1][0, 0]), mine, other, mine - other, float(low[0]), float(high[0])]
    return [None if number != number else number for number in numbers]  # noqa: PLR0124 - NaN


#: A row is one rate of one pass, or of all passes.
PASS_RATE: Final = {
    **dict.fromkeys(("panel", "against", "source", "pass", "rate"), pl.String),
    **dict.fromkeys(("count", "of", "pct", "low", "high"), pl.Float64),
    "withheld": pl.Boolean,
}
#: Rate → numerator, and denominator: the attacker's records, or the links.
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
    """Compute the rates of every pass.

    Args:
        collected: With links by pass.
        passes: Their names, in the order they were made.
        sources: The sources to show: those with records, since guessers are beside each.
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
                rows = rate_rows(counted.keys, rate, parts, wholes, rules).with_columns(
                    panel=pl.lit(panel),
                    against=pl.lit(attacker),
                    withheld=pl.lit(bool(records[0, 0] < rules.control.threshold)),
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
