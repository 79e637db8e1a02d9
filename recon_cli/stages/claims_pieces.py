"""Finding and writing the claims of a piece: what the workers of `recon claims` do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli.attack.claims.certificates import find_certificates
from recon_cli.attack.claims.disclosure import KINDS
from recon_cli.attack.claims.foundations import TABLES
from recon_cli.attack.claims.partition import ClaimOptions, ClaimPlans, find_with_plans
from recon_cli.attack.claims.surprise import count_records, with_surprise
from recon_cli.execute import OnProgress
from recon_cli.frames import is_place
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.quarantine import traced_quarantine
from recon_cli.pipeline.stages import CLAIMS
from recon_cli.schema import Release
from recon_cli.stages.reconstructed_pieces import PieceContext
from recon_cli.store import Folder, Piece, open_folder


@dataclass(frozen=True)
class PlannedClaims:
    """What is asked of each piece.

    Attributes:
        plans: What claims are verified under.
        options: What to verify.
        everybody: All records, counted by the columns of claims.
        certificates: Whether weighted cells are wanted that prove the maximal claims.
        laws: By which the counts were published, in words; none where all are exact.
    """

    plans: ClaimPlans
    options: ClaimOptions
    everybody: pl.DataFrame
    certificates: bool
    laws: tuple[str, ...]


ClaimsContext = PieceContext[PlannedClaims]


def claim_piece(context: ClaimsContext, piece: Piece, tick: OnProgress) -> None:
    """Find and write the claims of one piece; runs in a worker."""
    started = time.perf_counter()
    made = context.read(piece)
    with log_disagreements(context.work), traced_quarantine(context.staging, piece) as quarantine:
        verified = find_with_plans(
            context.options.plans,
            made.published,
            made.microdata,
            context.options.options,
            tick,
            quarantine=quarantine,
            missing=made.missing,
        )
    units = verified.units
    release = context.plan.release
    here = count_records(release, made.microdata, verified.columns)
    claims = with_surprise(release, verified.claims, units, here, context.options.everybody)
    plans = context.options.plans
    wanted = claims.filter("maximal") if context.options.certificates else claims.clear()
    certificates = find_certificates(
        plans.assuming, plans.tables_alone, made.published, wanted, verified.columns
    )
    law = "; ".join(context.options.laws) or None
    people = int(units["population"].sum())
    places = units.filter(is_place(release.geoid_column))
    context.staging.write(
        piece,
        {
            "claims": claims.with_columns(law=pl.lit(law, dtype=pl.String)),
            "claim_units": units,
            "disclosures": verified.disclosures,
            "claim_certificates": certificates,
        },
        statuses=dict(places["status"].value_counts().iter_rows()),
        totals={
            "units": places.height,
            "open": units.filter(pl.col("status") == "open").height,
            "people": people,
            "claims": claims.height,
            "exact_claims": int(units["exact_claims"].sum()),
            "maximal": int(claims["maximal"].sum()),
            "singletons": int(claims["singleton"].sum()),
            "on_tables_alone": int((claims["rests_on"] == TABLES).sum()),
            "undecided": int(units["undecided"].sum()),
        },
        started=started,
    )


def count_everybody(release: Release, microdata: Folder, columns: Sequence[str]) -> pl.DataFrame:
    """All reconstructed records by the columns of claims, whatever their unit."""
    wanted = [release.geoid_column, *(feature.name for feature in release.features)]
    parts = [
        count_records(release, microdata.read(name, columns=wanted), columns)
        for name in microdata.partitions
    ]
    nowhere = pl.lit("").alias(release.geoid_column)
    everybody = pl.concat(
        part.group_by(nowhere, *columns).agg(pl.col("records").sum()) for part in parts
    )
    return everybody.group_by(release.geoid_column, *columns).agg(pl.col("records").sum())


def read_disclosures(work: Path) -> pl.DataFrame:
    """People by the most columns it takes to settle another one, and by kind of disclosure.

    Returns:
        One row for each number of columns ``known``: the least number of people, in every
        solution, of whom at most so many columns settle another one.

    Raises:
        StageError: ``disclosures/`` is missing or damaged.
    """
    folder = open_folder(work, CLAIMS, "disclosures")
    rows = pl.concat(folder.read(partition) for partition in folder.partitions)
    return rows.group_by("known").agg(pl.col(KINDS).sum()).sort("known")
