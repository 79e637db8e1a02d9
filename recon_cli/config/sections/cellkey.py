"""``cellkey:`` counts of records, perturbed by cell keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from recon_cli.config.model import ConfigPath, CsvPath, TableChoice
from recon_cli.config.protecting_by_chance import ProtectingByChance
from recon_cli.schema import Release


class Cellkey(ProtectingByChance):
    """The section ``cellkey``.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        geounits: File or folder with the geoids of all units, inhabited or not; the list is
            published beside the counts. Without it they do not say which units there are.
        max: Greatest offset of the p-table.
        variance: Of its offsets.
        never: Small counts, ``[1, 2]``, that are never published.
        ptable: A CSV file of R's ptable or of the ONS, in place of the three.
        tables: As in ``reconstruct``; default every table.
        identifier: The column that keys of records are made of; default what the records say.
        study_seed: Repeats what chance does, for study: not for publication. Without it chance is
            secret.
        to: A ``.csv`` file that gets the counts as they can be published; default none.
    """

    records: ConfigPath | None = None
    geounits: ConfigPath | None = None
    max: Annotated[int, Field(ge=1)] | None = None
    variance: Annotated[float, Field(gt=0)] | None = None
    never: Annotated[tuple[int, ...], Field(strict=False)] = ()
    ptable: ConfigPath | None = None
    tables: TableChoice | None = None
    identifier: str | None = None
    to: CsvPath | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables."""
        release.select_tables(self.tables)

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records, the p-table and the list of units, where the section names any."""
        named = (self.records, self.ptable, self.geounits)
        return tuple(path for path in named if path is not None)
