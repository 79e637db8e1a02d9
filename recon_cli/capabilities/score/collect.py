"""Counts of one partition, joined with properties of the geounits, and summed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.score.intervals import Kind
from recon_cli.capabilities.score.sums import Sums, concat, resample, stack, weighted
from recon_cli.page.sizes import Sizes

#: Properties of a geounit in sums: its size class, and whether its variability is zero.
PLACE = ("size", "zero")
GROUPS = ("modal", "unique")
PEOPLE = (
    "population",
    "linkable",
    "nonmodal",
    "unique_people",
    "unique_nonmodal",
    "unique_defined",
    "differing",
    "people",
    "modal",
    "proportional",
    "modal_without",
    "proportional_without",
    "units",
)
AGREEMENT = ("exact", "near", "agree")
LINKS = ("putative", "confirmed", "expected")
#: Measures by pass, for user-defined passes.
LINKS_BY_PASS = (
    "putative",
    "confirmed",
    "same_unit",
    "expected_confirmed",
    "modal_confirmed",
    "proportional_confirmed",
)


@dataclass(frozen=True)
class Partition:
    """The counts of `recon link` in one partition, with the geounits of zero variability.

    Attributes:
        truth: One row per geounit.
        targets: Attacker records by draw, geounit and group.
        tallies: Links by draw, geounit and group.
        agreement: Agreement by geounit and pair of files.
        zero: Geoids of the geounits with a proof of zero variability; None if unknown.
        differing: One row per geounit: how many people, at most, another reconstruction changes
            (``differing``); None if unknown.
    """

    name: str
    truth: pl.DataFrame
    targets: pl.DataFrame
    tallies: pl.DataFrame
    agreement: pl.DataFrame
    zero: pl.Series | None
    differing: pl.DataFrame | None = None


@dataclass(frozen=True)
class Collected:
    """Sums over partitions, by size class, zero variability and further keys.

    Attributes:
        people: `PEOPLE`; ``differing`` is NaN where unknown.
        targets: By attacker, modal, unique: ``records``.
        links: By attacker, source, modal, unique: `LINKS`.
        agreement: By left and right: `AGREEMENT`; ``near`` is NaN where it was not counted.
        kind: Origin of the slots, from which intervals are computed.
        passes: By attacker, source, pass, modal: `LINKS_BY_PASS`; None with the study's passes.
    """

    people: Sums
    targets: Sums
    links: Sums
    agreement: Sums
    kind: Kind
    passes: Sums | None = None


def with_differing(units: pl.DataFrame) -> pl.DataFrame:
    """Add ``differing``, see `Partition`: null where other solutions have people and ours none.

    Args:
        units: Rows of ``solvar/``.
    """
    share = pl.col("solvar_upper_pct").fill_null(100.0) / 100
    is_elsewhere = (pl.col("population") == 0) & (share > 0)
    return units.with_columns(differing=pl.when(~is_elsewhere).then(pl.col("population") * share))


def collect(
    partition: Partition, place: str, sizes: Sizes, *, draws: int, resamples: int, seed: int
) -> Collected:
    """Sum one partition.

    Args:
        place: The geoid column.
        draws: Number of draws of links; with more than one they are the slots.
        resamples: Resamples of geounits (Poisson bootstrap) when there is one draw.
        seed: Seed of the resamples; a partition's depend on its own geounits alone.
    """
    truth = partition.truth.sort(place).with_columns(units=pl.lit(1))
    if partition.differing is None:
        truth = truth.with_columns(differing=pl.lit(float("nan")))
    else:
        truth = truth.join(
            partition.differing.select(place, "differing"),
            on=place,
            how="left",
            maintain_order="left",
        ).with_columns(pl.col("differing").fill_null(pl.col("population")))
    zero = pl.lit(None, dtype=pl.Boolean)
    if partition.zero is not None:
        zero = pl.col(place).is_in(partition.zero.implode())
    units = truth.select(
        place, sizes.number(pl.col("population")).alias("size"), zero.alias("zero")
    ).with_row_index("_unit")
    if draws > 1:
        weights: FloatArray = np.ones((units.height, 1 + draws))
    else:
        weights = resample(units.height, resamples, seed=seed, partition=partition.name)

    def joined(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.join(units, on=place)

    def linked(frame: pl.DataFrame, by: tuple[str, ...], measures: tuple[str, ...]) -> Sums:
        if draws == 1:
            return weighted(joined(frame), by, measures, weights)
        return stack([_one(joined(frame.filter(draw=draw)), by, measures) for draw in range(draws)])

    return Collected(
        weighted(joined(truth), PLACE, PEOPLE, weights),
        linked(partition.targets, ("attacker", *GROUPS, *PLACE), ("records",)),
        linked(partition.tallies, ("attacker", "source", *GROUPS, *PLACE), LINKS),
        weighted(
            joined(partition.agreement.with_columns(pl.col("near").cast(pl.Float64))),
            ("left", "right", *PLACE),
            AGREEMENT,
            weights,
        ),
        "draws" if draws > 1 else "bootstrap",
        linked(partition.tallies, ("attacker", "source", "pass", "modal"), LINKS_BY_PASS)
        if "pass" in partition.tallies.columns
        else None,
    )


def _one(frame: pl.DataFrame, by: tuple[str, ...], measures: tuple[str, ...]) -> Sums:
    units = int(frame["_unit"].max() or 0) + 1 if frame.height else 0  # type: ignore[arg-type]
    ones: FloatArray = np.ones((units, 1))
    return weighted(frame, by, measures, ones)


def add_up(parts: list[Collected]) -> Collected:
    """Combine partitions."""
    return Collected(
        concat([part.people for part in parts]),
        concat([part.targets for part in parts]),
        concat([part.links for part in parts]),
        concat([part.agreement for part in parts]),
        parts[0].kind,
        concat(by_pass) if (by_pass := [p.passes for p in parts if p.passes is not None]) else None,
    )
