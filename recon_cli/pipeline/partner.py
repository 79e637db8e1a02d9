"""Further runs of a stage that asks about several releases of the same places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.store import Piece
from recon_cli.store.protection import read_published


@dataclass(frozen=True)
class Partner:
    """A run that has ingested another release.

    Attributes:
        work: Its work folder.
    """

    work: Path
    release: Release

    def read(self, piece: Piece) -> Publication:
        """What is published of the places of a piece."""
        return read_published(self.work, self.release, piece.partition, piece.span)
