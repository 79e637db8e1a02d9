"""``census1980:`` counts of records, under the suppression rules of the 1980 census."""

from __future__ import annotations

from pathlib import Path

from recon_cli.config.model import ConfigPath, CsvPath, Section


class Census1980(Section):
    """The section ``census1980``.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        to: A ``.csv`` file that gets the counts as they can be published, ``*`` for a suppressed
            one; default none.
    """

    records: ConfigPath | None = None
    to: CsvPath | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records, where the section names any."""
        return () if self.records is None else (self.records,)
