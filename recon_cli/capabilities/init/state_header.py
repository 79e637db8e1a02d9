"""The geographic header of a state's census file, in brief."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.legacy.layout import Layout, take_inventory
from recon_cli.sources.legacy.lines import LineReader, open_members, open_stream

#: Summary level of a whole state; its record comes first.
_STATE_LEVEL: Final = "040"
_CHUNK: Final = 1 << 20
#: Most records that are added up in a header without a state's record, about 100 MB.
_MOST_RECORDS: Final = 200_000


@dataclass(frozen=True)
class Summary:
    """A state's header in brief.

    Attributes:
        name: Name of the state; empty where the header has no record of the whole state.
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
    with open_members(path) as members:
        geography = take_inventory(members, path, layout).geography
        with open_stream(geography) as stream:
            return _summarise(LineReader(stream, _CHUNK), stream.label, layout)


def _summarise(lines: LineReader, label: str, layout: Layout) -> Summary:
    coarsest, value = list(layout.summary_levels.values())[-1], layout.header.value
    first: str | None = None
    people = records = 0
    while records <= _MOST_RECORDS and (block := lines.next_block()) is not None:
        layout.header.spans(block, label)  # refuses short records
        for record in _decode(block.data.tobytes(), layout).split("\n")[:-1]:
            first = first or record
            level = value(record, "SUMLEV") if value(record, "GEOCOMP") in ("", "00") else ""
            if records == 0 and level == _STATE_LEVEL:
                name, count = value(record, "NAME"), _people(record, label, layout)
                return Summary(value(record, "STUSAB"), value(record, "STATE"), name, count)
            if level == coarsest:
                people += _people(record, label, layout)
            records += 1
    if first is None:
        raise SourceError(f"{label}: expected header records, found an empty member")
    known = people if records <= _MOST_RECORDS else None
    return Summary(value(first, "STUSAB"), value(first, "STATE"), "", known)


def _decode(data: bytes, layout: Layout) -> str:
    """Decode header records: Latin-1 for fixed columns, else UTF-8 if valid."""
    if layout.header.separator == ",":
        return data.decode("latin-1")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _people(record: str, label: str, layout: Layout) -> int:
    text = layout.header.value(record, "POP100")
    if not text.isdigit():
        raise SourceError(f"{label}: expected a number of people in POP100, found {text!r}")
    return int(text)
