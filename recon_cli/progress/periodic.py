"""Calling a function every few seconds while other work is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def call_periodically(seconds: float, beat: Callable[[], None]) -> Iterator[None]:
    """Call ``beat`` every so many seconds, from a thread of its own, until the block ends.

    Raises:
        OSError: ``beat`` could not write; it was not called again.
    """
    over = threading.Event()
    failures: list[OSError] = []

    def go() -> None:
        while not over.wait(seconds):
            try:
                beat()
            except OSError as error:
                failures.append(error)
                return

    thread = threading.Thread(target=go, daemon=True, name="recon-progress")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failures:
        raise failures[0]
