"""Quarantine: what is done with a piece that killed its worker.

The policy: the first death at a place is taken for bad luck, and the piece is done again with the
same result. The second makes the place's region be solved part by part, so that a death names a
smaller place. The third excludes that place from solvers: what propagation proves stands. A piece
that dies outside of any solver, or too often, is given up.

Each worker leaves the geounit that it is at, and its region, in a trace file, where the parent
finds them. What an attack does with split regions and excluded geounits is in
`recon_cli.ask.quarantine`.

See *quarantine* in docs/glossary.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from recon_cli.ask.quarantine import Quarantine
from recon_cli.execute import WorkItem
from recon_cli.progress import Reporter
from recon_cli.store import Piece, Staging
from recon_cli.store.files import disk, make_file, make_folder

#: Deaths after which a piece is given up, whatever the reason.
_MOST_DEATHS = 20
#: Deaths at one place after which more than another attempt is needed.
_TWICE = 2


@contextmanager
def traced_quarantine(staging: Staging, piece: Piece) -> Iterator[Quarantine]:
    """A quarantine that keeps a trace in the stage's folder while the block runs."""
    path = staging.trace(piece)
    with disk(path):
        make_folder(path.parent)
        make_file(path)
        trace = path.open("w", encoding="utf-8")

    def announce(geoid: str, region: str) -> None:
        trace.seek(0)
        trace.write(f"{geoid}\n{region}")
        trace.truncate()
        trace.flush()  # a process that dies has handed it to the system

    with trace:
        yield Quarantine(piece.split_regions, piece.excluded, announce)
    with disk(path):
        path.unlink()


@dataclass
class QuarantineOnDeath:
    """Decides what is done with a piece whose worker died: the policy of this module.

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
        where, region = self._where(piece)
        self._deaths[piece.name, where] += 1
        self._deaths[piece.name, "all"] += 1
        deaths = self._deaths[piece.name, where]
        if self._deaths[piece.name, "all"] >= _MOST_DEATHS or (not where and deaths >= _TWICE):
            return None
        at = f"at {where}" if where else "outside of any solver"
        note = f"{self.label}: a worker died ({cause}) on {shard.name}, {at}"
        if region in piece.split_regions:
            self.reporter.note(
                f"{note}; {where} is quarantined: bounded by propagation, not solved"
            )
            return replace(shard, payload=replace(piece, excluded=piece.excluded | {where}))
        if deaths >= _TWICE:
            self.reporter.note(f"{note}, again; {region} is solved part by part")
            return replace(
                shard, payload=replace(piece, split_regions=piece.split_regions | {region})
            )
        self.reporter.note(f"{note}; tried again")
        return shard

    def _where(self, piece: Piece) -> tuple[str, str]:
        """The geounit that the worker died at, and its region, or nothing.

        Its trace is removed, so it counts once.
        """
        path = self.staging.trace(piece)
        try:
            where, _, region = path.read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return "", ""
        with disk(path):
            path.unlink()
        return where, region
