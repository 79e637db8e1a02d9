"""Published codes of cells, as the Census Bureau's products spell them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recon_cli.schema import Release, Table

#: Name of a table: letters, number, letters.
CODED_NAME = re.compile(r"([A-Z]+)([0-9]+)([A-Z]*)")

#: Products in file names, and the releases that they are.
PRODUCTS = {
    "DECENNIALSF12010": "sf1_2010",
    "DEC_10_SF1": "sf1_2010",
    "DECENNIALPL2010": "pl_2010",
    "DEC_10_PL": "pl_2010",
    "DECENNIALPL2020": "pl_2020",
    "DECENNIALDHC2020": "dhc_2020",
}
#: Every spelling of a count's column: the table's name, the number, N since 2020.
COUNT_CODE = re.compile(r"[A-Z]{1,4}[0-9]{1,3}[A-Z]{0,2}_?[0-9]{2,4}N?")
#: Since 2020 a column of annotations may follow each column of counts.
ANNOTATION = re.compile(r"[A-Z]{1,4}[0-9]{1,3}[A-Z]{0,2}_?[0-9]{2,4}(NA|ERR)")


def cells_by_code(release: Release) -> dict[str, tuple[str, int]]:
    """Map every spelling of every cell's code to its table and number.

    Spellings are ``P12_003N`` (2020), ``P012003`` (2010), and the schema's own. A release of 2010
    has no ``P12_003N``, and a release of 2020 no ``P012003``, since tables of one name differ
    between the censuses.
    """
    found: dict[str, tuple[str, int]] = {}
    for table in release.tables:
        for cell, own in zip(table.cells, table.codes, strict=True):
            for code in (own, *_spellings(table, cell.number, release.name)):
                found.setdefault(code, (table.name, cell.number))
    return found


def _spellings(table: Table, number: int, release: str) -> Iterator[str]:
    match = CODED_NAME.fullmatch(table.name)
    if match is None:
        return
    if not release.endswith("2010"):
        yield f"{table.name}_{number:03}N"
    if not release.endswith("2020"):
        yield f"{match[1]}{int(match[2]):03}{match[3]}{number:03}"


def table_of(code: str) -> tuple[str, int] | None:
    """Read the table and number that a code spells by itself; None if it spells none.

    >>> table_of("P12A_003N"), table_of("PCT012A003"), table_of("P0120003"), table_of("NAME")
    (('P12A', 3), ('PCT12A', 3), ('P12', 3), None)
    """
    if match := re.fullmatch(r"([A-Z]+[0-9]+[A-Z]*)_([0-9]{3})N?", code):
        return match[1], int(match[2])
    if match := re.fullmatch(r"([A-Z]+)([0-9]{3})([A-Z]*)([0-9]{3,4})", code):
        return f"{match[1]}{int(match[2])}{match[3]}", int(match[4])
    return None
