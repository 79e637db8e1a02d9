"""What `recon slivers` found, for its summary, a place and the report."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.attack.slivers import SLIVERS as COLUMNS
from recon_cli.pipeline.stages import SLIVERS
from recon_cli.store import open_folder


def read_slivers(work: Path) -> pl.DataFrame:
    """Rows of ``slivers/``, those with fewest people first.

    Raises:
        StageError: ``slivers/`` is missing or damaged.
    """
    folder = open_folder(work, SLIVERS, "slivers")
    rows = pl.concat([COLUMNS.to_frame(), *(folder.read(name) for name in folder.partitions)])
    return rows.sort("people", "geoid")
