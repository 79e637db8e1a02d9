"""What a process must be like when it starts workers: one thread each, and deaf to Ctrl-C."""

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
    """Children started inside get one thread; the environment is then as it was before."""
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
    """Hold a signal back; children and threads started inside never hear it.

    Ctrl-C is heard by the main thread alone, which stops them.
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
