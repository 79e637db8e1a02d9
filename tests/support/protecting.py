"""A release protected by laws, count by count, as an agency would publish it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import recon_cli as recon
from recon_cli.chance import Draws, KeyedChance
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.statement import FLAGGED, Law, Protection, Statement, parse_law

#: Laws that publish count by count, from little to much protection.
LAWS: tuple[Any, ...] = (
    {"suppressed": {"below": 3}},
    {"suppressed": {"below": 2, "flagged": "may-be-zero"}},
    {"zeroed": {"below": 2}},
    {"rounded": {"base": 2, "how": "nearest"}},
    {"rounded": {"base": 3, "how": "nearest"}},
    {"rounded": {"base": 2}},
    {"rounded": {"base": 3}},
    {"cellkey": {"max": 2, "variance": 1.08, "never": [1]}},
)


def protect(release: Release, published: Publication, seed: int, *, exact: float) -> Publication:
    """The same counts under a law for each table and level.

    Args:
        release: The schema.
        published: Exact counts.
        seed: Decides the laws and what chance does.
        exact: Share of tables and levels that stay exact.
    """
    rng = np.random.default_rng([seed, 21])
    statements = [
        Statement(parse_law(LAWS[int(rng.integers(len(LAWS)))]), (table.name,), (level,))
        for table in release.tables
        for level in table.levels
        if rng.random() > exact
    ]
    protection = Protection(tuple(statements))
    counts = protected_counts(all_counts(published), protection, rng)
    listed = published.geounits["geoid"].to_list()
    return recon.publish(release, counts, geounits=listed, protection=protection)


def all_counts(published: Publication) -> pl.DataFrame:
    """Columns ``geoid, level, table, cell, count``: every published cell, zeros too."""
    cells = [
        (geoid, level, table, number)
        for geoid, level, pattern in published.geounits.select("geoid", "level", "pattern").rows()
        for table, numbers in published.coverage[pattern].cells.items()
        for number in numbers
    ]
    names = {"geoid": pl.String, "level": pl.String, "table": pl.String, "cell": pl.Int16}
    frame = pl.DataFrame(cells, schema=names, orient="row")
    keys = ["geoid", "table", "cell"]
    return frame.join(published.counts, on=keys, how="left").with_columns(
        pl.col("count").fill_null(0)
    )


def draws_at(numbers: npt.NDArray[np.float64]) -> Draws:
    """Draws of numbers on [0, 1)."""
    return Draws((numbers * 2.0**64).astype(np.uint64), KeyedChance.for_study(0))


def protected_counts(
    counts: pl.DataFrame, protection: Protection, rng: np.random.Generator
) -> pl.DataFrame:
    """``geoid, table, cell, count`` as text: what the laws publish of exact counts."""
    shown = []
    for _, level, table, _, count in counts.rows():
        law: Law = protection.laws[protection.number(table, level)]
        number = int(law.publish(np.array(count), draws_at(np.array(rng.random()))))
        shown.append("*" if number == FLAGGED else str(number))
    return counts.select("geoid", "table", "cell", count=pl.Series(shown, dtype=pl.String))
