"""The run that every stage is given, and the outcome that it returns."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from recon_cli.config import RunConfig
from recon_cli.config.cluster import Cluster
from recon_cli.config.model import AnySection
from recon_cli.errors import ConfigError, StageError, Unpublished
from recon_cli.execute import (
    DaskWorkers,
    OnDeath,
    Results,
    WorkFunction,
    WorkItem,
    default_workers,
    retry_once,
    run_items,
)
from recon_cli.progress import FinishedPartition, Reporter, SilentReporter, Task
from recon_cli.resources import Usage
from recon_cli.schema import Release
from recon_cli.store import (
    InputFile,
    Manifest,
    Piece,
    Recipe,
    Stage,
    Transaction,
    shared_transaction,
    transaction,
)
from recon_cli.store.study import is_for_study

Shared = TypeVar("Shared")
Result = TypeVar("Result")


#: People that are worth starting a process for, where each takes microseconds; a worker needs a
#: second or so to start.
PEOPLE_PER_PROCESS = 100_000
#: Most memory of a process with nothing to do, and for each person of its piece; measured by
#: `benchmarks/`, rounded up.
PROCESS_BYTES, PERSON_BYTES = 350_000_000, 3_000


@dataclass(frozen=True)
class StageOutcome:
    """The result of a stage.

    Attributes:
        manifest: Manifest of its first folder.
        skipped: True when it was up to date and nothing was done.
    """

    stage: Stage
    manifest: Manifest
    skipped: bool = False


@dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``of`` parts of a stage's work.

    Attributes:
        number: From 1; 0 is a shard without pieces.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse text such as ``3/10``.

        Raises:
            ConfigError: The text is not of that form.

        >>> Shard.parse("3/10")
        Shard(number=3, of=10)
        """
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ConfigError(f"--shard {text!r}: expected K/N with 1 ≤ K ≤ N, as in 3/10")
        return cls(int(number), int(of))

    @property
    def is_all(self) -> bool:
        return self.of == 1 and self.number == 1

    @property
    def is_one_of_many(self) -> bool:
        """Report whether other processes work on other shards, so that none of them publishes."""
        return self.number > 0 and not self.is_all

    def choose(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Choose the pieces of this shard; the largest are dealt first, so that shards are even."""
        if self.is_all:
            return list(pieces)
        shards = [(0, number) for number in range(1, self.of + 1)]
        chosen = []
        for piece in sorted(pieces, key=lambda each: (-each.people, each.partition, each.number)):
            people, number = heapq.heappop(shards)
            heapq.heappush(shards, (people + max(piece.people, 1), number))
            if number == self.number:
                chosen.append(piece)
        return chosen


ALL_PIECES, NO_PIECES = Shard(), Shard(0)


@dataclass(frozen=True)
class Run:
    """A configured run.

    Attributes:
        force: Do again what is up to date.
        shard: Selects the pieces of a stage to work on.
    """

    config: RunConfig
    release: Release
    reporter: Reporter = field(default_factory=SilentReporter)
    force: bool = False
    shard: Shard = ALL_PIECES

    @property
    def work(self) -> Path:
        return self.config.work

    def section(self, kind: type[AnySection]) -> AnySection:
        """Return a section of the config, with the run's seed where it has none of its own."""
        found = self.config.section(kind)
        if "seed" in kind.model_fields and getattr(found, "seed", None) is None:
            return found.model_copy(update={"seed": self.config.top.seed})
        return found

    @property
    def cluster(self) -> DaskWorkers | None:
        section = self.config.sections.get("cluster")
        if not isinstance(section, Cluster):
            return None
        return DaskWorkers(
            self.work, section.scheduler, section.processes or 1, section.wait_seconds
        )

    def recipe(
        self,
        stage: Stage,
        config: Mapping[str, Any],
        *,
        seed: int | None = None,
        files: tuple[InputFile, ...] = (),
        shared: Mapping[str, str] | None = None,
        partitions: Mapping[str, Mapping[str, str]] | None = None,
        is_study: bool = False,
    ) -> Recipe:
        """Make a recipe, with the fields that are the same for every stage filled in.

        A stage that reads anything that is for study only is for study only itself.
        """
        return Recipe(
            stage=stage,
            release=self.release.name,
            release_digest=self.release.digest,
            partition_level=self.release.geography.partition,
            config=config,
            seed=seed,
            files=files,
            shared=shared or {},
            partitions=partitions or {},
            is_study=is_study or self.reads_study(stage),
        )

    def reads_study(self, stage: Stage) -> bool:
        """Report whether any input of a stage is marked as not for publication."""
        section = self.config.sections.get(stage.section)
        named = () if section is None else section.inputs(self.work)
        return any(map(is_for_study, (*(self.work / name for name in stage.reads), *named)))

    def transaction(self, recipe: Recipe) -> AbstractContextManager[Transaction]:
        """Open a stage for writing."""
        opened = shared_transaction if self.shard.is_one_of_many else transaction
        return opened(self.work, recipe, force=self.force)

    def map_unfinished(
        self,
        stage: Transaction,
        function: WorkFunction[Shared, Piece, Result],
        prepare: Callable[[], Shared],
        pieces: Sequence[Piece],
        on_death: OnDeath[Piece] = retry_once,
        *,
        grain: int = PEOPLE_PER_PROCESS,
    ) -> Results[Result]:
        """Call `map_pieces` for those pieces of this run's shard that are not finished yet.

        Raises:
            Unpublished: The shard is done; other processes work on the rest.
            StageError: Nothing was to be worked on, and pieces are not finished.
        """
        label = stage.recipe.stage.name
        chosen = self.shard.choose(pieces)
        todo = [piece for piece in chosen if not stage.is_done(piece)]
        if len(todo) < len(chosen):
            ready = len(chosen) - len(todo)
            self.reporter.note(f"{label}: {ready} of {len(chosen)} pieces were finished before")
        results = self.map_pieces(label, function, prepare, todo, on_death, grain=grain)
        if self.shard.is_all:
            return results
        if self.shard.number:
            raise Unpublished(
                f"{label}: shard {self.shard.number}/{self.shard.of} is done, {len(chosen)} of "
                f"{len(pieces)} pieces; when all shards are: recon run --merge {label}"
            )
        missing = [piece.name for piece in pieces if not stage.is_done(piece)]
        if missing:
            raise StageError(
                f"{label}: {len(missing)} of {len(pieces)} pieces are not finished, the first "
                f"{missing[0]}; run the shards that are missing, or `{stage.recipe.stage.command}`"
            )
        return results

    def map_pieces(
        self,
        label: str,
        function: WorkFunction[Shared, Piece, Result],
        prepare: Callable[[], Shared],
        pieces: Sequence[Piece],
        on_death: OnDeath[Piece] = retry_once,
        *,
        light: int = 0,
        grain: int = PEOPLE_PER_PROCESS,
    ) -> Results[Result]:
        """Call ``function(shared, piece, tick)`` for every piece, with a progress bar.

        Args:
            function: A module-level function.
            prepare: Makes what all pieces share, while workers start.
            pieces: Any number of them.
            on_death: Decides about a piece whose worker died; the default tries once more.
            light: For quick work: people that are done in the time that a process takes to
                start. Fewer processes are started than the config allows where each would have
                less.
            grain: People that are worth starting a process for, if the config does not set the
                number of processes.
        """
        level = self.release.geography.partition
        shards = [WorkItem(f"{level} {piece.name}", piece, piece.people) for piece in pieces]
        people = sum(piece.people for piece in pieces)
        task = Task(
            stage=label,
            unit=self.release.geography.unit.name,
            units=sum(piece.units for piece in pieces) or None,  # of records nobody knows
            people=people,
            record=self.release.record,
        )

        def done(name: str, usage: Usage) -> None:
            self.reporter.finished(
                FinishedPartition(label, name, usage.wall_seconds, usage.peak_mb)
            )

        workers = self.workers_for(label, max((piece.people for piece in pieces), default=0))
        if light and self.cluster is None:
            workers = min(workers or default_workers(), max(1, people // light))
        with self.reporter.bar(task) as bar:
            return run_items(
                function,
                prepare,
                shards,
                workers=workers,
                grain=grain,
                on_tick=bar.advance,
                on_done=done,
                on_death=on_death,
                cluster=self.cluster,
            )

    def workers_for(self, label: str, people: int) -> int | None:
        """Return how many processes fit into the configured memory; None for no limit.

        Workers of a running scheduler are not limited.
        """
        top = self.config.top
        elsewhere = self.cluster is not None and self.cluster.scheduler is not None
        if top.memory is None or elsewhere:
            return top.workers
        need = PROCESS_BYTES + people * PERSON_BYTES
        fit = (top.memory - PROCESS_BYTES) // need  # this process only waits for the others
        if fit < 1:
            self.reporter.note(
                f"{label}: memory: {top.memory / 1e9:.1f} GB is allowed, a worker may need "
                f"{(need + PROCESS_BYTES) / 1e9:.1f}; a lower ingest.piece_people makes it less"
            )
        return max(1, min(top.workers or default_workers(), int(fit)))


def pieces_of(manifest: Manifest) -> list[Piece]:
    """Return each whole partition of a stage as a piece with its size."""
    return [
        Piece(row.partition, units=row.totals.get("units", 0), people=row.totals.get("people", 0))
        for row in manifest.partitions
    ]
