"""Files beside the published counts: coverage, place names, laws."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recon_cli.coverage import UNLISTED, Coverage, CoveragePattern, LeftOut
from recon_cli.errors import SourceError, StageError
from recon_cli.schema import Release
from recon_cli.stage import INGEST
from recon_cli.store.files import json_bytes
from recon_cli.store.folder import Folder, open_folder

COVERAGE = "_coverage.json"
PROTECTION = "_statements.json"
NAMES = "_names.json"
#: Page that shows each sheet as it was read.
READING = "_reading.html"
#: Beside ``tables/``: percentages that narrow withheld counts.
PERCENTAGES = "_percentages.json"
#: Note of the manifest with the numbers of the files that are not among the counts.
LEFT_OUT = "left_out"
#: Note of `recon ingest`: the file that is said to list every place.
LISTED = "listed"
#: Text in place of the name of a unit that stands for others.
_NOT_LISTED = "all that are not listed"


def coverage_bytes(coverage: Coverage, release: Release) -> bytes:
    """Serialise the coverage as JSON: level and tables of each pattern, ``all`` or cell numbers."""
    return json_bytes([_pattern_json(pattern, release) for pattern in coverage])


def read_coverage(tables: Folder, release: Release) -> Coverage:
    """Read the coverage stored beside ``tables``.

    Raises:
        StageError: It is missing, damaged, or does not fit ``release``.
    """
    try:
        patterns = json.loads(tables.read_extra(COVERAGE))
        coverage = tuple(_pattern(item, release) for item in patterns)
        for pattern in coverage:
            pattern.check(release)
    except (ValueError, KeyError, TypeError, AttributeError, SourceError) as error:
        raise StageError(
            f"{tables.path / COVERAGE} does not fit release {release.name!r} ({error}); "
            f"run `{INGEST.command} --force`"
        ) from error
    return coverage


def names_bytes(names: Mapping[str, str]) -> bytes:
    """Serialise place names, by geoid, as JSON."""
    return json_bytes(dict(sorted(names.items())))


def place_name(geoid: str, names: Mapping[str, str]) -> str:
    """Return a place's name, or a text for a unit that stands for unlisted ones; may be empty."""
    return _NOT_LISTED if geoid.endswith(UNLISTED) else names.get(geoid, "")


def read_names(geounits: Folder) -> dict[str, str]:
    """Read place names by geoid; empty where the published files have none."""
    if NAMES not in geounits.manifest.extras:
        return {}
    names: dict[str, str] = json.loads(geounits.read_extra(NAMES))
    return names


def read_left_out(tables: Folder) -> tuple[LeftOut, ...]:
    """Read which numbers of the published files are not among the counts of ``tables``."""
    return tuple(LeftOut(**each) for each in tables.manifest.notes.get(LEFT_OUT, ()))


def read_percentages(tables: Folder) -> list[tuple[str, str, int, str, str, int, str]]:
    """Read the percentages that narrow withheld counts of ``tables``.

    Returns:
        Geoid, table and cell of each count; header, text and base of the percentage; and the text
        in place of the count.
    """
    if PERCENTAGES not in tables.manifest.extras:
        return []
    return [tuple(each) for each in json.loads(tables.read_extra(PERCENTAGES))]


def has_statements(tables: Folder) -> bool:
    """Report whether the counts of ``tables`` are protected, that is, intervals."""
    return PROTECTION in tables.manifest.extras


def open_published(work: Path, release: Release) -> tuple[Folder, Folder]:
    """Open the folders ``tables/`` and ``geounits/``."""
    tables, geounits = (open_folder(work, INGEST, name) for name in INGEST.folders)
    tables.manifest.require_release(release)
    return tables, geounits


def _pattern_json(pattern: CoveragePattern, release: Release) -> dict[str, Any]:
    def cells(name: str, numbers: Sequence[int]) -> str | list[int]:
        every = len(release.table_by_name[name].cells)
        return "all" if len(numbers) == every else list(numbers)

    tables = {name: cells(name, numbers) for name, numbers in pattern.cells.items()}
    listed = {} if pattern.is_listed else {"listed": False}
    return {"level": pattern.level, "tables": tables, **listed}


def _pattern(item: Any, release: Release) -> CoveragePattern:
    def cells(name: str, numbers: Any) -> tuple[int, ...]:
        if numbers == "all":
            return tuple(range(1, len(release.table_by_name[name].cells) + 1))
        return tuple(int(number) for number in numbers)

    named = {name: cells(name, numbers) for name, numbers in item["tables"].items()}
    in_order = {t.name: named.pop(t.name) for t in release.tables if t.name in named}
    return CoveragePattern(
        item["level"], {**in_order, **named}, is_listed=bool(item.get("listed", True))
    )
