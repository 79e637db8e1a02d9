"""Summaries of protections: error, remaining risk, and the study's tables beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from recon_cli.capabilities.compare.errors import TOTAL
from recon_cli.capabilities.score.tables import BY_PEOPLE
from recon_cli.page.sizes import ALL
from recon_cli.schema import Release

Measure = Literal["gain", "agreement", "certain", "disclosed"]


@dataclass(frozen=True)
class ProtectionSummary:
    """A protection in numbers. Errors are mean absolute errors, in people; rates in percent.

    Attributes:
        unit_error: Error of a cell of a geounit of the finest level, with the tables' weights.
        region_error: Error of a cell of the next coarser level with tables; None if there is none.
        total_error: Error of the total population of a geounit of the finest level.
        unpublished: Share of the finest level's cells without a number.
        people: Number of reconstructed people.
        certain: Records proven to be in every solution, in percent of the truth's people.
        disclosed: People of whom some columns determine another, in percent; None if not asked.
        agreement: Reconstructed records that the truth has, by coarse columns, in the same place.
        precision: Precision of links of nonmodal people who are unique in their place.
        guessed: The better guesser's precision for the same people.
        links: Number of links in the precision.
        epsilon: Privacy loss of one record (after swapping, one swapped record), by the
            neighbours of its strategy; None if nothing is differentially private.
        posterior: Upper bound of the expected belief in the truth of an adversary who knows all
            other records, between two values that no exact count tells apart; see
            `capabilities.account.account.expected_posterior`. After swapping, of swapped records.
        all_below: Units whose reconstructed people are all below an edge, while the truth's are
            not; None if not asked.
    """

    name: str
    settings: str
    unit_error: float
    region_error: float | None
    total_error: float | None
    unpublished: float
    people: int
    certain: float
    disclosed: float | None
    agreement: float | None
    precision: float | None
    guessed: float | None
    links: float | None = None
    epsilon: float | None = None
    posterior: float | None = None
    all_below: float | None = None

    @property
    def gain(self) -> float | None:
        """Return the percentage points of precision beyond guessing."""
        if self.precision is None or self.guessed is None:
            return None
        return self.precision - self.guessed

    def measure(self, name: Measure) -> float | None:
        """Return one of the measures of risk; no gain if guesses are right more often."""
        found: float | None = getattr(self, name)
        return None if found is None else max(found, 0.0)


def summarise(
    release: Release,
    name: str,
    settings: str,
    errors: pl.DataFrame,
    rates: pl.DataFrame | None,
    *,
    people: int,
    of: int,
    certain: int,
    disclosed: int | None,
    epsilon: float | None = None,
    posterior: float | None = None,
    all_below: int | None = None,
) -> ProtectionSummary:
    """Combine the measures of one protection.

    Args:
        name: Name in the config, which is also the source of its links.
        errors: Columns of `recon_cli.capabilities.compare.errors.ERRORS`.
        rates: Rates of all protections, from `capabilities.score.tables.make_rates`; None where
            nobody was linked.
        people: Number of reconstructed people.
        of: People of the truth; the denominator of shares, however few were reconstructed.
        certain: Number of reconstructed records in every solution.
        disclosed: Number of disclosed people; None if it was not asked for.
        posterior: Posterior of the strongest adversary, a probability.
        all_below: Units; None if that was not asked.
    """
    levels = [e.name for e in release.geography.levels if e.name in set(errors["level"])]
    of_all = {
        (level, table): row
        for row in errors.filter(size=ALL).iter_rows(named=True)
        for level, table in [(row["level"], row["table"])]
    }
    finest = of_all[levels[0], ALL]
    total = of_all.get((levels[0], TOTAL))
    linked = {} if rates is None else _rates(rates, name)
    return ProtectionSummary(
        name,
        settings,
        unit_error=finest["mae"],
        region_error=of_all[levels[1], ALL]["mae"] if len(levels) > 1 else None,
        total_error=None if total is None else total["mae"],
        unpublished=finest["unpublished"],
        people=people,
        certain=100 * certain / max(of, 1),
        disclosed=None if disclosed is None else 100 * disclosed / max(of, 1),
        agreement=linked.get("agreement"),
        precision=linked.get("precision"),
        guessed=linked.get("guessed"),
        links=linked.get("links"),
        epsilon=epsilon,
        posterior=None if posterior is None else 100 * posterior,
        all_below=all_below,
    )


def _rates(rates: pl.DataFrame, name: str) -> dict[str, float | None]:
    """Return agreement with the truth, and precision for nonmodal uniques beside guessing."""
    whole = rates.filter(pl.col("source") == name, pl.col("block_size") == ALL)
    agreement = whole.filter(table="table08_agreement", rate="agree_binned")["pct"]
    hard = whole.filter(table="uniques_by_size", panel="nonmodal_unique", rate="precision")
    guesses = hard.select(pl.max_horizontal("modal_pct", "proportional_pct")).to_series()
    return {
        "agreement": agreement[0] if len(agreement) else None,
        "precision": hard["pct"][0] if len(hard) else None,
        "guessed": guesses[0] if len(guesses) else None,
        "links": hard["of"][0] if len(hard) else None,
    }


#: One row per protection and size of the unit. In percent: records that agree with the truth's, by
#: exact and by coarse columns (Table 11); links that are right, of everybody, of nonmodal and of
#: modal people (Tables 15, 16, 17). Null: withheld, or nobody was linked.
SCORES: Final = pl.Schema(
    {
        "protection": pl.String,
        "block_size": pl.String,
        "agree_exact": pl.Float64,
        "agree_binned": pl.Float64,
        "all": pl.Float64,
        "nonmodal": pl.Float64,
        "modal": pl.Float64,
    }
)


def score_table(rates: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Arrange the rates of all protections side by side.

    Args:
        rates: Rates from `recon_cli.capabilities.score.tables.make_rates`, with the protections as
            sources.

    Returns:
        Columns of `SCORES`, all sizes first.
    """
    known = rates.filter(pl.col("source").is_in(list(names)))
    sizes = known["block_size"].unique(maintain_order=True).to_list()
    found = pl.DataFrame(
        [(name, size) for size in sizes for name in names],
        schema={"protection": pl.String, "block_size": pl.String},
        orient="row",
    )
    agreement = known.filter(table="table08_agreement")
    measures = {rate: agreement.filter(rate=rate) for rate in ("agree_exact", "agree_binned")}
    measures |= {
        panel: known.filter(table=table, panel=panel, rate="precision")
        for panel, table in BY_PEOPLE.items()
    }
    for name, rows in measures.items():
        column = rows.select(
            pl.col("source").alias("protection"), "block_size", pl.col("pct").alias(name)
        )
        found = found.join(
            column, on=["protection", "block_size"], how="left", maintain_order="left"
        )
    return found.select(SCORES.names()).cast(SCORES)
