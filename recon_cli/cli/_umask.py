"""The umask of a command: what it and its libraries write is for the user alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def private_umask() -> Iterator[None]:
    """Let what libraries make in this process and its children be for their owner alone, too."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
