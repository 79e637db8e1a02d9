"""Complementary cells beside two optima: ``python -m benchmarks.tauargus``.

Random two-way tables with their sums, counts below 3 primary. pytauargus, which is needed for this
alone (``pip install pytauargus``), solves for the least sum of suppressed counts by branch and cut;
its attacker knows of a suppressed count that it is not negative. Ours reads the published zeros, so
that a flag says at least 1: HiGHS solves that, all primary cells in one integer program.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import optimize

from recon_cli.capabilities.protect.counts import count_records
from recon_cli.capabilities.suppress.linked_cells import linked_cells
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import SuppressionOptions, suppress_counts
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
    options = SuppressionOptions(PrimaryRules(BELOW), safety=1)
    found = suppress_counts(release, count_records(release, records), options)
    primary = int(found["primary"].sum())
    complementary = found.filter(pl.col("count").is_null() & ~pl.col("primary"))
    return primary, complementary.height, int(complementary["true"].sum())


def least(records: pl.DataFrame) -> tuple[int, int]:
    """Complementary cells, and the sum of their counts, of the optimum where a flag is at least 1.

    Variables: whether each cell is suppressed, then for each primary cell whether it goes up, and
    the change of each column's people.

    Raises:
        SystemExit: HiGHS did not find it.
    """
    release = parse_release(SCHEMA, source="two_way")
    truth = count_records(release, records)
    (linked,) = linked_cells(release, truth, release.tables, zeros_hidden=False)
    counts = linked.names.join(truth.counts, on=["geoid", "table", "cell"], how="left")
    by_cell = counts.group_by("distinct").agg(pl.col("count").first()).sort("distinct")
    values, A = by_cell["count"].to_numpy().astype(np.int64), linked.coefficients.toarray()
    known = np.rint(np.linalg.lstsq(A, values)[0])
    primary = np.flatnonzero(values < BELOW)
    height, width = A.shape
    block = 1 + width
    size = height + block * len(primary)
    rows, low = [np.zeros((0, size))], [np.zeros(0)]
    for number, target in enumerate(primary.tolist()):
        start = height + number * block
        change = np.zeros((height, size))
        change[:, start + 1 : start + block] = A
        is_hidden = np.eye(height, size)
        up = np.zeros((1, size))
        up[0, start] = 2 * PEOPLE
        rows += [PEOPLE * is_hidden - change, change - (1 - values)[:, None] * is_hidden]
        rows += [change[[target]] - up, up - change[[target]]]
        low += [np.zeros(2 * height), np.array([1.0 - 2 * PEOPLE, 1.0])]
    lower, upper = np.zeros(size), np.ones(size)
    lower[primary] = 1
    of_changes = np.arange(height, size).reshape(len(primary), block)[:, 1:]
    lower[of_changes], upper[of_changes] = -known, PEOPLE
    cost = np.zeros(size)
    cost[:height] = np.where(values < BELOW, 0, values)
    found = optimize.milp(
        cost,
        constraints=optimize.LinearConstraint(np.vstack(rows), np.concatenate(low), np.inf),
        bounds=optimize.Bounds(lower, upper),
        integrality=np.ones(size, dtype=np.int64),
    )
    if not found.success:
        raise SystemExit(f"HiGHS: {found.message}")
    chosen = np.rint(found.x[:height]) - (values < BELOW) > 0
    return int(chosen.sum()), int(values[chosen].sum())


def theirs(records: pl.DataFrame) -> tuple[int, int, int]:
    """Likewise, of the optimum."""
    import pytauargus  # not installed with the project

    columns: dict[str, Any] = {name: records[name].to_list() for name in ("row", "column")}
    columns["people"] = [1] * records.height
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # it leaves logs
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
        SystemExit: Ours costs less than an optimum, or has other primary cells.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=12)
    options = parser.parse_args(arguments)
    total = np.zeros(7, dtype=np.int64)
    for seed in range(options.tables):
        records = people(seed)
        primary, *mine = ours(records)
        best = least(records)
        also_primary, *other = theirs(records)
        if primary != also_primary or not mine[1] >= best[1] >= other[1]:
            raise SystemExit(
                f"table {seed}: {primary}, {mine} beside {also_primary}, {best}, {other}"
            )
        total += (primary, *mine, *best, *other)
    primary, cells, counts, *optima = total.tolist()
    sys.stdout.write(
        f"{options.tables} tables, {primary} primary cells: {cells} complementary ones with counts "
        f"of {counts:,}; optimum {optima[0]} with {optima[1]:,}; of pytauargus, whose flags may be "
        f"zero, {optima[2]} with {optima[3]:,}\n"
    )


if __name__ == "__main__":
    main()
