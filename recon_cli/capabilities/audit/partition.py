"""The audit of one partition in batches of whole regions, with progress and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import polars as pl

from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Checkpoint, KeptSearch
from recon_cli.capabilities.audit.cells import CountEnds, EndsSoFar, OnEnds, StatedCounts
from recon_cli.capabilities.audit.clique_ends import AskedEnds, clique_ends
from recon_cli.capabilities.audit.joint_audit import JointAudit
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.rows import AUDIT, Asked, rated, safety_ranges
from recon_cli.capabilities.audit.statuses import OF_NO_INTEREST, AuditProgress, Withheld
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.publication import Publication


@dataclass(frozen=True)
class AuditedPartition:
    """One partition and the options of its audit."""

    plan: Plan
    published: Publication
    counts: PartitionCounts
    options: Audit
    asked: Asked
    quarantine: Quarantine
    checkpoint: Checkpoint

    @cached_property
    def form(self) -> CliqueForm | None:
        """Return the clique form, if it is small and no solver died on the region before."""
        form = CliqueForm.of(self.plan)
        return form if form.is_narrow and not self.quarantine.is_active else None

    def audit_empty_places(self) -> Iterator[pl.DataFrame]:
        """Yield the counts of places without any unit: nobody lives there, so each is 0.

        Exact zeros of the units may prove this although a place's own counts are perturbed.
        """
        plan, counts = self.plan, self.counts
        yield AUDIT.to_frame()
        for pattern in plan.patterns:
            if counts.intervals is None or pattern.level == plan.release.geography.unit.name:
                continue
            places = np.flatnonzero(counts.pattern == pattern.pattern)
            empty = np.setdiff1d(places, counts.parent[pattern.level])
            if not len(empty):
                continue
            low, high = counts.intervals.of(empty)
            withheld = counts.intervals.is_withheld(empty)
            for table, number in pattern.margins.columns:
                cell = plan.columns[table, number]
                is_open = withheld[:, cell]
                names = pl.DataFrame({"geoid": counts.geoids.gather(empty[is_open])}).select(
                    "geoid",
                    level=pl.lit(pattern.level),
                    table=pl.lit(table),
                    cell=pl.lit(number, dtype=pl.Int16),
                )
                zero = np.zeros(names.height, dtype=np.int64)
                ends = CountEnds(low[is_open, cell], high[is_open, cell], zero, zero, zero, zero)
                yield self._rated(names, ends)

    def audited(self, number: int, batch: slice, progress: AuditProgress) -> pl.DataFrame:
        """Audit a batch of whole regions; after a stop, return its last checkpoint."""
        checkpoint, name = self.checkpoint, _batch(number)
        found = checkpoint.finished(name)
        if found is None and checkpoint.is_over:
            found = checkpoint.so_far(name)
            return pl.concat(self._stated(batch)) if found is None else found
        if found is None:
            found = pl.concat([AUDIT.to_frame(), *self.audit(number, batch, progress)])
            checkpoint.finish(name, found)
        return found

    def _stated(self, batch: slice) -> Iterator[pl.DataFrame]:
        """Yield the counts of a batch with their published bounds."""
        yield AUDIT.to_frame()
        for pattern in self.plan.patterns:
            geounits, _ = self.counts.geounits_of(pattern.level, pattern.pattern, batch)
            if not len(geounits):
                continue
            stated = StatedCounts.of(self.plan, self.counts, pattern, geounits)
            low, high = stated.low, stated.high
            yield self._rated(stated.names, CountEnds(low, high, low, high, low, low))

    def audit(self, number: int, batch: slice, progress: AuditProgress) -> Iterator[pl.DataFrame]:
        """Audit some whole regions: by clique tables, or by their joint histograms."""
        if self.form is not None:
            options, counts = self.options, self.counts
            for region in np.unique(counts.region[batch]):
                name = counts.region_geoids[int(region)]
                self.quarantine.announce(name, name)
            found = clique_ends(
                self.form,
                counts,
                batch,
                seed=options.fixed_seed,
                effort=options.region_seconds,
                follow=partial(self._keep, number, progress),
                searches=partial(self._search, number),
                among=self.asked.among,
                with_ends=self.asked.with_ends,
                sizes=self.asked.sizes,
            )
            if found is not None:
                names, ends, is_left = found
                left = pl.Series(is_left) & pl.Series(ends.lower < ends.upper)
                status = pl.when(left).then(pl.lit(OF_NO_INTEREST)).otherwise("status")
                yield self._rated(names, ends).with_columns(status=status)
                return
        joint = JointAudit(
            self.plan, self.published, self.counts, self.options, self.asked, self.quarantine
        )
        if (decided := joint.ends(batch, partial(self._follow, progress))) is not None:
            yield self._rated(*decided)

    def _follow(self, progress: AuditProgress, asked: AskedEnds) -> OnEnds:
        """Return a callback that reports counts as they are decided."""
        withheld = Withheld.of(self.published, asked.names, asked.low, asked.high)
        required = safety_ranges(withheld, self.options.safety)
        is_unit = pl.col("level") == self.plan.release.geography.unit.name
        units = asked.names.select(pl.when(is_unit).then("geoid")).to_series()
        return progress.of(units, required, asked.is_settled)

    def _keep(self, number: int, progress: AuditProgress, asked: AskedEnds) -> OnEnds:
        """Return a callback that reports counts as they are decided, and checkpoints them."""
        hear = self._follow(progress, asked)

        def keep(ends: EndsSoFar) -> None:
            def rows() -> pl.DataFrame:
                low, high = asked.low, asked.high
                lower, upper = np.maximum(ends.lower, low), np.minimum(ends.upper, high)
                shown = CountEnds(low, high, lower, upper, ends.least, ends.greatest)
                return self._rated(asked.names, shown)

            hear(ends)
            self.checkpoint.tell(_batch(number), rows)

        return keep

    def _search(self, number: int, part: int) -> KeptSearch:
        """Return the checkpoint of one part of a batch."""
        return KeptSearch(self.checkpoint, f"search-{number:05d}-{part:05d}")

    def _rated(self, names: pl.DataFrame, ends: CountEnds) -> pl.DataFrame:
        return rated(self.published, names, ends, self.options.safety)


def _batch(number: int) -> str:
    return f"batch-{number:05d}"
