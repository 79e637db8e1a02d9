"""What a published format is: how its files are told, and how their columns get their roles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountSheet
from recon_cli.sources.formats.mapping import FileMapping

#: A document with counts, the others beside it, and what the user says.
Reader = Callable[[Document, Sequence[Document], FileMapping], CountSheet]


@dataclass(frozen=True)
class Format:
    """A published format.

    Attributes:
        name: As in ``ingest.source``.
        title: For people.
        recognises: Whether a document is of it.
        read: Gives the columns their roles.
        needs_mapping: Whether nobody but the user knows what the columns are.
    """

    name: str
    title: str
    recognises: Callable[[Document], bool]
    read: Reader
    needs_mapping: bool = False
