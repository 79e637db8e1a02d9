"""Questions about all solutions: their data, their answers and their checkpoints.

A long question saves its decisions to a checkpoint from time to time, and resumes from there after
a kill. If the time is over or the user stops the question, the last saved rows are the answer, and
the rest is undecided.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from recon_cli.ask.quarantine import Quarantine
from recon_cli.model.ledger import Arrays
from recon_cli.model.plan import Plan
from recon_cli.progress import OnProgress
from recon_cli.publication import Publication
from recon_cli.schema import Release


class Checkpoint:
    """Stores partial results by name; this base class stores nothing.

    Attributes:
        is_over: Whether the search has ended, so that everything not saved is undecided.
    """

    is_over: bool = False

    def finished(self, name: str) -> pl.DataFrame | None:
        """Return the rows of a part that was finished before."""

    def so_far(self, name: str) -> pl.DataFrame | None:
        """Return the rows of an unfinished part as they were last saved."""

    def finish(self, name: str, rows: pl.DataFrame) -> None:
        """Mark a part as finished."""

    def tell(self, name: str, rows: Callable[[], pl.DataFrame]) -> None:
        """Save the rows of an unfinished part; they are made only if wanted."""

    def load(self, name: str) -> Arrays | None:
        """Return the state of a search as last saved under a name; None if never."""

    def save(self, name: str, state: Callable[[], Arrays]) -> None:
        """Save the state of a search; it is made only if wanted."""


@dataclass(frozen=True)
class KeptSearch:
    """The checkpoint of one search, under a name."""

    checkpoint: Checkpoint
    name: str

    @property
    def is_over(self) -> bool:
        """Report whether the search has been stopped."""
        return self.checkpoint.is_over

    def load(self) -> Arrays | None:
        return self.checkpoint.load(self.name)

    def save(self, state: Callable[[], Arrays]) -> None:
        """Save the state, if a write is due."""
        self.checkpoint.save(self.name, state)


@dataclass(frozen=True)
class RegionData:
    """The data of some regions of one partition.

    Attributes:
        microdata: Their reconstructed records; None where a question starts from counts alone.
        missing: Geoids of the units that were not solved when the records were made.
        partners: Published counts of other kinds of records in these regions.
        checkpoint: Partial results of an earlier run, and the store for new ones.
    """

    published: Publication
    microdata: pl.DataFrame | None = None
    missing: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.String))
    partition: str = ""
    partners: tuple[Publication, ...] = ()
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    @property
    def records(self) -> pl.DataFrame:
        if self.microdata is None:
            raise ValueError(f"partition {self.partition}: no records were given")
        return self.microdata


@dataclass(frozen=True)
class Answer:
    """Rows by folder, counts by outcome, and further counts that sum over parts."""

    frames: Mapping[str, pl.DataFrame]
    statuses: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ContradictionProof:
    """Proof that the counts of a region contradict each other: texts that the checker accepts.

    Attributes:
        proof: Proof of the contradiction, and of the least total change that removes it.
        changed: The tables after a change that small, and a proof that some records have these
            counts; None where no such change was found.
    """

    tables: str
    proof: str
    least: int
    changed: tuple[str, str] | None


#: Folder of a question → its rows, one frame after the other.
Rows = Callable[[str], Iterator[pl.DataFrame]]


class Question(ABC):
    """A question about all solutions, asked region by region."""

    @staticmethod
    def decides(release: Release) -> str:  # noqa: ARG004
        """Return the plural noun of what is decided one by one; empty if all is decided together.

        Decided parts stand while the rest is undecided: when the question is stopped, the answer
        saved in a checkpoint is published.
        """
        return ""

    @property
    @abstractmethod
    def release(self) -> Release:
        """Return the schema that the question uses."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return facts about the question for a summary; JSON can express the values."""
        return {}

    def contradiction(self, published: Publication, region: str) -> ContradictionProof | None:  # noqa: ARG002
        """Prove that counts of a region, which the question refuses, contradict each other."""
        return None

    @abstractmethod
    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer: ...

    @staticmethod
    def result_tables(rows: Rows, seed: int) -> Mapping[str, Mapping[str, pl.DataFrame]]:  # noqa: ARG004
        """Compute result tables from all answers, by folder and name; a question may have none."""
        return {}


@dataclass(frozen=True)
class PlannedQuestion(Question):
    """A question about candidates, with a plan for the release and its coverage."""

    plan: Plan

    @property
    def release(self) -> Release:
        """Return the schema, with the structural zeros that may be assumed."""
        return self.plan.release


def count_statuses(units: pl.DataFrame) -> dict[str, int]:
    """Count the rows by ``status``."""
    return dict(units["status"].value_counts().iter_rows())
