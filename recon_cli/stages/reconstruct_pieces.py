"""Reconstructing, verifying and writing a piece: what the workers of `recon reconstruct` do."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli import verification
from recon_cli.attack.question import missing_units
from recon_cli.attack.reconstruction import partition as attack
from recon_cli.attack.reconstruction.partition import Objective, Reconstruction
from recon_cli.errors import VerificationError
from recon_cli.execute import OnProgress
from recon_cli.frames import is_place
from recon_cli.model.plan import Plan
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.quarantine import traced_quarantine
from recon_cli.publication import Publication
from recon_cli.store import Piece, Staging, read_published


@dataclass(frozen=True)
class ReconstructionContext:
    """What all partitions of one reconstruction share."""

    plan: Plan
    work: Path
    staging: Staging
    seed: int
    objective: Objective | None
    verify: bool


def reconstruct_piece(context: ReconstructionContext, piece: Piece, tick: OnProgress) -> None:
    """Reconstruct, verify and write one piece; runs in a worker."""
    started = time.perf_counter()
    published = read_published(context.work, context.plan.release, piece.partition, piece.span)
    with log_disagreements(context.work), traced_quarantine(context.staging, piece) as quarantine:
        result = attack.reconstruct_plan(
            context.plan,
            published,
            seed=context.seed,
            objective=context.objective,
            on_progress=tick,
            quarantine=quarantine,
        )
    verified = {"cells_compared": 0}
    if context.verify:
        verified = _verified(context, piece, published, result)
    blocks = result.blocks
    places = blocks.filter(is_place(context.plan.release.geoid_column))
    unlisted = blocks.height - places.height
    inhabited = places.filter(pl.col("population").fill_null(1) > 0)
    methods = blocks["method"].value_counts().iter_rows()
    context.staging.write(
        piece,
        {"microdata": result.microdata, "blocks": blocks},
        statuses=dict(places["status"].value_counts().iter_rows()),
        totals={
            "units": places.height,
            **({"unlisted": unlisted} if unlisted else {}),
            "inhabited": inhabited.height,
            "unique": inhabited.filter(pl.col("status") == "unique").height,
            "people": result.microdata.height,
            "certain": int(result.microdata["certain"].sum()),
            "people_in_unique": int(
                places.filter(pl.col("status") == "unique")["population"].sum()
            ),
            "uncounted": blocks["population"].null_count(),
            "candidates": int(blocks["candidates"].sum()),
            "free": int(blocks["free"].sum()),
            **verified,
            **{f"by_{method}": count for method, count in methods},
        },
        started=started,
    )


def _verified(
    context: ReconstructionContext, piece: Piece, published: Publication, result: Reconstruction
) -> dict[str, int]:
    """Totals of the published cells compared: all but those of regions not wholly solved."""
    release = context.plan.release
    gone = release.region.enclosing(missing_units(result.blocks)).unique().implode()
    region = release.region.enclosing(pl.col("geoid"))
    kept = replace(
        published,
        geounits=published.geounits.filter(~region.is_in(gone)),
        counts=published.counts.filter(~region.is_in(gone)),
    )
    of_region = release.region.enclosing(pl.col(release.geoid_column))
    records = result.microdata.filter(~of_region.is_in(gone))
    found = verification.verify(release, kept, records, context.plan.tables)
    try:
        found.require()
    except VerificationError as error:
        level = context.plan.release.geography.partition
        raise VerificationError(f"{level} {piece.name}: {error}") from error
    return {
        "cells_compared": found.cells_compared,
        "cells_within": found.cells_within,
        "cells_unbounded": found.cells_unbounded,
    }
