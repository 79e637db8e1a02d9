"""Releases whose counts all have noise without bounds: measurements, which prove nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recon_cli.schema import Table
from recon_cli.statement.noise import Gaussian, Geometric
from recon_cli.statement.protection import Protection

if TYPE_CHECKING:
    from recon_cli.coverage import Coverage


def is_noise(protection: Protection, coverage: Coverage, tables: Iterable[Table]) -> bool:
    """Whether every published count of some tables has noise without bounds."""
    names = {table.name for table in tables}
    laws = [
        protection.laws[protection.number(table, pattern.level)]
        for pattern in coverage
        for table in pattern.cells
        if table in names
    ]
    return bool(laws) and all(isinstance(law, Gaussian | Geometric) for law in laws)
