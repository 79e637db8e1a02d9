"""Stars of made-up wards that printed statistics give away: ``python -m benchmarks.wards``.

Each ward has 20 to 60 people by sex, age and a condition. Counts from 1 to 4 are starred, and
percentages, means, medians and extremes are printed beside them, never starred. For each choice of
these the audit tells how many stars are recovered, of all and of people with the condition by band
of age, how many are undecided, and how many CPU seconds it took, those for counts alone beside it
left out.

With ``--suppress`` the true counts are suppressed by `recon protect suppress` instead, and as many
statistics are withheld as that takes; the audit of the result finds what is recovered still.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
import polars as pl

from recon_cli import api
from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.protect.counts import tidy_counts
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.statistics import harmful_statistics
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.capabilities.tabulate.statistics import printed_text
from recon_cli.frames import COUNTS
from recon_cli.publication import Publication
from recon_cli.schema import Release, bits
from recon_cli.schema.load import parse_release
from recon_cli.sources.tidy import with_statistics
from recon_cli.statement import Protection, Statement, parse_law

BANDS: Final = ((18, 34), (35, 49), (50, 64), (65, 79), (80, 95))
_EDGES: Final = ", ".join(str(first) for first, _ in BANDS)
_SHARES: Final = "\n".join(
    f"      OF_BAND{at}: {{statistic: {{share: {{age: {first}..{last}}}}}}}"
    for at, (first, last) in enumerate(BANDS)
)
SCHEMA: Final = f"""
release: wards
title: Made-up wards
features:
  sex: {{categories: [female, male]}}
  age: {{range: 18..95}}
  ill: {{categories: [false, true]}}
recodes:
  band: {{of: age, edges: [{_EDGES}]}}
geography: {{levels: [{{level: ward, digits: 4}}, {{level: city, digits: 1}}], partition: city}}
microdata: [sex, age, ill]
histogram: [sex, band, ill]
families:
  - levels: [ward]
    cells: [total, {{by: sex}}, {{by: ill}}, {{by: sex, cells: [{{by: ill}}]}}]
    tables: {{SEX: {{}}}}
  - levels: [ward]
    cells: [{{by: band, cells: [{{by: ill}}]}}]
    tables: {{BAND: {{}}}}
  - levels: [ward]
    cells: [{{by: sex, cells: [{{by: band}}]}}]
    tables: {{SEX_BAND: {{}}}}
  - levels: [ward]
    cells: [{{by: sex}}]
    tables: {{ILL: {{statistic: {{share: {{ill: true}}}}}}}}
  - levels: [ward]
    cells: [{{by: ill}}]
    tables:
{_SHARES}
      LEAST: {{statistic: {{minimum: age}}}}
      MOST: {{statistic: {{maximum: age}}}}
  - levels: [ward]
    cells: [{{by: sex, cells: [{{by: ill}}]}}]
    tables:
      MEAN: {{statistic: {{mean: age}}}}
      MEDIAN: {{statistic: {{median: age, definition: middle}}}}
"""
RELEASE: Final = parse_release(SCHEMA, source="benchmarks.wards")
_PERCENTAGES: Final = ("ILL", *(f"OF_BAND{at}" for at in range(len(BANDS))))
VARIANTS: Final = {
    "counts": ((), 1),
    "means, 1 decimal": (("MEAN",), 1),
    "means, 0 decimals": (("MEAN",), 0),
    "medians": (("MEDIAN",), 1),
    "minima, maxima": (("LEAST", "MOST"), 1),
    "means, medians, extremes": (("MEAN", "MEDIAN", "LEAST", "MOST"), 1),
    "percentages, 0 decimals": (_PERCENTAGES, 0),
    "percentages, 1 decimal": (_PERCENTAGES, 1),
    "all": ((*_PERCENTAGES, "MEAN", "MEDIAN", "LEAST", "MOST"), 1),
}
_BELOW: Final = 5
_KEY: Final = ["geoid", "table", "cell"]
#: Number of a cell of `BAND`: people with the condition.
_ILL: Final = tuple(range(2, 2 * len(BANDS) + 1, 2))


def draw_ward(random: np.random.Generator) -> pl.DataFrame:
    """Draw the people of a ward: columns ``sex, age, ill``."""
    people = int(random.integers(20, 61))
    sex = random.integers(0, 2, people)
    age = np.clip(np.round(random.normal(58, 20, people)), 18, 95).astype(int)
    ill = random.random(people) < 1 / (1 + np.exp(-(-3.2 + 0.025 * (age - 18))))
    return pl.DataFrame({"sex": sex, "age": age, "ill": ill.astype(int)})


def rows_of(
    geoid: str, ward: pl.DataFrame, names: Sequence[str], decimals: int, below: int = _BELOW
) -> Iterator[tuple[str, str, int, str]]:
    """Yield geoid, table, cell and text of all that a ward publishes.

    Args:
        below: Counts under it are starred.
    """
    codes = ward.select("sex", pl.col("age") - 18, "ill").to_numpy()
    for table in (*RELEASE.tables, *RELEASE.statistics):
        if table.statistic is not None and table.name not in names:
            continue
        for cell in table.cells:
            inside = _inside(codes, cell.masks)
            of = table.statistic
            if of is None:
                count = int(inside.sum())
                text = "*" if 0 < count < below else str(count)
            elif not inside.any():
                continue
            elif of.kind == "share":
                part = int(_inside(codes, of.counted(cell.masks)).sum())
                text = printed_text(Fraction(100 * part, int(inside.sum())), decimals)
            else:
                text = _text(of.kind, ward["age"].filter(pl.Series(inside)).to_list(), decimals)
            yield geoid, table.name, cell.number, text


def _inside(codes: IntArray, masks: Sequence[int]) -> BoolArray:
    """Tell which people a cell counts."""
    found = np.ones(len(codes), dtype=bool)
    for f, mask in enumerate(masks):
        found &= np.isin(codes[:, f], list(bits(mask)))
    return found


def _text(kind: str, ages: list[int], decimals: int) -> str:
    if kind == "mean":
        return printed_text(Fraction(sum(ages), len(ages)), decimals)
    if kind == "median":
        return printed_text(Fraction(statistics.median(ages)), 1)
    return str(min(ages) if kind == "minimum" else max(ages))


@dataclass(frozen=True)
class Given:
    """The answers of the audit for all wards.

    Attributes:
        stars: Number of starred counts.
        recovered: How many of them are recovered.
        ill: Number of starred counts of people with the condition by band.
        ill_recovered: How many of those are recovered.
        undecided: Starred counts that are undecided.
        seconds: CPU seconds.
    """

    stars: int
    recovered: int
    ill: int
    ill_recovered: int
    undecided: int
    seconds: float


def published(wards: Sequence[pl.DataFrame], names: Sequence[str], decimals: int) -> Publication:
    """Tell what all wards publish, with some statistics."""
    rows = [
        row
        for number, ward in enumerate(wards)
        for row in rows_of(f"C{number:03d}", ward, names, decimals)
    ]
    counts = tuple(table.name for table in RELEASE.tables)
    law = Statement(parse_law({"suppressed": {"below": _BELOW}}), counts)
    frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    frame = frame.with_columns(pl.col("cell").cast(pl.Int64))
    return api.publish(RELEASE, frame, protection=Protection((law,)))


def measure(wards: Sequence[pl.DataFrame], names: Sequence[str], decimals: int) -> Given:
    """Audit what the wards publish, with some statistics."""
    given = published(wards, names, decimals)
    release = RELEASE if names else _counts_alone()
    started = time.process_time()
    audited = api.audit_counts(release, given)
    seconds = time.process_time() - started
    is_recovered = pl.col("status") == "recovered"
    of_ill = audited.filter(pl.col("cell").is_in(_ILL), table="BAND")
    return Given(
        stars=audited.height,
        recovered=audited.filter(is_recovered).height,
        ill=of_ill.height,
        ill_recovered=of_ill.filter(is_recovered).height,
        undecided=audited.filter(status="undecided").height,
        seconds=seconds,
    )


@dataclass(frozen=True)
class Suppressed:
    """Wards with suppressed counts and withheld statistics.

    Attributes:
        published: As they can be published.
        primary: ``geoid, table, cell, true`` of the counts that are suppressed for their size.
        texts: Number of statistics.
        harmful: Those that are withheld.
        seconds: CPU seconds to find these.
    """

    published: Publication
    primary: pl.DataFrame
    texts: int
    harmful: pl.DataFrame
    seconds: float


def suppressed(wards: Sequence[pl.DataFrame], names: Sequence[str], decimals: int) -> Suppressed:
    """Suppress the counts of wards below 5, and the statistics that would give these away."""
    rows = [
        row
        for number, ward in enumerate(wards)
        for row in rows_of(f"C{number:03d}", ward, names, decimals, below=0)
    ]
    frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    true = api.publish(RELEASE, frame.with_columns(pl.col("cell").cast(pl.Int64)))
    counts = true.counts.filter(pl.col("count") > 0).select(COUNTS.names())
    options = SuppressionOptions(PrimaryRules(_BELOW))
    truth = replace(true, counts=counts)
    starred = suppress_counts(replace(RELEASE, statistics=()), truth, options)
    law, tidy = suppression_protection(options.rules), tidy_counts(truth, starred)
    given = api.publish(RELEASE, with_statistics(tidy, true.statistics), protection=law)
    primary = starred.filter("primary").select(*_KEY, "true")
    started = time.process_time()
    harmful = harmful_statistics(RELEASE, given, primary, options)
    seconds = time.process_time() - started
    kept = true.statistics.join(harmful, on=_KEY, how="anti")
    shown = api.publish(RELEASE, with_statistics(tidy, kept), protection=law)
    return Suppressed(shown, primary, true.statistics.height, harmful, seconds)


def _show_suppressed(name: str, found: Suppressed) -> None:
    audited = api.audit_counts(RELEASE, found.published).join(found.primary, on=_KEY)
    left = audited.filter(pl.col("status") != "safe")
    sys.stdout.write(
        f"{name:26}withheld {_share(found.harmful.height, found.texts)}  primary "
        f"{found.primary.height:,}, not safe {left.height}, recovered "
        f"{left.filter(status='recovered').height}  {found.seconds:6.1f} s\n"
    )
    sys.stdout.flush()


def _counts_alone() -> Release:
    text = SCHEMA.split("  - levels: [ward]\n    cells: [{by: sex}]\n    tables: {ILL")[0]
    return parse_release(text, source="benchmarks.wards")


def _share(part: int, whole: int) -> str:
    return f"{part:6,} of {whole:5,} ({part / whole:.1%})"


def main() -> None:
    """Print a row for each choice of statistics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wards", type=int, default=53)
    parser.add_argument("--suppress", action="store_true")
    parser.add_argument("--only", choices=list(VARIANTS), action="append")
    options = parser.parse_args()
    random = np.random.default_rng(11)
    wards = [draw_ward(random) for _ in range(options.wards)]
    alone = 0.0
    for name, (names, decimals) in VARIANTS.items():
        if options.only and name not in {"counts", *options.only}:
            continue
        if options.suppress:
            if names:
                _show_suppressed(name, suppressed(wards, names, decimals))
            continue
        found = measure(wards, names, decimals)
        alone = alone or found.seconds
        # With statistics the audit also asks what counts alone give.
        seconds = found.seconds - (alone if names else 0)
        sys.stdout.write(
            f"{name:26}{_share(found.recovered, found.stars)}"
            f"{_share(found.ill_recovered, found.ill)}"
            f"  undecided {found.undecided:3}  {seconds:6.1f} s\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
