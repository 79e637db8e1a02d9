"""Margins from published tables: exact counts by a few columns, without a solver.

The study's P8 and P9 together determine every block's people by race and ethnicity, P12 and P14 by
sex and binned age. The tables that determine given columns follow from the release schema.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.errors import ConfigError, SourceError
from recon_cli.publication import Publication
from recon_cli.schema import AttackKeys, Cell, Recode, Release, Table

Matrix = npt.NDArray[np.float64]

#: Below this a singular value is zero: the cells' predicates are zeros and ones.
_TINY = 1e-9


@dataclass(frozen=True)
class PublishedMargins:
    """The knowledge of guessers who have a partition's published tables and nothing else.

    Attributes:
        tables: Tables that guessers may use.
    """

    release: Release
    keys: AttackKeys
    published: Publication
    tables: tuple[Table, ...]

    @cached_property
    def gains(self) -> pl.DataFrame:
        """Return the geoid column, the gained columns and ``n``; see `published_margin`."""
        margin = published_margin(self.release, self.published, self.tables, self.keys.gains)
        return margin.rename({"geoid": self.release.geoid_column})

    @cached_property
    def records(self) -> pl.DataFrame:
        """Return records with the binned keys; exact keys are unknown. See `margin_records`."""
        return margin_records(self.release, self.published, self.tables, self.keys)


def published_margin(
    release: Release, published: Publication, tables: Sequence[Table], columns: Sequence[str]
) -> pl.DataFrame:
    """Compute counts by unit and ``columns``, from the published cells of ``tables`` alone.

    Every cell without conditions on other features is an equation in the counts; they must
    determine every count. For protected counts the guess is the nearest solution, by least squares,
    of the published numbers, with the least true count for a flag; negative counts become zero.

    Args:
        columns: Features or partition recodes.

    Returns:
        ``geoid``, each of ``columns`` and ``n`` (Int64), non-zero counts.

    Raises:
        ConfigError: The tables do not determine the counts.
        SourceError: The published counts contradict each other.
    """
    groups = [release.column_groups(column) for column in columns]
    listed = [n for n, pattern in enumerate(published.coverage) if pattern.is_listed]
    units = published.geounits.filter(
        pl.col("level") == release.geography.unit.name, pl.col("pattern").is_in(listed)
    )
    used = _cells(release, published, units, tables, groups)
    atoms = int(np.prod([len(group.labels) for group in groups]))
    equations = np.array([_row(release, cell, groups) for _, cell in used]).reshape(-1, atoms)
    inverse = _inverse(equations.tobytes(), atoms)
    if inverse is None:
        names = ", ".join(table.name for table in tables)
        raise ConfigError(
            f"{names}: these tables do not determine records by {' × '.join(columns)}, which "
            "guessers from published tables must know (MDG and PRG by default); name tables that "
            "do (link.guessers.MDG.tables), or turn guessers off (link.guessers: {})"
        )
    counts = _counts(units["geoid"], _guessed_counts(published), used)
    people = np.rint(counts @ inverse.T).astype(np.int64)
    wrong = np.flatnonzero((people @ equations.T != counts).any(axis=1) | (people < 0).any(axis=1))
    if not published.is_exact:
        people = np.maximum(people, 0)
    elif len(wrong):
        raise SourceError(
            f"{units['geoid'][int(wrong[0])]}: the published counts by {' × '.join(columns)} "
            f"contradict each other ({len(wrong):,} such units)"
        )
    unit, atom = np.nonzero(people)
    labels = list(itertools.product(*(range(len(group.labels)) for group in groups)))
    places = np.array(labels, np.int64)[atom]
    shown = [
        pl.Series(column, list(group.labels), dtype=group.dtype).gather(places[:, i])
        for i, (column, group) in enumerate(zip(columns, groups, strict=True))
    ]
    geoids = units["geoid"].gather(unit).alias("geoid")
    return pl.DataFrame([geoids, *shown, pl.Series("n", people[unit, atom])])


def _guessed_counts(published: Publication) -> pl.DataFrame:
    """Return the columns of `COUNTS`: published numbers, and least true counts of flags."""
    if published.is_exact:
        return published.counts
    return published.counts.with_columns(pl.coalesce("count", "low").alias("count"))


def margin_records(
    release: Release, published: Publication, tables: Sequence[Table], keys: AttackKeys
) -> pl.DataFrame:
    """Make records with the binned keys from published counts, and exact keys unknown.

    Returns:
        The release's geoid column, the columns of ``keys.binned``, and those of ``keys.exact``
        that they do not have, null.

    Raises:
        ConfigError: The tables do not determine the binned keys.
        SourceError: The published counts contradict each other.
    """
    margin = published_margin(release, published, tables, keys.binned)
    rows = np.repeat(np.arange(margin.height), margin["n"].to_numpy())
    unknown = [
        pl.lit(None, dtype=release.column_groups(column).dtype).alias(column)
        for column in keys.exact
        if column not in keys.binned
    ]
    people = margin.drop("n")[rows].rename({"geoid": release.geoid_column})
    return people.with_columns(unknown)


def _cells(
    release: Release,
    published: Publication,
    units: pl.DataFrame,
    tables: Sequence[Table],
    groups: Sequence[Recode],
) -> list[tuple[str, Cell]]:
    """Select cells published for every unit that count people and involve only ``groups``."""
    known = {group.feature for group in groups}
    others = [i for i, feature in enumerate(release.features) if feature.name not in known]
    patterns = [published.coverage[number] for number in units["pattern"].unique()]
    used = []
    for table in tables:
        numbers = [set(pattern.cells.get(table.name, ())) for pattern in patterns]
        everywhere = set.intersection(*numbers) if numbers else set()
        used += [
            (table.name, cell)
            for cell in table.cells
            if cell.number in everywhere
            and cell.tally is None
            and all(cell.masks[i] == release.features[i].full for i in others)
            and _is_union(release, cell, groups)
        ]
    return used


def _is_union(release: Release, cell: Cell, groups: Sequence[Recode]) -> bool:
    """Test whether the cell splits no group."""
    for group in groups:
        mask = cell.masks[release.feature_index[group.feature]]
        if any(mask & each not in (0, each) for each in group.masks):
            return False
    return True


def _row(release: Release, cell: Cell, groups: Sequence[Recode]) -> Matrix:
    row = np.ones(1)
    for group in groups:
        mask = cell.masks[release.feature_index[group.feature]]
        row = np.kron(row, np.array([float(mask & each == each) for each in group.masks]))
    return row


@lru_cache(maxsize=8)
def _inverse(equations: bytes, atoms: int) -> Matrix | None:
    """Compute the pseudo-inverse, or None if the equations are underdetermined.

    The inverse is the same for all partitions that publish the same cells, and expensive.
    """
    matrix = np.frombuffer(equations, dtype=np.float64).reshape(-1, atoms)
    if len(matrix) < atoms or np.linalg.matrix_rank(matrix, tol=_TINY) < atoms:
        return None
    inverse: Matrix = np.linalg.pinv(matrix, rcond=_TINY).astype(np.float64)
    return inverse


def _counts(geoids: pl.Series, counts: pl.DataFrame, used: Sequence[tuple[str, Cell]]) -> Matrix:
    """Return the (units × used cells) counts."""
    matrix = np.zeros((len(geoids), len(used)))
    columns = pl.DataFrame(
        [(table, cell.number, at) for at, (table, cell) in enumerate(used)],
        schema={"table": pl.String, "cell": pl.Int16, "_column": pl.Int64},
        orient="row",
    )
    rows = pl.DataFrame({"geoid": geoids}).with_row_index("_row")
    cells = counts.join(columns, on=["table", "cell"]).join(rows, on="geoid")
    matrix[cells["_row"].to_numpy(), cells["_column"].to_numpy()] = cells["count"].to_numpy()
    return matrix
