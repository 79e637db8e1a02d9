"""Which tables of a release can be made of records that were fitted to other counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recon_cli.schema import Release, Table, bits


def resolved_tables(release: Release, measured: Release) -> tuple[Table, ...]:
    """The tables of a release whose cells are sums of combinations that another one counts.

    Args:
        release: Whose tables are wanted.
        measured: Of the same features; its tables are what was measured.
    """
    groups = [
        _groups([cell.masks[f] for table in measured.tables for cell in table.cells], full)
        for f, full in enumerate(release.full)
    ]
    return tuple(table for table in release.tables if _is_resolved(table, groups))


def _groups(masks: Iterable[int], full: int) -> tuple[int, ...]:
    """The values of a feature, as they are told apart: a mask a group."""
    distinct = sorted(set(masks))
    found: dict[tuple[bool, ...], int] = {}
    for value in bits(full):
        seen = tuple(bool(mask >> value & 1) for mask in distinct)
        found[seen] = found.get(seen, 0) | 1 << value
    return tuple(found.values())


def _is_resolved(table: Table, groups: Sequence[tuple[int, ...]]) -> bool:
    for cell in table.cells:
        if cell.tally is not None and any(g & (g - 1) for g in groups[cell.tally]):
            return False  # people of one group may have picked unequally many
        for mask, of_feature in zip(cell.masks, groups, strict=True):
            if any(mask & group not in (0, group) for group in of_feature):
                return False
    return True
