"""Texts of a sheet's cells, converted for reading counts, shares and statistics."""

from __future__ import annotations

from typing import Final

import polars as pl

from recon_cli.sources.read.grid import Grid
from recon_cli.sources.shares import UNROUNDED

_DIGITS: Final = r"^[0-9]+$"
#: Decimals that are kept in statistics that were not rounded for print.
_COMPUTED: Final = 6


def count_texts(cells: pl.Series, grid: Grid) -> pl.Series:
    """Write counts in digits alone, 0 for blanks that stand for nobody, and keep other texts."""
    cells = cells.str.strip_chars()
    if grid.number("") is not None:
        cells = cells.fill_null("")
    odd = cells.unique().drop_nulls()
    odd = odd.filter(~odd.str.contains(_DIGITS))
    if not len(odd):
        return cells
    plain = [count_text(grid, text) for text in odd.to_list()]
    return cells.replace(odd, pl.Series(plain, dtype=pl.String))


def share_texts(cells: pl.Series, grid: Grid) -> pl.Series:
    """Return shares in digits with a decimal point; null where no number stands."""
    texts = cells.unique().drop_nulls()
    plain = [share_text(grid, text) for text in texts.to_list()]
    return cells.replace_strict(
        texts, pl.Series(plain, dtype=pl.String), default=None, return_dtype=pl.String
    )


def share_text(grid: Grid, text: str) -> str | None:
    """Read a share as it is printed, with a decimal point; None for any other text."""
    number = grid.number(text.strip())
    if number is None or number.value < 0:
        return None
    return f"{number.value:.{min(number.decimals, UNROUNDED)}f}"


def statistic_texts(cells: pl.Series, grid: Grid) -> pl.Series:
    """Return numbers in digits with a decimal point, and other texts as they are."""
    texts = cells.unique().drop_nulls()
    plain = [statistic_text(grid, text) for text in texts.to_list()]
    return cells.replace_strict(
        texts, pl.Series(plain, dtype=pl.String), default=None, return_dtype=pl.String
    )


def statistic_text(grid: Grid, text: str) -> str:
    """Return a printed statistic with a decimal point; any other text as it is.

    A number with all the decimals of a computation is cut to fewer: nobody had rounded it, and its
    last digits are noise of floating point.
    """
    number = grid.number(text.strip())
    if number is None:
        return text.strip()
    return f"{number.value:.{number.decimals if number.decimals < UNROUNDED else _COMPUTED}f}"


def count_text(grid: Grid, text: str) -> str:
    """Write a whole number in digits alone; keep any other text."""
    number = grid.number(text.strip())
    if number is None or not number.is_whole or number.value < 0:
        return text.strip()
    return str(int(number.value))
