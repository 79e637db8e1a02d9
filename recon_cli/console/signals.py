"""The end of a stopped run: by a signal, or because its output has no reader."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

#: Key of the verbosity of a subcommand, for the error handler.
VERBOSITY = "recon_cli.verbosity"
#: Key of a mark that only programs read stderr, and have been told.
MACHINE = "recon_cli.machine"
#: 128 and the signal's number, as shells count.
INTERRUPTED = 130
TERMINATED = 143
NO_READER = 141


class Interrupted(KeyboardInterrupt):
    """Raised on SIGINT: Python ends itself if a plain KeyboardInterrupt crosses `exec`."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM; handled like Ctrl-C."""


_RAISED = {signal.SIGINT: Interrupted, signal.SIGTERM: Terminated}


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise on SIGINT and SIGTERM in the block; workers are stopped after either."""
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
    """Re-raise a stop that C code turned into an ImportError while it loaded a module."""
    try:
        yield
    except ImportError as error:
        stop = behind(error)
        if stop is not error:
            raise stop from None
        raise


def behind(error: BaseException) -> BaseException:
    """Return the stop that an ImportError hides, or the error itself."""
    if isinstance(error, ImportError) and isinstance(error.__cause__, KeyboardInterrupt):
        return error.__cause__
    return error


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise _RAISED[signal.Signals(number)]


def fill_streams() -> None:
    """Open closed standard streams on the null device, so that no file takes their descriptors."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


def drop_output() -> None:
    """Discard pending output, so that the process ends quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):  # not a file: a test's, or closed
            continue


def end_at_once(end: SystemExit) -> NoReturn:
    """End the process without Python's clean-up, which a running C++ thread may not survive."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(end.code if isinstance(end.code, int) else 0)
