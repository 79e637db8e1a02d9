"""Risk after a release: every cell at risk, with the evidence of each adversary.

A cell is at risk if somebody is in it. Each person in the cell is a target, and all have the same
log-odds, so there is one row for each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.risk.log_odds import TIE, evidence, log_odds, logit, posterior
from recon_cli.capabilities.risk.siblings import EachSibling
from recon_cli.capabilities.risk.two_levels import (
    SiblingPrior,
    TwoLevels,
    known_siblings_evidence,
    known_upper_evidence,
    published_log_odds,
)
from recon_cli.errors import SourceError
from recon_cli.schema import Level

KEYS: Final = ("geoid", "table", "cell")
#: Rows that the published sampler's limit is found for at a time.
_ROWS = 50_000


@dataclass(frozen=True)
class KnownUpper:
    """An adversary who knows, or assumes, the true count above.

    Attributes:
        believed: Assumed value of every count above; None for the truth.
    """

    believed: int | None = None


@dataclass(frozen=True)
class PublishedSampler:
    """An adversary who believes the published sampler."""


UpperPrior = SiblingPrior | EachSibling | KnownUpper | PublishedSampler


@dataclass(frozen=True)
class Adversaries:
    """The adversaries to evaluate.

    Attributes:
        rho1: Precision of a unit's noisy count.
        rho2: ρ of the level above; None for one level only.
        upper: Prior of the siblings; None for one level only.
    """

    rho1: float
    rho2: float | None = None
    upper: UpperPrior | None = None


def join_measurements(
    truth: pl.DataFrame,
    units: pl.DataFrame,
    upper: pl.DataFrame | None = None,
    level: Level | None = None,
) -> pl.DataFrame:
    """Join cells at risk with their measurements.

    Args:
        truth: Columns ``geoid, table, cell, count`` of units, counts above 0.
        units: Columns ``geoid, table, cell, noisy`` of units.
        upper: The same columns for the level above.
        level: The level above.

    Returns:
        ``geoid, table, cell, count, noisy``; with an upper level ``above`` (its noisy count),
        ``beside`` (the siblings' noisy sum), ``m`` (siblings) and ``siblings`` (their true count).

    Raises:
        SourceError: A count that is needed was not measured, or measured twice.
    """
    for frame in (truth, units, *(() if upper is None else (upper,))):
        _require_once(frame)
    cells = truth.select(*KEYS, "count").join(
        units.select(*KEYS, "noisy"), on=KEYS, how="left", maintain_order="left"
    )
    _require_measured(cells, "noisy", KEYS)
    if upper is None or level is None:
        return cells
    group = level.enclosing(pl.col("geoid")).alias("group")
    keys = ("group", *KEYS[1:])
    sums = units.group_by(group, *KEYS[1:]).agg(total=pl.col("noisy").sum(), measured=pl.len())
    children = units.group_by(group).agg(children=pl.col("geoid").n_unique())
    counts = truth.group_by(group, *KEYS[1:]).agg(all=pl.col("count").sum())
    above = upper.select(group=pl.col("geoid"), table="table", cell="cell", above="noisy")
    cells = cells.with_columns(group)
    for each, on in ((sums, keys), (children, ("group",)), (counts, keys), (above, keys)):
        cells = cells.join(each, on=on, how="left", maintain_order="left")
    _require_measured(cells, "above", keys)
    short = cells.filter(pl.col("measured") < pl.col("children"))
    if not short.is_empty():
        row = short.row(0, named=True)
        raise SourceError(
            f"{row['group']}, {row['table']} cell {row['cell']}: measured for {row['measured']} "
            f"of {row['children']} geounits below it; the siblings' sum needs all"
        )
    return cells.select(
        *KEYS,
        "count",
        "noisy",
        "above",
        beside=pl.col("total") - pl.col("noisy"),
        m=pl.col("children").cast(pl.Int64) - 1,
        siblings=pl.col("all").cast(pl.Int64) - pl.col("count").cast(pl.Int64),
    )


def join_siblings(cells: pl.DataFrame, units: pl.DataFrame, level: Level) -> pl.DataFrame:
    """Add the noisy counts of each sibling to the cells of `join_measurements`.

    Args:
        cells: Result of `join_measurements`.

    Returns:
        Columns more: ``group`` (the geoid above), ``all_noisy`` (the noisy counts of all its units,
        by geoid) and ``place`` (the unit's own among them).
    """
    group = level.enclosing(pl.col("geoid")).alias("group")
    keys = ("group", *KEYS[1:])
    units = units.with_columns(group).sort("geoid")
    places = units.select(*KEYS, place=pl.int_range(pl.len()).over(keys))
    lists = units.group_by(keys).agg(all_noisy="noisy")
    return (
        cells.with_columns(group)
        .join(lists, on=keys, how="left", maintain_order="left")
        .join(places, on=KEYS, how="left", maintain_order="left")
    )


def add_evidence(
    releases: Sequence[pl.DataFrame], adversaries: Adversaries, p: float
) -> dict[str, FloatArray]:
    """Compute log-odds of all cells for each adversary, over all releases. Eq. (composition).

    Args:
        releases: Frames of `join_measurements`, with the same cells in the same order.
        p: Prior of every target.

    Returns:
        ``one_level``; with an upper level ``two_levels`` and ``siblings_known``, too.
    """
    start, total = logit(p), dict[str, FloatArray]()
    for cells in releases:
        for name, added in _evidence(cells, adversaries, p).items():
            total[name] = total.get(name, start) + added
    return total


def describe(cells: pl.DataFrame, odds: FloatArray, p: float) -> pl.DataFrame:
    """Make rows of ``risk/``, one for each cell at risk and prior.

    Returns:
        ``geoid, table, cell, known, noisy, prior, log_odds, posterior, ratio, decision, tie``.
    """
    q = posterior(odds)
    tie = np.abs(odds) < TIE
    return cells.select(
        *KEYS,
        known=pl.col("count").cast(pl.Int64) - 1,
        noisy="noisy",
        prior=pl.lit(p),
        log_odds=pl.Series(odds),
        posterior=pl.Series(q),
        ratio=pl.Series(q / p),
        decision=pl.Series(np.where((odds > 0) & ~tie, "in", "out")),
        tie=pl.Series(tie),
    )


def summarize_cells(
    counts: IntArray, odds: Mapping[str, FloatArray], p: float, flags: Mapping[str, float]
) -> pl.DataFrame:
    """Sum over people, so that partitions can be added up.

    Args:
        counts: People in each cell.
        p: Prior.
        flags: ``posterior`` and ``ratio`` above which a person is counted.

    Returns:
        ``prior, adversary, people, posterior, ratio, correct, tied, over_posterior, over_ratio``:
        sums over people, a row for each adversary.
    """
    rows = []
    for name, each in odds.items():
        q, tie = posterior(each), np.abs(each) < TIE
        rows.append(
            {
                "prior": p,
                "adversary": name,
                "people": int(counts.sum()),
                "posterior": float(counts @ q),
                "ratio": float(counts @ q) / p,
                "correct": int(counts[(each > 0) & ~tie].sum()),
                "tied": int(counts[tie].sum()),
                "over_posterior": int(counts[q > flags["posterior"]].sum()),
                "over_ratio": int(counts[q / p > flags["ratio"]].sum()),
            }
        )
    return pl.DataFrame(rows)


def mean_risks(sums: pl.DataFrame) -> pl.DataFrame:
    """Average sums of `summarize_cells` over all partitions; the counts of people stay."""
    return (
        sums.group_by("prior", "adversary", maintain_order=True)
        .sum()
        .with_columns(pl.col("posterior", "ratio", "correct", "tied") / pl.col("people"))
    )


def _evidence(cells: pl.DataFrame, adversaries: Adversaries, p: float) -> dict[str, FloatArray]:
    others = cells["count"].cast(pl.Int64).to_numpy() - 1
    d1 = cells["noisy"].cast(pl.Int64).to_numpy() - others
    one = evidence(d1, adversaries.rho1)
    if adversaries.rho2 is None or adversaries.upper is None:
        return {"one_level": one}
    d2 = cells["above"].cast(pl.Int64).to_numpy() - others
    s, m = (cells[name].cast(pl.Int64).to_numpy() for name in ("beside", "m"))
    siblings = cells["siblings"].to_numpy()
    known = one + known_siblings_evidence(d2, siblings, adversaries.rho2)
    # Without siblings the count above is the geounit's own: if known, so is the target.
    alone = known_siblings_evidence(d2, np.zeros_like(d2), adversaries.rho2)
    if isinstance(adversaries.upper, KnownUpper):
        count = _count_above(adversaries.upper, others, siblings)
        alone = np.where(count > 0, np.inf, -np.inf)
    two = one + alone
    if isinstance(adversaries.upper, EachSibling):
        beside = m > 0
        two[beside] = one[beside] + _one_by_one(cells.filter(beside), d2[beside], adversaries)
        return {"one_level": one, "two_levels": two, "siblings_known": known}
    above = _upper_evidence(adversaries.upper, p)
    for number in np.unique(m[m > 0]).tolist():
        here = np.flatnonzero(m == number)
        levels = TwoLevels(adversaries.rho1, adversaries.rho2, number)
        point = _Point(others[here], d1[here], d2[here], s[here], siblings[here])
        two[here] = one[here] + above(point, levels)
    return {"one_level": one, "two_levels": two, "siblings_known": known}


def _one_by_one(cells: pl.DataFrame, d2: IntArray, adversaries: Adversaries) -> FloatArray:
    """Compute the evidence of every sibling's own count, group by group."""
    upper, rho2, found = adversaries.upper, adversaries.rho2, np.zeros(len(cells))
    assert isinstance(upper, EachSibling)  # noqa: S101 - see _evidence
    assert rho2 is not None  # noqa: S101
    groups = (
        cells.select("group", *KEYS[1:], "all_noisy", "place")
        .with_row_index("row")
        .group_by("group", *KEYS[1:], maintain_order=True)
        .agg("row", "place", pl.col("all_noisy").first())
    )
    for row, place, all_noisy in groups.select("row", "place", "all_noisy").iter_rows():
        noisy = np.array(all_noisy)
        above = np.zeros_like(noisy)
        above[place] = d2[row]
        found[row] = upper.evidence(noisy, above, adversaries.rho1, rho2)[place]
    return found


@dataclass(frozen=True, eq=False)
class _Point:
    """Arrays of one length: the others known, counts less them, the siblings' true count."""

    others: IntArray
    d1: IntArray
    d2: IntArray
    s: IntArray
    siblings: IntArray


def _upper_evidence(
    upper: SiblingPrior | KnownUpper | PublishedSampler, p: float
) -> Callable[[_Point, TwoLevels], FloatArray]:
    if isinstance(upper, KnownUpper):
        return lambda point, levels: known_upper_evidence(
            _count_above(upper, point.others, point.siblings), point.s, levels
        )
    if isinstance(upper, PublishedSampler):
        return lambda point, levels: _sampler_evidence(point, levels, p)
    return lambda point, levels: upper.evidence(point.d2, point.s, levels)


def _count_above(upper: KnownUpper, others: IntArray, siblings: IntArray) -> IntArray:
    """Return the assumed count above, less the known others."""
    return siblings + 1 if upper.believed is None else upper.believed - others


def _sampler_evidence(point: _Point, levels: TwoLevels, p: float) -> FloatArray:
    parts = [
        published_log_odds(
            point.d1[at : at + _ROWS],
            point.d2[at : at + _ROWS],
            point.s[at : at + _ROWS],
            levels,
            p,
        )
        for at in range(0, len(point.d1), _ROWS)
    ]
    return np.concatenate(parts) - log_odds(point.d1, levels.rho1, p)


def _require_once(frame: pl.DataFrame) -> None:
    twice = frame.filter(pl.struct(KEYS).is_duplicated())
    if not twice.is_empty():
        raise SourceError(f"{_name(twice, KEYS)}: given twice")


def _require_measured(cells: pl.DataFrame, column: str, keys: Sequence[str]) -> None:
    absent = cells.filter(pl.col(column).is_null())
    if not absent.is_empty():
        raise SourceError(f"{_name(absent, keys)}: records are in the cell, but it is not measured")


def _name(frame: pl.DataFrame, keys: Sequence[str]) -> str:
    place, table, cell = frame.select(keys).row(0)
    return f"geoid {place}, {table} cell {cell}"
