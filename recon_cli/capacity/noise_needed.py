"""How much noise the counts of a release would need: three figures that say different things."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.capacity.assessment import ReleaseCapacity
from recon_cli.capacity.decoder import DecoderTrial
from recon_cli.capacity.indistinguishable import Farthest, hiding_sd

ANY_ATTACKER, ZEROS_KNOWN, ENTROPY, DECODER = (
    "any attacker",
    "any attacker who knows the zeros",
    "entropy",
    "our decoder",
)
ALL_LEVELS = "all levels"


def noise_needed(
    capacity: ReleaseCapacity,
    after_zeros: Farthest,
    trial: DecoderTrial,
    *,
    right: Sequence[float],
    shares: Sequence[float],
    gain: float,
) -> pl.DataFrame:
    """The standard deviation that each count needs, by what it is to achieve.

    Args:
        after_zeros: The farthest two records of a unit that its own zeros leave.
        trial: Of our decoder.
        right: How often an attacker may tell two records apart.
        shares: Which shares of the records' bits may get through.
        gain: What our decoder may gain.

    Returns:
        ``figure``, ``counts`` (whose: a level's or all levels'), ``parameter`` (of ``right``,
        ``shares`` or ``gain``) and ``sd``, null where none that was tried is enough.
    """
    finest = capacity.levels[0].level
    distances = [
        (ANY_ATTACKER, ALL_LEVELS, capacity.farthest),
        (ANY_ATTACKER, finest, capacity.farthest_in_unit),
        (ZEROS_KNOWN, finest, after_zeros),
    ]
    rows: list[tuple[str, str, float, float | None]] = []
    for share in right:
        for figure, counts, far in distances:
            rows.append((figure, counts, share, hiding_sd(far.squared, share)))
    for share in shares:
        rows.append((ENTROPY, ALL_LEVELS, share, capacity.noise_for_share(share)))
        rows.append((ENTROPY, finest, share, capacity.levels[0].noise_for_share(share)))
    rows.append((DECODER, finest, gain, trial.noise_for_gain(gain)))
    schema = {
        "figure": pl.String,
        "counts": pl.String,
        "parameter": pl.Float64,
        "sd": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort(
        "figure", "counts", "parameter", maintain_order=True
    )
