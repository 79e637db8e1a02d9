"""Engines that heed a signal: Python hears none while C++ runs in the main thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

#: Deterministic seconds of effort up to which an engine is not worth a thread.
_SHORT = 1.0
#: Seconds within which an engine ends that is told to.
_STOPPING = 5.0

_Answer = TypeVar("_Answer")


def solve_interruptibly(
    solve: Callable[[], _Answer], stop: Callable[[], object] | None, limit: float
) -> _Answer:
    """Solve in a thread of its own, so that what a signal raises here stops the engine.

    Args:
        solve: Releases the interpreter's lock while it solves.
        stop: Tells the engine to end soon; None if it cannot be told: it then works on behind the
            error, until it is done or the program ends.
        limit: Deterministic seconds: short work is done in this thread.
    """
    if limit <= _SHORT or threading.current_thread() is not threading.main_thread():
        return solve()
    answer: Future[_Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(solve())
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            answer.set_exception(error)

    engine = threading.Thread(target=work, name="recon-engine", daemon=True)
    engine.start()
    try:
        return answer.result()
    except BaseException:
        if stop is not None:
            stop()
            engine.join(_STOPPING)
        raise
