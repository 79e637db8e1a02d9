"""Shared parts of all protections: chance, pieces, publication."""

from __future__ import annotations

import hashlib
import secrets
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import polars as pl

from recon_cli.capabilities.account.account import Spend
from recon_cli.capabilities.account.options import Account
from recon_cli.capabilities.protect.chance_key import KEY_FILE, kept_key
from recon_cli.capabilities.protect.sections import ProtectingByChance
from recon_cli.chance import KeyedChance
from recon_cli.config.model import AnySection
from recon_cli.execute import OnProgress, Results
from recon_cli.pipeline.opened_stage import OpenedStage
from recon_cli.pipeline.run import PEOPLE_PER_PROCESS, Run
from recon_cli.pipeline.stages import stage_named
from recon_cli.plurals import plural
from recon_cli.schema import Release
from recon_cli.stage import private_folder, undisturbed
from recon_cli.store import InputFile, Manifest, Piece, Recipe, Stage, Staging, Transaction
from recon_cli.store.manifest import MANIFEST, read_manifest

Shared = TypeVar("Shared")
#: A fact about a finished protection: a label, and text, a number, or a part of a whole.
Fact = tuple[str, str | int | tuple[int, int]]


@dataclass(frozen=True)
class Ingredients:
    """The inputs of a protection, besides the release; see `recon_cli.store.Recipe`."""

    settings: Mapping[str, Any]
    files: tuple[InputFile, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Protected:
    """The output of a protection for a piece.

    Attributes:
        frames: Rows by folder.
        totals: Counts that add up over pieces.
        statuses: Counts by outcome.
        done: Units and people, for whoever follows the progress.
    """

    piece: Piece
    frames: Mapping[str, pl.DataFrame]
    totals: Mapping[str, int]
    statuses: Mapping[str, int] = field(default_factory=dict)
    done: tuple[int, int] = (0, 0)


class ProtectionStage(OpenedStage, Generic[AnySection, Shared]):
    """A stage that protects records, or counts of them, before they are published.

    Attributes:
        section: The model of the stage's section, whose module's docstring explains the stage.
        grain: Number of people that justifies a process.
        run: The run; a worker has none.
        config: Its section.
        true: The schema of the records.
    """

    section: type[AnySection]
    grain: ClassVar[int] = PEOPLE_PER_PROCESS

    def __init__(self, run: Run) -> None:
        self.run = run
        self.config = run.section(self.section)
        self.true = run.release

    def __getstate__(self) -> dict[str, Any]:
        """Pickle for workers: present state, without the run."""
        return {name: found for name, found in self.__dict__.items() if name != "run"}

    # --- what is declared -------------------------------------------------------------------------

    @abstractmethod
    def ingredients(self) -> Ingredients:
        """Return the inputs that the output depends on."""

    @abstractmethod
    def pieces(self) -> Sequence[Piece]:
        """Return the pieces to publish."""

    @abstractmethod
    def share(self, draw: Callable[[], KeyedChance]) -> Shared:
        """Prepare the shared input of all pieces.

        Args:
            draw: Returns the source of all chance: a secret key, except for study.
        """

    @abstractmethod
    def protect(self, shared: Shared, piece: Piece, on_progress: OnProgress) -> Iterator[Protected]:
        """Protect a piece; runs in a worker.

        Args:
            shared: Result of `share`.
            on_progress: Called with finished units and people during long work.
        """

    @abstractmethod
    def facts(self, manifest: Manifest) -> Iterator[Fact]:
        """Yield the facts of a finished run."""

    @property
    def notes(self) -> Mapping[str, Any]:
        """Return facts for the summary, as values that JSON can express."""
        return {}

    @property
    def kept_for(self) -> str | None:
        """Return a digest of the purpose for which a secret key is kept; None if it is not kept."""
        return None

    @property
    def seed(self) -> int | None:
        """Return the seed that makes the protection repeatable."""
        return self.study_seed

    @property
    def spends(self) -> Sequence[Spend]:
        """Return the protection's privacy loss; empty if it publishes no counts itself."""
        return ()

    @property
    def invariants(self) -> Sequence[str]:
        """List what the protection publishes exactly, beside what it protects."""
        return ()

    @property
    def draws_again(self) -> bool:
        """Report whether an interrupted run draws unfinished parts again."""
        return False

    def write_beside(self, staging: Staging, pieces: Sequence[Piece]) -> None:
        """Write the files that belong to all pieces together."""

    def table(self, manifest: Manifest) -> tuple[pl.DataFrame, list[str]] | None:  # noqa: ARG002
        """Return a table to print before the facts, and its headings."""
        return None

    # --- what is the same for all -----------------------------------------------------------------

    @property
    def release(self) -> Release:
        return self.true

    @property
    def people(self) -> str:
        return plural(self.release.record).replace("_", " ")

    @property
    def name(self) -> str:
        """Return the name of its capability, its section and its command."""
        return type(self).__module__.split(".")[-2]

    @property
    def stage(self) -> Stage:
        return stage_named(self.name)

    @property
    def study_seed(self) -> int | None:
        """Return the seed of chance, for study."""
        config = self.config
        return config.study_seed if isinstance(config, ProtectingByChance) else None

    @cached_property
    def is_study(self) -> bool:
        """Report whether chance depends on a seed, here or in an input: not for publication."""
        return self.study_seed is not None or self.run.reads_study(self.stage)

    @cached_property
    def recipe(self) -> Recipe:
        found = self.ingredients()
        return self.run.recipe(
            self.stage,
            found.settings,
            seed=self.seed,
            files=found.files,
            shared=found.shared,
            partitions=found.partitions,
            is_study=self.is_study,
        )

    def planned(self) -> Recipe:
        return self.recipe

    def make(self, stage: Transaction) -> Manifest:
        """Protect every piece that is not finished, and publish."""
        pieces = self.pieces()
        account = self._reserve(stage)
        shared = self.share(partial(self._draw, stage))
        results = self.work_on(stage, pieces, lambda: (self, shared, stage.staging))
        self.write_beside(stage.staging, pieces)
        return stage.publish(
            pieces,
            notes={**self.notes, **self._conditions(), **account},
            usages=results.usages,
            workers=results.workers,
        )

    @property
    def records_from(self) -> Path:
        """Return the folder or file of the records or counts that it reads."""
        named = [getattr(self.config, name, None) for name in ("counts", "records")]
        return next((path for path in named if path is not None), self.run.work / "persons")

    @property
    def protected_before(self) -> list[str]:
        """List what the guarantees do not cover, if records were protected before."""
        if not (self.records_from / MANIFEST).is_file():
            return []
        made_by = read_manifest(self.records_from, command="recon protect").stage
        if not made_by.startswith("protect "):
            return []
        return [f"of the file that `{made_by}` made, not of the records before it"]

    def _conditions(self) -> dict[str, list[str]]:
        """List the conditions of ρ and ε: exact counts, and earlier changes of the records."""
        if not any(each.budget is not None for each in self.spends):
            return {}
        found = {"invariants": list(self.invariants), "protected_before": self.protected_before}
        return {name: said for name, said in found.items() if said}

    def _reserve(self, transaction: Transaction) -> dict[str, str]:
        """Record the privacy loss in the run's account, before anything is drawn.

        A run for study is not for publication, and spends nothing.

        Raises:
            BudgetError: The loss would exceed the account's limit.
        """
        section = self.run.config.sections.get("account")
        if not isinstance(section, Account) or self.is_study or not self.spends:
            return {}
        own = secrets.token_bytes(32) if self.draws_again else self._key(transaction)
        id_ = hashlib.sha256(b"account" + own).hexdigest()[:32]
        with undisturbed():
            from recon_cli.capabilities.account.stage import account_of

        account = account_of(self.run.work, section)
        account.reserve(self, id_)
        return {"account": id_}

    def work_on(
        self, stage: Transaction, pieces: Sequence[Piece], prepare: Callable[[], Any]
    ) -> Results[None]:
        """Let workers protect unfinished pieces; see `recon_cli.pipeline.run`."""
        return self.run.map_unfinished(stage, protect_piece, prepare, pieces, grain=self.grain)

    def _draw(self, transaction: Transaction) -> KeyedChance:
        """Return the source of chance.

        Without a seed the key is secret, and is stored with the unfinished output, so that an
        interrupted run repeats itself. Once the output is published the key is deleted, unless it
        is needed later: then it is moved to the private folder of the stage, where other inputs get
        another key.
        """
        name = self.stage.name
        if self.study_seed is not None:
            return KeyedChance.for_study(self.study_seed).named(name)
        return KeyedChance.of_key(self._key(transaction)).named(name)

    def _key(self, transaction: Transaction) -> bytes:
        path, bound_to = transaction.staging.root / KEY_FILE, self.recipe.key
        if self.kept_for is not None:
            path = transaction.work / private_folder(self.stage.name) / KEY_FILE
            bound_to = self.kept_for
        return kept_key(path, bound_to)


def protect_piece(
    work: tuple[ProtectionStage[Any, Shared], Shared, Staging], piece: Piece, tick: OnProgress
) -> None:
    """Protect a piece and write it; runs in a worker."""
    started = time.perf_counter()
    protection, shared, staging = work
    for made in protection.protect(shared, piece, tick):
        staging.write(
            made.piece,
            dict(made.frames),
            statuses=dict(made.statuses),
            totals=dict(made.totals),
            started=started,
        )
        tick(*made.done)
