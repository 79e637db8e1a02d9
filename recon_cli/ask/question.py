"""What every question about all solutions has in common: what it is asked of, what it answers.

A question that takes long tells a checkpoint what is decided so far; whoever asks writes that down,
now and then. After a kill the question goes on from there. Where nobody goes on, since the time is
over or the user has stopped it, what was told last is the answer, and the rest is undecided.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.unit_status import MISSING
from recon_cli.model.ledger import Arrays
from recon_cli.model.plan import Plan
from recon_cli.progress import OnProgress
from recon_cli.publication import Publication
from recon_cli.schema import Release


class Checkpoint:
    """Keeps what is found out of parts of the work, each under a name; this one keeps nothing.

    Attributes:
        is_over: Whether nobody looks for more: what is not kept is undecided.
    """

    is_over: bool = False

    def finished(self, name: str) -> pl.DataFrame | None:
        """The rows of a part that was finished before."""

    def so_far(self, name: str) -> pl.DataFrame | None:
        """The rows of a part as they were told last."""

    def finish(self, name: str, rows: pl.DataFrame) -> None:
        """A part is finished."""

    def tell(self, name: str, rows: Callable[[], pl.DataFrame]) -> None:
        """A part has come so far; its rows, where something is undecided, are made if wanted."""

    def load(self, name: str) -> Arrays | None:
        """The state of a search that was kept last under a name."""

    def save(self, name: str, state: Callable[[], Arrays]) -> None:
        """Keep the state of a search; it is made if wanted."""


@dataclass(frozen=True)
class KeptSearch:
    """Keeps one search under a name."""

    checkpoint: Checkpoint
    name: str

    @property
    def is_over(self) -> bool:
        """Whether nobody looks for more."""
        return self.checkpoint.is_over

    def load(self) -> Arrays | None:
        """What was kept last."""
        return self.checkpoint.load(self.name)

    def save(self, state: Callable[[], Arrays]) -> None:
        """Keep it, if it is time."""
        self.checkpoint.save(self.name, state)


@dataclass(frozen=True)
class RegionData:
    """What is known of some regions of one partition.

    Attributes:
        microdata: Their reconstructed records; None where a question starts from counts alone.
        missing: Geoids of the units that were not solved when the records were made.
        partners: What is published of other kinds of records there.
        checkpoint: What was found out of them before, and where more is kept.
    """

    published: Publication
    microdata: pl.DataFrame | None = None
    missing: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.String))
    partition: str = ""
    partners: tuple[Publication, ...] = ()
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    @property
    def records(self) -> pl.DataFrame:
        """The reconstructed records.

        Raises:
            ValueError: The question starts from counts alone.
        """
        if self.microdata is None:
            raise ValueError(f"partition {self.partition}: no records were given")
        return self.microdata


@dataclass(frozen=True)
class Answer:
    """Rows by folder, counts by outcome, and further counts, which add up over parts."""

    frames: Mapping[str, pl.DataFrame]
    statuses: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)


#: Folder of a question → its rows, one frame after the other.
Rows = Callable[[str], Iterator[pl.DataFrame]]


class Question(ABC):
    """Something asked of all solutions, region by region."""

    @staticmethod
    def decides(release: Release) -> str:  # noqa: ARG004
        """What is decided one by one, in the plural; empty where all stands or falls together.

        What is decided stands while the rest is undecided: such an answer, told to a checkpoint, is
        published when the question is stopped.
        """
        return ""

    @property
    @abstractmethod
    def release(self) -> Release:
        """The schema that it is asked under."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """What a summary needs to know of the question; values that JSON can express."""
        return {}

    @abstractmethod
    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Find out about the regions of a part."""

    @staticmethod
    def result_tables(rows: Rows, seed: int) -> Mapping[str, Mapping[str, pl.DataFrame]]:  # noqa: ARG004
        """Result tables of all answers together, by folder and name; a question may have none."""
        return {}


@dataclass(frozen=True)
class PlannedQuestion(Question):
    """A question about candidates; what follows from the release and its coverage is planned."""

    plan: Plan

    @property
    def release(self) -> Release:
        """The schema, with the structural zeros that may be assumed."""
        return self.plan.release


def missing_units(blocks: pl.DataFrame) -> pl.Series:
    """Geoids of the units that were not solved: not all of their people are among the records.

    Args:
        blocks: Rows of ``blocks/``.
    """
    return blocks.filter(pl.col("status").is_in(MISSING)).to_series(0)


def count_statuses(units: pl.DataFrame) -> dict[str, int]:
    """``status`` → how many rows have it."""
    return dict(units["status"].value_counts().iter_rows())
