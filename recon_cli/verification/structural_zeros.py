"""Records against the structural zeros of their release: an assumption is only as good as this.

See *structural zero* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from recon_cli.schema import Cell, Release, Table
from recon_cli.tabulation import tabulate


def count_violations(release: Release, records: pl.DataFrame) -> tuple[int, ...]:
    """For each structural zero of a release the number of records that it says cannot be.

    Args:
        release: The schema.
        records: As for `recon_cli.tabulation.tabulate`.

    Raises:
        VerificationError: Columns or values that the schema does not know.
    """
    rules = [
        (at, masks) for at, zero in enumerate(release.structural_zeros) for masks in zero.impossible
    ]
    violations = [0] * len(release.structural_zeros)
    if not rules:
        return ()
    cells = tuple(Cell(number, masks) for number, (_, masks) in enumerate(rules, start=1))
    table = Table("structural_zeros", "zero_#", (release.geography.unit.name,), cells)
    counts = tabulate(replace(release, tables=(table,)), records)
    for number, count in counts.group_by("cell").agg(pl.col("count").sum()).iter_rows():
        violations[rules[number - 1][0]] += count
    return tuple(violations)
