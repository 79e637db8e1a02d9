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
#: Key of a mark that stderr carries events for programs, and no messages for people.
MACHINE = "recon_cli.machine"
#: Exit codes: 128 plus the signal's number, as in shells.
INTERRUPTED = 130
TERMINATED = 143
NO_READER = 141


class Interrupted(KeyboardInterrupt):
    """Raised on SIGINT: Python ends itself if a plain KeyboardInterrupt crosses `exec`."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM; handled like Ctrl-C."""


_STOPS = {signal.SIGINT: Interrupted, signal.SIGTERM: Terminated}
_raised: list[KeyboardInterrupt] = []


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise on SIGINT and SIGTERM in the block; workers are stopped after either."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what a signal does
        return
    before = {number: signal.signal(number, _stop) for number in _STOPS}
    try:
        yield
    except BaseException as error:
        stop = behind(error)
        if stop is not error:
            raise stop from None
        raise
    finally:
        _raised.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


def behind(error: BaseException) -> BaseException:
    """Return the stop that an error hides, or the error itself.

    If a stop is raised in Python that C code called, the C code may raise another error in its
    place: an ImportError of a module half loaded, a TypeError of a type that was being read.
    """
    if _raised and not isinstance(error, (KeyboardInterrupt, SystemExit)):
        return _raised[-1]
    return error


def _stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    _raised.append(_STOPS[signal.Signals(number)]())
    raise _raised[-1]


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
