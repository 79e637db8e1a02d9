"""Guessers without links: the modal and the proportional guesser.

MDG guesses the most frequent value of the geounit for everybody; PRG draws from the geounit's own
distribution. A reconstruction that does no better gives an attacker nothing. Both use records (the
study took the HDF's) or published counts; *leave one out* makes the guess for a person from
everybody else.

See *modal* and *guesser* in docs/glossary.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.link.key_encoding import (
    KeyEncoder,
    enclosing_places,
    place_in_unit,
    record_hashes,
    unit_salts,
)
from recon_cli.capabilities.link.published_margins import PublishedMargins
from recon_cli.capabilities.link.specification import TABLES, LinkageSpecification
from recon_cli.chance import uniform
from recon_cli.schema import Level

#: Origins of a unit's modal guess: the unit's own mode, its parent's, or the overall mode.
MODES_OF: Final = ("unit", "parent", "everybody")
#: Origin → packed gained value → people who have it.
GainCounts = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class ValueCounts:
    """The frequency of each gained value, by geounit.

    Attributes:
        counts: ``unit``, ``gain``, ``n`` (Int64, above zero), sorted, each pair once.
        geoids: Geoids of all units, in the order of ``unit``.
        parent: For each unit the number of the next coarser geounit.
        mode: The most frequent value overall, used where neither unit nor parent has a mode.
    """

    counts: pl.DataFrame
    geoids: pl.Series
    parent: IntArray
    mode: int

    @classmethod
    def of(cls, counts: pl.DataFrame, geoids: pl.Series, parents: Level, mode: int) -> ValueCounts:
        """Sort the counts by unit, and number the units' parents, geounits of level ``parents``."""
        ordered = counts.select("unit", "gain", pl.col("n").cast(pl.Int64)).sort("unit", "gain")
        parent = enclosing_places(geoids, parents).to_numpy().astype(np.int64)
        return cls(ordered, geoids, parent, mode)

    @cached_property
    def above(self) -> pl.DataFrame:
        """Return the counts of the parents, with the columns of ``counts``."""
        parent = pl.Series(self.parent)
        return (
            self.counts.with_columns(parent.gather(self.counts["unit"]).alias("unit"))
            .group_by("unit", "gain")
            .agg(pl.col("n").sum())
            .sort("unit", "gain")
        )

    @cached_property
    def lent(self) -> ValueCounts:
        """Give units without people the counts of the parent, or else the mode."""
        empty = np.setdiff1d(np.arange(len(self.geoids)), self.counts["unit"].to_numpy())
        if not len(empty):
            return self
        borrowed = pl.DataFrame({"empty": empty, "unit": self.parent[empty]}).join(
            self.above, on="unit", how="left"
        )
        lent = borrowed.select(
            pl.col("empty").cast(self.counts.schema["unit"]).alias("unit"),
            pl.col("gain").fill_null(self.mode),
            pl.col("n").fill_null(1),
        )
        return replace(self, counts=pl.concat([self.counts, lent]).sort("unit", "gain"))

    @property
    def parents(self) -> int:
        return int(self.parent.max(initial=-1)) + 1

    @property
    def modes(self) -> IntArray:
        """Return the modal guess (MDG) of each unit.

        This is the unit's mode; where two values tie or one person lives alone, the parent's mode,
        which must have no tie and a count of two or more; else the overall mode.
        """
        return self._modes[0]

    @property
    def units_by_mode(self) -> dict[str, int]:
        """Count the inhabited units whose modal guess is their own, their parent's, or overall."""
        inhabited = self._modes[1][self.counts["unit"].unique().to_numpy()]
        return {name: int((inhabited == at).sum()) for at, name in enumerate(MODES_OF)}

    @cached_property
    def _modes(self) -> tuple[IntArray, IntArray]:
        """Return the modal guess of each unit, and the place of its origin in `MODES_OF`."""
        own, _, ties, total = _mode_of(self.counts, len(self.geoids))
        above, above_top, above_ties, _ = _mode_of(self.above, self.parents)
        is_lent, has_own = (above_ties == 1) & (above_top > 1), (ties == 1) & (total > 1)
        lent = np.where(is_lent, above, self.mode)[self.parent]
        whose = np.where(is_lent, 1, 2)[self.parent]
        return np.where(has_own, own, lent), np.where(has_own, 0, whose)


def is_modal(values: ValueCounts, people: pl.DataFrame) -> pl.Series:
    """Test whether each person's gained value is the modal guess of the unit (the study's rule).

    Ties and people who live alone follow the rule of `ValueCounts.modes`; all people who are not
    modal are nonmodal.

    Args:
        people: ``unit`` and ``gain``.
    """
    modes = pl.Series(values.modes).gather(people["unit"])
    return (people["gain"] == modes).alias("modal")


def most_frequent(counts: Mapping[int, int]) -> int:
    """Return the value with the highest count; the smallest of several, 0 if there is none.

    >>> most_frequent({7: 2, 3: 5, 1: 5}), most_frequent({})
    (1, 0)
    """
    return min(counts, key=lambda value: (-counts[value], value), default=0)


def _mode_of(counts: pl.DataFrame, units: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return for each unit: a most frequent value, its count, the number of ties, all people."""
    modes = (
        counts.group_by("unit")
        .agg(
            pl.col("gain").sort_by("n", "gain", descending=[True, False]).first(),
            pl.col("n").max().alias("top"),
            (pl.col("n") == pl.col("n").max()).sum().alias("ties"),
            pl.col("n").sum().alias("total"),
        )
        .filter(pl.col("top") > 0)
    )
    at = modes["unit"].to_numpy()
    columns = []
    for name in ("gain", "top", "ties", "total"):
        column = np.zeros(units, np.int64)
        column[at] = modes[name].to_numpy()
        columns.append(column)
    return columns[0], columns[1], columns[2], columns[3]


def modal_guess(values: ValueCounts, records: pl.DataFrame, *, leave_one_out: bool) -> pl.Series:
    """Guess a value for every record by MDG.

    Args:
        records: ``unit``, and to leave one out ``gain``, the record's own value.
    """
    unit = records["unit"].to_numpy()
    if not leave_one_out:
        return pl.Series("gain", values.modes[unit])
    guesses = modal_without(values)
    return (
        records.select("unit", "gain")
        .join(guesses, on=["unit", "gain"], how="left", maintain_order="left")["guess"]
        .rename("gain")
    )


def modal_without(values: ValueCounts) -> pl.DataFrame:
    """Return the modal guess from the others of a unit, for a person with a given value.

    Returns:
        ``unit, gain, guess``, for every value that occurs in a unit.
    """
    cases = values.counts.select("unit", "gain").with_row_index("case")
    within = _without_one(cases, values.counts)
    parent = pl.Series(values.parent)
    placed = cases.with_columns(parent.gather(cases["unit"]).alias("unit"))
    own_value, _, own_ties, own_total = _mode_of(within, cases.height)
    up_cases = placed.select("unit", "gain").unique().with_row_index("case")
    up = _without_one(up_cases, values.above)
    up_value, up_top, up_ties, _ = _mode_of(up, up_cases.height)
    case_above = placed.join(
        up_cases, on=["unit", "gain"], how="left", maintain_order="left", suffix="_up"
    )["case_up"].to_numpy()
    lent = np.where((up_ties == 1) & (up_top > 1), up_value, values.mode)[case_above]
    guess = np.where((own_ties == 1) & (own_total > 1), own_value, lent)
    return cases.select("unit", "gain", pl.Series("guess", guess))


def _without_one(cases: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Remove one person with the case's value from the counts of each case's unit.

    Returns:
        ``unit`` (the case's number), ``gain``, ``n``.
    """
    taken = (pl.col("gain") == pl.col("gain_right")).cast(pl.Int64)
    return (
        cases.join(counts, on="unit")
        .select(
            pl.col("case").alias("unit"),
            (pl.col("n") - taken).alias("n"),
            pl.col("gain_right").alias("gain"),
        )
        .filter(pl.col("n") > 0)
    )


def proportional_guess(
    values: ValueCounts, records: pl.DataFrame, seed: int, purpose: str, *, leave_one_out: bool
) -> pl.Series:
    """Guess by PRG: one draw for every record, in proportion to the unit's values.

    A draw picks a person of the unit and guesses that person's value. With leave-one-out, it picks
    somebody else, and for people who live alone, somebody else of the parent.

    Args:
        records: ``unit``, and ``exact, binned`` and perhaps ``gain`` and ``id``, which tell records
            apart.
        purpose: Keeps the draws apart from other uses of the seed.
        leave_one_out: Never pick the record itself.
    """
    names = ("id", "exact", "binned", "gain")
    identity = [name for name in names if name in records.columns]
    places = place_in_unit(records, "unit", identity).to_numpy()
    unit = records["unit"].to_numpy()
    salts = unit_salts(values.geoids.to_list(), seed, purpose)
    chance = uniform(record_hashes(salts[unit], places))
    if not leave_one_out:
        people, starts = _laid_out(values.counts, len(values.geoids))
        picked = starts[unit] + (chance * np.diff(starts)[unit]).astype(np.int64)
        return pl.Series("gain", people[picked])
    return pl.Series("gain", _draw_another(values, records, chance))


def _laid_out(counts: pl.DataFrame, units: int) -> tuple[IntArray, IntArray]:
    """Return every person's value, sorted by unit and value, and the start of each unit's."""
    n = counts["n"].to_numpy()
    totals = np.zeros(units + 1, np.int64)
    np.add.at(totals, counts["unit"].to_numpy() + 1, n)
    return np.repeat(counts["gain"].to_numpy(), n), np.cumsum(totals)


def _draw_another(values: ValueCounts, records: pl.DataFrame, chance: FloatArray) -> IntArray:
    unit, own = records["unit"].to_numpy(), records["gain"].to_numpy()
    guess, alone = _pick_another(values.counts, len(values.geoids), unit, own, chance)
    if alone.any():
        above = values.parent[unit]
        lent, lonely = _pick_another(values.above, values.parents, above, own, chance)
        guess = np.where(alone, np.where(lonely, values.mode, lent), guess)
    return guess


def _pick_another(
    counts: pl.DataFrame, units: int, unit: IntArray, own: IntArray, chance: FloatArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Pick the value of somebody else in ``unit``; return also who lives alone."""
    (people, starts), n = _laid_out(counts, units), counts["n"].to_numpy()
    first = (
        pl.DataFrame({"unit": unit, "gain": own})
        .join(
            counts.select(
                pl.col("unit").cast(pl.Int64), "gain", pl.Series("first", np.cumsum(n) - n)
            ),
            on=["unit", "gain"],
            how="left",
            maintain_order="left",
        )["first"]
        .to_numpy()
    )  # one person of the record's own value stands for the record
    others = np.diff(starts)[unit] - 1
    alone = others < 1
    picked = starts[unit] + (chance * np.maximum(others, 0)).astype(np.int64)
    picked += picked >= first
    return people[np.where(alone, starts[unit], picked)], alone


def expected_correct(values: ValueCounts) -> pl.DataFrame:
    """Compute how many people of each unit the guessers are right about, on their own source.

    Closed forms: Σ over the people of a unit of the probability of a right guess. Divided by the
    people these are the modal share and Σp²; ``_without`` leaves each person out of the guess about
    that person.

    Returns:
        ``unit``, ``people`` (Int64), ``modal``, ``proportional``, ``modal_without``,
        ``proportional_without`` (Float64).
    """
    counts = values.counts.join(modal_without(values), on=["unit", "gain"])
    mode = pl.Series(values.modes).gather(counts["unit"])
    total, n = pl.col("n").sum().over("unit"), pl.col("n")
    others = pl.when(total > 1).then(n * (n - 1) / (total - 1)).otherwise(0.0)
    return (
        counts.with_columns(
            (n * (pl.col("gain") == mode)).cast(pl.Float64).alias("modal"),
            (n * n / total).alias("proportional"),
            (n * (pl.col("gain") == pl.col("guess"))).cast(pl.Float64).alias("modal_without"),
            others.alias("proportional_without"),
        )
        .group_by("unit")
        .agg(
            n.sum().alias("people"),
            pl.col("modal", "proportional", "modal_without", "proportional_without").sum(),
        )
        .sort("unit")
    )


def chance_of(values: ValueCounts, people: pl.DataFrame) -> pl.Series:
    """Return the probability that PRG is right about each person: p of the value in the unit.

    Args:
        people: ``unit`` and ``true_gain`` (null if unknown: the chance is 0).
    """
    shares = values.counts.select(
        "unit",
        pl.col("gain").alias("true_gain"),
        (pl.col("n") / pl.col("n").sum().over("unit")).alias("chance"),
    )
    return (
        people.select("unit", "true_gain")
        .join(shares, on=["unit", "true_gain"], how="left", maintain_order="left")["chance"]
        .fill_null(0.0)
    )


def count_gains(
    spec: LinkageSpecification,
    records: Mapping[str, pl.DataFrame],
    margins: PublishedMargins | None,
) -> GainCounts:
    """Count one partition's gained values in every origin that guesses use.

    Args:
        margins: For guessers from published tables.
    """
    encoder = KeyEncoder(spec.release, spec.keys, pl.Series([], dtype=pl.String))
    counts = {}
    for origin in spec.guessed_from:
        if origin != TABLES:
            counts[origin] = encoder.gain_counts(records[origin], origin)
        elif margins is not None:
            gains = margins.gains
            counts[origin] = encoder.gain_counts(gains, origin, gains["n"])
    return counts


def with_modes(spec: LinkageSpecification, counts: Iterable[GainCounts]) -> LinkageSpecification:
    """Add the modes over all partitions to the specification."""
    totals: dict[str, Counter[int]] = {}
    for partition in counts:
        for origin, values in partition.items():
            totals.setdefault(origin, Counter()).update(values)
    modes = {origin: most_frequent(values) for origin, values in totals.items()}
    return replace(spec, modes=modes)
