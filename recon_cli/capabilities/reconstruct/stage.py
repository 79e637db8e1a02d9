"""Run `recon reconstruct`: ``tables/`` and ``geounits/`` → ``microdata/`` and ``blocks/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.coverage import Coverage, select
from recon_cli.errors import ConfigError
from recon_cli.pipeline.opened_stage import MadeStage, QuestionStage
from recon_cli.pipeline.run import Run, pieces_of
from recon_cli.schema import Table
from recon_cli.stage import undisturbed
from recon_cli.store import Folder
from recon_cli.store.published import has_statements, open_published, read_coverage


def open_stage(run: Run) -> MadeStage:
    """Open the stage that reconstructs the person records of every partition.

    Raises:
        ConfigError: A table is unknown or not published, or an engine is named for counts that
            are not exact.
    """
    config = run.section(Reconstruct)
    seed = config.fixed_seed
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    if config.engine != "auto" and has_statements(tables):
        raise ConfigError(
            f"reconstruct.engine: {config.engine} solves exact counts; some of these are "
            "suppressed, rounded, perturbed or noisy: leave out `reconstruct.engine`"
        )
    if selection.unpublished:
        run.reporter.note(f"reconstruct: not published: {', '.join(selection.unpublished)}")
    settings = {
        "tables": [table.name for table in selection.tables],
        "assumptions": config.assumptions,
        "verify": config.verify,
        "engine": config.engine,
        "within": config.within,
    }
    if has_statements(tables):
        settings["objective"] = config.objective
    recipe = run.recipe(
        RECONSTRUCT,
        settings,
        seed=seed,
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    notes = {
        "tables": [table.name for table in selection.tables],
        "unpublished_tables": list(selection.unpublished),
        "assumptions": config.assumptions,
        "engine": config.engine,
        "columns": _columns(run, selection.tables, coverage),
    }

    def question() -> QuestionStage:
        if _is_noise(run, tables, selection.tables):
            return QuestionStage(
                run,
                recipe,
                geounits,
                question=_likely_records_question,
                arguments=lambda: {"release": run.release, "tables": selection.tables},
                pieces=lambda: pieces_of(geounits.manifest),
                notes={**notes, "verified": False, "is_fitted": True},
            )
        return QuestionStage(
            run,
            recipe,
            geounits,
            question=_reconstruction_question,
            arguments=lambda: {
                "release": run.release,
                "tables": selection.tables,
                "coverage": coverage,
                "is_exact": not has_statements(tables),
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


def _is_noise(run: Run, tables: Folder, chosen: Sequence[Table]) -> bool:
    """Test whether all counts in use have noise, which bounds nothing."""
    if not has_statements(tables):
        return False
    with undisturbed():
        from recon_cli.store.protection import read_protection

    protection = read_protection(tables, run.release)
    with undisturbed():
        from recon_cli.statement.protection import is_noise

    return bool(is_noise(protection, read_coverage(tables, run.release), chosen))


def shared_digests(tables: Folder) -> dict[str, str]:
    """Return digests of the shared files of ``tables``, coverage and laws; for a recipe."""
    return {f"tables/{name}": file.sha256 for name, file in tables.manifest.extras.items()}


def input_digests(*folders: Folder) -> dict[str, dict[str, str]]:
    """Map partitions to digests of their data in each of ``folders``; for a recipe."""
    return {
        name: {folder.path.name: folder.digest(name) for folder in folders}
        for name in folders[0].partitions
    }


def _likely_records_question() -> type[Any]:
    with undisturbed():
        from recon_cli.capabilities.measurements.joint_fit import LikelyRecordsQuestion
    return LikelyRecordsQuestion


def _reconstruction_question() -> type[Any]:
    with undisturbed():
        from recon_cli.capabilities.reconstruct.question import ReconstructionQuestion
    return ReconstructionQuestion
