"""CSV for spreadsheets, in which no text is taken for a formula, and names of their columns.

Spreadsheets calculate text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return,
wherever it came from: the name of an attackers' file, of a set or of a place. Such text gets an
apostrophe in front, which spreadsheets take for "this is text". Numbers stay numbers, negative ones
too. Tidy files that are read again have no such text: geoids are letters and digits, and names of
tables begin with a letter.
"""

from __future__ import annotations

from typing import Final

import polars as pl

#: The first character of text that a spreadsheet may calculate.
_FORMULA: Final = r"^([=+\-@\t\r])"


def csv_bytes(table: pl.DataFrame, float_precision: int | None = None) -> bytes:
    """Write a table as CSV in which no text is a formula.

    Args:
        float_precision: Decimals of the numbers that are not whole; all if None.
    """
    return harmless(table).write_csv(float_precision=float_precision).encode()


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """Prefix text, and column names, that could be taken for a formula.

    >>> harmless(pl.DataFrame({"name": ["=1+1", "-", "a-b", None], "count": [-1, 0, 1, 2]})).rows()
    [("'=1+1", -1), ("'-", 0), ('a-b', 1), (None, 2)]
    """
    names = pl.Series(table.columns, dtype=pl.String).str.replace(_FORMULA, "'$1")
    text = [
        pl.col(name).cast(pl.String).str.replace(_FORMULA, "'$1")
        for name, dtype in table.schema.items()
        if dtype in (pl.String, pl.Categorical, pl.Enum)
    ]
    return table.with_columns(text).rename(dict(zip(table.columns, names, strict=True)))


def column_letters(number: int) -> str:
    """Return the letters by which spreadsheets name a column.

    Args:
        number: Number of the column, from 1.

    >>> column_letters(1), column_letters(28)
    ('A', 'AB')
    """
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters
