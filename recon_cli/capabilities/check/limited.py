"""Running a function in a process of its own with a time limit."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NoReturn

from recon_cli.errors import WorkerError
from recon_cli.execute.children import block_interrupts

#: Seconds that a terminated process has to stop its own workers and to report its results.
_STOP_SECONDS = 8.0

#: Function that is called with the receiver of its results.
Reports = Callable[[Callable[[Any], None]], None]


def results_until(end: float, function: Reports) -> Iterator[Any]:
    """Yield what ``function`` reports until it returns or the time is over.

    Args:
        end: End by `time.monotonic`, when the process is terminated; results that it reports
            within a few seconds after that count.
        function: Function that can be pickled, as can its results.

    Raises:
        Exception: What the function raised.
        WorkerError: The process died.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs,), kwargs={"function": function})
    with block_interrupts():
        process.start()
    theirs.close()  # or the pipe would stay open when the process dies
    try:
        is_over = False
        while True:
            if not ours.poll(max(end - time.monotonic(), 0)):
                if is_over:
                    return
                is_over, end = True, time.monotonic() + _STOP_SECONDS
                process.terminate()
                continue
            try:
                kind, value = ours.recv()
            except EOFError:
                process.join(_STOP_SECONDS)
                if is_over:
                    return
                code = process.exitcode
                raise WorkerError(f"a process died with exit code {code}") from None
            if kind == _DONE:
                return
            if kind == _FAILED:
                raise value
            yield value
    finally:
        process.terminate()
        process.join(_STOP_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
        ours.close()


_REPORTED, _DONE, _FAILED = "reported", "done", "failed"


def _run(pipe: Connection, function: Reports) -> None:
    is_told = False

    def stop(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        nonlocal is_told
        is_told = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    last: tuple[str, object] = (_DONE, None)
    try:
        function(lambda value: _send(pipe, (_REPORTED, value)))
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 - the parent raises it
        if not is_told:  # or C code raised it in place of the stop
            last = (_FAILED, error)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is ending
    pipe.send(last)


def _send(pipe: Connection, message: tuple[str, object]) -> None:
    """Send a message whole, even if a signal arrives."""
    with block_interrupts(signal.SIGTERM):
        pipe.send(message)
