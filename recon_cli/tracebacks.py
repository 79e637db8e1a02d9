"""Tracebacks as text without any value that may come from a record.

Messages of Python and its libraries often quote the value at fault, which may come from a file
about people. Our own messages (`recon_cli.sources.damage`) and those of the system do not.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from recon_cli.errors import ReconError

#: Errors whose messages speak of files and memory only.
_SAFE = (ReconError, OSError, MemoryError)


def traceback_text(error: BaseException) -> str:
    """Format the traceback of an error and its causes, oldest first; keep only safe messages."""
    return "\nthen:\n".join(map(_text, reversed(list(_chain(error)))))


def safe_message(error: BaseException) -> str:
    """Return the message if it can quote no value; else the type of error and where it arose."""
    kind = type(error).__name__
    if isinstance(error, _SAFE):
        return str(error) or kind
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return f"{kind}{where} (its message is left out: it may quote a record)"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its cause, and so on."""
    at: BaseException | None = error
    while at is not None:
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _text(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    remote = error.args[0] if isinstance(error, RemoteTraceback) else ""
    said = f"{type(error).__name__}: {remote or safe_message(error)}"
    return f"Traceback (most recent call last):\n{frames}{said}\n"


class RemoteTraceback(Exception):  # noqa: N818 - shown as the cause of an error, not raised
    """Carries a worker's `traceback_text`, because frames do not pickle."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"
