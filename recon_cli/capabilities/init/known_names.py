"""Refusal of flags that name columns, rows or values that no sheet has."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from recon_cli.capabilities.init.open_question import flag
from recon_cli.capabilities.init.proposal.proposal import Proposal
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.errors import ConfigError
from recon_cli.sources.read.choices import Choices, columns_named
from recon_cli.sources.read.row_labels import rows_named
from recon_cli.sources.read.table_reading import NAMELESS

#: Most columns that a message names.
_MOST_NAMED: Final = 20


def require_known(readings: Sequence[Proposal], choices: Choices, passed: Sequence[str]) -> None:
    """Refuse a flag that names what no sheet has.

    Args:
        passed: Sheets that are not read.

    Raises:
        ConfigError: Names the flag, and what there is.
    """
    if not readings:
        return  # files of a known format say themselves what they miss
    tables = [table for reading in readings for table in reading.tables]
    places = {table.sheet_place.name for table in tables if table.sheet_place is not None}
    said = {
        "place": (choices.place,) if choices.place else (),
        "parent": choices.parent,
        "count": choices.count,
        "leave-out": tuple(choices.leave_out),
        "apart": choices.apart,
        "total": choices.total,
        "statistic": tuple(choices.statistics),
    }
    for name, words in said.items():
        for word in words:
            if any(columns_named(table.headers, [word]) for table in tables):
                continue
            if name in {"total", "apart"} and word in places:
                continue
            if name == "leave-out" and places and word in passed:
                continue
            if any(_has_line(table, name, word) for table in tables):
                continue
            columns = dict.fromkeys(table.header(at) for table in tables for at in table.headers)
            known = ", ".join(map(repr, list(columns)[:_MOST_NAMED]))
            more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
            raise ConfigError(
                f"{flag(name, word)}: no column is called so; there are {known}{more}"
            )
    _require_sums(tables, choices, places)
    for number in choices.header:
        if not any((reading.grid.rows == number).any() for reading in readings):
            last = max(int(reading.grid.rows.max(initial=0)) for reading in readings)
            raise ConfigError(f"--header {number}: this row is empty; the last with text is {last}")


def _has_line(table: ProposedTable, name: str, word: str) -> bool:
    """Test whether a table has a row or a value that a flag names."""
    if name == "leave-out":
        return word in dict(table.left_rows) or word == table.left_as
    if name in {"total", "apart"} and (table.grid.texts == word).any():
        return True
    rows = table.rows if name == "count" else table.place_paths
    return name in {"count", "total", "apart"} and bool(rows_named(rows, [word]))


def _require_sums(tables: Sequence[ProposedTable], choices: Choices, places: Set[str]) -> None:
    headers = {table.header(at) for table in tables for at in table.headers}
    for each in choices.sums:
        is_across = {*each.names} <= headers or {*each.names} <= places
        if not (is_across or any(_has_sum(table, each.names) for table in tables)):
            raise ConfigError(
                f"{flag('sum', str(each))}: no table has all of these, each once, as columns, rows "
                "or values; rows of one name are called with what they are part of: 'Group / Name'"
            )


def _has_sum(table: ProposedTable, names: Sequence[str]) -> bool:
    """Test whether names are of one column each, of one row each, or of values of one dimension."""
    if table.names.is_long:
        texts = [set(table.grid.coded((table.region.body, at))[0]) for at in table.names.keys]
        named = {name for name in names if name != NAMELESS}
        if any({*names} <= own or ("" in own and named <= own) for own in texts):
            return True
    columns = (columns_named(table.headers, [name]) for name in names)
    rows = (rows_named(table.rows, [name]) for name in names)
    return any(all(len(own) == 1 for own in axis) for axis in (columns, rows))
