"""``interval:`` how much is left open of counts that are withheld."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from pydantic import Field

from recon_cli.attack.audit.statuses import SAFE
from recon_cli.pipeline.stages import AUDIT
from recon_cli.rules.evidence import Evidence
from recon_cli.rules.finding import Finding, found_counts
from recon_cli.rules.subject import Subject


class Interval(Subject):
    """Suppressed, rounded or left out counts of which too little is left open.

    Attributes:
        at_least: The greatest possible count less the least, in each.
    """

    needs = (AUDIT,)

    at_least: Annotated[int, Field(ge=1)]

    def violations(self, evidence: Evidence) -> Finding:
        """Counts whose least and greatest are closer together."""
        return evidence.audited(self.narrow)

    def narrow(self, audit: pl.DataFrame) -> Finding:
        """The same of rows of ``audit/``."""
        width = pl.col("greatest") - pl.col("least")
        is_narrow = (width < self.at_least).fill_null(value=False)
        two_apart = (pl.col("required") >= self.at_least) & (pl.col("status") == SAFE)
        both_known = (pl.col("is_exact") & (width >= self.at_least)).fill_null(value=False)
        return found_counts(
            audit.filter(is_narrow).select("geoid", "table", "cell", "least", "greatest"),
            possible=audit.filter(~is_narrow & ~two_apart & ~both_known).height,
            of=audit.height,
        )
