"""Run `recon verify`: compare ``microdata/`` with every published cell; publishes nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli import verification
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.coverage import select
from recon_cli.errors import StageError
from recon_cli.execute import OnProgress
from recon_cli.page.missing import Missing
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release, Table
from recon_cli.store import Piece, open_folder
from recon_cli.store.pieces import read_pieces
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published, read_coverage


@dataclass(frozen=True)
class VerifyOutcome:
    """The result of a verification.

    Attributes:
        cells_compared: Published cells, zeros included.
        cells_within: Number of these that are only within the range of their law.
        cells_unbounded: Number of these whose law allows any count.
        people: Records.
        units: Geounits of the finest level.
        mismatches: One row per cell that differs.
        seconds: Wall time.
    """

    tables: tuple[str, ...]
    cells_compared: int
    cells_within: int
    cells_unbounded: int
    people: int
    units: int
    mismatches: pl.DataFrame
    statistics_compared: int
    other_statistics: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Report whether the records reproduce every published cell and statistic."""
        return self.mismatches.is_empty() and not self.other_statistics


def verify(run: Run, choice: str | tuple[str, ...] | None = None) -> VerifyOutcome:
    """Compare the run's records with its published counts.

    Args:
        choice: Levels or table names; default the tables that the records were made from.

    Raises:
        StageError: A folder is missing or damaged, or the records are of other partitions.
    """
    started = time.perf_counter()
    tables, geounits = open_published(run.work, run.release)
    microdata = open_folder(run.work, RECONSTRUCT, "microdata")
    microdata.manifest.require_release(run.release)
    if choice is None:
        choice = tuple(microdata.manifest.notes["tables"])
    selection = select(run.release, choice, read_coverage(tables, run.release))
    if microdata.partitions != tables.partitions:
        raise StageError(
            f"microdata/ and tables/ in {run.work} have different partitions; "
            f"run `{RECONSTRUCT.command}` again"
        )
    if isinstance(WorkFolder(run.work).fresh(RECONSTRUCT), Missing):
        run.reporter.note("verify: tables/ changed after microdata/ was made from them")
    pieces = read_pieces(geounits)
    context = VerificationContext(run.release, run.work, selection.tables)
    found = run.map_pieces("verify", verify_piece, lambda: context, pieces).values
    return VerifyOutcome(
        tables=tuple(table.name for table in selection.tables),
        cells_compared=sum(each.cells_compared for each in found),
        cells_within=sum(each.cells_within for each in found),
        cells_unbounded=sum(each.cells_unbounded for each in found),
        people=microdata.manifest.rows,
        units=sum(piece.units for piece in pieces),
        mismatches=pl.concat([each.mismatches for each in found]),
        statistics_compared=sum(each.statistics_compared for each in found),
        other_statistics=tuple(str(other) for each in found for other in each.other_statistics),
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True)
class VerificationContext:
    """The inputs that all partitions of one verification share."""

    release: Release
    work: Path
    tables: tuple[Table, ...]


def verify_piece(
    context: VerificationContext, piece: Piece, tick: OnProgress
) -> verification.Verification:
    """Verify one piece; runs in a worker."""
    at = piece.partition, piece.span
    published = read_published(context.work, context.release, *at, with_statistics=True)
    records = open_folder(context.work, RECONSTRUCT, "microdata").read(piece.partition, piece.span)
    found = verification.verify(context.release, published, records, context.tables)
    units = published.geounits.filter(pl.col("level") == context.release.geography.unit.name)
    tick(units.height, records.height)
    return found
