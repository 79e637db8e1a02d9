"""The records that were tabulated, read partition by partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from recon_cli.schema import Release
from recon_cli.sources.records import RecordFile
from recon_cli.stages.tabulate import record_columns, typed_records
from recon_cli.store import Piece


@dataclass(frozen=True)
class TabulatedRecords:
    """Reads records: the unit's geoid and the features; pickles.

    Attributes:
        present: The partitions that have any.
    """

    release: Release
    file: RecordFile
    present: tuple[str, ...]

    def read(self, piece: Piece) -> tuple[pl.DataFrame, pl.Series]:
        """Those of the piece's whole partition; nobody's unit is missing.

        Raises:
            SourceError: They cannot be read, or have values that the schema does not know.
        """
        nobody = pl.Series([], dtype=pl.String)
        if piece.partition not in self.present:
            return pl.DataFrame(schema=record_columns(self.release)), nobody
        return self._read(piece.partition), nobody

    def everybody(self) -> Iterator[pl.DataFrame]:
        """All of them, one partition after the other."""
        return (self._read(partition) for partition in self.present)

    def _read(self, partition: str) -> pl.DataFrame:
        found = self.file.read(partition, list(record_columns(self.release)))
        return typed_records(found, self.file.path, self.release)
