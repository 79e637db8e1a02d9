"""Rules about counts: withheld ones that are known, and the width of their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Self

import polars as pl
from pydantic import Field, model_validator

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.statuses import NARROWED, RECOVERED, SAFE, UNDECIDED
from recon_cli.capabilities.check.candidate import tables_of
from recon_cli.capabilities.check.finding import EXAMPLES, Finding, found_counts
from recon_cli.capabilities.check.subject import Subject
from recon_cli.frames import IS_AS_PUBLISHED
from recon_cli.stage import undisturbed
from recon_cli.store.protection import apart

if TYPE_CHECKING:  # a config has rules, and commands that judge none start fast
    from recon_cli.capabilities.check.evidence import Before, Evidence


class Recovered(Subject):
    """Withheld counts, within a range of sizes, that the other counts determine.

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
        """Find counts that are known though they were withheld, or that are published."""
        found = evidence.audited(self.settled)
        if self.published:
            for name in evidence.tables.partitions:
                found += self.shown(apart(evidence.tables.read(name))[0])
        return found

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the least and the greatest count that must not be known."""
        return self.from_, self.below - 1

    def newly(self, now: Evidence, before: Before) -> Finding:
        """Find counts that the candidate reveals, alone or with the others."""
        found = now.asked_of_all()
        mine = tables_of(now.release, before.candidate)
        with undisturbed():
            from recon_cli.capabilities.check.newly import new_counts

        for part in new_counts(now, before, self.sizes):
            if part.unanswered:
                found = found.with_gaps("some regions were not audited")
            every, of = part, part.asked
            if self.published:
                shown = part.exact.filter(pl.col("table").is_in(mine))
                every, of = part.with_shown(self.small(shown), before), of + shown.height
            small = every.settled.filter(pl.col("before").ne_missing(RECOVERED))
            proven = small.filter(pl.col("before").is_in([SAFE, NARROWED]))
            reaches = pl.col("greatest").is_null() | (pl.col("greatest") >= self.from_)
            open_ones = part.undecided.filter(reaches & (pl.col("least") < self.below))
            some = proven.head(EXAMPLES - len(found.examples))
            named = some.select("geoid", "table", "cell", count="least")
            if before.explains:
                why = pl.Series(part.because(some), dtype=pl.String)
                named = named.with_columns(because=why)
            possible = small.height - proven.height + open_ones.height
            counted = found_counts(proven.select("table"), of, possible)
            found += replace(counted, examples=tuple(named.to_dicts()))
        return found

    def settled(self, audit: pl.DataFrame) -> Finding:
        """Find recovered counts among those that were withheld.

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
        """Find small counts among those that are published exactly.

        Args:
            counts: Rows of ``tables/``; zeros have none.
        """
        exact = counts if "low" not in counts.columns else counts.filter(IS_AS_PUBLISHED)
        return found_counts(self.small(exact), of=exact.height)

    def small(self, counts: pl.DataFrame) -> pl.DataFrame:
        """Select counts of the sizes that are published exactly: ``geoid, table, cell, count``."""
        if "low" in counts.columns:
            counts = counts.filter(IS_AS_PUBLISHED).with_columns(count="low")
        found = counts.filter(pl.col("count").is_between(max(self.from_, 1), self.below - 1))
        return found.select("geoid", "table", "cell", "count")


class Interval(Subject):
    """Suppressed, rounded or omitted counts whose intervals are too narrow.

    Attributes:
        at_least: The greatest possible count less the least, in each.
    """

    needs = (AUDIT,)

    at_least: Annotated[int, Field(ge=1)]

    def violations(self, evidence: Evidence) -> Finding:
        return evidence.audited(self.narrow)

    def newly(self, now: Evidence, before: Before) -> Finding:
        if before.records is None:
            raise ValueError("nothing was audited without the candidate")
        earlier = before.records
        known = [earlier.work.open(AUDIT).read(name) for name in earlier.tables.partitions]
        return now.audited(partial(self.narrowed, known))

    def narrowed(self, known: Sequence[pl.DataFrame], audit: pl.DataFrame) -> Finding:
        """Find newly narrowed counts in rows of ``audit/``.

        Args:
            known: Rows without the candidate.
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
        """Find narrow counts in rows of ``audit/``."""
        is_narrow, is_wide = self._ends()
        return found_counts(
            audit.filter(is_narrow).select("geoid", "table", "cell", "least", "greatest"),
            possible=audit.filter(~is_narrow & ~is_wide).height,
            of=audit.height,
        )

    def _ends(self) -> tuple[pl.Expr, pl.Expr]:
        """Return expressions: whether the interval is provably too narrow, or wide enough."""
        width = pl.col("greatest") - pl.col("least")
        two_apart = (pl.col("required") >= self.at_least) & (pl.col("status") == SAFE)
        both_known = (pl.col("is_exact") & (width >= self.at_least)).fill_null(value=False)
        return (width < self.at_least).fill_null(value=False), two_apart | both_known
