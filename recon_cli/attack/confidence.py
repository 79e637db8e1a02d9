"""Confidence of records that are not certain: how often they appear among sampled solutions.

It is never a proof: a record that appears in all sampled solutions may be missing from others.

See *confidence* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.attack.excluded_units import NO_QUARANTINE, Quarantine
from recon_cli.attack.known_batch import KnownBatch
from recon_cli.attack.options import ConfidenceOptions
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.attack.sampling import between_vertices, sample_batch
from recon_cli.attack.variability.histogram import histogram_columns, histogram_of
from recon_cli.attack.variability.question import make_variability_plan
from recon_cli.coverage import Coverage
from recon_cli.model.components import PACK
from recon_cli.model.counts import arrange_counts
from recon_cli.model.plan import Plan
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
    options: ConfidenceOptions,
) -> pl.DataFrame:
    """How often each reconstructed record appears among sampled solutions.

    Args:
        published: Exact counts of one partition.
        tables: The tables that ``microdata`` was reconstructed from.
        microdata: Reconstructed records of the partition.
        options: How to measure.

    Returns:
        As `confidence_with_plan`.

    Raises:
        SourceError: The counts are not exact.
        StageError: The records do not reproduce the published counts.
    """
    plan = make_variability_plan(release, tables, published.coverage, "exact")
    return confidence_with_plan(plan, RegionData(published, microdata), options)


def confidence_with_plan(
    plan: Plan,
    data: RegionData,
    options: ConfidenceOptions,
    on_progress: OnProgress = ignore_progress,
    quarantine: Quarantine = NO_QUARANTINE,
) -> pl.DataFrame:
    """`measure_confidence` with a plan already made; ``quarantine`` is for attempts that died.

    Returns:
        The records in their order: the unit's geoid, the histogram columns that the
        tables tell apart, ``certain`` (propagation shows that it is in every solution) and
        ``confidence``, null where it is certain or nothing was sampled.
    """
    published, release = data.published, plan.release
    published.require_exact("confidence of records")
    columns = histogram_columns(release, plan.tables, published.coverage)
    counts = arrange_counts(plan, published)
    key = [release.geoid_column, *columns]
    cells = [_cell_schema(plan, columns).to_frame()]
    for known in KnownBatch.each(plan, counts, build_systems(plan, counts), data, quarantine):
        system, incumbent = known.system, known.incumbent()
        histogram = histogram_of(plan, system.candidates, columns)
        with known.errors_named():
            sampled = sample_batch(
                system,
                _seeds(options, known.regions),
                known.watched,
                between_vertices,
                together=histogram.of_cell,
                pack=PACK,
            )
        sums = histogram.sums
        lower = sums @ sampled.bounds.lower
        held = sums @ incumbent
        confidence = confidence_of(lower, held, (sums @ sampled.values.T).T)
        unknown = (sampled.is_missing | known.missing)[histogram.unit]
        frame = histogram.frame(plan, counts, system).with_columns(
            lower=pl.Series(lower),
            confidence=pl.Series(confidence).set(pl.Series(unknown), None),
        )
        cells.append(frame.filter(pl.Series(held > 0)))
        on_progress(len(system.units), int(incumbent.sum()), {})
    ranked = data.records.select(*key, rank=pl.int_range(pl.len()).over(key))
    joined = ranked.join(pl.concat(cells), on=key, how="left", maintain_order="left")
    certain = (pl.col("rank") < pl.col("lower")).fill_null(value=False)
    return joined.select(
        *key, certain.alias("certain"), pl.when(~certain).then("confidence").alias("confidence")
    )


def confidence_of(lower: IntArray, held: IntArray, sampled: IntArray) -> FloatArray:
    """The share of the records beyond the certain ones that solutions have: Eq. (confidence).

    Args:
        lower: Certain records of each histogram cell.
        held: Records of each in the reconstruction, which is one of the solutions.
        sampled: (solutions × histogram cells) records of each in the others.
    """
    beyond = np.maximum(held - lower, 1)
    shared = np.maximum(np.minimum(sampled, held) - lower, 0)
    share: FloatArray = (1 + (shared / beyond).sum(axis=0)) / (1 + len(sampled))
    return share


def _seeds(options: ConfidenceOptions, regions: dict[int, str]) -> dict[int, list[int]]:
    numbers = range(options.solutions)
    return {
        region: [digest_seed(options.seed, "confidence", name, str(k)) for k in numbers]
        for region, name in regions.items()
    }


def _cell_schema(plan: Plan, columns: Sequence[str]) -> pl.Schema:
    schema = pl.Schema({plan.release.geoid_column: pl.String})
    schema.update({name: plan.release.column_groups(name).dtype() for name in columns})
    schema.update({"lower": pl.Int64(), "confidence": pl.Float64()})
    return schema


@dataclass(frozen=True)
class ConfidenceQuestion(Question):
    """How often does each record that is not certain appear among sampled solutions?

    Attributes:
        plan: The static half, of exact counts.
        options: How confidence is measured.
    """

    plan: Plan
    options: ConfidenceOptions

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: ConfidenceOptions,
    ) -> Self:
        """For some tables."""
        return cls(make_variability_plan(release, tables, coverage, "exact"), options)

    @property
    def release(self) -> Release:
        """The schema."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """The rows of ``confidence/``.

        Raises:
            StageError: The records do not have the published counts.
        """
        rows = confidence_with_plan(self.plan, part, self.options, on_progress, quarantine)
        totals = {
            "people": rows.height,
            "certain": int(rows["certain"].sum()),
            "not_sampled": rows.filter(~pl.col("certain"))["confidence"].null_count(),
        }
        return Answer({"confidence": rows}, totals=totals)
