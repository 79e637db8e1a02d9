"""Result tables that stages have published, read again for summaries and pages."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.pipeline.stages import CONFIDENCE
from recon_cli.score.confidence import count_tenths
from recon_cli.store import open_folder


def read_tenths(work: Path) -> pl.DataFrame:
    """Records that are not certain, by tenths of their confidence: ``tenth``, ``records``.

    Raises:
        StageError: ``confidence/`` is missing or damaged.
    """
    folder = open_folder(work, CONFIDENCE, "confidence")
    return count_tenths(folder.read(name, columns=("confidence",)) for name in folder.partitions)
