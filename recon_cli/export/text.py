"""Delimited text with some of its fields written anew, and all else as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.tabular import whole_text

_LINE_END: Final = re.compile(r"\r?\n")
_BYTE_ORDER: Final = "\ufeff"


class DelimitedText:
    """A text, and where each of its fields begins and ends.

    Attributes:
        fields: Numbers of the row and of the field, from 1 → its start and end.
    """

    def __init__(self, document: Document) -> None:
        self.label = document.label
        text, self._encoding, self._delimiter = whole_text(document)
        self._text = text.removeprefix(_BYTE_ORDER)
        self._mark = text[: len(text) - len(self._text)]
        self.fields = dict(self._spans())

    def field(self, row: int, column: int) -> str:
        """What a field holds; empty where the row is shorter."""
        start, end = self.fields.get((row, column), (0, 0))
        raw = self._text[start:end]
        return raw[1:-1].replace('""', '"') if raw[:1] == '"' else raw

    def written(self, changed: Mapping[tuple[int, int], str], first_line: str = "") -> bytes:
        """The text with other fields.

        Args:
            changed: Numbers of row and field → what it holds.
            first_line: A line to put above it.
        """
        parts, at = [self._mark], 0
        if first_line:
            end = _LINE_END.search(self._text)
            parts += [self._quoted(first_line), end[0] if end else "\n"]
        for key in sorted(changed):
            start, stop = self.fields[key]
            parts += [self._text[at:start], self._quoted(changed[key])]
            at = stop
        return "".join((*parts, self._text[at:])).encode(self._encoding)

    def _quoted(self, text: str) -> str:
        needs = any(mark in text for mark in (self._delimiter, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needs else text

    def _spans(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        mark = re.escape(self._delimiter)
        field = re.compile(rf'(?:"(?:[^"]|"")*"|[^{mark}\n"]*?)(?P<end>{mark}|\r?\n|\Z)')
        row = column = 1
        at, last = 0, self._delimiter
        while at < len(self._text) or last == self._delimiter:
            found = field.match(self._text, at)
            if found is None:
                raise SourceError(f"{self.label}: row {row}: a quote stands within a field")
            yield (row, column), (at, found.start("end"))
            at, last = found.end(), found["end"]
            row, column = (row, column + 1) if last == self._delimiter else (row + 1, 1)
