"""A role for every cell of a sheet."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.table_reading import TableReading
from recon_cli.sources.read.words import Sense, says


class Role(IntEnum):
    """What a cell is."""

    BLANK = 0
    TITLE = 1
    HEADER = 2
    UNIT = 3
    NOTE = 4
    PLACE = 5
    PARENT = 6
    LABEL = 7
    COUNT = 8
    STATISTIC = 9
    MARKER = 10
    FLAG = 11
    FOOTNOTE = 12
    LEFT_OUT = 13
    SHARE = 14
    PRINTED = 15


def fill_roles(roles: NDArray[np.uint8], grid: Grid, table: TableReading) -> None:
    """Fill the roles of the cells of one table."""
    region = table.region
    for row in region.header:
        texts = [str(text) for text in grid.texts[row].tolist() if text]
        units = sum(says(t, Sense.UNIT, Sense.PERCENTAGE) for t in texts)
        roles[row] = Role.UNIT if texts and 2 * units > len(texts) else Role.HEADER
    for row in region.headings:
        roles[row] = Role.PARENT
    body = region.body
    roles[body] = Role.FOOTNOTE  # what stands beside a number and is neither word nor number
    names = table.names
    for at in (*region.stub.tolist(), *names.keys, *names.twins, *names.constants):
        roles[body, at] = Role.LABEL
    for at in names.parents.values():
        roles[body, at] = Role.PARENT
    if table.place is not None:
        roles[body, table.place] = Role.PLACE
    for at in names.flags:
        roles[body, at] = Role.FLAG
    _fill_numbers(roles, grid, table)
    for at in table.left_out:
        roles[body, at] = Role.LEFT_OUT
    for again, first in table.repeated.items():
        roles[again] = roles[first]
    for label, row in table.left_rows:
        roles[row] = Role.LABEL
        numbers = region.numeric[grid.is_number[row, region.numeric]]
        roles[row, numbers] = Role.LEFT_OUT if label in table.row_reasons else Role.STATISTIC


def _fill_numbers(roles: NDArray[np.uint8], grid: Grid, table: TableReading) -> None:
    body = table.region.body
    names = table.names
    named = {*names.keys, *names.twins, *names.constants}
    for at in table.region.numeric.tolist():
        if at in named:
            continue
        is_number = grid.is_number[body, at] & ~table.withheld[body, at]
        is_number &= ~np.isin(grid.values[body, at], list(table.codes))
        role = Role.COUNT if at in table.counts else Role.STATISTIC
        if any(at == each.line for each in table.shares):
            role = Role.SHARE
        elif at in table.printed:
            role = Role.PRINTED
        roles[body, at] = np.where(is_number, role, Role.MARKER)
