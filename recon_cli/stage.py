"""What a stage declares of itself: what is heavy is named, and imported when it has work to do."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

#: Of a work folder, what is never given away.
PRIVATE: Final = "private"


@dataclass(frozen=True)
class Stage:
    """A stage of a run, declared once: what it reads and makes, and which function runs it.

    Attributes:
        name: The words of its command, after ``recon``.
        folders: Folders of the work folder that it publishes together.
        reads: Folders of the work folder that it reads, where they are there.
        section: The config section that asks for it; what the section's own files are, it says
            itself (`recon_cli.config.model.Section.inputs`).
        package: The folder of its capability, as a dotted name: its module ``stage`` opens it
            (``open_stage``), and is imported only when it runs.
        can_shard: Whether its pieces can be divided among processes with ``--shard``.
        called: What options call it; default the last word of its command.
        options: Keys of its section that its command has an option for.
        purpose: What the help of its command says that it does, in a sentence; the docstring of its
            section's module says more, unless `recon_cli.cli` has a module for the command.
        public: Those of its folders that are made to be given away, or to be shown: their manifests
            say nothing of the records that they were made from.
    """

    name: str
    folders: tuple[str, ...]
    reads: tuple[str, ...] = ()
    section: str = ""
    package: str = ""
    can_shard: bool = False
    called: str = ""
    options: tuple[str, ...] = ()
    purpose: str = ""
    public: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """What a user types."""
        return f"recon {self.name}"

    @property
    def short_name(self) -> str:
        """What ``--from``, ``--until`` and ``--only`` call it."""
        return self.called or self.name.rpartition(" ")[2]

    @property
    def moved(self) -> tuple[str, ...]:
        """What a publication puts into the work folder: the folders, and what is not told."""
        return (*self.folders, *([manifests_folder(self.name)] if self.public else ()))


@dataclass(frozen=True)
class Command:
    """A command that is no stage: the module ``command`` of its capability has it.

    Attributes:
        words: What a user types, after ``recon``.
        package: The folder of its capability, as a dotted name.
        purpose: What it does, in a sentence, as its own help begins.
    """

    words: str
    package: str
    purpose: str


def load(name: str) -> Any:
    """What ``module:name`` names; its module is imported now."""
    module, _, attribute = name.partition(":")
    with _undisturbed():
        found = importlib.import_module(module)
    return getattr(found, attribute)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back SIGINT and SIGTERM.

    A library of C++ that an error interrupts while it is loaded ends the process in its own words.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: held.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for each in held:
        signal.raise_signal(each)


def private_folder(stage: str) -> str:
    """The folder, in the work folder, with what a stage called so keeps to itself."""
    return f"{PRIVATE}/{stage.rpartition(' ')[2]}"


def manifests_folder(stage: str) -> str:
    """The folder with the manifests of its public folders as they would be in any other."""
    return f"{private_folder(stage)}/manifests"


INGEST: Final = Stage(
    "ingest",
    folders=("tables", "geounits"),
    section="ingest",
    package="recon_cli.capabilities.ingest",
    purpose="Read published files into the work folder.",
)
