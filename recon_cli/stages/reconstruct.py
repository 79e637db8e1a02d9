"""`recon reconstruct`: ``tables/`` and ``geounits/`` → ``microdata/`` and ``blocks/``."""

from __future__ import annotations

from collections.abc import Sequence

from recon_cli.config import Reconstruct
from recon_cli.execute import Results
from recon_cli.pipeline.run import Run, StageOutcome, pieces_of
from recon_cli.pipeline.stages import RECONSTRUCT
from recon_cli.publication import Coverage
from recon_cli.schema import Table
from recon_cli.stages.selection import select
from recon_cli.store import Folder, Piece, Transaction
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import has_statements, open_published, read_coverage


def reconstruct(run: Run) -> StageOutcome:
    """Reconstruct the person records of every partition, and verify them.

    Raises:
        ConfigError: A table is unknown or not published.
        StageError: ``tables/`` is missing or damaged, or the work folder is in use.
        ContradictionError: No records have the published counts.
        VerificationError: The records do not reproduce a published count.
        SolverError: A solver failed, or a worker died.
    """
    config = run.config.section(Reconstruct)
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    if selection.unpublished:
        run.reporter.note(f"reconstruct: not published: {', '.join(selection.unpublished)}")
    settings = {
        "tables": [table.name for table in selection.tables],
        "assumptions": config.assumptions,
        "verify": config.verify,
    }
    if has_statements(tables):
        settings["objective"] = config.objective
    recipe = run.recipe(
        RECONSTRUCT,
        settings,
        seed=_seed(run),
        shared=shared_digests(tables),
        partitions=input_digests(tables, geounits),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(RECONSTRUCT, stage.current, skipped=True)
        notes = {
            "tables": [table.name for table in selection.tables],
            "unpublished_tables": list(selection.unpublished),
            "assumptions": config.assumptions,
            "columns": _columns(run, selection.tables, coverage),
        }
        if _is_noise(run, tables, selection.tables):
            from recon_cli.stages.reconstruct_noisy import fit_partitions  # noqa: PLC0415

            results = fit_partitions(run, stage, selection.tables, geounits)
            pieces, verify, is_fitted = pieces_of(geounits.manifest), False, True
        else:
            pieces, verify, is_fitted = read_pieces(geounits), config.verify, False
            results = _solve(run, stage, selection.tables, tables, pieces)
        manifest = stage.publish(
            pieces,
            notes={**notes, "verified": verify, "is_fitted": is_fitted},
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(RECONSTRUCT, manifest)


def _columns(run: Run, chosen: Sequence[Table], coverage: Coverage) -> list[str]:
    """The histogram columns whose features some published cell tells apart."""
    seen = run.release.distinguished_by(
        cell for pattern in coverage for _, cell in pattern.published_cells(chosen)
    )
    index, groups = run.release.feature_index, run.release.column_groups
    return [name for name in run.release.histogram if index[groups(name).feature] in seen]


def _seed(run: Run) -> int:
    seed = run.config.section(Reconstruct).seed
    return run.config.top.seed if seed is None else seed


def _solve(
    run: Run,
    stage: Transaction,
    chosen: Sequence[Table],
    tables: Folder,
    pieces: Sequence[Piece],
) -> Results[None]:
    """Solve and verify every piece that is not finished.

    Raises:
        ReconError: What a piece raised.
    """
    from recon_cli.model.interval_plan import make_interval_plan  # noqa: PLC0415
    from recon_cli.model.planning import make_plan  # noqa: PLC0415 - loads the solver
    from recon_cli.pipeline.quarantine import QuarantineOnDeath  # noqa: PLC0415
    from recon_cli.stages import reconstruct_pieces as worker  # noqa: PLC0415

    config = run.config.section(Reconstruct)

    def prepare() -> worker.ReconstructionContext:
        make = make_interval_plan if has_statements(tables) else make_plan
        release = run.release if config.assumptions else run.release.without_assumptions()
        plan = make(release, chosen, read_coverage(tables, run.release))
        return worker.ReconstructionContext(
            plan, run.work, stage.staging, _seed(run), config.objective, verify=config.verify
        )

    on_death = QuarantineOnDeath("reconstruct", stage.staging, run.reporter)
    return run.map_unfinished(stage, worker.reconstruct_piece, prepare, pieces, on_death)


def _is_noise(run: Run, tables: Folder, chosen: Sequence[Table]) -> bool:
    """Whether all counts in use have noise, which bounds nothing."""
    if not has_statements(tables):
        return False
    from recon_cli.statement.measured import is_noise  # noqa: PLC0415 - loads numpy
    from recon_cli.store.protection import read_protection  # noqa: PLC0415

    protection = read_protection(tables, run.release)
    return is_noise(protection, read_coverage(tables, run.release), chosen)


def shared_digests(tables: Folder) -> dict[str, str]:
    """Digests of what all partitions of ``tables`` share, coverage and laws; for a recipe."""
    return {f"tables/{name}": file.sha256 for name, file in tables.manifest.extras.items()}


def input_digests(*folders: Folder) -> dict[str, dict[str, str]]:
    """Partition → digests of its data in each of ``folders``; for a recipe."""
    return {
        name: {folder.path.name: folder.digest(name) for folder in folders}
        for name in folders[0].partitions
    }
