"""Measuring the confidence of a piece's records: what the workers of `recon confidence` do."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl

from recon_cli.attack.confidence import ConfidenceOptions, confidence_with_plan
from recon_cli.execute import OnProgress
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.quarantine import traced_quarantine
from recon_cli.pipeline.stages import CONFIDENCE
from recon_cli.score.confidence import count_tenths
from recon_cli.stages.reconstructed_pieces import PieceContext
from recon_cli.store import Piece, open_folder

ConfidenceContext = PieceContext[ConfidenceOptions]


def measure_piece(context: ConfidenceContext, piece: Piece, tick: OnProgress) -> None:
    """Measure and write one piece; runs in a worker."""
    started = time.perf_counter()
    made = context.read(piece)
    with log_disagreements(context.work), traced_quarantine(context.staging, piece) as quarantine:
        rows = confidence_with_plan(
            context.plan,
            made.published,
            made.microdata,
            context.options,
            tick,
            quarantine=quarantine,
            missing=made.missing,
        )
    context.staging.write(
        piece,
        {"confidence": rows},
        totals={
            "people": rows.height,
            "certain": int(rows["certain"].sum()),
            "not_sampled": rows.filter(~pl.col("certain"))["confidence"].null_count(),
        },
        started=started,
    )


def read_tenths(work: Path) -> pl.DataFrame:
    """Records that are not certain, by tenths of their confidence: ``tenth``, ``records``.

    Raises:
        StageError: ``confidence/`` is missing or damaged.
    """
    folder = open_folder(work, CONFIDENCE, "confidence")
    return count_tenths(folder.read(name, columns=("confidence",)) for name in folder.partitions)
