"""The environment of a process that starts workers: single-threaded, with Ctrl-C held back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

#: One thread a worker: the workers are the parallelism, and results must not depend on threads.
THREAD_LIMITS = dict.fromkeys(
    (
        "POLARS_MAX_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let processes started in the block use one thread; restore the environment afterwards."""
    before = dict(os.environ)
    os.environ.update(THREAD_LIMITS)  # before a child starts: libraries read it when imported
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def block_interrupts(number: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Block a signal; processes and threads started in the block never receive it.

    The main thread alone receives Ctrl-C, and stops them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    if number == signal.SIGINT:
        # The first process would start it inside, and that lets the signal through again.
        resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
