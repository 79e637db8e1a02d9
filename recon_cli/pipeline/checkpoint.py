"""Checkpoints of pieces on disk, so that little is lost when a process dies.

``begun/<piece>/`` beside the finished partitions has the rows of finished parts, the rows decided
so far of the current part, and the state of its searches. Each file begins with a digest of the
rest; a file that does not match its digest is ignored.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from recon_cli.ask.question import Checkpoint
from recon_cli.model.ledger import Arrays
from recon_cli.store import Piece, Staging, files

#: Fewest seconds between two writes, also as a multiple of the time that the last one took.
_EVERY, _SHARE = 2.0, 20.0
_DIGEST = 64


@dataclass
class Pace:
    """Limits how often a checkpoint is written, to a twentieth of the time at most."""

    clock: Callable[[], float]
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.clock() + _EVERY

    @property
    def is_due(self) -> bool:
        return self.clock() >= self._next

    def written(self, began: float) -> None:
        """Record a write that began at ``began``."""
        now = self.clock()
        self._next = now + max(_EVERY, _SHARE * (now - began))


class PieceCheckpoint(Checkpoint):
    """A checkpoint in files, one set for each piece."""

    def __init__(
        self,
        staging: Staging,
        piece: Piece,
        *,
        is_over: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the checkpoint and load what an earlier run left.

        Args:
            is_over: Whether the search has ended.
        """
        self.is_over = is_over
        self._home = staging.begun(piece)
        self._finished, self._told, self._saved = Pace(clock), Pace(clock), Pace(clock)
        self._clock = clock
        self._waiting: dict[str, pl.DataFrame] = {}

    def finished(self, name: str) -> pl.DataFrame | None:
        return self._frame(_whole(name))

    def so_far(self, name: str) -> pl.DataFrame | None:
        return self._frame(_so_far(name))

    def finish(self, name: str, rows: pl.DataFrame) -> None:
        """Mark a part as finished, and save the rows of finished parts if a write is due."""
        self._waiting[name] = rows
        if self._finished.is_due:
            began = self._clock()
            for each, frame in self._waiting.items():
                self._write(_whole(each), files.parquet_bytes(frame))
            self._waiting.clear()
            self._finished.written(began)

    def tell(self, name: str, rows: Callable[[], pl.DataFrame]) -> None:
        if self._told.is_due:
            began = self._clock()
            self._write(_so_far(name), files.parquet_bytes(rows()))
            self._told.written(began)

    def load(self, name: str) -> Arrays | None:
        data = self._read(f"{name}.npz")
        if data is None:
            return None
        with np.load(io.BytesIO(data), allow_pickle=False) as state:
            return dict(state)

    def save(self, name: str, state: Callable[[], Arrays]) -> None:
        if self._saved.is_due:
            began, file = self._clock(), io.BytesIO()
            np.savez(file, allow_pickle=False, **state())
            self._write(f"{name}.npz", file.getvalue())
            self._saved.written(began)

    def forget(self) -> None:
        """Remove the checkpoint of a finished piece."""
        if self._home.exists():
            files.remove(self._home)

    def _write(self, name: str, data: bytes) -> None:
        files.write_bytes(self._home / name, files.digest(data).encode(), data)

    def _read(self, name: str) -> bytes | None:
        path = self._home / name
        if not path.is_file():
            return None
        with files.disk(path):
            data = path.read_bytes()
        whole = files.digest(data[_DIGEST:]).encode() == data[:_DIGEST]
        return data[_DIGEST:] if whole else None

    def _frame(self, name: str) -> pl.DataFrame | None:
        data = self._read(name)
        return None if data is None else pl.read_parquet(io.BytesIO(data))


def _whole(name: str) -> str:
    return f"{name}.parquet"


def _so_far(name: str) -> str:
    return f"so-far-{name}.parquet"
