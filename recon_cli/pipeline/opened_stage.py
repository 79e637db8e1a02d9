"""What a stage declares, and what is the same for all stages that ask a question of every piece.

A stage's module opens its inputs and states its recipe; both are light. What is heavy is named as
``module:name`` and loaded by `recon_cli.stage.load`, and only where there is something to do.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from recon_cli.pipeline.run import PEOPLE_PER_PROCESS, Run
from recon_cli.stage import load
from recon_cli.store import Folder, Manifest, Piece, Recipe, Staging, Transaction
from recon_cli.store.pieces import read_pieces


class OpenedStage(ABC):
    """A stage with its inputs open: it is known what it would be made from."""

    @abstractmethod
    def planned(self) -> Recipe:
        """What its output would depend on, as far as it is known now."""

    def prepared(self) -> Recipe:
        """The recipe, once everything is there that it depends on."""
        return self.planned()

    @abstractmethod
    def make(self, stage: Transaction) -> Manifest:
        """Make and publish its folders."""

    def finish(self) -> None:  # noqa: B027 - nothing, for most stages
        """What is to be done whether it was made or up to date."""


def _nothing_beside(staging: Staging) -> Mapping[str, Any]:  # noqa: ARG001
    """Nothing lies beside the answers."""
    return {}


@dataclass(frozen=True)
class QuestionStage(OpenedStage):
    """A stage that asks a question of every piece.

    Attributes:
        recipe: What the answers depend on.
        geounits: ``geounits/``, which says how partitions are cut into pieces.
        question: ``module:class`` of the `recon_cli.ask.question.Question`.
        arguments: Gives what its ``of`` makes it from.
        records: Makes what reads them, see `recon_cli.pipeline.question_worker.Records`, where the
            question starts from records.
        notes: What else the manifest says.
        grain: People that are worth starting a process for.
        pieces: What is worked on at a time; default the pieces that ``geounits/`` was cut into.
        partners: Makes what reads further releases, see
            `recon_cli.pipeline.question_worker.Partner`, where the question is about several.
        beside: Writes what lies beside the answers of all pieces, and gives further notes.
    """

    run: Run
    recipe: Recipe
    geounits: Folder
    question: str
    arguments: Callable[[], Mapping[str, Any]]
    records: Callable[[], Any] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    grain: int = PEOPLE_PER_PROCESS
    pieces: Callable[[], Sequence[Piece]] | None = None
    partners: Callable[[], Sequence[Any]] = tuple
    beside: Callable[[Staging], Mapping[str, Any]] = _nothing_beside

    def planned(self) -> Recipe:
        """The recipe."""
        return self.recipe

    def make(self, stage: Transaction) -> Manifest:
        """Ask every piece that is not finished, and publish; when stopped, what is decided."""
        asking = importlib.import_module("recon_cli.pipeline.question_worker")
        kind, run, label = load(self.question), self.run, self.recipe.stage.name

        @cache
        def question() -> Any:
            return kind.of(**self.arguments())

        def prepare() -> Any:
            records = None if self.records is None else self.records()
            partners = self.partners()
            return asking.Asked(question(), run.work, stage.staging, records, partners)

        pieces = read_pieces(self.geounits) if self.pieces is None else self.pieces()
        on_death = load("recon_cli.pipeline.quarantine:QuarantineOnDeath")(
            label, stage.staging, run.reporter
        )

        def publish(stage: Transaction, **cost: Any) -> Manifest:
            seed = self.recipe.seed or 0
            asking.write_tables(kind, stage.staging, self.geounits.partitions, seed)
            notes = {**self.notes, **question().notes, **self.beside(stage.staging)}
            return stage.publish(pieces, notes=notes, **cost)

        try:
            results = run.map_unfinished(
                stage, asking.ask_piece, prepare, pieces, on_death, grain=self.grain
            )
        except KeyboardInterrupt:
            counted = kind.decides(run.release)
            if counted and run.shard.is_all and not stage.is_published:
                stopped, shared = stage.stopped(counted), prepare()
                for piece in pieces:
                    if not stopped.is_done(piece):
                        asking.answer_so_far(shared, piece, stopped.staging)
                so_far = publish(stopped).stopped
                if so_far is not None:
                    run.reporter.note(f"{label}: {so_far.words}; the rest is undecided")
            raise
        return publish(stage, usages=results.usages, workers=results.workers)


def _nothing() -> None:
    """Nothing is left to do."""


@dataclass(frozen=True)
class MadeStage(OpenedStage):
    """A stage that makes its folders itself.

    Attributes:
        recipe: What its output depends on.
        work: Makes and publishes its folders.
        last: What is to be done whether they were made or up to date.
    """

    recipe: Recipe
    work: Callable[[Transaction], Manifest]
    last: Callable[[], None] = _nothing

    def planned(self) -> Recipe:
        """The recipe."""
        return self.recipe

    def make(self, stage: Transaction) -> Manifest:
        """By its own work."""
        return self.work(stage)

    def finish(self) -> None:
        """By its own last step."""
        self.last()
