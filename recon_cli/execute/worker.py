"""A worker process: takes items from its pipe, and sends progress and outcomes back."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recon_cli.errors import MemoryShortage, ReconError
from recon_cli.execute.work_items import WorkFunction, measured
from recon_cli.progress import NO_STATUSES
from recon_cli.resources import Usage, as_shortage, collect_seldom
from recon_cli.tracebacks import safe_message, traceback_text

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_TICK_SECONDS = 0.1


@dataclass(frozen=True)
class ProgressMessage:
    """The progress of an attempt at an item, or a difference, which may be negative."""

    units: int = 0
    people: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: ProgressMessage) -> ProgressMessage:
        statuses = Counter(self.statuses)
        statuses.update(other.statuses)
        return ProgressMessage(self.units + other.units, self.people + other.people, dict(statuses))

    def __sub__(self, other: ProgressMessage) -> ProgressMessage:
        statuses = Counter(self.statuses)
        statuses.subtract(other.statuses)
        return ProgressMessage(
            self.units - other.units,
            self.people - other.people,
            {status: count for status, count in statuses.items() if count},
        )

    def __bool__(self) -> bool:
        return bool(self.units or self.people or any(self.statuses.values()))


class ProgressSender:
    """A `Tick` that sends accumulated progress at most every few seconds.

    Attributes:
        total: All progress so far.
    """

    def __init__(self, send: Callable[[ProgressMessage], None], seconds: float) -> None:
        self.total = ProgressMessage()
        self._send = send
        self._seconds = seconds
        self._reported = ProgressMessage()
        self._sent = time.monotonic()

    def __call__(self, units: int, people: int, statuses: Mapping[str, int] = NO_STATUSES) -> None:
        """Add to the progress, and send it if a message is due."""
        self.total += ProgressMessage(units, people, statuses)
        if time.monotonic() - self._sent >= self._seconds:
            self._flush()

    def _flush(self) -> None:
        news = self.total - self._reported
        if news:
            self._send(news)
        self._reported = self.total
        self._sent = time.monotonic()


@dataclass(frozen=True)
class Done:
    """An item's result, its cost and its total progress."""

    value: Any
    usage: Usage
    ticked: ProgressMessage


@dataclass(frozen=True)
class Failed:
    """The exception that an item raised."""

    error: Exception
    trace: str


def work(pipe: Connection) -> None:
    """Receive a function, the shared argument and items from a pipe, until None or its end."""
    _die_with_parent()
    collect_seldom()
    try:
        function: WorkFunction[Any, Any, Any] = pipe.recv()
        shared = pipe.recv()
    except (EOFError, OSError):
        return
    except Exception as error:
        if as_shortage(error) is None:
            raise
        sys.exit(MemoryShortage.exit_code)  # the parent says it, once
    while True:
        try:
            order = pipe.recv()
        except (EOFError, OSError):
            return
        if order is None:
            return
        pipe.send_bytes(
            attempt(function, shared, order[0], ProgressSender(pipe.send, _TICK_SECONDS))
        )


def attempt(
    function: WorkFunction[Any, Any, Any], shared: object, payload: object, ticker: ProgressSender
) -> bytes:
    """Call the function, and pickle the outcome as `Done` or `Failed`."""
    try:
        with measured() as meter:
            value = function(shared, payload, ticker)
        return pickle.dumps(Done(value, meter.usage, ticker.total))
    except Exception as error:  # noqa: BLE001 - it travels on: the parent raises it
        told = as_shortage(error) or _portable(error)
        return pickle.dumps(Failed(told, traceback_text(error)))


def _portable(error: Exception) -> Exception:
    """Return ``error`` if it survives pickling, else the nearest exception that does."""
    try:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        if type(again) is type(error) and str(again) == str(error):
            return error
    except (pickle.PicklingError, TypeError, AttributeError, ValueError):
        pass
    if not isinstance(error, ReconError):
        return RuntimeError(safe_message(error))
    plain = next(
        kind
        for kind in type(error).__mro__
        if kind.__module__ == ReconError.__module__ and issubclass(kind, ReconError)
    )
    copy = plain(str(error))
    copy.exit_code = error.exit_code
    return copy


def _die_with_parent() -> None:
    """End this process when its parent dies, so that it does not go on writing."""
    from multiprocessing import parent_process  # for workers alone, slow to load

    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
