"""Result tables as files: Parquet for programs, CSV for spreadsheets."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from recon_cli.spreadsheet import csv_bytes
from recon_cli.store.files import parquet_bytes


def table_files(
    tables: Mapping[str, pl.DataFrame], decimals: int | None = None
) -> dict[str, bytes]:
    """Serialise each table twice: file name → content.

    Args:
        decimals: Decimals in CSV of numbers that are not whole; all if None.

    >>> list(table_files({"rates": pl.DataFrame({"count": [1]})}))
    ['rates.parquet', 'rates.csv']
    """
    return {
        file: content
        for name, table in tables.items()
        for file, content in (
            (f"{name}.parquet", parquet_bytes(table)),
            (f"{name}.csv", csv_bytes(table, decimals)),
        )
    }
