"""Ask a question of every piece: reading, quarantine and writing, once for all questions.

A question about several releases of the same places also reads the runs of those releases.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import polars as pl

from recon_cli.ask.question import Checkpoint, Question, RegionData
from recon_cli.execute import OnProgress, ignore_progress
from recon_cli.pipeline.checkpoint import PieceCheckpoint
from recon_cli.pipeline.failure_log import log_contradictions, log_disagreements
from recon_cli.pipeline.quarantine import traced_quarantine
from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store import Piece, Staging
from recon_cli.store.protection import read_published


class Records(Protocol):
    """Reads the records of a piece."""

    def read(self, piece: Piece) -> tuple[pl.DataFrame, pl.Series]:
        """Return the records, and the geoids of units that were unsolved when they were made."""


@dataclass(frozen=True)
class Asked:
    """The inputs that all pieces share.

    Attributes:
        records: Reader of records, if the question starts from records.
        partners: Readers of further releases, for a question about several.
    """

    question: Question
    work: Path
    staging: Staging
    records: Records | None = None
    partners: Sequence[Partner] = ()

    def read(self, piece: Piece) -> RegionData:
        """Read the published counts, and the records if asked for, of a piece."""
        at = piece.partition, piece.span
        release = self.question.release
        published = read_published(self.work, release, *at, with_statistics=True)
        partners = tuple(partner.read(piece) for partner in self.partners)
        data = RegionData(published, partition=piece.partition, partners=partners)
        if self.records is None:
            return data
        microdata, missing = self.records.read(piece)
        return replace(data, microdata=microdata, missing=missing)


def ask_piece(asked: Asked, piece: Piece, tick: OnProgress) -> None:
    """Answer the question for a piece and write the answer; runs in a worker."""
    checkpoint = PieceCheckpoint(asked.staging, piece)
    _answer(asked, piece, asked.staging, checkpoint, tick)
    checkpoint.forget()


def answer_so_far(asked: Asked, piece: Piece, staging: Staging) -> None:
    """Write the decided part of an unfinished piece to another folder, without solving anything."""
    checkpoint = PieceCheckpoint(asked.staging, piece, is_over=True)
    _answer(asked, piece, staging, checkpoint, ignore_progress)


def _answer(
    asked: Asked, piece: Piece, staging: Staging, checkpoint: Checkpoint, tick: OnProgress
) -> None:
    started = time.perf_counter()
    part = replace(asked.read(piece), checkpoint=checkpoint)
    with (
        log_disagreements(asked.work),
        log_contradictions(asked.work, asked.question, part),
        traced_quarantine(asked.staging, piece) as quarantine,
    ):
        answer = asked.question.ask(part, tick, quarantine)
    staging.write(
        piece,
        dict(answer.frames),
        statuses=dict(answer.statuses),
        totals=dict(answer.totals),
        started=started,
    )


def write_tables(
    question: type[Question], staging: Staging, partitions: Sequence[str], seed: int
) -> None:
    """Write the question's result tables as CSV, from the answers of all pieces."""
    results = question.result_tables(partial(staging.parts, partitions=partitions), seed)
    for folder, tables in results.items():
        for name, table in tables.items():
            staging.write_extra(folder, f"{name}.csv", csv_bytes(table, 4))


@dataclass(frozen=True)
class Partner:
    """A run that has ingested another release of the same places."""

    work: Path
    release: Release

    def read(self, piece: Piece) -> Publication:
        """Read the published counts of the places of a piece."""
        return read_published(self.work, self.release, piece.partition, piece.span)
