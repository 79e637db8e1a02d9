"""The fixed-width geographic header: where its fields are and which make up a geoid."""

from __future__ import annotations

from typing import Final

#: Characters of a header record, without its line end. The text is Latin-1: a byte a character.
RECORD_LENGTH: Final = 500

FILEID: Final = slice(0, 6)
STUSAB: Final = slice(6, 8)
SUMLEV: Final = slice(8, 11)
GEOCOMP: Final = slice(11, 13)
CHARITER: Final = slice(13, 16)
LOGRECNO: Final = slice(18, 25)
STATE: Final = slice(27, 29)
COUNTY: Final = slice(29, 32)
TRACT: Final = slice(54, 60)
BLKGRP: Final = slice(60, 61)
BLOCK: Final = slice(61, 65)
NAME: Final = slice(226, 316)
POP100: Final = slice(318, 327)

FIELD_NAMES: Final = (
    (STATE, "STATE"),
    (COUNTY, "COUNTY"),
    (TRACT, "TRACT"),
    (BLKGRP, "BLKGRP"),
    (BLOCK, "BLOCK"),
)

#: Summary-level code → the fields that make up the geoid of its geounits, in order. A block's
#: number starts with its block group's, which is why that field is not repeated.
GEOID_FIELDS: Final = {
    "040": (STATE,),
    "050": (STATE, COUNTY),
    "140": (STATE, COUNTY, TRACT),
    "150": (STATE, COUNTY, TRACT, BLKGRP),
    "101": (STATE, COUNTY, TRACT, BLOCK),
}


def width(field: slice) -> int:
    """Characters of a field.

    >>> width(LOGRECNO)
    7
    """
    return int(field.stop - field.start)


def field_name(column: int) -> str:
    """The geoid field that character ``column`` of the header belongs to.

    >>> field_name(61)
    'BLOCK'
    """
    return next(name for field, name in FIELD_NAMES if field.start <= column < field.stop)
