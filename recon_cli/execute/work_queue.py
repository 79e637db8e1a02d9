"""A queue of work items, with the progress and the outcome of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from recon_cli.errors import WorkerError
from recon_cli.execute.work_items import OnDeath, WorkItem
from recon_cli.execute.worker import Done, Failed, ProgressMessage
from recon_cli.progress import OnProgress
from recon_cli.resources import Usage
from recon_cli.tracebacks import RemoteTraceback


@dataclass
class WorkQueue:
    """The items of one call of `run_items`.

    Attributes:
        items: The items; an item that is tried again may differ from the one that was given.
        waiting: Indices of the items that no worker has, the next one last.
        outcomes: Index of each finished item → value and cost.
    """

    items: list[WorkItem[Any]]
    on_tick: OnProgress
    on_done: Callable[[str, Usage], None]
    on_death: OnDeath[Any]
    waiting: list[int] = field(init=False)
    outcomes: dict[int, tuple[Any, Usage]] = field(default_factory=dict)
    _ticked: dict[int, ProgressMessage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = sorted(
            range(len(self.items)), key=lambda i: (-self.items[i].weight, i), reverse=True
        )

    @property
    def finished(self) -> bool:
        return len(self.outcomes) == len(self.items)

    def take(self) -> int | None:
        """Take the next waiting item; return None if none waits."""
        return self.waiting.pop() if self.waiting else None

    def tick(self, index: int, news: ProgressMessage) -> None:
        """Pass on progress of the present attempt at an item."""
        self._ticked[index] = self._ticked.get(index, ProgressMessage()) + news
        self.on_tick(news.units, news.people, news.statuses)

    def record_answer(self, index: int, answer: Done | Failed) -> None:
        """Record a worker's answer, with the progress that was lost or delayed on the way.

        Raises:
            Exception: What the item raised.
        """
        if isinstance(answer, Failed):
            raise answer.error from RemoteTraceback(answer.trace)
        missing = answer.ticked - self._ticked.get(index, ProgressMessage())
        if missing:
            self.tick(index, missing)
        self.finish(index, answer.value, answer.usage)

    def finish(self, index: int, value: Any, usage: Usage) -> None:
        """Record an item's result."""
        self.outcomes[index] = (value, usage)
        self.on_done(self.items[index].name, usage)

    def handle_worker_death(self, index: int, cause: str) -> None:
        """Take back the progress of an item whose worker died, and queue the item again.

        Raises:
            WorkerError: The item is given up.
        """
        lost = self._ticked.pop(index, ProgressMessage())
        if lost:
            back = ProgressMessage() - lost
            self.on_tick(back.units, back.people, back.statuses)
        item = self.items[index]
        item = replace(item, deaths=item.deaths + 1)
        again = self.on_death(item, cause)
        if again is None:
            before = f" (so did {item.deaths - 1} before it)" if item.deaths > 1 else ""
            raise WorkerError(
                f"a worker process died ({cause}) while it worked on {item.name}{before}; "
                "what was finished is kept, and the same command continues from there "
                "(if memory ran out, fewer --workers need less)"
            )
        self.items[index] = replace(again, deaths=item.deaths)
        self.waiting.append(index)

    def results(self) -> tuple[tuple[Any, ...], tuple[Usage, ...]]:
        """Return values and costs in the order of the items; all must be finished."""
        outcomes = [self.outcomes[index] for index in range(len(self.items))]
        return tuple(value for value, _ in outcomes), tuple(usage for _, usage in outcomes)
