"""``interval:`` how much is left open of counts that are withheld."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import polars as pl
from pydantic import Field

from recon_cli.attack.audit.statuses import SAFE
from recon_cli.pipeline.stages import AUDIT
from recon_cli.rules.evidence import Before, Evidence
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

    def newly(self, now: Evidence, before: Before) -> Finding:
        """Counts whose ends the candidate brought closer together than that."""
        if before.records is None:
            raise ValueError("nothing was audited without the candidate")
        earlier = before.records
        known = [earlier.work.open(AUDIT).read(name) for name in earlier.tables.partitions]
        return now.audited(partial(self.narrowed, known))

    def narrowed(self, known: Sequence[pl.DataFrame], audit: pl.DataFrame) -> Finding:
        """The same of rows of ``audit/``.

        Args:
            known: Rows without the candidate.
            audit: With it.
        """
        key = ["geoid", "table", "cell"]
        is_narrow, is_wide = self._ends()
        told = [each.select(*key, was_narrow=is_narrow, was_wide=is_wide) for each in known]
        rows = audit.with_columns(is_narrow=is_narrow, is_wide=is_wide).join(
            pl.concat(told), on=key, how="left"
        )
        new = pl.col("is_narrow") & pl.col("was_wide").fill_null(value=False)
        old = pl.col("is_wide") | pl.col("was_narrow").fill_null(value=False)
        found = rows.filter(new)
        return found_counts(
            found.select(*key, "least", "greatest"),
            possible=rows.filter(~new & ~old).height,
            of=audit.height,
        )

    def narrow(self, audit: pl.DataFrame) -> Finding:
        """The same of rows of ``audit/``."""
        is_narrow, is_wide = self._ends()
        return found_counts(
            audit.filter(is_narrow).select("geoid", "table", "cell", "least", "greatest"),
            possible=audit.filter(~is_narrow & ~is_wide).height,
            of=audit.height,
        )

    def _ends(self) -> tuple[pl.Expr, pl.Expr]:
        """Whether too little is proven to be left open of a count, and whether enough is."""
        width = pl.col("greatest") - pl.col("least")
        two_apart = (pl.col("required") >= self.at_least) & (pl.col("status") == SAFE)
        both_known = (pl.col("is_exact") & (width >= self.at_least)).fill_null(value=False)
        return (width < self.at_least).fill_null(value=False), two_apart | both_known
