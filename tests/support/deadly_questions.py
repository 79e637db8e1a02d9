"""Questions that kill the worker that asks them: workers import this module by name."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recon_cli.capabilities.reconstruct import solution
from recon_cli.capabilities.reconstruct.question import ReconstructionQuestion
from recon_cli.capabilities.solvar import batch as variability
from recon_cli.capabilities.solvar.question import VariabilityQuestion
from recon_cli.execute import OnProgress
from recon_cli.model.components import Component
from recon_cli.pipeline.question_worker import Asked, ask_piece
from recon_cli.store import Piece

#: Environment: where deaths are written down, and how many deaths there are to die.
DEATHS, LIVES = "TESTS_DEATHS", "TESTS_LIVES"


def reconstruct_or_die(asked: Asked, piece: Piece, tick: OnProgress) -> None:
    """The real thing, but one component of one piece kills the worker that reconstructs it."""
    if piece.number == 1 and isinstance(asked.question, ReconstructionQuestion):
        solved: Any = solution
        solved._solve = _deadly(solved._solve)
    ask_piece(asked, piece, tick)


def measure_or_die(asked: Asked, piece: Piece, tick: OnProgress) -> None:
    """Likewise for `recon solvar`."""
    if piece.number == 1 and isinstance(asked.question, VariabilityQuestion):
        measured: Any = variability._Measurement
        measured.add = _deadly(measured.add)
    ask_piece(asked, piece, tick)


def ask_or_die(asked: Asked, piece: Piece, tick: OnProgress) -> None:
    """Either."""
    measured = isinstance(asked.question, VariabilityQuestion)
    (measure_or_die if measured else reconstruct_or_die)(asked, piece, tick)


def _deadly(real: Callable[..., Any]) -> Callable[..., Any]:
    """``real``, but the first component that it ever saw kills: by its first column."""
    path, lives = Path(os.environ[DEATHS]), int(os.environ[LIVES])

    def call(*arguments: Any) -> Any:
        columns = next(each for each in arguments if isinstance(each, Component)).columns
        deaths = path.read_text().split() if path.exists() else []
        if len(deaths) < lives and int((deaths or columns)[0]) in columns:
            with path.open("a") as stream:
                stream.write(f"{(deaths or columns)[0]}\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    return call
