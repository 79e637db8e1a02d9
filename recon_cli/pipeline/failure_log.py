"""Files that document a failure: proofs of contradictions, and models that engines disagree on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from recon_cli.ask.question import Question, RegionData
from recon_cli.errors import ContradictionError, DisagreementError
from recon_cli.stage import INGEST, undisturbed
from recon_cli.store.files import write_bytes
from recon_cli.store.folder import open_folder
from recon_cli.store.published import read_names
from recon_cli.store.recipe import CONTRADICTIONS, DISAGREEMENTS

#: Most places whose names are added to a message.
_NAMED: Final = 8


@contextmanager
def log_contradictions(work: Path, question: Question, part: RegionData) -> Iterator[None]:
    """Write the proof of a contradiction, or its page, to ``<work>/contradictions/`` and name it.

    Args:
        question: The question, which proves contradictions that `recon reconstruct` refuses.
        part: Published counts and candidates of the regions in question.

    Raises:
        ContradictionError: As raised inside, with the proof's name in the message if there is one.
    """
    try:
        yield
    except ContradictionError as error:
        if error.page:
            page = work / CONTRADICTIONS / f"{error.region}.md"
            write_bytes(page, error.page.encode())
            raise ContradictionError(f"{error}; {page} shows them", error.region) from error
        found = question.contradiction(part.published, error.region) if error.region else None
        if found is None:
            raise
        with undisturbed():
            from recon_cli import reconcheck

        folder, checker = work / CONTRADICTIONS, reconcheck
        pairs = {error.region: (found.tables, found.proof)}
        if found.changed is not None:
            pairs[f"{error.region}.changed"] = found.changed
        for name, texts in pairs.items():
            for kind, text in zip(("tables", "proof"), texts, strict=True):
                write_bytes(folder / f"{name}.{kind}", text.encode())
        write_bytes(folder / "reconcheck.py", Path(checker.__file__).read_bytes())
        names = f"{error.region}.tables {error.region}.proof"
        proof = (
            f"in {folder}, python3 -I -S reconcheck.py {names} checks the proof, "
            f"and that a change of {found.least} is needed"
        )
        if found.changed is not None:
            proof += f"; {error.region}.changed.tables has one, its proof records with those counts"
        raise ContradictionError(
            f"{error}{_names(work, str(error))}; {proof}", error.region
        ) from error


def _names(work: Path, message: str) -> str:
    """Return the names of the first places that a message names by their geoids."""
    names = read_names(open_folder(work, INGEST, "geounits"))
    words = set(re.findall(r"\w+", message))
    told = [f"{geoid} is {name}" for geoid, name in names.items() if geoid in words][:_NAMED]
    return f"; {', '.join(told)}" if told else ""


@contextmanager
def log_disagreements(work: Path) -> Iterator[None]:
    """Write the model of a disagreement to ``<work>/disagreements/`` and name the file.

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
