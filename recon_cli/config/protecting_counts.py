"""What the sections of protections of counts share: records to count, or exact counts."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import model_validator

from recon_cli.config.model import ConfigPath, Section


class ProtectingCounts(Section):
    """Base of the sections ``round`` and ``suppress``.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        counts: In place of records: a work folder in which `recon ingest` read exact counts.
    """

    records: ConfigPath | None = None
    counts: ConfigPath | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.records is not None and self.counts is not None:
            raise ValueError("records and counts exclude each other")
        return self

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records or counts, where the section names any."""
        if self.counts is not None:
            return self.counts / "tables", self.counts / "geounits"
        return () if self.records is None else (self.records,)
