"""How often Python looks for garbage that refers to itself."""

from __future__ import annotations

import atexit
import gc

#: New containers that a search waits for. Python's own 700 take a tenth of a short run: what
#: start-up makes (modules, schemas, plans) stays, and every search walks through it.
_NEW_CONTAINERS = 100_000


def collect_seldom() -> None:
    """Let this process search for garbage less often; for processes that are our own.

    At its end Python searches twice more, for what the system frees anyway: not at all.
    """
    gc.set_threshold(_NEW_CONTAINERS)
    atexit.register(gc.freeze)
