"""Tidy rows as statements: each published number or marker read by the law of its cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.errors import SourceError
from recon_cli.frames import OPEN, STATEMENTS
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.statement import FLAGGED, Law, Protection, describe_law


@dataclass(frozen=True)
class StatementReader:
    """Reads rows by the laws of a release.

    Attributes:
        name: Function that names a row in messages, from its columns ``file`` and ``row``.
    """

    release: Release
    cells: CellIndex
    protection: Protection
    name: Callable[[int, int], str]

    def read(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add ``low``, ``high`` and ``law`` to rows.

        Args:
            rows: Columns ``rank, ordinal, value, marker, least, most, file, row``.

        Returns:
            The rows with ``low``, ``high`` (null where open) and ``law``, as in `STATEMENTS`;
            ``law`` is null where the row itself gives a bound.
        """
        keys = ["rank", "ordinal", "marker"]
        given = rows["least"].is_not_null() | rows["most"].is_not_null()
        own = rows.filter(~given)
        kinds = own.select(keys).unique(maintain_order=True)
        laws, numbers = [], []
        for rank, ordinal, marker in kinds.iter_rows():
            number, law = self._law(rank, ordinal, marker, own)
            numbers.append(number)
            laws.append(law)
        places = {law: place for place, law in enumerate(dict.fromkeys(laws))}
        kinds = kinds.with_columns(
            law=pl.Series(numbers, dtype=pl.Int8),
            _place=pl.Series([places[law] for law in laws], dtype=pl.Int32),
        )
        own = own.join(kinds, on=keys, how="left", nulls_equal=True, maintain_order="left")
        low, high = self._intervals(own, list(places))
        read = [
            own.drop("_place").with_columns(low=pl.Series(low), high=pl.Series(high)),
            _as_given(rows.filter(given)),
        ]
        ends = [pl.col("low").cast(pl.Int32), _or_open(pl.col("high")).cast(pl.Int32)]
        return pl.concat([part.with_columns(ends) for part in read], how="diagonal").sort(
            "geoid", "ordinal"
        )

    def _law(
        self, rank: int, ordinal: int, marker: str | None, rows: pl.DataFrame
    ) -> tuple[int, Law]:
        level = self.release.geography.by_rank[rank].name
        table = self.cells.table_name(ordinal)
        number = self.protection.number(table, level, marker)
        if marker is None:
            return number, self.protection.laws[number]
        try:
            return number, self.protection.reading(number, marker)
        except ValueError as error:
            same = rows.filter(
                (pl.col("rank") == rank)
                & (pl.col("ordinal") == ordinal)
                & pl.col("marker").eq_missing(marker)
            )
            remedy = (
                f"; say what {marker!r} stands for: protection.yaml, {{markers: [{marker!r}], "
                "law: …}, or that it says nothing: mapping.unpublished"
            )
            raise self._refusal(same, f"{error}{remedy if marker else ''}") from error

    def _intervals(
        self, rows: pl.DataFrame, laws: list[Law]
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
        published = rows["value"].fill_null(FLAGGED).to_numpy()
        place = rows["_place"].to_numpy()
        low, high = np.zeros_like(published), np.zeros_like(published)
        for number, law in enumerate(laws):
            mine = np.flatnonzero(place == number)
            wrong = mine[~law.fits(published[mine])]
            if len(wrong):
                odd = rows[[int(wrong[0])]]
                raise self._refusal(
                    odd, f"no true count is published as {odd['value'][0]} by {describe_law(law)}"
                )
            low[mine], high[mine] = law.intervals(published[mine])
        return low, high

    def _refusal(self, rows: pl.DataFrame, what: str) -> SourceError:
        """Make the error for the first of ``rows``."""
        row = rows.sort("file", "row").row(0, named=True)
        cell = self.cells.name(row["ordinal"])
        return SourceError(
            f"{self.name(row['file'], row['row'])}: geoid {row['geoid']}, {cell}: {what}"
        )

    def is_implied(self, rows: pl.DataFrame) -> pl.Series:
        """Mark rows that state the same as an absent row of their cell: a published zero."""
        laws = self.protection.laws
        zero = np.array(0)
        ends = [law.intervals(zero) if law.fits(zero) else (np.array(-1),) * 2 for law in laws]
        frame = pl.DataFrame(
            {
                "law": pl.Series(range(len(laws)), dtype=pl.Int8),
                "_low": pl.Series([int(low) for low, _ in ends], dtype=pl.Int32),
                "_high": pl.Series([int(high) for _, high in ends], dtype=pl.Int64),
            }
        )
        joined = rows.join(frame, on="law", how="left", maintain_order="left")
        return joined.select(
            (
                (pl.col("value") == 0)
                & (pl.col("low") == pl.col("_low"))
                & pl.col("high").eq_missing(_or_open(pl.col("_high")).cast(pl.Int32))
            ).fill_null(value=False)
        ).to_series()

    def counts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the columns of `STATEMENTS` for rows that `read` returned."""
        return pl.DataFrame(
            {
                "geoid": rows["geoid"],
                **self.cells.named(rows["ordinal"].to_numpy()),
                "count": rows["value"].cast(pl.Int32),
                **{name: rows[name] for name in ("low", "high", "law")},
            },
            schema=STATEMENTS,
        )


def _as_given(rows: pl.DataFrame) -> pl.DataFrame:
    """Read rows with bounds of their own, which override the law; a missing bound is open."""
    return rows.with_columns(
        low=pl.max_horizontal(pl.col("least").fill_null(0), 0),
        high=pl.max_horizontal(pl.col("most").fill_null(OPEN), 0),
        law=pl.lit(None, pl.Int8),
    )


def _or_open(high: pl.Expr) -> pl.Expr:
    """Return null where the interval is open."""
    return pl.when(high < OPEN).then(high)
