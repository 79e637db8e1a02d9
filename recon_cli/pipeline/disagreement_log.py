"""Models that two engines disagree on are kept: such a thing must be looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recon_cli.errors import DisagreementError
from recon_cli.store.files import write_bytes
from recon_cli.store.recipe import DISAGREEMENTS


@contextmanager
def log_disagreements(work: Path) -> Iterator[None]:
    """Write the model of a disagreement to ``<work>/disagreements/`` and say where.

    Raises:
        DisagreementError: As raised inside, with the file's name in the message.
    """
    try:
        yield
    except DisagreementError as error:
        folder = work / DISAGREEMENTS
        name = hashlib.sha256(error.model.encode()).hexdigest()[:16]
        path = folder / f"{name}.json"
        write_bytes(path, error.model.encode())
        raise DisagreementError(f"{error}; the model is kept in {path}", error.model) from error
