"""Statements of a run about all solutions, as bounds on counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import polars as pl

from recon_cli.capabilities.audit.statuses import RECOVERED, SAFE
from recon_cli.capabilities.findings.wording import size_text, values_text
from recon_cli.proof.tables import words
from recon_cli.schema import Release

#: The folders that statements are taken from, by the names that `prove.what` has for them.
SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "unique": ("blocks",),
    "solvar": ("solvar", "intervals"),
    "certain": ("intervals",),
    "claims": ("claims",),
    "audit": ("audit",),
}


#: Columns of ``claims/`` that are no values of people.
_CLAIMED: Final = frozenset(
    (
        *("k", "count", "at_most", "exact", "singleton", "maximal", "trivial", "proof"),
        *("rests_on", "law", "p_region", "p_all"),
    )
)
#: Solutions of a unit's own counts that exceed no count of an area.
ALONE: Final = "solutions of the place alone"


class Bound(NamedTuple):
    """A bound: at least, or at most, this many records with some values.

    Attributes:
        what: Their masks, or ``TABLE.CELL``, as a line of a proof has them.
    """

    what: str
    number: int
    is_least: bool


class Statement(NamedTuple):
    """A statement about every solution.

    Attributes:
        source: The folder that says so.
        is_unique: Whether the statement is that a unit's records are the only solution.
        apart: Stated difference of two solutions in ``what``; 0 for other statements.
        what: As `Bound.what`; empty for any record.
        is_alone: Whether these solutions are `ALONE`.
    """

    source: str
    geoid: str
    text: str
    bounds: tuple[Bound, ...] = ()
    is_unique: bool = False
    apart: int = 0
    what: str = ""
    is_alone: bool = False


@dataclass(frozen=True)
class Found:
    """The findings of a run about some regions; None if they were not asked for.

    Attributes:
        blocks: Rows of ``blocks/``; the other attributes are rows of the folders of their names.
        is_relaxed: Whether solvar is of each unit alone.
    """

    blocks: pl.DataFrame
    solvar: pl.DataFrame | None = None
    intervals: pl.DataFrame | None = None
    claims: pl.DataFrame | None = None
    audit: pl.DataFrame | None = None
    is_relaxed: bool = False

    @property
    def solutions(self) -> str:
        """Name the set of solutions that solvar covers."""
        return ALONE if self.is_relaxed else "solutions"

    def of(self, geoids: Sequence[str]) -> Found:
        inside = pl.nth(0).is_in(pl.Series(geoids, dtype=pl.String).implode())

        def here(frame: pl.DataFrame | None) -> pl.DataFrame | None:
            return None if frame is None else frame.filter(inside)

        return replace(
            self,
            blocks=self.blocks.filter(inside),
            solvar=here(self.solvar),
            intervals=here(self.intervals),
            claims=here(self.claims),
            audit=here(self.audit),
        )


@dataclass(frozen=True)
class Reader:
    """Reads statements from folders of a run.

    Attributes:
        number: Table name → its number in a proof.
        what: Wanted kinds of statements, keys of `SOURCES`.
    """

    release: Release
    number: Mapping[str, int]
    what: frozenset[str]

    def statements(self, found: Found) -> Iterator[Statement]:
        if "unique" in self.what:
            yield from self._unique(found.blocks)
        if "certain" in self.what and found.intervals is not None:
            yield from self._certain(found.intervals, found.solutions)
        if "solvar" in self.what and found.solvar is not None and found.intervals is not None:
            yield from self._solvar(found.solvar, found.intervals, found.solutions)
        if "claims" in self.what and found.claims is not None:
            yield from self._claims(found.claims)
        if "audit" in self.what and found.audit is not None:
            yield from self._audit(found.audit)

    def _unique(self, blocks: pl.DataFrame) -> Iterator[Statement]:
        for geoid in blocks.filter(pl.col("status") == "unique")[self.release.geoid_column]:
            yield Statement("blocks", geoid, "its records are the only solution", is_unique=True)

    def _certain(self, intervals: pl.DataFrame, solutions: str) -> Iterator[Statement]:
        columns = self._columns(intervals)
        varies = (pl.col("lower") < pl.col("upper")) & pl.col("exact")
        for row in intervals.filter(varies).iter_rows(named=True):
            text = f"the number with {values_text(row, columns)} differs between {solutions}"
            place, what = row[self.release.geoid_column], self._masks(row, columns)
            yield Statement(
                "intervals", place, text, apart=1, what=what, is_alone=solutions == ALONE
            )
        for row in intervals.filter(pl.col("lower") > 0).iter_rows(named=True):
            bound = Bound(self._masks(row, columns), row["lower"], is_least=True)
            text = f"at least {row['lower']} with {values_text(row, columns)}"
            yield Statement("intervals", row[self.release.geoid_column], text, (bound,))

    def _solvar(
        self, solvar: pl.DataFrame, intervals: pl.DataFrame, solutions: str
    ) -> Iterator[Statement]:
        unit, everybody = self.release.geoid_column, " ".join("*" for _ in self.release.features)
        settled = solvar.filter((pl.col("solvar_upper_pct") == 0) & (pl.col("population") > 0))
        columns = self._columns(intervals)
        least: dict[str, list[Bound]] = {}
        for row in intervals.filter(pl.col("lower") > 0).iter_rows(named=True):
            bound = Bound(self._masks(row, columns), row["lower"], is_least=True)
            least.setdefault(row[unit], []).append(bound)
        for geoid, people in settled.select(unit, "population").iter_rows():
            most = Bound(everybody, people, is_least=False)
            text = "all solutions have the same records, on the histogram's columns"
            yield Statement("solvar", geoid, text, (*least.get(geoid, ()), most))
        varying = solvar.filter((pl.col("solvar_pct") > 0) & (pl.col("population") > 0))
        for geoid in varying[unit]:
            text = f"{solutions} differ in their records"
            yield Statement("solvar", geoid, text, apart=1, is_alone=solutions == ALONE)

    def _claims(self, claims: pl.DataFrame) -> Iterator[Statement]:
        unit = self.release.geoid_column
        columns = [name for name in claims.columns if name not in {*_CLAIMED, unit}]
        known: dict[tuple[object, ...], tuple[str, str]] = {}
        for row in claims.iter_rows(named=True):
            values = tuple(row[column] for column in columns)
            if values not in known:
                known[values] = self._masks(row, columns), values_text(row, columns)
            masks, text = known[values]
            number = row["count"]
            bounds = [Bound(masks, number, is_least=True)]
            most = number if row["exact"] else row.get("at_most")
            if most is not None:
                bounds.append(Bound(masks, most, is_least=False))
            text = f"{size_text(row, number)} with {text}"
            yield Statement("claims", row[unit], text, tuple(bounds))

    def _audit(self, audit: pl.DataFrame) -> Iterator[Statement]:
        known = audit.filter(pl.col("table").is_in(list(self.number)))
        for row in known.iter_rows(named=True):
            cell = f"{self.number[row['table']]}.{row['cell']}"
            name = f"{row['table']} {row['cell']}"
            least, greatest, low, high = (row[n] for n in ("least", "greatest", "low", "high"))
            if row["status"] == RECOVERED:
                bounds = (Bound(cell, least, is_least=True), Bound(cell, least, is_least=False))
                yield Statement("audit", row["geoid"], f"{name} is {least}", bounds)
                continue
            if least > max(low, 0):
                bound = Bound(cell, least, is_least=True)
                yield Statement("audit", row["geoid"], f"{name} is at least {least}", (bound,))
            if greatest is not None and (high is None or greatest < high):
                bound = Bound(cell, greatest, is_least=False)
                yield Statement("audit", row["geoid"], f"{name} is at most {greatest}", (bound,))
            if row["status"] == SAFE:
                apart = row["required"]
                text = f"{name} differs by {apart} or more between solutions"
                yield Statement("audit", row["geoid"], text, apart=apart, what=cell)

    def _columns(self, frame: pl.DataFrame) -> list[str]:
        own = {self.release.geoid_column, "lower", "upper", "exact"}
        return [name for name in frame.columns if name not in own]

    def _masks(self, row: Mapping[str, Any], columns: Iterable[str]) -> str:
        masks: list[int] = list(self.release.full)
        for column in columns:
            if row[column] is not None:
                feature, of_value = self._groups(column)
                masks[feature] &= of_value[row[column]]
        return words(self.release, masks)

    def _groups(self, column: str) -> tuple[int, Mapping[Any, int]]:
        """Return the feature of a column, and the mask of each of its values."""
        if column not in self._known:
            groups = self.release.column_groups(column)
            of_value = dict(zip(groups.labels, groups.masks, strict=True))
            self._known[column] = self.release.feature_index[groups.feature], of_value
        return self._known[column]

    @cached_property
    def _known(self) -> dict[str, tuple[int, Mapping[Any, int]]]:
        return {}
