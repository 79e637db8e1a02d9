"""The geographic header in its two forms: fixed columns to 2010, delimited since 2020.

Both are Latin-1 or plain ASCII where it matters: one byte is one character.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.sources.legacy.lines import NEWLINE, RETURN, LineBlock, separator_table

#: For every line of a block, the position of a field's first byte, and one past its last.
Spans = tuple[NDArray[np.int64], NDArray[np.int64]]
#: Positions of a field in every line of a block.
SpansOf = Callable[[str], Spans]

#: Summary-level code → the fields that make up the geoid of its geounits, in order. A block's
#: number starts with its block group's, which is why that field is not repeated.
GEOID_FIELDS: Final = {
    "040": ("STATE",),
    "050": ("STATE", "COUNTY"),
    "140": ("STATE", "COUNTY", "TRACT"),
    "150": ("STATE", "COUNTY", "TRACT", "BLKGRP"),
    "100": ("STATE", "COUNTY", "TRACT", "BLOCK"),
    "101": ("STATE", "COUNTY", "TRACT", "BLOCK"),
    "750": ("STATE", "COUNTY", "TRACT", "BLOCK"),
}
#: Digits of those fields.
DIGITS: Final = {"STATE": 2, "COUNTY": 3, "TRACT": 6, "BLKGRP": 1, "BLOCK": 4}


def geoid_digits(code: str) -> int:
    """Return the number of digits of the geoids of a summary level.

    >>> geoid_digits("140")
    11
    """
    return sum(DIGITS[name] for name in GEOID_FIELDS[code])


class FixedHeader:
    """Records of 500 characters, as in 2010.

    Attributes:
        separator: Separator of the columns of the segments beside it.
        about_size: Approximate bytes of a record.
    """

    separator: Final = ","
    record_length: Final = 500
    about_size: Final = record_length + 1
    fields: Final = {
        "FILEID": slice(0, 6),
        "STUSAB": slice(6, 8),
        "SUMLEV": slice(8, 11),
        "GEOCOMP": slice(11, 13),
        "CHARITER": slice(13, 16),
        "LOGRECNO": slice(18, 25),
        "STATE": slice(27, 29),
        "COUNTY": slice(29, 32),
        "TRACT": slice(54, 60),
        "BLKGRP": slice(60, 61),
        "BLOCK": slice(61, 65),
        "NAME": slice(226, 316),
        "POP100": slice(318, 327),
    }

    def spans(self, block: LineBlock, label: str) -> SpansOf:
        """Find the fields of every line.

        Raises:
            SourceError: A line is too short.
        """
        starts = _line_starts(block, label, self.record_length)
        return lambda field: (starts + self.fields[field].start, starts + self.fields[field].stop)

    def geoid_fields(self, code: str) -> tuple[tuple[str, int], ...]:
        """Return the fields of a summary level's geoid, each with its digits."""
        return tuple((name, DIGITS[name]) for name in GEOID_FIELDS[code])

    def place(self, field: str) -> str:
        place = self.fields[field]
        return f"characters {place.start + 1} to {place.stop}"

    def value(self, record: str, field: str) -> str:
        return record[self.fields[field]].strip()


class DelimitedHeader:
    """Records of 97 columns, as in 2020, separated by | as its segments are; see `FixedHeader`."""

    separator: Final = "|"
    columns: Final = 97
    about_size: Final = 500
    fields: Final = {
        "FILEID": 0,
        "STUSAB": 1,
        "SUMLEV": 2,
        "GEOVAR": 3,
        "GEOCOMP": 4,
        "CHARITER": 5,
        "CIFSN": 6,
        "LOGRECNO": 7,
        "GEOID": 8,
        "GEOCODE": 9,
        "STATE": 12,
        "COUNTY": 14,
        "TRACT": 32,
        "BLKGRP": 33,
        "BLOCK": 34,
        "NAME": 87,
        "POP100": 90,
    }

    def spans(self, block: LineBlock, label: str) -> SpansOf:
        """Find the fields of every line.

        Raises:
            SourceError: A line has more or fewer columns.
        """
        stops = separator_table(block, self.separator, self.columns, label)

        def of(field: str) -> Spans:
            column = self.fields[field]
            return stops[:, column - 1] + 1, stops[:, column]

        return of

    def geoid_fields(self, code: str) -> tuple[tuple[str, int], ...]:
        """Return the one field with the whole geoid."""
        return (("GEOCODE", geoid_digits(code)),)

    def place(self, field: str) -> str:
        """Locate a field for messages."""
        return f"column {self.fields[field] + 1}"

    def value(self, record: str, field: str) -> str:
        """Return a field of one line of text, without surrounding blanks."""
        return record.split(self.separator)[self.fields[field]].strip()


def _line_starts(block: LineBlock, label: str, length: int) -> NDArray[np.int64]:
    """Return where each line starts; refuse lines that are shorter than a record."""
    stops = np.flatnonzero(block.data == NEWLINE)
    starts = np.concatenate([[0], stops[:-1] + 1])
    lengths = stops - starts
    short = np.flatnonzero(lengths <= length)
    if len(short):
        # A line of exactly 500 bytes counts as short only when its last one is a CR.
        trimmed = lengths[short] - (block.data[np.maximum(stops[short] - 1, 0)] == RETURN)
        wrong = np.flatnonzero((trimmed < length) | (lengths[short] == 0))
        if len(wrong):
            at = int(wrong[0])
            raise SourceError(
                f"{label}: line {block.line + int(short[at])}: expected a header record of "
                f"{length} characters, found {max(int(trimmed[at]), 0)}"
            )
    return starts


HeaderForm = FixedHeader | DelimitedHeader
#: Form of a layout → its header.
HEADERS: Final[Mapping[str, HeaderForm]] = {"fixed": FixedHeader(), "delimited": DelimitedHeader()}
