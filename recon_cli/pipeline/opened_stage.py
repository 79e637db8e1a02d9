"""Opened stages, among them those that ask a question of every piece.

A stage's module opens its inputs and states its recipe; both are cheap. Heavy code is imported
inside functions, with `recon_cli.stage.undisturbed`, once there is something to do.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from recon_cli.pipeline.run import PEOPLE_PER_PROCESS, Run
from recon_cli.stage import Stage, undisturbed
from recon_cli.store import Folder, Manifest, Piece, Recipe, Staging, Transaction
from recon_cli.store.pieces import read_pieces


class OpenedStage(ABC):
    """A stage whose inputs are open, so that its recipe is known."""

    @abstractmethod
    def planned(self) -> Recipe:
        """Return the recipe, as far as it is known before anything is prepared."""

    def prepared(self) -> Recipe:
        """Return the recipe, after preparing all that it depends on."""
        return self.planned()

    @abstractmethod
    def make(self, stage: Transaction) -> Manifest:
        """Make and publish the folders of the stage."""

    def finish(self) -> None:  # noqa: B027 - nothing, for most stages
        """Finish the stage, after it was made or found up to date."""


def _question_of(stage: Stage) -> type[Any]:
    """Import the question that the module ``question`` of a stage's capability defines."""
    with undisturbed():
        from recon_cli.ask.question import Question

        module = importlib.import_module(f"{stage.package}.question")
    (found,) = (
        member
        for member in vars(module).values()
        if isinstance(member, type)
        and issubclass(member, Question)
        and member.__module__ == module.__name__
    )
    return found


def _nothing_beside(staging: Staging) -> Mapping[str, Any]:  # noqa: ARG001
    return {}


@dataclass(frozen=True)
class QuestionStage(OpenedStage):
    """A stage that asks a question of every piece.

    Attributes:
        geounits: ``geounits/``, which says how partitions are cut into pieces.
        arguments: Returns the arguments of the question's ``of``.
        question: Imports the class of the `recon_cli.ask.question.Question`; default that of the
            module ``question`` of the stage's capability.
        records: Makes the reader of records (`recon_cli.pipeline.question_worker.Records`), if the
            question starts from records.
        notes: Further entries of the manifest.
        grain: People that are worth starting a process for.
        pieces: Pieces to work on; default the pieces that ``geounits/`` was cut into.
        partners: Makes the readers of further releases
            (`recon_cli.pipeline.question_worker.Partner`), if the question is about several.
        beside: Writes files beside the answers of all pieces, and returns further notes.
    """

    run: Run
    recipe: Recipe
    geounits: Folder
    arguments: Callable[[], Mapping[str, Any]]
    question: Callable[[], type[Any]] | None = None
    records: Callable[[], Any] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    grain: int = PEOPLE_PER_PROCESS
    pieces: Callable[[], Sequence[Piece]] | None = None
    partners: Callable[[], Sequence[Any]] = tuple
    beside: Callable[[Staging], Mapping[str, Any]] = _nothing_beside

    def planned(self) -> Recipe:
        return self.recipe

    def make(self, stage: Transaction) -> Manifest:
        """Ask the question of every unfinished piece, and publish what is decided when it ends."""
        with undisturbed():
            from recon_cli.pipeline import question_worker as asking
            from recon_cli.pipeline.quarantine import QuarantineOnDeath

        kind = self.question() if self.question else _question_of(self.recipe.stage)
        run, label = self.run, self.recipe.stage.name

        @cache
        def question() -> Any:
            return kind.of(**self.arguments())

        def prepare() -> Any:
            records = None if self.records is None else self.records()
            partners = self.partners()
            return asking.Asked(question(), run.work, stage.staging, records, partners)

        pieces = read_pieces(self.geounits) if self.pieces is None else self.pieces()
        on_death = QuarantineOnDeath(label, stage.staging, run.reporter)

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


def _nothing() -> None: ...


@dataclass(frozen=True)
class MadeStage(OpenedStage):
    """A stage that makes its folders itself.

    Attributes:
        work: Makes and publishes its folders.
        last: Called after the folders were made or found up to date.
    """

    recipe: Recipe
    work: Callable[[Transaction], Manifest]
    last: Callable[[], None] = _nothing

    def planned(self) -> Recipe:
        return self.recipe

    def make(self, stage: Transaction) -> Manifest:
        return self.work(stage)

    def finish(self) -> None:
        self.last()
