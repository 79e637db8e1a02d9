"""How a run ends that somebody stops: politely asked, or because nobody reads what it says."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

#: 128 and the signal's number, as shells count.
INTERRUPTED = 130
TERMINATED = 143
NO_READER = 141


class Interrupted(KeyboardInterrupt):
    """SIGINT came. Python ends itself by the signal if a plain KeyboardInterrupt crosses `exec`."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came. All that cleans up after Ctrl-C cleans up after this, too."""


_RAISED = {signal.SIGINT: Interrupted, signal.SIGTERM: Terminated}


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise inside; workers are stopped after either."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return
    before = {number: signal.signal(number, _stop) for number in _RAISED}
    try:
        with unmasked():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def unmasked() -> Iterator[None]:
    """Let a stop through that came while a module was loaded: C code makes an ImportError of it."""
    try:
        yield
    except ImportError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise _RAISED[signal.Signals(number)]


def drop_output() -> None:
    """Send what is still to be written nowhere, so that the end is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):  # not a file: a test's, or closed
            continue
