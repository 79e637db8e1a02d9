"""Stage and command declarations: heavy modules are named, and imported only when they run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

#: Folder of a work folder that is never given away.
PRIVATE: Final = "private"
#: Input of a stage that reads all folders that other stages have published, and so comes last.
EVERYTHING: Final = "."


@dataclass(frozen=True)
class Stage:
    """A stage of a run, declared once: its inputs, its folders, and the function that runs it.

    Attributes:
        name: The words of its command, after ``recon``.
        folders: Folders of the work folder that it publishes together.
        reads: Folders of the work folder that it reads, where they are there; or `EVERYTHING`.
        section: The config section that requests it, and lists its own files
            (`recon_cli.config.model.Section.inputs`).
        package: The folder of its capability, as a dotted name: its module ``stage`` opens it
            (``open_stage``), and is imported only when it runs.
        can_shard: Whether its pieces can be divided among processes with ``--shard``.
        called: Its name in options such as ``--only``; default the last word of its command.
        purpose: One sentence for the help of its command; the docstring of its section's module
            says more, unless the capability has a module ``command``.
        public: Folders that are made to be given away, or to be shown: their manifests contain
            nothing about the records from which they were made.
        uses_statistics: Whether it uses statistics that are printed beside counts. Other stages
            refuse a release with statistics, since they cannot call unread numbers safe.
    """

    name: str
    folders: tuple[str, ...]
    reads: tuple[str, ...] = ()
    section: str = ""
    package: str = ""
    can_shard: bool = False
    called: str = ""
    purpose: str = ""
    public: tuple[str, ...] = ()
    uses_statistics: bool = False

    @property
    def command(self) -> str:
        """Return the command as a user types it."""
        return f"recon {self.name}"

    @property
    def short_name(self) -> str:
        """Return the name that ``--from``, ``--until`` and ``--only`` take."""
        return self.called or self.name.rpartition(" ")[2]

    def may_read(self, folder: str) -> bool:
        """Test whether it reads a folder of another stage."""
        return folder in self.reads or EVERYTHING in self.reads

    @property
    def moved(self) -> tuple[str, ...]:
        """List what a publication moves into the work folder: folders, and private manifests."""
        return (*self.folders, *([manifests_folder(self.name)] if self.public else ()))


@dataclass(frozen=True)
class Command:
    """A command without a stage, implemented by the module ``command`` of its capability.

    Attributes:
        words: The words that a user types after ``recon``.
        package: The folder of its capability, as a dotted name.
        purpose: One sentence, with which its help begins.
    """

    words: str
    package: str
    purpose: str


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back SIGINT and SIGTERM.

    A C++ library that is interrupted while it loads ends the process with its own message.
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
    """Return the private folder of a stage, relative to the work folder."""
    return f"{PRIVATE}/{stage.rpartition(' ')[2]}"


def manifests_folder(stage: str) -> str:
    """Return the private folder with the whole manifests of a stage's public folders."""
    return f"{private_folder(stage)}/manifests"


INGEST: Final = Stage(
    "ingest",
    folders=("tables", "geounits"),
    section="ingest",
    package="recon_cli.capabilities.ingest",
    uses_statistics=True,
    purpose="Read published files into the work folder.",
)
