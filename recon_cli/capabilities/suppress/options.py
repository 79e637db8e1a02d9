"""``suppress:`` counts of records, small ones and those that give them away suppressed.

Counts under a threshold, or that few people dominate, are primary cells. Complementary ones are
added, over all tables and levels of a region, until for each primary cell other records are known
that have all published counts and another count there. Writes suppressed/ (a tidy publication and
its protection.yaml, as recon ingest reads them); accuracy and the whole manifest are in
private/suppress/. The choice of cells follows from the counts and the seed.

Example:
  recon protect suppress -c clinic.yaml
  recon protect suppress --set suppress.zeros=hide
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from recon_cli.capabilities.protect.sections import ProtectingCounts
from recon_cli.config.model import TableChoice
from recon_cli.schema import Release


class Suppress(ProtectingCounts):
    """The section ``suppress``.

    Attributes:
        below: Counts under it are sensitive.
        zeros: ``publish``: zeros are published, so a flag says at least 1; ``hide``: they are
            suppressed with the small counts.
        value: A column of the records that dominance and p_percent look at.
        dominance: ``[n, k]``: sensitive if the n largest values are more than k percent of the
            cell's.
        p_percent: Sensitive if all values but the two largest are less than p percent of the
            largest.
        safety: How far apart two possible counts of a sensitive cell must be at least; default
            ``below``, which `recon audit` asks of what is published.
        region_seconds: Budget of each region, in deterministic seconds; where it ends, more cells
            than needed are suppressed.
        tables: Of records, as in ``reconstruct``; default every table.
        seed: Of the solvers; default the run's seed.
    """

    below: Annotated[int, Field(ge=2)] = 3
    zeros: Literal["publish", "hide"] = "publish"
    value: str | None = None
    dominance: Annotated[tuple[int, float], Field(strict=False)] | None = None
    p_percent: Annotated[float, Field(gt=0)] | None = None
    safety: Annotated[int, Field(ge=1)] | None = None
    region_seconds: Annotated[float, Field(gt=0)] = 600.0
    tables: TableChoice | None = None
    seed: Annotated[int, Field(ge=0)] | None = None

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
