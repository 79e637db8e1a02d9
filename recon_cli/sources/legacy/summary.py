"""What a geographic header says of its state, without reading more of it than needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.legacy.archive import open_archive, open_stream, take_inventory
from recon_cli.sources.legacy.header import (
    GEOCOMP,
    NAME,
    POP100,
    RECORD_LENGTH,
    STATE,
    STUSAB,
    SUMLEV,
)
from recon_cli.sources.legacy.layout import Layout
from recon_cli.sources.legacy.lines import LineReader

#: Summary level of a whole state; its record comes first.
_STATE_LEVEL: Final = "040"
_CHUNK: Final = 1 << 20
#: A header without a state's record is added up this far, about 100 MB.
_MOST_RECORDS: Final = 200_000


@dataclass(frozen=True)
class Summary:
    """A state's header in brief.

    Attributes:
        postal: The state's abbreviation.
        number: Its FIPS code.
        name: Its name; empty where the header has no record of the whole state.
        people: People in the file; None if that would take long to find out.
    """

    postal: str
    number: str
    name: str
    people: int | None


def summarise(path: Path, layout: Layout) -> Summary:
    """Read the beginning of a state's header, or all of a short one.

    Raises:
        SourceError: ``path`` holds no header, or it is malformed.
    """
    with open_archive(path) as archive:
        geography = take_inventory(archive, path, layout.segments).geography
        with open_stream(archive, geography) as stream:
            return _summarise(LineReader(stream, _CHUNK), stream.label, layout)


def _summarise(lines: LineReader, label: str, layout: Layout) -> Summary:
    coarsest = list(layout.summary_levels.values())[-1]
    first: str | None = None
    people = records = 0
    while records <= _MOST_RECORDS and (block := lines.next_block()) is not None:
        for record in block.data.tobytes().decode("latin-1").splitlines():
            if first is None:
                first = _checked(record, label)
                if _level(first) == _STATE_LEVEL:
                    return _summary(first, first[NAME].strip(), _people(first, label))
            if _level(record) == coarsest:
                people += _people(record, label)
            records += 1
    if first is None:
        raise SourceError(f"{label}: expected header records, found an empty member")
    return _summary(first, "", people if records <= _MOST_RECORDS else None)


def _summary(record: str, name: str, people: int | None) -> Summary:
    return Summary(record[STUSAB].strip(), record[STATE].strip(), name, people)


def _checked(record: str, label: str) -> str:
    if len(record) < RECORD_LENGTH:
        raise SourceError(
            f"{label}: line 1: expected a header record of {RECORD_LENGTH} characters, "
            f"found {len(record)}"
        )
    return record


def _level(record: str) -> str:
    """The summary level; empty for a record that describes a part of its geounit."""
    return record[SUMLEV] if record[GEOCOMP].strip() in ("", "00") else ""


def _people(record: str, label: str) -> int:
    text = record[POP100].strip()
    if not text.isdigit():
        raise SourceError(f"{label}: expected a number of people in POP100, found {text!r}")
    return int(text)
