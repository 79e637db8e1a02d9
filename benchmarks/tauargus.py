"""Complementary cells beside τ-ARGUS's optimum: ``python -m benchmarks.tauargus``.

Random two-way tables with their sums, counts below 3 primary. Ours are chosen by elimination,
audit and repair; pytauargus (``pip install pytauargus``, needed for this alone) solves for the
least sum of suppressed counts by branch and cut.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from recon_cli.protect.counts import count_records
from recon_cli.protect.primary import PrimaryRules
from recon_cli.protect.suppression import SuppressionOptions, suppress_counts
from recon_cli.schema import parse_release

ROWS, COLUMNS, PEOPLE, BELOW = 4, 5, 140, 3
SCHEMA = f"""\
release: two_way
title: A two-way table
features:
  row: {{categories: [{", ".join(f"r{i}" for i in range(ROWS))}]}}
  column: {{categories: [{", ".join(f"c{i}" for i in range(COLUMNS))}]}}
geography: {{levels: [{{level: area, digits: 1}}], partition: area}}
microdata: [row, column]
histogram: [row, column]
families:
  - levels: [area]
    cells: [total, {{by: row}}, {{by: column}}, {{by: row, cells: [{{by: column}}]}}]
    tables: {{T: {{}}}}
"""


def people(seed: int) -> pl.DataFrame:
    """Records of one area."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(ROWS, PEOPLE, p=rng.dirichlet([2] * ROWS))
    columns = rng.choice(COLUMNS, PEOPLE, p=rng.dirichlet([2] * COLUMNS))
    return pl.DataFrame(
        {
            "geoid_area": ["A"] * PEOPLE,
            "row": [f"r{i}" for i in rows],
            "column": [f"c{i}" for i in columns],
        }
    )


def ours(records: pl.DataFrame) -> tuple[int, int, int]:
    """Primary and complementary cells, and the sum of the counts of the latter."""
    release = parse_release(SCHEMA, source="two_way")
    options = SuppressionOptions(PrimaryRules(BELOW))
    found = suppress_counts(release, count_records(release, records), options)
    primary = int(found["primary"].sum())
    complementary = found.filter(pl.col("count").is_null() & ~pl.col("primary"))
    return primary, complementary.height, int(complementary["true"].sum())


def theirs(records: pl.DataFrame) -> tuple[int, int, int]:
    """Likewise, of the optimum."""
    import pytauargus  # noqa: PLC0415 - not installed with the project

    columns: dict[str, Any] = {name: records[name].to_list() for name in ("row", "column")}
    columns["people"] = [1] * records.height
    done = pytauargus.protect(
        columns,
        tables=["row", "column"],
        response="people",
        safety_rules=f"FREQ({BELOW},1)",
        suppress="OPT(1,5)",
    )
    frame = done.tables[0].dataframe()
    status, counts = list(frame["status"]), list(frame["people"])
    cost = sum(n for n, each in zip(counts, status, strict=True) if each == "M")
    return status.count("U"), status.count("M"), round(cost)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare.

    Raises:
        SystemExit: Ours costs less than the optimum, or has other primary cells.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=12)
    options = parser.parse_args(arguments)
    total = np.zeros(5, dtype=np.int64)
    for seed in range(options.tables):
        records = people(seed)
        primary, mine, cost = ours(records)
        also_primary, best, least_cost = theirs(records)
        if primary != also_primary or cost < least_cost:
            raise SystemExit(f"table {seed}: {primary}, {cost} beside {also_primary}, {least_cost}")
        total += (primary, mine, best, cost, least_cost)
    primary, mine, best, cost, least_cost = total.tolist()
    sys.stdout.write(
        f"{options.tables} tables, {primary} primary cells: {mine} complementary ones (optimum "
        f"{best}), counts of {cost:,} together (optimum {least_cost:,})\n"
    )


if __name__ == "__main__":
    main()
