"""Rules of `recon check`: what each can be about, one module a subject.

A new subject is a module here with its options, the stages whose proofs it needs and how it finds
violations, its only `recon_cli.rules.subject.Subject`, and its name among `SUBJECTS`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recon_cli.rules.subject import Subject

#: What a rule can be about, as its key.
SUBJECTS: Final = (
    "recovered",
    "interval",
    "certain_records",
    "disclosed",
    "geography",
    "categories",
)


def subject_model(name: str) -> type[Subject]:
    """The options of a subject.

    Args:
        name: Of `SUBJECTS`.
    """
    module = importlib.import_module(f"{__name__}.{name}")
    found: type[Subject] = getattr(module, name.title().replace("_", ""))
    return found
