"""Work items for tests of the pool and of Dask workers, and what listens to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from recon_cli.execute import WorkItem
from recon_cli.progress import NO_STATUSES


def numbers(count: int) -> list[WorkItem[int]]:
    return [WorkItem(f"county {i}", i, weight=i) for i in range(count)]


def without_the_first(
    shard: WorkItem[tuple[str, ...]], cause: str
) -> WorkItem[tuple[str, ...]] | None:
    """Leaves out a unit at each death, up to the third."""
    assert cause
    return replace(shard, payload=shard.payload[1:]) if shard.deaths <= 2 else None


def unit_lists() -> list[WorkItem[tuple[str, ...]]]:
    return [WorkItem("county a", ("a", "b")), WorkItem("county c", ("c", "d", "e"), weight=9)]


class ProgressSums:
    """Adds up the progress that it is told."""

    def __init__(self) -> None:
        self.units = self.people = 0
        self.statuses: Counter[str] = Counter()
        self.fell = False

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        self.units += units
        self.people += people
        self.statuses.update(statuses)
        self.fell |= units < 0
