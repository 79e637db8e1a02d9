"""What each source adds beyond guessing: its precision less a guesser's, on the same geounits."""

from __future__ import annotations

from typing import Final

import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.score.collect import Collected
from recon_cli.score.intervals import gain_interval, ratio
from recon_cli.score.rates import EVERYBODY, NONMODAL, Rules
from recon_cli.score.tables import Sources

#: A row is one source beside one guesser; ``pct``, ``guesser_pct`` are precisions.
GAIN: Final = {
    "panel": pl.String,
    "against": pl.String,
    "source": pl.String,
    "guesser": pl.String,
    "links": pl.Float64,
    "pct": pl.Float64,
    "guesser_pct": pl.Float64,
    "gain": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "withheld": pl.Boolean,
}
#: Everybody first: a gain for a few can be a loss for all.
PANELS: Final = {"all": EVERYBODY, "nonmodal": NONMODAL}


def make_gains(collected: Collected, sources: Sources, rules: Rules) -> pl.DataFrame:
    """The gain in precision of every source with records over every usual guesser (`GAIN`).

    Geounits are resampled together for both, so that what makes a geounit easy for both does not
    widen the interval.

    Args:
        collected: Links, with their slots.
        sources: Which are records, and which guess.
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
