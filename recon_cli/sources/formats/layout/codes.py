"""Codes of places: each begins with that of the place that it is part of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from recon_cli.errors import SourceError
from recon_cli.sources.formats.layout.columns import Columns
from recon_cli.sources.formats.layout.rows import PlaceRow
from recon_cli.sources.formats.layout.words import Path


def place_codes(columns: Columns, rows: Sequence[PlaceRow]) -> dict[Path, str]:
    """Path of a place → its code, beginning with that of its parent; empty without codes.

    Raises:
        SourceError: Some places have none, or have lost a zero.
    """
    own = columns.codes[-1]
    if own is None:
        return {}
    written: dict[Path, str] = {}
    for row in rows:
        for depth, at in enumerate(columns.codes[:-1], start=1):
            if at is not None and (code := row.cells[at].strip()):
                written.setdefault(row.path[:depth], code)
        if code := row.cells[own].strip():
            written[row.path] = code
    found: dict[Path, str] = {}
    for path in sorted({*written, *(row.path for row in rows)}, key=len):
        if path not in written:
            if path:
                number = next(row.number for row in rows if row.path == path)
                raise SourceError(
                    f"{columns.sheet.where(number, own, columns.title(own))}: {path[-1]!r} has no "
                    "code and other places have one; write it, or empty the column"
                )
            continue
        around = (path[:depth] for depth in range(len(path) - 1, -1, -1))
        outer = next((found[each] for each in around if each in found), "")
        code = written[path]
        found[path] = code if code.startswith(outer) else outer + code
    _refuse_lost_zeros(columns, sorted(found.values(), key=len), own)
    return found


def _refuse_lost_zeros(columns: Columns, codes: Sequence[str], at: int) -> None:
    if not all(code.isdigit() for code in codes):
        return
    for short, long in itertools.pairwise(sorted({len(code) for code in codes})):
        outer = {code[:short] for code in codes if len(code) > short}
        lost = [code for code in codes if len(code) == short and code not in outer]
        if long == short + 1 and lost:
            raise SourceError(
                f"{columns.sheet.label}: column {columns.title(at)!r}: codes of {short} and {long} "
                f"digits, {lost[0]} among them: was a leading zero lost? write codes as text"
            )
