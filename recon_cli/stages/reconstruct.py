"""`recon reconstruct`: ``tables/`` and ``geounits/`` → ``microdata/`` and ``blocks/``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli import verification
from recon_cli.attack.reconstruction import partition as attack
from recon_cli.attack.reconstruction.partition import Reconstruction
from recon_cli.config import Reconstruct
from recon_cli.errors import VerificationError
from recon_cli.execute import OnProgress
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.quarantine import QuarantineOnDeath, traced_quarantine
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import RECONSTRUCT
from recon_cli.publication import Publication
from recon_cli.stages.selection import select
from recon_cli.store import Folder, Piece, Staging, read_published
from recon_cli.store.pieces import read_pieces
from recon_cli.store.published import COVERAGE, open_published, read_coverage


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
    seed = run.config.top.seed if config.seed is None else config.seed
    tables, geounits = open_published(run.work, run.release)
    coverage = read_coverage(tables, run.release)
    selection = select(run.release, config.tables, coverage)
    if selection.unpublished:
        run.reporter.note(f"reconstruct: not published: {', '.join(selection.unpublished)}")
    recipe = run.recipe(
        RECONSTRUCT,
        {"tables": [table.name for table in selection.tables], "verify": config.verify},
        seed=seed,
        shared={f"tables/{COVERAGE}": tables.manifest.extras[COVERAGE].sha256},
        partitions=input_digests(tables, geounits),
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(RECONSTRUCT, stage.current, skipped=True)
        pieces = read_pieces(geounits)

        def prepare() -> ReconstructionContext:
            plan = make_plan(run.release, selection.tables, coverage)
            return ReconstructionContext(plan, run.work, stage.staging, seed, verify=config.verify)

        on_death = QuarantineOnDeath("reconstruct", stage.staging, run.reporter)
        results = run.map_unfinished(stage, reconstruct_piece, prepare, pieces, on_death)
        manifest = stage.publish(
            pieces,
            notes={
                "tables": [table.name for table in selection.tables],
                "unpublished_tables": list(selection.unpublished),
                "verified": config.verify,
            },
            usages=results.usages,
            workers=results.workers,
        )
        return StageOutcome(RECONSTRUCT, manifest)


def input_digests(*folders: Folder) -> dict[str, dict[str, str]]:
    """Partition → digests of its data in each of ``folders``; for a recipe."""
    return {
        name: {folder.path.name: folder.digest(name) for folder in folders}
        for name in folders[0].partitions
    }


def missing_units(blocks: pl.DataFrame) -> pl.Series:
    """Geoids of the quarantined units: not all of their people are among the records."""
    return blocks.filter(pl.col("status") == attack.QUARANTINED).to_series(0)


@dataclass(frozen=True)
class ReconstructionContext:
    """What all partitions of one reconstruction share."""

    plan: Plan
    work: Path
    staging: Staging
    seed: int
    verify: bool


def reconstruct_piece(context: ReconstructionContext, piece: Piece, tick: OnProgress) -> None:
    """Reconstruct, verify and write one piece; runs in a worker."""
    started = time.perf_counter()
    published = read_published(context.work, context.plan.release, piece.partition, piece.span)
    with log_disagreements(context.work), traced_quarantine(context.staging, piece) as guard:
        result = attack.reconstruct_plan(
            context.plan, published, seed=context.seed, on_progress=tick, guard=guard
        )
    compared = 0
    if context.verify:
        compared = _verified(context, piece, published, result)
    blocks = result.blocks
    methods = blocks["method"].value_counts().iter_rows()
    context.staging.write(
        piece,
        {"microdata": result.microdata, "blocks": blocks},
        statuses=dict(blocks["status"].value_counts().iter_rows()),
        totals={
            "units": blocks.height,
            "people": result.microdata.height,
            "certain": int(result.microdata["certain"].sum()),
            "people_in_unique": int(
                blocks.filter(pl.col("status") == "unique")["population"].sum()
            ),
            "candidates": int(blocks["candidates"].sum()),
            "free": int(blocks["free"].sum()),
            "cells_compared": compared,
            **{f"by_{method}": count for method, count in methods},
        },
        started=started,
    )


def _verified(
    context: ReconstructionContext, piece: Piece, published: Publication, result: Reconstruction
) -> int:
    """The number of published cells compared: all but those of quarantined regions."""
    release = context.plan.release
    gone = missing_units(result.blocks).str.head(release.region.digits).unique().implode()
    region = pl.col("geoid").str.head(release.region.digits)
    kept = Publication(
        published.geounits.filter(~region.is_in(gone)),
        published.counts.filter(~region.is_in(gone)),
        published.coverage,
    )
    of_region = pl.col(release.geoid_column).str.head(release.region.digits)
    records = result.microdata.filter(~of_region.is_in(gone))
    found = verification.verify(release, kept, records, context.plan.tables)
    try:
        found.require()
    except VerificationError as error:
        level = context.plan.release.geography.partition
        raise VerificationError(f"{level} {piece.name}: {error}") from error
    return int(found.cells_compared)
