"""What to do about a piece that killed its worker; see `recon_cli.attack.quarantine`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from recon_cli.attack.quarantine import Quarantine
from recon_cli.execute import WorkItem
from recon_cli.progress import Reporter
from recon_cli.store import Piece, Staging
from recon_cli.store.files import disk

#: Deaths that a piece is given up after, whatever the reason.
_PATIENCE = 20
#: Deaths outside of any solver that a piece is given up after.
_TWICE = 2


@contextmanager
def traced_quarantine(staging: Staging, piece: Piece) -> Iterator[Quarantine]:
    """A guard that leaves a trace in the stage's folder while the block runs.

    Raises:
        StageError: The disk refused.
    """
    path = staging.trace(piece)
    with disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        trace = path.open("w", encoding="utf-8")

    def enter(geoid: str) -> None:
        trace.seek(0)
        trace.write(geoid)
        trace.truncate()
        trace.flush()  # a process that dies has handed it to the system

    with trace:
        yield Quarantine(piece.careful, piece.quarantine, enter)
    with disk(path):
        path.unlink()


@dataclass
class QuarantineOnDeath:
    """Decides what is done with a piece whose worker died.

    The first death at a place is taken for bad luck: the piece is simply done again, and its
    result is the same. The second makes the region be solved with care, the third quarantines
    the unit.

    Attributes:
        label: What notes call the stage.
        staging: Where workers leave their traces.
        reporter: Who hears of it.
    """

    label: str
    staging: Staging
    reporter: Reporter
    _deaths: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, shard: WorkItem[Piece], cause: str) -> WorkItem[Piece] | None:
        """The piece to try again; None to give it up."""
        piece = shard.payload
        where = self._where(piece)
        self._deaths[piece.name, where] += 1
        self._deaths[piece.name, "all"] += 1
        deaths = self._deaths[piece.name, where]
        if self._deaths[piece.name, "all"] >= _PATIENCE or (not where and deaths >= _TWICE):
            return None
        at = f"at {where}" if where else "outside of any solver"
        note = f"{self.label}: a worker died ({cause}) on {shard.name}, {at}"
        region = next((each for each in sorted(piece.careful) if where.startswith(each)), None)
        if region is not None:
            self.reporter.note(
                f"{note}; {where} is quarantined: bounded by propagation, not solved"
            )
            return replace(shard, payload=replace(piece, quarantine=piece.quarantine | {where}))
        if deaths >= _TWICE:
            self.reporter.note(f"{note}, again; {where} is solved part by part")
            return replace(shard, payload=replace(piece, careful=piece.careful | {where}))
        self.reporter.note(f"{note}; tried again")
        return shard

    def _where(self, piece: Piece) -> str:
        """The geounit that the worker died at; its trace is removed, so it counts once."""
        path = self.staging.trace(piece)
        try:
            where = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        with disk(path):
            path.unlink()
        return where
