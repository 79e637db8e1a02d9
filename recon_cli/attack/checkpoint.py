"""What is known of a part of the work while it is still being done, and where that is kept.

A question that takes long tells a checkpoint what is decided so far; whoever asks writes that down,
now and then. After a kill the question goes on from there. Where nobody goes on, since the time is
over or the user has stopped it, what was told last is the answer, and the rest is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from recon_cli.model.ledger import Arrays


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
