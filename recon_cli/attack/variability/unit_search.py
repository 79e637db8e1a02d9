"""A search over the units of a batch: kept for another attempt, and told while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recon_cli.arrays import BoolArray
from recon_cli.attack.checkpoint import KeptSearch, NoCheckpoint
from recon_cli.attack.variability.distance import Distances
from recon_cli.model.ledger import Arrays


def _ignore(_is_done: BoolArray, _distances: Distances) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class UnitSearch:
    """Who keeps the search of a batch, and who hears of it.

    Attributes:
        kept: Keeps it.
        on_done: Hears which units are done, and how far all units have come.
    """

    kept: KeptSearch
    on_done: Callable[[BoolArray, Distances], None] = _ignore

    @property
    def is_over(self) -> bool:
        """Whether nobody looks for more: units that are not done stay undecided."""
        return self.kept.is_over

    def resume(self, state: Arrays) -> None:
        """Put into arrays what they held when they were kept last; as they are if never."""
        before = self.kept.load()
        if before is not None and all(before[name].shape == state[name].shape for name in state):
            for name, array in state.items():
                array[...] = before[name]

    def advance(self, state: Arrays, is_done: BoolArray, distances: Distances) -> None:
        """A part of the search is done.

        Args:
            state: All that another attempt needs.
            is_done: For each unit whether nothing is left to do.
            distances: How far units have come; a bound from `OPEN` on is none.
        """
        self.kept.save(lambda: state)
        self.on_done(is_done, distances)


#: A search that nobody keeps or hears of.
UNWATCHED = UnitSearch(KeptSearch(NoCheckpoint(), ""))
