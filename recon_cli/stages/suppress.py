"""`recon protect suppress`: records, or exact counts → counts with cells suppressed.

``suppressed/`` is a tidy publication with its ``protection.yaml``, as `recon ingest` reads it; the
folder beside it says how much is missing.
"""

from __future__ import annotations

from typing import Any

from recon_cli.config.sections.suppress import Suppress
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import SUPPRESS
from recon_cli.stages.protected_file import write_protected
from recon_cli.store import Manifest, Transaction
from recon_cli.store.study import require_study_name

#: People that are worth a process: each takes 5 ms and more.
_GRAIN = 300


def suppress(run: Run) -> MadeStage:
    """Suppress sensitive counts, and those that would give them away.

    Raises:
        ConfigError: There are no records, or no such column.
        SourceError: The records do not fit the schema, or what is published differs within a level.
        SolverError: A region is too large, or a solver could not decide.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.protect.primary import PrimaryRules  # noqa: PLC0415 - loads polars
    from recon_cli.protect.suppression import (  # noqa: PLC0415
        SuppressionOptions,
        suppression_protection,
    )
    from recon_cli.stages import suppress_pieces as work  # noqa: PLC0415
    from recon_cli.stages.protect_counts_pieces import (  # noqa: PLC0415
        Origin,
        protection_files,
        write_beside,
    )

    config = run.config.section(Suppress)
    seed = run.seed_of(config)
    rules = PrimaryRules(
        config.below,
        zeros_hidden=config.zeros == "hide",
        value=config.value,
        dominance=config.dominance,
        p_percent=config.p_percent,
    )
    options = SuppressionOptions(rules, config.safety, seed, config.region_seconds)
    tables = run.release.select_tables(config.tables)
    origin = Origin(
        SUPPRESS.section,
        tables,
        config.records or run.work / "persons",
        counts=config.counts,
        identifier=config.value,
    )
    is_study = run.reads_study(SUPPRESS)
    if is_study:
        require_study_name("suppress.to", config.to)
    beside = protection_files(run.release, suppression_protection(rules), is_study=is_study)
    recipe = run.recipe(
        SUPPRESS, _settings(config, tables), seed=seed, partitions=origin.digests(run.release)
    )

    def make(transaction: Transaction) -> Manifest:
        pieces, staging = origin.pieces(run.release), transaction.staging
        context = work.SuppressContext(run.release, origin, options, staging)
        results = run.map_unfinished(
            transaction, work.suppress_piece, lambda: context, pieces, grain=_GRAIN
        )
        write_beside(run.release, staging, pieces, beside)
        return transaction.publish(
            pieces,
            notes={"below": config.below, "zeros": config.zeros},
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make, lambda: write_protected(run, SUPPRESS, config.to))


def _settings(config: Suppress, tables: Any) -> dict[str, Any]:
    settings = config.model_dump(exclude={"records", "counts", "seed", "tables", "to"}, mode="json")
    return {**settings, "tables": [table.name for table in tables]}
