"""Rates of one table as tidy rows: Eq. 5.1–5.3 of the 2010 study, and agreement.

Putative rate = putative / records of the attacker; confirmed rate = confirmed / records;
precision = confirmed / putative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.score.collect import Collected
from recon_cli.capabilities.score.control import Control, label_panels
from recon_cli.capabilities.score.intervals import Kind, interval, ratio
from recon_cli.capabilities.score.sums import Sums
from recon_cli.page.sizes import Sizes

#: A row is one rate.
ROW = {
    **dict.fromkeys(("table", "panel", "source", "against", "block_size", "rate"), pl.String),
    **dict.fromkeys(("count", "of", "pct", "low", "high", "least", "most"), pl.Float64),
    "rank": pl.Int8,
    "withheld": pl.Boolean,
}

NONMODAL, MODAL = ~pl.col("modal"), pl.col("modal")
UNIQUE, ZERO = pl.col("unique"), pl.col("zero")
EVERYBODY = pl.lit(value=True)
_AGREEMENT_RATES: Final = {"exact": "agree_exact", "near": "agree_near", "agree": "agree_binned"}
#: Panel → who is counted.
PEOPLE: Final = {"all": EVERYBODY, "nonmodal": NONMODAL, "modal": MODAL}


@dataclass(frozen=True)
class TableFamily:
    """Tables whose classes are published or withheld together.

    Attributes:
        tables: Table → its panels, each a condition on who is counted.
        by_size: Whether there are rows for size classes, or for all only.
        sources: The sources to show; None for all.
    """

    tables: Mapping[str, Mapping[str, pl.Expr]]
    by_size: bool = True
    sources: Sequence[str] | None = None


@dataclass(frozen=True)
class Rules:
    """Options of the display of rates.

    Attributes:
        coverage: Coverage of intervals, in percent.
        kind: Kind of intervals.
    """

    sizes: Sizes
    control: Control
    coverage: float
    kind: Kind = "bootstrap"


def link_rates(collected: Collected, family: TableFamily, rules: Rules) -> pl.DataFrame:
    """Compute putative, confirmed and precision rates of some tables (`ROW`): Eq. (rates)."""
    frames = [pl.DataFrame(schema=ROW)]
    attackers = collected.targets.keys["attacker"].unique().sort()
    for attacker in attackers:
        here = pl.col("attacker") == attacker
        targets, links = collected.targets.where(here), collected.links.where(here)
        if family.sources is not None:
            links = links.where(pl.col("source").is_in(list(family.sources)))
        panels = {
            (table, panel): condition
            for table, conditions in family.tables.items()
            for panel, condition in conditions.items()
        }
        people = [targets.where(condition) for condition in panels.values()]
        classes = label_panels(people, "records", rules.sizes, rules.control)
        for (table, panel), whole in zip(panels, people, strict=True):
            counted = links.where(panels[table, panel])
            for labels in classes if family.by_size else classes[:1]:
                rows = _link_rows(counted, whole, labels, rules)
                frames.append(_named(rows, table=table, panel=panel, against=attacker))
    return pl.concat(frames)


def agreement_rates(
    collected: Collected,
    table: str,
    sources: Sequence[str] | None,
    rules: Rules,
    own: str | None = None,
) -> pl.DataFrame:
    """Compute agreement by size class (`ROW`); ``against`` is the file compared with.

    The binned agreement of ``own`` has the study's 100% interval: no other reconstruction from the
    same tables has less than ``least`` or more than ``most``, Eq. (feasible) of docs/method.md.

    Args:
        sources: Those to show; None for all.
        own: The source whose solution variability was measured, if one's was.
    """
    agreement = collected.agreement
    if sources is not None:
        agreement = agreement.where(pl.col("left").is_in(list(sources)))
    frames = [pl.DataFrame(schema=ROW)]
    for labels in _people_classes(collected, rules):
        parts = _labelled(agreement, labels).by("left", "right", *_LABELS)
        keys = parts.keys
        people = _labelled(collected.people, labels).by(*_LABELS).aligned(keys)
        whole = people.of("population")
        is_own = np.array([source == own for source in keys["left"]], np.bool_)
        differing = np.where(is_own, people.of("differing")[:, 0], np.nan)
        for measure, rate in _AGREEMENT_RATES.items():
            if np.isnan(parts.of(measure)).all():
                continue
            rows = rate_rows(keys, rate, parts.of(measure), whole, rules)
            if measure == "agree":
                rows = _feasible(rows, differing)
            renamed = rows.rename({"left": "source", "right": "against"})
            frames.append(_named(renamed, table=table, panel="all"))
    return pl.concat(frames)


def _feasible(rows: pl.DataFrame, differing: FloatArray) -> pl.DataFrame:
    reach = 2 * 100 * pl.Series(differing, nan_to_null=True) / pl.col("of")
    return rows.with_columns(
        pl.max_horizontal(pl.col("pct") - reach, 0 * reach).alias("least"),
        pl.min_horizontal(pl.col("pct") + reach, 0 * reach + 100).alias("most"),
    )


def people_rates(
    collected: Collected,
    table: str,
    rates: Mapping[str, tuple[str, str]],
    rules: Rules,
    *,
    source: str,
    against: str,
    among: pl.Expr = EVERYBODY,
) -> pl.DataFrame:
    """Compute rates of the people or units of each class (`ROW`).

    Args:
        rates: Rate → numerator and denominator, of `recon_cli.capabilities.score.collect.PEOPLE`.
        among: Condition on the groups of the numerator.
    """
    frames = [pl.DataFrame(schema=ROW)]
    for labels in _people_classes(collected, rules):
        people = _labelled(collected.people, labels).by(*_LABELS)
        counted = _labelled(collected.people.where(among), labels).by(*_LABELS).aligned(people.keys)
        for rate, (part, whole) in rates.items():
            rows = rate_rows(people.keys, rate, counted.of(part), people.of(whole), rules)
            names = {"panel": "all", "source": source, "against": against}
            frames.append(_named(rows, table=table, **names))
    return pl.concat(frames)


def attacker_rates(collected: Collected, table: str, truth: str, rules: Rules) -> pl.DataFrame:
    """Compute Table 3's shares of attackers' records whose person the truth has there (`ROW`).

    ``matched`` is in percent of the file's records, ``held`` of the truth's people with an id.
    """
    frames = [pl.DataFrame(schema=ROW)]
    targets = collected.targets
    for attacker in targets.keys["attacker"].unique().sort():
        records = targets.where(pl.col("attacker") == attacker)
        matched = records.where(pl.col("modal").is_not_null())
        for labels in _people_classes(collected, rules):
            people = _labelled(collected.people, labels).by(*_LABELS)
            counted, whole = (
                _labelled(part, labels).by(*_LABELS).aligned(people.keys).of("records")
                for part in (matched, records)
            )
            for rate, of in (("matched", whole), ("held", people.of("linkable"))):
                rows = rate_rows(people.keys, rate, counted, of, rules)
                frames.append(
                    _named(rows, table=table, panel="all", source=truth, against=attacker)
                )
    return pl.concat(frames)


_LABELS = ("block_size", "rank", "withheld")


def _people_classes(collected: Collected, rules: Rules) -> list[pl.DataFrame]:
    return label_panels([collected.people], "population", rules.sizes, rules.control)


def _labelled(sums: Sums, labels: pl.DataFrame) -> Sums:
    keys = sums.keys.join(labels, on="size", how="left", maintain_order="left")
    return Sums(keys, sums.measures, sums.values)


def _named(rows: pl.DataFrame, **names: str) -> pl.DataFrame:
    """Add constant columns that rows of `ROW` lack."""
    return rows.with_columns(pl.lit(v).alias(k) for k, v in names.items()).select(list(ROW))


def _link_rows(links: Sums, targets: Sums, labels: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    people = _labelled(targets, labels).by(*_LABELS)
    labelled = _labelled(links, labels)
    # every source has a row for every class with people, links or none
    sources = labelled.keys.select("source").unique()
    keys = sources.join(people.keys, how="cross").sort("source", "rank")
    counts = labelled.by("source", *_LABELS).aligned(keys)
    whole = people.aligned(keys).of("records")
    putative, confirmed = counts.of("putative"), counts.of("confirmed")
    frames = [
        rate_rows(keys, "putative", putative, whole, rules),
        rate_rows(keys, "confirmed", confirmed, whole, rules),
        rate_rows(keys, "precision", confirmed, putative, rules),
    ]
    expected = rate_rows(keys, "expected", counts.of("expected"), putative, rules)
    frames.append(expected.filter(pl.col("source").is_in(_with_expectation(labelled).implode())))
    return pl.concat(frames)


def _with_expectation(links: Sums) -> pl.Series:
    """Return the sources whose links have probabilities: proportional guessers."""
    return links.keys.filter(pl.Series(links.of("expected")[:, 0] > 0))["source"].unique()


def rate_rows(
    keys: pl.DataFrame, rate: str, part: FloatArray, whole: FloatArray, rules: Rules
) -> pl.DataFrame:
    """Make a row for each of the keys: the rate ``part / whole``, both groups × slots."""
    rates = ratio(part, whole)
    low, high = interval(part, whole, rules.kind, rules.coverage)
    return keys.with_columns(
        pl.lit(rate).alias("rate"),
        pl.Series("count", part[:, 0]),
        pl.Series("of", whole[:, 0]),
        pl.Series("pct", rates[:, 0], nan_to_null=True),
        pl.Series("low", low, nan_to_null=True),
        pl.Series("high", high, nan_to_null=True),
        pl.lit(None, dtype=pl.Float64).alias("least"),
        pl.lit(None, dtype=pl.Float64).alias("most"),
    )
