"""Confidence of records that are not certain: how often they appear among sampled solutions.

It is never a proof: a record that appears in all sampled solutions may be missing from others.

See *confidence* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.attack.excluded_units import NO_QUARANTINE, Quarantine
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.attack.reconstruction.solution import errors_naming, quarantine_of_batch
from recon_cli.attack.sampling import between_vertices, sample_batch
from recon_cli.attack.variability.histogram import histogram_columns, histogram_of
from recon_cli.attack.variability.incumbent import encode_incumbent
from recon_cli.attack.variability.partition import make_variability_plan
from recon_cli.model.components import PACK
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.grain import IntArray
from recon_cli.model.plan import Plan
from recon_cli.model.system import System, build_systems
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Coverage, Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ConfidenceOptions:
    """How confidence is measured.

    Attributes:
        seed: For the sampled solutions.
        solutions: How many, at least 1.
    """

    seed: int
    solutions: int


def measure_confidence(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    microdata: pl.DataFrame,
    options: ConfidenceOptions,
) -> pl.DataFrame:
    """How often each reconstructed record appears among sampled solutions.

    Args:
        release: The schema.
        published: Exact counts of one partition.
        tables: The tables that ``microdata`` was reconstructed from.
        microdata: Reconstructed records of the partition.
        options: How to measure.

    Returns:
        As `confidence_with_plan`.

    Raises:
        SourceError: The counts are not exact.
        StageError: The records do not reproduce the published counts.
        SolverError: The solver could not decide, or two engines disagree.
    """
    plan = make_variability_plan(release, tables, published.coverage, "exact")
    return confidence_with_plan(plan, published, microdata, options)


def confidence_with_plan(
    plan: Plan,
    published: Publication,
    microdata: pl.DataFrame,
    options: ConfidenceOptions,
    on_progress: OnProgress = ignore_progress,
    *,
    quarantine: Quarantine = NO_QUARANTINE,
    missing: pl.Series | None = None,
) -> pl.DataFrame:
    """`measure_confidence` with a plan already made; see there.

    ``quarantine`` is for attempts that died; ``missing`` are the geoids of units that were
    quarantined when ``microdata`` was made.

    Returns:
        The rows of ``microdata`` in their order: the unit's geoid, the histogram columns that the
        tables tell apart, ``certain`` (propagation shows that it is in every solution) and
        ``confidence``, null where it is certain or nothing was sampled.
    """
    published.require_exact("confidence of records")
    release = plan.release
    columns = histogram_columns(release, plan.tables, published.coverage)
    counts = arrange_counts(plan, published)
    key = [release.geoid_column, *columns]
    cells = [_cell_schema(plan, columns).to_frame()]
    for system in build_systems(plan, counts):
        geoids = counts.geoids.gather(system.units)
        is_missing = np.zeros(len(geoids), dtype=bool)
        if missing is not None:
            is_missing = geoids.is_in(missing.implode()).to_numpy()
        incumbent = encode_incumbent(plan, counts, system, microdata, is_missing)
        histogram = histogram_of(plan, system.candidates, columns)
        seeds = _seeds(options, counts, system)
        with errors_naming(
            f"{release.region.name}s from", counts.region_geoids[int(system.regions[0])]
        ):
            sampled = sample_batch(
                system,
                seeds,
                quarantine_of_batch(quarantine, counts, system),
                between_vertices,
                together=histogram.of_cell,
                pack=PACK,
            )
        sums = histogram.sums
        lower = sums @ sampled.bounds.lower
        held = sums @ incumbent
        confidence = confidence_of(lower, held, (sums @ sampled.values.T).T)
        unknown = (sampled.is_missing | is_missing)[histogram.unit]
        frame = histogram.frame(plan, counts, system).with_columns(
            lower=pl.Series(lower),
            confidence=pl.Series(confidence).set(pl.Series(unknown), None),
        )
        cells.append(frame.filter(pl.Series(held > 0)))
        on_progress(len(system.units), int(incumbent.sum()), {})
    ranked = microdata.select(*key, rank=pl.int_range(pl.len()).over(key))
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


def _seeds(
    options: ConfidenceOptions, counts: PartitionCounts, system: System
) -> dict[int, list[int]]:
    return {
        region: [
            digest_seed(options.seed, "confidence", counts.region_geoids[region], str(number))
            for number in range(options.solutions)
        ]
        for region in np.unique(system.regions).tolist()
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
        cls, release: Release, tables: Sequence[Table], coverage: Coverage, options: dict[str, int]
    ) -> Self:
        """For some tables; ``options`` are those of `ConfidenceOptions`."""
        plan = make_variability_plan(release, tables, coverage, "exact")
        return cls(plan, ConfidenceOptions(**options))

    @property
    def release(self) -> Release:
        """The schema."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """The rows of ``confidence/``.

        Raises:
            SolverError: Two engines disagree.
            StageError: The records do not have the published counts.
        """
        rows = confidence_with_plan(
            self.plan,
            part.published,
            part.records,
            self.options,
            on_progress,
            quarantine=quarantine,
            missing=part.missing,
        )
        totals = {
            "people": rows.height,
            "certain": int(rows["certain"].sum()),
            "not_sampled": rows.filter(~pl.col("certain"))["confidence"].null_count(),
        }
        return Answer({"confidence": rows}, totals=totals)
