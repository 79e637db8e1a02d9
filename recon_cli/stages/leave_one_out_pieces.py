"""Leaving people of a piece out: what the workers of `recon leave-one-out` do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.attack.leave_one_out.modes import gain_codes
from recon_cli.attack.leave_one_out.partition import leave_out_with_plan
from recon_cli.attack.linkage.baselines import most_frequent
from recon_cli.attack.options import LeaveOneOutOptions
from recon_cli.config.sections.score import Score
from recon_cli.execute import OnProgress
from recon_cli.model.plan import Plan
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.quarantine import traced_quarantine
from recon_cli.pipeline.stages import LEAVE_ONE_OUT
from recon_cli.schema import Release
from recon_cli.score.control import Control
from recon_cli.score.leave_one_out import DIFFERENCE, left_out_differences, sum_left_out
from recon_cli.score.rates import Rules
from recon_cli.score.sizes import Sizes
from recon_cli.score.sums import concat
from recon_cli.sources.records import RecordFile
from recon_cli.spreadsheet import csv_bytes
from recon_cli.stages.tabulate import record_columns, typed_records
from recon_cli.store import Folder, Piece, Staging, open_folder, read_published
from recon_cli.store.pieces import cut

DIFFERENCES = "differences.csv"
#: People of a piece, about: leaving them out takes a minute, and counties differ in size.
PIECE_PEOPLE: Final = 5_000


@dataclass(frozen=True)
class LeaveOneOutContext:
    """What all pieces share.

    Attributes:
        plan: The static half.
        work: The work folder.
        staging: Where results go.
        records: The records that were tabulated.
        present: The partitions that have any.
        options: Who is left out.
        mode: The most frequent gained value of all records.
    """

    plan: Plan
    work: Path
    staging: Staging
    records: RecordFile
    present: frozenset[str]
    options: LeaveOneOutOptions
    mode: int


@dataclass(frozen=True)
class RecordSums:
    """What has to be known of all records before any is left out.

    Attributes:
        within: How many are within.
        mode: The most frequent gained value, as from `gain_codes`.
    """

    within: int
    mode: int


def sum_records(
    release: Release, records: RecordFile, columns: Sequence[str], within: str
) -> RecordSums:
    """Read all records once, one partition after the other.

    Args:
        release: The schema.
        records: The records.
        columns: The gained columns.
        within: Geoids begin so.

    Raises:
        SourceError: They cannot be read, or have values that the schema does not know.
    """
    values: Counter[int] = Counter()
    inside = 0
    for partition in records.slices():
        people = _read(release, records, partition)
        codes = gain_codes(release, people, columns)
        values.update(dict(codes.value_counts().iter_rows()))
        inside += int(release.geography.inside(people[release.geoid_column], within).sum())
    return RecordSums(inside, most_frequent(values))


def cut_evenly(release: Release, geounits: Folder) -> list[Piece]:
    """All partitions, cut into whole regions of about `PIECE_PEOPLE`.

    Raises:
        StageError: ``geounits/`` is damaged.
    """
    unit = release.geography.unit.name
    pieces: list[Piece] = []
    for partition in geounits.partitions:
        places = geounits.read(partition, columns=("geoid", "level", "population"))
        units = places.filter(level=unit).select("geoid", "population")
        pieces += cut(release, partition, units, PIECE_PEOPLE)
    return pieces


def leave_out_piece(context: LeaveOneOutContext, piece: Piece, tick: OnProgress) -> None:
    """Leave the people of one piece out, and write what is concluded; runs in a worker."""
    started, release = time.perf_counter(), context.plan.release
    published = read_published(context.work, release, piece.partition, piece.span)
    people = pl.DataFrame(schema=record_columns(release))
    if piece.partition in context.present:
        people = _read(release, context.records, piece.partition)
    with log_disagreements(context.work), traced_quarantine(context.staging, piece) as quarantine:
        rows = leave_out_with_plan(
            context.plan,
            published,
            people,
            context.options,
            tick,
            mode=context.mode,
            quarantine=quarantine,
        )
    by_status = rows.group_by("status").agg(pl.col("people").sum())
    context.staging.write(
        piece,
        {"leave_one_out": rows},
        statuses=dict(by_status.iter_rows()),
        totals={"records": rows.height, "people": int(rows["people"].sum())},
        started=started,
    )


def _read(release: Release, records: RecordFile, partition: str) -> pl.DataFrame:
    found = records.read(partition, list(record_columns(release)))
    return typed_records(found, records.path, release)


def write_differences(
    release: Release, staging: Staging, partitions: Sequence[str], scoring: Score, seed: int
) -> None:
    """The result table as CSV beside the data."""
    sizes = Sizes(scoring.sizes)
    sums = [
        sum_left_out(
            pl.read_parquet(
                staging.partition_folder("leave_one_out", partition) / "*.parquet",
                hive_partitioning=False,
            ),
            release.geoid_column,
            sizes,
            partition=partition,
            resamples=scoring.bootstrap,
            seed=seed,
        )
        for partition in partitions
    ]
    rules = Rules(sizes, Control(scoring.threshold, scoring.small), scoring.interval)
    table = left_out_differences(concat(sums), rules)
    staging.write_extra("leave_one_out", DIFFERENCES, csv_bytes(table))


def read_differences(work: Path) -> pl.DataFrame:
    """The published differences; see `recon_cli.score.leave_one_out.left_out_differences`.

    Raises:
        StageError: ``leave_one_out/`` is missing or damaged.
    """
    folder = open_folder(work, LEAVE_ONE_OUT, "leave_one_out")
    return pl.read_csv(folder.read_extra(DIFFERENCES), schema=DIFFERENCE)
