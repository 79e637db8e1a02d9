"""Interruptible engines: Python receives no signal while C++ runs in the main thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

#: Deterministic seconds of effort up to which an engine is not worth a thread.
_SHORT = 1.0
#: Seconds to wait for an engine that was told to end.
_STOPPING = 2.0

_Answer = TypeVar("_Answer")


class _Engine(threading.Thread, Generic[_Answer]):
    """Solves in a thread of its own, and keeps the answer or the error."""

    def __init__(self, solve: Callable[[], _Answer]) -> None:
        super().__init__(name="recon-engine", daemon=True)
        self._solve = solve
        self._answers: list[_Answer] = []
        self._error: BaseException | None = None
        #: To be waited for instead of the thread, which an interrupted `join` takes for ended.
        self.done = threading.Event()

    def run(self) -> None:
        try:
            self._answers.append(self._solve())
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            self._error = error
        self.done.set()

    def answer(self) -> _Answer:
        """Return the answer, or raise the error."""
        self.done.wait()
        if self._error is not None:
            raise self._error
        return self._answers[0]


def solve_interruptibly(
    solve: Callable[[], _Answer], stop: Callable[[], object] | None, limit: float
) -> _Answer:
    """Solve in a thread of its own, so that an exception from a signal here stops the engine.

    Args:
        solve: Function that releases the interpreter's lock while it solves.
        stop: Function that tells the engine to end soon; None if there is none: the engine then
            works on after the error, until it is done or the program ends.
        limit: Deterministic seconds; short work is done in this thread.
    """
    if limit <= _SHORT or threading.current_thread() is not threading.main_thread():
        return solve()
    engine = _Engine(solve)
    engine.start()
    try:
        return engine.answer()
    except BaseException:
        if stop is not None:
            stop()
            engine.done.wait(_STOPPING)
        raise


def is_engine_left() -> bool:
    """Report whether an abandoned engine still runs: Python would crash at exit."""
    engines = (thread for thread in threading.enumerate() if isinstance(thread, _Engine))
    return not all(engine.done.is_set() for engine in engines)
