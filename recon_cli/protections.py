"""Protection declarations: the name of a method and the folders that it publishes.

Each is declared in the folder of its name in `recon_cli.capabilities`; `recon protect NAME` and its
key of `recon compare` follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What is published: ``records``, of which exact tables can be made; ``counts`` with their law;
#: noisy ``measurements``, maybe of other tables than the release's; or randomised ``answers``.
Publishes = Literal["records", "counts", "measurements", "answers"]


@dataclass(frozen=True)
class ProtectionMethod:
    """A protection method of `recon protect`.

    Attributes:
        name: Name of its command, its config section and its modules.
        publishes: Folders that the readers of the publication get.
        folders: Folders of the work folder that are made to be given away; counts, or records of
            persons, are in the first.
        purpose: One sentence for the help of its command.
        kept: Folders of its private folder, beside the accuracy of the counts.
        uses_statistics: As in `recon_cli.stage.Stage`.
        reads: Folders of the work folder that it reads, where its section names no others.
    """

    name: str
    publishes: Publishes
    folders: tuple[str, ...]
    purpose: str
    kept: tuple[str, ...] = ()
    uses_statistics: bool = False
    reads: tuple[str, ...] = ("persons",)

    @property
    def private(self) -> tuple[str, ...]:
        """List the folders that it keeps in its private folder."""
        has_accuracy = self.publishes in ("counts", "measurements")
        return (*(("accuracy",) if has_accuracy else ()), *self.kept)

    @property
    def package(self) -> str:
        """Return the dotted name of the package that implements it."""
        return f"recon_cli.capabilities.{self.name}"
