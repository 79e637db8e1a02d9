"""Quarantine: decide how to go on with a piece whose worker died.

The first death at a geounit may be bad luck: the piece is tried again, with the same result. After
the second the region of that geounit is solved part by part, so that a further death names a
smaller place. After the third that geounit is excluded from solvers, and only what propagation
proves is kept. A piece whose worker dies outside of any solver, or too often, is given up.

Each worker writes the geounit and region that it works on to a trace file, where the parent finds
them. `recon_cli.ask.quarantine` applies the decisions.

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
    """Open a quarantine that keeps a trace file in the stage's folder during the block."""
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
    """Applies the policy of this module to a piece whose worker died.

    Attributes:
        label: Name of the stage in messages.
        staging: Staging folder with the workers' traces.
    """

    label: str
    staging: Staging
    reporter: Reporter
    _deaths: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, shard: WorkItem[Piece], cause: str) -> WorkItem[Piece] | None:
        """Return the piece to try again, or None to give it up."""
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
        """Return the geounit and the region at which the worker died, or empty names.

        The trace file is removed, so that each death counts once.
        """
        path = self.staging.trace(piece)
        try:
            where, _, region = path.read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return "", ""
        with disk(path):
            path.unlink()
        return where, region
