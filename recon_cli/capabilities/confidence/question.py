"""Confidence of uncertain records: how often they appear among sampled solutions.

It is never a proof: a record in all sampled solutions may be missing from others.

See *confidence* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import Answer, PlannedQuestion, RegionData
from recon_cli.capabilities.confidence.options import Confidence
from recon_cli.capabilities.confidence.sampling import between_vertices, sample_batch
from recon_cli.capabilities.reconstruct.known_batch import KnownBatch
from recon_cli.capabilities.solvar.histogram import (
    histogram_columns,
    histogram_of,
    histogram_schema,
)
from recon_cli.capabilities.solvar.question import make_variability_plan
from recon_cli.coverage import Coverage
from recon_cli.model.components import PACK
from recon_cli.model.counts import arrange_counts
from recon_cli.model.system import build_systems
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed


def measure_confidence(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    microdata: pl.DataFrame,
    options: Confidence,
) -> pl.DataFrame:
    """Measure how often each record implied by ``tables`` appears among sampled solutions.

    Args:
        published: Exact counts of one partition.

    Returns:
        The records in their order: the unit's geoid, the histogram columns that the tables tell
        apart, ``certain`` (propagation shows that it is in every solution; a reconstruction, whose
        grain is coarser, may show it of more) and ``confidence``, null where it is certain or
        nothing was sampled.
    """
    question = ConfidenceQuestion.of(release, tables, published.coverage, options)
    return question.measured(RegionData(published, microdata))


def confidence_of(lower: IntArray, held: IntArray, sampled: IntArray) -> FloatArray:
    """Compute the share of uncertain records that appear in solutions: Eq. (confidence).

    Args:
        lower: Certain records of each histogram cell.
        held: Records of each cell in the reconstruction, which is one of the solutions.
        sampled: (solutions × histogram cells) records of each cell in the other solutions.
    """
    beyond = np.maximum(held - lower, 1)
    shared = np.maximum(np.minimum(sampled, held) - lower, 0)
    share: FloatArray = (1 + (shared / beyond).sum(axis=0)) / (1 + len(sampled))
    return share


@dataclass(frozen=True)
class ConfidenceQuestion(PlannedQuestion):
    """The question of how often each uncertain record appears among sampled solutions."""

    options: Confidence

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: Confidence,
    ) -> Self:
        return cls(make_variability_plan(release, tables, coverage, "exact"), options)

    def measured(
        self,
        part: RegionData,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> pl.DataFrame:
        plan, published, release = self.plan, part.published, self.release
        published.require_exact("confidence of records")
        columns = histogram_columns(release, plan.tables, published.coverage)
        counts = arrange_counts(plan, published)
        key = [release.geoid_column, *columns]
        ends = {"lower": pl.Int64(), "confidence": pl.Float64()}
        cells = [histogram_schema(release, columns, ends).to_frame()]
        for known in KnownBatch.each(plan, counts, build_systems(plan, counts), part, quarantine):
            system, incumbent = known.system, known.incumbent()
            histogram = histogram_of(plan, system.candidates, columns)
            together, seeds = histogram.of_cell, self._seeds(known.regions)
            with known.errors_named():
                sampled = sample_batch(
                    system, seeds, known.watched, between_vertices, together=together, pack=PACK
                )
            sums = histogram.sums
            lower, held = sums @ sampled.bounds.lower, sums @ incumbent
            confidence = confidence_of(lower, held, (sums @ sampled.values.T).T)
            unknown = (sampled.is_missing | known.missing)[histogram.unit]
            frame = histogram.frame(plan, counts, system).with_columns(
                lower=pl.Series(lower),
                confidence=pl.Series(confidence).set(pl.Series(unknown), None),
            )
            cells.append(frame.filter(pl.Series(held > 0)))
            on_progress(len(system.units), int(incumbent.sum()), {})
        ranked = part.records.select(*key, rank=pl.int_range(pl.len()).over(key))
        joined = ranked.join(pl.concat(cells), on=key, how="left", maintain_order="left")
        certain = (pl.col("rank") < pl.col("lower")).fill_null(value=False)
        return joined.select(*key, certain=certain, confidence=pl.when(~certain).then("confidence"))

    def _seeds(self, regions: dict[int, str]) -> dict[int, list[int]]:
        seed, numbers = self.options.fixed_seed, range(self.options.solutions)
        return {
            region: [digest_seed(seed, "confidence", name, str(k)) for k in numbers]
            for region, name in regions.items()
        }

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        rows = self.measured(part, on_progress, quarantine)
        totals = {
            "people": rows.height,
            "certain": int(rows["certain"].sum()),
            "not_sampled": rows.filter(~pl.col("certain"))["confidence"].null_count(),
        }
        return Answer({"confidence": rows}, totals=totals)
