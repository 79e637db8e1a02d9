"""Run `recon reconstruct`: ``tables/`` and ``geounits/`` → ``microdata/`` and ``blocks/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError
from recon_cli.pipeline.opened_stage import MadeStage, QuestionStage
from recon_cli.pipeline.published_input import PublishedInput
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.schema import Table
from recon_cli.stage import undisturbed


def open_stage(run: Run) -> MadeStage:
    """Open the stage that reconstructs the person records of every partition.

    Raises:
        ConfigError: A table is unknown or not published, or an engine is named for counts that
            are not exact.
    """
    config = run.section(Reconstruct)
    given = PublishedInput.of(run, config.tables)
    if config.engine != "auto" and not given.is_exact:
        raise ConfigError(
            f"reconstruct.engine: {config.engine} solves exact counts; some of these are "
            "suppressed, rounded, perturbed or noisy: leave out `reconstruct.engine`"
        )
    if given.unpublished:
        run.reporter.note(f"reconstruct: not published: {', '.join(given.unpublished)}")
    settings: dict[str, Any] = {
        "assumptions": config.assumptions,
        "verify": config.verify,
        "engine": config.engine,
        "within": config.within,
    }
    if not given.is_exact:
        settings["objective"] = config.objective
    recipe = given.recipe(run, RECONSTRUCT, settings, config.fixed_seed)
    notes = {
        "tables": given.table_names,
        "unpublished_tables": list(given.unpublished),
        "assumptions": config.assumptions,
        "engine": config.engine,
        "columns": _columns(run, given.used, given.coverage),
    }

    def question() -> QuestionStage:
        if _is_noise(given):
            return QuestionStage(
                run,
                recipe,
                given.geounits,
                question=_likely_records_question,
                arguments=lambda: {"release": run.release, "tables": given.used},
                pieces=lambda: pieces_of(given.geounits.manifest),
                notes={**notes, "verified": False, "is_fitted": True},
            )
        return QuestionStage(
            run,
            recipe,
            given.geounits,
            arguments=lambda: {
                **given.tables_in_use,
                "is_exact": given.is_exact,
                "options": config,
            },
            notes={**notes, "verified": config.verify, "is_fitted": False},
        )

    return MadeStage(recipe, lambda stage: question().make(stage))


def _columns(run: Run, chosen: Sequence[Table], coverage: Coverage) -> list[str]:
    """Return the histogram columns whose features some published cell distinguishes."""
    seen = run.release.distinguished_by(
        cell for pattern in coverage for _, cell in pattern.published_cells(chosen)
    )
    index, groups = run.release.feature_index, run.release.column_groups
    return [name for name in run.release.histogram if index[groups(name).feature] in seen]


def _is_noise(given: PublishedInput) -> bool:
    """Test whether all counts in use have noise, which bounds nothing."""
    if given.is_exact:
        return False
    with undisturbed():
        from recon_cli.statement.protection import is_noise
        from recon_cli.store.protection import read_protection

    return bool(is_noise(read_protection(given.tables, given.release), given.coverage, given.used))


def _likely_records_question() -> type[Any]:
    with undisturbed():
        from recon_cli.capabilities.measurements.joint_fit import LikelyRecordsQuestion
    return LikelyRecordsQuestion
