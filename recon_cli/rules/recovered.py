"""``recovered:`` small counts that the published tables tell."""

from __future__ import annotations

from typing import Annotated, Self

import polars as pl
from pydantic import Field, model_validator

from recon_cli.attack.audit.statuses import RECOVERED, UNDECIDED
from recon_cli.pipeline.stages import AUDIT
from recon_cli.rules.evidence import Evidence
from recon_cli.rules.finding import Finding, found_counts
from recon_cli.rules.subject import Subject


class Recovered(Subject):
    """Withheld counts that the others settle, of a size.

    Attributes:
        from_: The least of these counts.
        below: Counts from here on may be known.
        published: Whether counts of this size that are published as they are count as well;
            zeros never do.
    """

    needs = (AUDIT,)

    from_: Annotated[int, Field(alias="from", ge=0)] = 1
    below: Annotated[int, Field(ge=1)]
    published: bool = True

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.from_ >= self.below:
            raise ValueError(f"from: less than below ({self.below}) is expected")
        return self

    def violations(self, evidence: Evidence) -> Finding:
        """Counts that are known though they were withheld, or are published."""
        found = evidence.audited(self.settled)
        if self.published:
            for name in evidence.tables.partitions:
                found += self.shown(evidence.tables.read(name))
        return found

    def settled(self, audit: pl.DataFrame) -> Finding:
        """Those that were withheld.

        Args:
            audit: Rows of ``audit/``.
        """
        reaches = pl.col("greatest").is_null() | (pl.col("greatest") >= self.from_)
        asked = audit.filter(reaches & (pl.col("least") < self.below))
        return found_counts(
            asked.filter(status=RECOVERED).select("geoid", "table", "cell", count="least"),
            possible=asked.filter(status=UNDECIDED).height,
            of=audit.height,
        )

    def shown(self, counts: pl.DataFrame) -> Finding:
        """Those that are published as they are.

        Args:
            counts: Rows of ``tables/``; zeros have none.
        """
        if "low" in counts.columns:
            counts = counts.filter(pl.col("low") == pl.col("high")).with_columns(count="low")
        found = counts.filter(pl.col("count").is_between(max(self.from_, 1), self.below - 1))
        return found_counts(found.select("geoid", "table", "cell", "count"), of=counts.height)
