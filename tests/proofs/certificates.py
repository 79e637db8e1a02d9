"""The checker in process, as it is or with some of its text replaced."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from recon_cli import reconcheck

SOURCE = Path(reconcheck.__file__).read_text(encoding="utf-8")


def patched(old: str, new: str) -> ModuleType:
    """The checker with some of its text replaced."""
    assert SOURCE.count(old) == 1, f"{SOURCE.count(old)} times: {old}"
    module = ModuleType("patched")
    exec(compile(SOURCE.replace(old, new), "patched", "exec"), module.__dict__)  # noqa: S102
    return module


def check(tables: str, proof: str, checker: Any = reconcheck) -> list[bool]:
    """What a checker says of each statement.

    Raises:
        Refused: The checker's own: a line is refused.
    """
    read = checker.Tables(tables.splitlines())
    return [proven for *_, proven in checker.Proof(read, proof.splitlines()).results]
