"""Omitted counts: cells left out of tables, that is, suppressed without a law.

If other cells of a table are published for a geounit, a missing one was withheld. It has no
statement, so it may be any count, and it is audited like a flag without a rule. The same holds on
request for counts of a table that is published for other places only, such as for units into which
overlapping areas cut each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.frames import COUNTS, STATEMENTS
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.schema.tables import is_sum

#: Level → tables all of whose cells are audited there, whether published or not.
Asked = Mapping[str, Sequence[Table]]
NOTHING: Final[Asked] = {}


def coverage_with_left_out(
    release: Release, coverage: Coverage, asked: Asked = NOTHING
) -> Coverage:
    """Add omitted and requested cells to the patterns, which keep their numbers.

    A cell is omitted if others of its table are published. Exception: a sum of published cells that
    no geounit of the level has is not part of the table there.
    """
    seen: dict[tuple[str, str], set[int]] = {}
    for pattern in coverage:
        for table, numbers in pattern.cells.items():
            seen.setdefault((pattern.level, table), set()).update(numbers)
    for (_, name), known in seen.items():
        cells = release.table_by_name[name].cells
        shown = [cells[number - 1] for number in sorted(known)]
        missing = (cell for cell in cells if cell.number not in known)
        known.update({cell.number for cell in missing if not is_sum(cell, shown)})

    def cells_of(pattern: CoveragePattern) -> dict[str, tuple[int, ...]]:
        cells = {table: tuple(sorted(seen[pattern.level, table])) for table in pattern.cells}
        for table in asked.get(pattern.level, ()):
            cells[table.name] = tuple(cell.number for cell in table.cells)
        return {table.name: cells[table.name] for table in release.tables if table.name in cells}

    return tuple(replace(pattern, cells=cells_of(pattern)) for pattern in coverage)


def left_out_counts(published: Publication, coverage: Coverage) -> pl.DataFrame:
    """List the omitted counts: ``geoid, table, cell``.

    Args:
        coverage: The publication's patterns from `coverage_with_left_out`.
    """
    pairs = enumerate(zip(published.coverage, coverage, strict=True))
    cells = [
        (number, table, cell)
        for number, (pattern, whole) in pairs
        for table, cell in _further(pattern, whole.cells)
    ]
    schema = {"pattern": pl.Int16, "table": pl.String, "cell": pl.Int16}
    of_pattern = pl.DataFrame(cells, schema=schema, orient="row")
    return (
        published.geounits.select("geoid", "pattern").join(of_pattern, on="pattern").drop("pattern")
    )


def _further(
    pattern: CoveragePattern, whole: Mapping[str, tuple[int, ...]]
) -> list[tuple[str, int]]:
    return [
        (table, cell)
        for table, numbers in whole.items()
        for cell in sorted({*numbers} - {*pattern.cells.get(table, ())})
    ]


def with_left_out(release: Release, published: Publication, asked: Asked = NOTHING) -> Publication:
    """Add a statement "0 or more" for every omitted or requested count.

    The publication is returned unchanged if there are none.
    """
    coverage = coverage_with_left_out(release, published.coverage, asked)
    left_out = left_out_counts(published, coverage)
    if left_out.is_empty():
        return published
    counts = published.counts
    if published.is_exact:
        counts = counts.select(COUNTS.names()).with_columns(
            low=pl.col("count"), high=pl.col("count"), law=pl.lit(None)
        )
    nothing = left_out.with_columns(
        count=pl.lit(None), low=pl.lit(0), high=pl.lit(None), law=pl.lit(None)
    )
    parts = [each.select(STATEMENTS.names()).cast(STATEMENTS) for each in (counts, nothing)]
    rows = pl.concat(parts).sort("geoid", "table", "cell")
    return replace(published, counts=rows, coverage=coverage)
