"""``suppress:`` suppression of small counts, and of those that would reveal them.

Primary cells are counts below a threshold, or counts that few people dominate. Complementary cells
are added, over all tables and levels of a region, until every primary cell is safe: two known sets
of records fit all published counts and give it values far enough apart. Writes suppressed/ (a tidy
publication and its protection.yaml, which recon ingest reads) and private/suppress/ (its accuracy
and the full manifest). If the input is records, units without any are left out: the publication
reveals which units have some. The choice of cells depends on the counts and the seed.

Example:
  recon protect suppress -c clinic.yaml
  recon protect suppress --zeros hide
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
        below: Threshold below which counts are sensitive.
        zeros: ``publish``: zeros are published, so a suppressed count is known to be at least 1;
            ``hide``: they are suppressed with the small counts.
        value: Column of the records that dominance and p_percent use.
        dominance: ``[n, k]``: sensitive if the n largest values are more than k percent of the
            cell's total.
        p_percent: Sensitive if all but the two largest values sum to less than p percent of the
            largest.
        safety: Required distance between two possible values of a sensitive cell; default the value
            of ``below``, which `recon audit` also requires.
        region_seconds: Budget of each region, or of each part into which a large one is divided, in
            seconds of solver work, not of clock time; when it is used up, more cells than needed
            are suppressed.
        tables: Tables of the records, as in ``reconstruct``; default every table.
        seed: Seed of the solvers; default the run's seed.
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
