"""The study's ablations: what is left of the claims without counts of one, and of zero.

Zeros that the other counts imply are not lost by leaving them out; they are found by adding up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import recon_cli as recon
from benchmarks.households.measure import covered, measure, split_exact
from benchmarks.households.study import Sample
from recon_cli.schema import Cell, Release, Table

#: What is left out, as the study's Table 5 names it.
LEFT_OUT = {"nothing": (), "ones": (1,), "zeros": (0,), "ones and zeros": (0, 1)}


def with_total(release: Release) -> Release:
    """The release with the number of households, which the study's formulation knows as well."""
    first = release.features[0].name
    occupied = list(release.full)
    occupied[release.feature_index[first]] = 1
    total = Table("N", "N#", ("block",), (Cell(1, tuple(occupied)),))
    return replace(release, tables=(total, *release.tables))


@dataclass(frozen=True)
class Ablated:
    """A sample with some counts left out.

    Attributes:
        sample: What is still published, and the zeros that it implies.
        left_out: Counts left out, in percent.
        implied: Zeros that were left out and are implied, in percent of the zeros.
    """

    sample: Sample
    left_out: float
    implied: float


def leave_out(release: Release, sample: Sample, counts: tuple[int, ...]) -> Ablated:
    """The sample without counts of these numbers, except for zeros that the others imply."""
    every = _all_counts(release, sample)
    is_total = pl.col("table") == "N"
    kept = every.filter(is_total | ~pl.col("count").is_in(counts))
    zeros = every.filter(count=0)
    implied = zeros.clear()
    if 0 in counts:
        nonzero = kept.filter(pl.col("count") > 0)
        found = [_implied_zeros(release, part) for _, part in nonzero.group_by("geoid")]
        implied = pl.concat([zeros.clear(), *found]).join(zeros, on=zeros.columns, how="inner")
    published = recon.publish(release, pl.concat([kept, implied]), absent="unpublished")
    return Ablated(
        replace(sample, published=published),
        100 * (1 - kept.height / every.height),
        100 * implied.height / zeros.height,
    )


def _all_counts(release: Release, sample: Sample) -> pl.DataFrame:
    """Every count of every block, zeros included."""
    cells = pl.DataFrame(
        [(t.name, c.number) for t in release.tables for c in t.cells],
        schema={"table": pl.String, "cell": pl.Int64},
        orient="row",
    )
    counts = recon.tabulate(release, sample.chosen)
    key = ["geoid", "table", "cell"]
    every = pl.DataFrame({"geoid": sample.blocks}).join(cells, how="cross")
    counts = counts.select("geoid", "table", pl.col("cell").cast(pl.Int64), "count")
    return every.join(counts, on=key, how="left").with_columns(
        pl.col("count").fill_null(0).cast(pl.Int64)
    )


def _implied_zeros(release: Release, counts: pl.DataFrame) -> pl.DataFrame:
    """Cells of a block that are zero because those that are left account for every household.

    The counts of a table, with those cells of another one that none of its cells meets, add up to
    all households.
    """
    of_table = {
        name: dict(part.select("cell", "count").iter_rows())
        for (name,), part in counts.group_by("table")
    }
    total = of_table.pop("N")[1]
    rows = []
    for table in release.tables[1:]:
        by_feature = zip(*(cell.masks for cell in table.cells), strict=True)
        hull = tuple(int(np.bitwise_or.reduce(masks)) for masks in by_feature)
        mine = sum(of_table.get(table.name, {}).get(n, 0) for n in _largest(table))
        if any(mine + _outside(hull, other, of_table) == total for other in release.tables):
            known = of_table.get(table.name, {})
            rows += [(table.name, c.number) for c in table.cells if c.number not in known]
    geoid = counts["geoid"][0]
    return pl.DataFrame(
        [(geoid, table, cell, 0) for table, cell in rows],
        schema={"geoid": pl.String, "table": pl.String, "cell": pl.Int64, "count": pl.Int64},
        orient="row",
    )


def _outside(hull: tuple[int, ...], table: Table, counts: dict[str, dict[int, int]]) -> int:
    """Households of a table's cells that have none of the values of some predicate."""
    known = counts.get(table.name, {})
    return sum(
        known.get(number, 0)
        for number in _largest(table)
        if any(a & b == 0 for a, b in zip(hull, table.cells[number - 1].masks, strict=True))
    )


@cache
def _largest(table: Table) -> tuple[int, ...]:
    """The cells that are not within another one: no household is in two of them."""
    return tuple(
        cell.number
        for cell in table.cells
        if not any(
            other is not cell
            and all(a & ~b == 0 for a, b in zip(cell.masks, other.masks, strict=True))
            for other in table.cells
        )
    )


def ablate(release: Release, sample: Sample) -> dict[str, Any]:
    """Table 5: households in singleton claims, and in any, without some of the counts."""
    described = with_total(release)
    result: dict[str, Any] = {}
    for name, counts in LEFT_OUT.items():
        ablated = leave_out(described, sample, counts)
        measured = measure(described, ablated.sample)
        singletons, exact = split_exact(measured.claims)
        seconds = measured.seconds.to_numpy()
        result[name] = {
            "blocks": len(sample.blocks),
            "left_out": ablated.left_out,
            "implied": ablated.implied,
            "complete": measured.units.filter(status="complete").height,
            "seconds": [float(np.median(seconds)), float(seconds.mean()), float(seconds.max())],
            "singletons": covered(release, measured, sample.chosen, singletons),
            "any": covered(release, measured, sample.chosen, exact),
        }
    return result
