"""Percentages beside counts: what they prove of a count that is withheld, and where they break."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.coverage import LeftOut
from recon_cli.errors import SourceError
from recon_cli.frames import OPEN
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.statement.printed import Ends, printed_ends
from recon_cli.statement.protection import Protection

#: Numbers with at least this many decimals are as computed, not rounded for print.
UNROUNDED: Final = 9
#: Why a column of quotients of published numbers gives nothing away.
REPEATED: Final = "the quotient of the published numbers, which proves no more than these"
#: Bits of evidence needed that a column does not have such quotients by chance.
_CERTAIN_BITS: Final = 20.0
#: ``part`` and ``base``: ordinals of the cells of a percentage's numerator and denominator;
#: ``counted`` and ``among``: the numbers printed for them; ``is_stated``: whether the source or a
#: law bounds the part; ``mark``: the text in place of ``counted``; ``file``: number of the file.
SHARES: Final = pl.Schema(
    {
        "row": pl.UInt32,
        "geoid": pl.String,
        "header": pl.String,
        "text": pl.String,
        "times": pl.Int64,
        "part": pl.Int32,
        "base": pl.Int32,
        "counted": pl.Int64,
        "among": pl.Int64,
        "is_stated": pl.Boolean,
        "mark": pl.String,
        "file": pl.Int32,
    }
)

#: A percentage that narrows a withheld count: its header and text, the number of people in its
#: base (``among``), and the text in place of the count.
TOLD: Final = pl.Schema(
    {
        "geoid": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "header": pl.String,
        "text": pl.String,
        "among": pl.Int64,
        "mark": pl.String,
    }
)


@dataclass(frozen=True)
class Shares:
    """The percentages of a publication whose base is published exactly.

    Attributes:
        frame: Columns of `SHARES`, with ``least`` and ``most``, the counts that have the share.
        left_out: Percentages that are not used, because a number beside them is not exact.
        name: Function that names a row in messages, from the numbers of its file and the row.
    """

    frame: pl.DataFrame
    left_out: tuple[LeftOut, ...]
    name: Callable[[int, int], str]

    @classmethod
    def of(
        cls,
        release: Release,
        protection: Protection,
        frame: pl.DataFrame,
        names: Mapping[int, str],
        name: Callable[[int, int], str],
    ) -> Shares:
        """Find what percentages prove, and those that prove nothing yet.

        Args:
            frame: Columns of `SHARES`.
            names: Number of a file → its name.

        Raises:
            SourceError: A percentage does not fit the counts beside it.
        """
        is_withheld = frame["counted"].is_null()
        is_used = frame["is_stated"] & _is_exact(release, protection, frame, "base")
        is_used &= is_withheld | _is_exact(release, protection, frame, "part")
        unused = frame.filter(~is_used)
        repeated = _are_repeated(release, protection, unused)
        left_out = tuple(
            LeftOut(Path(names[file]).name, header, cells, REPEATED if is_repeated else "")
            for file, header, cells, is_repeated in unused.with_columns(repeated)
            .group_by("file", "header", maintain_order=True)
            .agg(pl.len(), pl.col(repeated.name).first())
            .iter_rows()
        )
        bounds = _with_bounds(frame.filter(is_used, pl.col("among") > 0))
        shares = cls(bounds, left_out, name)
        wrong = bounds.filter(
            pl.col("counted").is_not_null() & ~pl.col("counted").is_between("least", "most")
        )
        if wrong.height:
            odd = wrong.row(0, named=True)
            raise shares.refusal(odd, str(odd["counted"]))
        return shares

    def narrowed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Narrow the intervals of withheld counts by their share of a known base.

        Args:
            rows: Columns ``geoid, ordinal, low, high``, as
                `recon_cli.sources.tidy_statements.StatementReader` reads them.

        Raises:
            SourceError: No count that the law allows has the share that is printed.
        """
        told = self.frame.filter(pl.col("counted").is_null())
        if not told.height:
            return rows
        bounds = told.group_by("geoid", pl.col("part").alias("ordinal")).agg(
            shared_low=pl.col("least").max(), shared_high=pl.col("most").min()
        )
        cell = ["geoid", "ordinal"]
        joined = rows.join(bounds, on=cell, how="left", maintain_order="left")
        low = pl.max_horizontal("low", "shared_low")
        high = pl.min_horizontal(pl.col("high").fill_null(OPEN), "shared_high")
        wrong = joined.filter(low > high)
        if wrong.height:
            row = wrong.row(0, named=True)
            share = told.filter(
                (pl.col("geoid") == row["geoid"]) & (pl.col("part") == row["ordinal"])
            )
            most = "or more" if row["high"] is None else f"to {row['high']}"
            raise self.refusal(share.row(0, named=True), f"{row['low']} {most}")
        return joined.with_columns(
            low=low.cast(pl.Int32), high=pl.when(high < OPEN).then(high).cast(pl.Int32)
        ).drop("shared_low", "shared_high")

    def told(self, cells: CellIndex) -> pl.DataFrame | None:
        """Return the percentages of withheld counts, columns of `TOLD`; None if there are none.

        They prove something only where there are laws.
        """
        some = self.frame.filter(pl.col("counted").is_null())
        if not some.height:
            return None
        named = some.with_columns(**cells.named(some["part"].to_numpy()))
        return named.select(TOLD.names()).cast(TOLD).sort("geoid", "table", "cell", "header")

    def refusal(self, share: Mapping[str, Any], stands: str) -> SourceError:
        """Return the error for a share that does not fit the numbers beside it."""
        least, most = share["least"], share["most"]
        fits = "no count" if least > most else str(least)
        fits += f" to {most}" if least < most else ""
        return SourceError(
            f"{self.name(share['file'], share['row'])}: geoid {share['geoid']}: "
            f"{share['header']!r} is {share['text']}, which among {share['among']} is {fits}, and "
            f"the count is {stands}; mend the number, or say what the column is the share "
            "of (mapping.percentages), or leave it out (mapping.leave_out)"
        )


def _are_repeated(release: Release, protection: Protection, frame: pl.DataFrame) -> pl.Series:
    """Test for each share whether its column has the quotients of the published numbers.

    Both numbers must be printed in each row of the column; and other counts with these published
    numbers would hardly all have quotients that print the same.
    """
    low, high = {}, {}
    for cell in ("part", "base"):
        low[cell], high[cell], fits = _intervals(release, protection, frame, cell)
        high[cell] = np.where(fits, high[cell], OPEN)
    told = []
    for number, row in enumerate(frame.iter_rows(named=True)):
        counted, among, text = row["counted"], row["among"], row["text"]
        if counted is None or not among:
            told.append((False, 0.0))
            continue
        ends = _ends(text)
        is_quotient = Fraction(row["times"] * counted, among) in ends
        if max(high["part"][number], high["base"][number]) >= OPEN:
            told.append((is_quotient, 0.0))
            continue
        most = row["times"] * high["part"][number] / max(low["base"][number], 1)
        least = row["times"] * low["part"][number] / high["base"][number]
        steps = (most - least) * ends.over / (ends.most - ends.least)
        told.append((is_quotient, math.log2(max(1.0, float(steps)))))
    rows = pl.DataFrame(told, schema={"is_quotient": pl.Boolean, "bits": pl.Float64}, orient="row")
    column = [frame["file"], frame["header"]]
    return (
        rows.with_columns(column)
        .select(
            is_repeated=pl.col("is_quotient").all().over("file", "header")
            & (pl.col("bits").sum().over("file", "header") >= _CERTAIN_BITS)
        )
        .to_series()
    )


def _with_bounds(frame: pl.DataFrame) -> pl.DataFrame:
    """Return percentages with the least and most people who have them among their base."""
    keys = ["text", "times", "among"]
    kinds = frame.select(keys).unique(maintain_order=True)
    ends = [_counts(text, times, base) for text, times, base in kinds.iter_rows()]
    kinds = kinds.with_columns(
        least=pl.Series([low for low, _ in ends], dtype=pl.Int64),
        most=pl.Series([high for _, high in ends], dtype=pl.Int64),
    )
    return frame.join(kinds, on=keys, how="left", maintain_order="left")


def _counts(text: str, times: int, base: int) -> tuple[int, int]:
    return _ends(text).counts(base, times=times)


def _ends(text: str) -> Ends:
    """Return what the text of a share proves."""
    ends = printed_ends(text)
    if len(text.partition(".")[2]) >= UNROUNDED:  # half a unit more, for the error of a float
        ends = replace(ends, least=ends.least - 1, most=ends.most + 1)
    return ends


def _is_exact(
    release: Release, protection: Protection, frame: pl.DataFrame, cell: str
) -> pl.Series:
    """Test which printed numbers of cells are the true counts under their law."""
    numbers = frame["counted" if cell == "part" else "among"].fill_null(-1).to_numpy()
    low, high, fits = _intervals(release, protection, frame, cell)
    return pl.Series(fits & (low == numbers) & (high == numbers))


def _intervals(
    release: Release, protection: Protection, frame: pl.DataFrame, cell: str
) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the least and greatest true counts of printed numbers, and where these fit the law."""
    numbers = frame["counted" if cell == "part" else "among"].fill_null(-1).to_numpy()
    index = CellIndex.of(release)
    tables = np.array(index.tables)[index.table_of[frame[cell].to_numpy()]]
    levels = frame.select(release.geography.level_names(pl.col("geoid"))).to_series().to_numpy()
    fits = np.zeros(len(numbers), dtype=bool)
    least, most = (np.zeros(len(numbers), dtype=np.int64) for _ in range(2))
    for table, level in set(zip(tables.tolist(), levels.tolist(), strict=True)):
        law = protection.laws[protection.number(table, level)]
        mine = (tables == table) & (levels == level) & (numbers >= 0)
        mine[mine] &= law.fits(numbers[mine])
        least[mine], most[mine] = law.intervals(numbers[mine])
        fits |= mine
    return least, most, fits


def _no_row(file: int, row: int) -> str:
    return f"file {file}, row {row}"


_BOUNDED: Final = pl.Schema([*SHARES.items(), ("least", pl.Int64), ("most", pl.Int64)])
NO_SHARES: Final = Shares(_BOUNDED.to_frame(), (), _no_row)
