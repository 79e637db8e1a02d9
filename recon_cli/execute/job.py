"""The shards of one call: who is next, what each has reported, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from recon_cli.errors import WorkerError
from recon_cli.execute.progress_messages import ProgressMessage
from recon_cli.execute.shards import Payload, Usage, WorkItem
from recon_cli.execute.worker import Done, Failed, RemoteTraceback
from recon_cli.progress import OnProgress

#: Asked when a worker died: the shard to try again, perhaps with another payload, or None.
#: The shard's ``deaths`` count this one; the text is the cause.
OnDeath = Callable[[WorkItem[Payload], str], WorkItem[Payload] | None]


def retry_once(shard: WorkItem[Payload], cause: str) -> WorkItem[Payload] | None:  # noqa: ARG001
    """The same shard, after its first death; then no more."""
    return shard if shard.deaths == 1 else None


@dataclass
class Job:
    """The shards of one call.

    Attributes:
        shards: As they are now; a revived one may differ from the one that was given.
        waiting: Indices of those that nobody has, the next one last.
        outcomes: Value and cost of those that are finished.
    """

    shards: list[WorkItem[Any]]
    on_tick: OnProgress
    on_done: Callable[[str, Usage], None]
    revive: OnDeath[Any]
    waiting: list[int] = field(init=False)
    outcomes: dict[int, tuple[Any, Usage]] = field(default_factory=dict)
    _ticked: dict[int, ProgressMessage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = sorted(
            range(len(self.shards)), key=lambda i: (-self.shards[i].weight, i), reverse=True
        )

    @property
    def finished(self) -> bool:
        """Whether every shard has its outcome."""
        return len(self.outcomes) == len(self.shards)

    def take(self) -> int | None:
        """The next shard, which the caller now holds; None when none waits."""
        return self.waiting.pop() if self.waiting else None

    def tick(self, index: int, news: ProgressMessage) -> None:
        """Pass on progress of the present attempt at a shard."""
        self._ticked[index] = self._ticked.get(index, ProgressMessage()) + news
        self.on_tick(news.units, news.people, news.statuses)

    def settle(self, index: int, answer: Done | Failed) -> None:
        """Take a worker's answer. Progress that was lost or delayed on the way is made up for.

        Raises:
            Exception: What the shard raised.
        """
        if isinstance(answer, Failed):
            raise answer.error from RemoteTraceback(answer.trace)
        missing = answer.ticked - self._ticked.get(index, ProgressMessage())
        if missing:
            self.tick(index, missing)
        self.finish(index, answer.value, answer.usage)

    def finish(self, index: int, value: Any, usage: Usage) -> None:
        """Keep what a shard returned."""
        self.outcomes[index] = (value, usage)
        self.on_done(self.shards[index].name, usage)

    def lose(self, index: int, cause: str) -> None:
        """A worker died while it held a shard: its progress is taken back, the shard revived.

        Raises:
            WorkerError: The shard is given up.
        """
        lost = self._ticked.pop(index, ProgressMessage())
        if lost:
            back = ProgressMessage() - lost
            self.on_tick(back.units, back.people, back.statuses)
        shard = self.shards[index]
        shard = replace(shard, deaths=shard.deaths + 1)
        again = self.revive(shard, cause)
        if again is None:
            before = f" (so did {shard.deaths - 1} before it)" if shard.deaths > 1 else ""
            raise WorkerError(
                f"a worker process died ({cause}) while it worked on {shard.name}{before}; "
                "what was finished is kept, and the same command continues from there "
                "(if memory ran out, fewer --workers need less)"
            )
        self.shards[index] = replace(again, deaths=shard.deaths)
        self.waiting.append(index)

    def results(self) -> tuple[tuple[Any, ...], tuple[Usage, ...]]:
        """Values and costs in the order of the shards; all must be finished."""
        outcomes = [self.outcomes[index] for index in range(len(self.shards))]
        return tuple(value for value, _ in outcomes), tuple(usage for _, usage in outcomes)
