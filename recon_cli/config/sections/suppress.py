"""``suppress:`` counts of records, small ones and those that give them away suppressed."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from recon_cli.config.model import CsvPath, TableChoice
from recon_cli.config.protecting_counts import ProtectingCounts
from recon_cli.schema import Release


class Suppress(ProtectingCounts):
    """The section ``suppress``.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        counts: In place of records: a work folder in which `recon ingest` read exact counts.
        below: Counts under it are sensitive.
        zeros: ``publish``: zeros are published, so a flag says at least 1; ``hide``: they are
            suppressed with the small counts.
        value: A column of the records that dominance and p_percent look at.
        dominance: ``[n, k]``: sensitive if the n largest values are more than k percent of the
            cell's.
        p_percent: Sensitive if all values but the two largest are less than p percent of the
            largest.
        safety: How far apart two possible counts of a sensitive cell must be at least.
        region_seconds: Budget of each region, in deterministic seconds; where it ends, more cells
            than needed are suppressed.
        tables: Of records, as in ``reconstruct``; default every table.
        seed: Of the solvers; default the run's seed.
        to: A ``.csv`` file that gets the counts as they can be published, ``*`` for a suppressed
            one; default none.
    """

    below: Annotated[int, Field(ge=2)] = 3
    zeros: Literal["publish", "hide"] = "publish"
    value: str | None = None
    dominance: Annotated[tuple[int, float], Field(strict=False)] | None = None
    p_percent: Annotated[float, Field(gt=0)] | None = None
    safety: Annotated[int, Field(ge=1)] = 1
    region_seconds: Annotated[float, Field(gt=0)] = 600.0
    tables: TableChoice | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    to: CsvPath | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        needs_value = self.dominance is not None or self.p_percent is not None
        if needs_value != (self.value is not None):
            raise ValueError("dominance and p_percent go with a value column, and it with them")
        if self.value is not None and self.counts is not None:
            raise ValueError("a value column needs records, counts have none")
        if self.dominance is not None and not (
            self.dominance[0] >= 1 and 0 < self.dominance[1] <= 100
        ):
            raise ValueError("dominance: [n, k] with n from 1 and k a percentage is expected")
        return self

    def check(self, release: Release) -> None:
        """Refuse unknown tables."""
        release.select_tables(self.tables)
