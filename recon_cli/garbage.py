"""How often Python looks for garbage that refers to itself."""

from __future__ import annotations

import gc

#: New containers that a search waits for. Python's own 700 take a tenth of a short run: what
#: start-up makes (modules, schemas, plans) stays, and every search walks through it.
_NEW_CONTAINERS = 20_000


def collect_seldom() -> None:
    """Let this process search for garbage less often; for processes that are our own."""
    gc.set_threshold(_NEW_CONTAINERS)
