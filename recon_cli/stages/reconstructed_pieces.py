"""What workers read of a reconstruction: the counts and records of one piece."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import polars as pl

from recon_cli.attack.question import missing_units
from recon_cli.model.plan import Plan
from recon_cli.publication import Publication
from recon_cli.store import Folder, Piece, Staging, read_published

Options = TypeVar("Options")


@dataclass(frozen=True)
class ReconstructedPiece:
    """One piece.

    Attributes:
        published: Its counts.
        microdata: Its records.
        missing: Geoids of the units that were not solved when the records were made.
    """

    published: Publication
    microdata: pl.DataFrame
    missing: pl.Series


@dataclass(frozen=True)
class PieceContext(Generic[Options]):
    """What all pieces of a stage share that starts from reconstructed records."""

    plan: Plan
    work: Path
    staging: Staging
    microdata: Folder
    blocks: Folder
    options: Options

    def read(self, piece: Piece) -> ReconstructedPiece:
        """Read a piece."""
        at = piece.partition, piece.span
        return ReconstructedPiece(
            read_published(self.work, self.plan.release, *at),
            self.microdata.read(*at),
            missing_units(self.blocks.read(*at)),
        )
