"""The published tables as the text that `recon_cli.reconcheck` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import polars as pl

from recon_cli.frames import OPEN
from recon_cli.model.grain import Grain
from recon_cli.model.margins import predicates
from recon_cli.model.predicates import Masks
from recon_cli.model.statistic_texts import statistic_of
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, bits
from recon_cli.schema.statistics import UNROUNDED, Statistic
from recon_cli.statement.statistics import Printed


@dataclass(frozen=True)
class PublishedTables:
    """The counts of some whole regions, with their numbers in proofs.

    Attributes:
        tables: The tables in use, in the order of their numbers.
    """

    release: Release
    published: Publication
    tables: tuple[Table, ...]

    @cached_property
    def places(self) -> dict[str, int]:
        """Number geoids, areas first: coarser geounits with tables, and the units."""
        geounits, unit = self.published.geounits, self.release.geography.unit.name
        has_cells = [any(self._cells(pattern)) for pattern in range(len(self.published.coverage))]
        used = pl.Series("pattern", [n for n, has in enumerate(has_cells) if has], dtype=pl.Int16)
        areas = geounits.filter(pl.col("level") != unit, pl.col("pattern").is_in(used.implode()))
        units = geounits.filter(level=unit)
        geoids = [*areas["geoid"], *units["geoid"]]
        return {geoid: number for number, geoid in enumerate(geoids)}

    @cached_property
    def statistics(self) -> tuple[Table, ...]:
        """Return the tables with statistics printed here; their numbers follow those of counts."""
        printed = set(self.published.statistics["table"])
        return tuple(table for table in self.release.statistics if table.name in printed)

    @cached_property
    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        release = self.release
        yield "recon-tables 1"
        for feature in release.features:
            yield f"feature {'_'.join(feature.name.split())} {len(feature.values)}"
        every = (*self.tables, *self.statistics)
        for table in every:
            yield f"table {_word(table.name)}"
        for number, table in enumerate(every):
            for cell in table.cells:
                for masks in predicates(cell.masks, cell.tally, release):
                    yield f"cell {number} {cell.number} {words(release, masks)}"
        for number, table in enumerate(self.statistics, len(self.tables)):
            yield f"statistic {number} {statistic_words(release, statistic_of(table))}"
        for zero in release.structural_zeros:
            for masks in zero.impossible:
                yield f"zero {words(release, masks)}{'' if zero.is_definition else ' assumed'}"
        for pattern in range(len(self.published.coverage)):
            cells = dict(self._cells(pattern))
            yield " ".join(["pattern", *(f"{at}.{runs(numbers)}" for at, numbers in cells.items())])
        yield from self._places()
        yield from self._counts()
        yield from self._texts()

    def _cells(self, pattern: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the number of each table in use that a pattern publishes, and of its cells."""
        for number, table in enumerate(self.tables):
            if cells := self.published.coverage[pattern].cells.get(table.name):
                yield number, cells

    def _places(self) -> Iterator[str]:
        levels = self.release.geography.levels
        rows = self.published.geounits.select("geoid", "level", "pattern").rows()
        of_geoid = {geoid: (level, pattern) for geoid, level, pattern in rows}
        for geoid in self.places:
            level, pattern = of_geoid[geoid]
            if level != levels[0].name:
                yield f"area {geoid} {pattern}"
                continue
            enclosing = (self.places.get(coarser.enclosing(geoid)) for coarser in levels[1:])
            areas = [str(area) for area in enclosing if area is not None]
            yield " ".join(["unit", geoid, str(pattern), *areas])

    def _counts(self) -> Iterator[str]:
        counts, protection = self.published.counts, self.published.protection
        if self.published.is_exact:
            counts = counts.with_columns(low="count", high="count")
        number = {table.name: at for at, table in enumerate(self.tables)}
        said: set[tuple[int, int, int]] = set()
        ends = counts.select("geoid", "table", "cell", "low", pl.col("high").fill_null(OPEN))
        for geoid, table, cell, low, high in ends.iter_rows():
            if geoid in self.places and table in number:
                key = self.places[geoid], number[table], cell
                said.add(key)
                if high:
                    yield _count(key, low, high)
        for geoid, level, pattern in self.published.geounits.select(
            "geoid", "level", "pattern"
        ).iter_rows():
            for at, cells in self._cells(pattern):
                low, high = protection.ends_of_zero(self.tables[at].name, level)
                for cell in cells if high and geoid in self.places else ():
                    if (key := (self.places[geoid], at, cell)) not in said:
                        yield _count(key, low, high)

    def _texts(self) -> Iterator[str]:
        """Yield the lines of printed statistics, without texts that prove nothing."""
        number = {table.name: at for at, table in enumerate(self.statistics, len(self.tables))}
        rows = self.published.statistics.sort("geoid", "table", "cell")
        levels = self.release.geography.level_names(rows["geoid"])
        for (geoid, table, cell, text), level in zip(
            rows.select("geoid", "table", "cell", "text").iter_rows(), levels, strict=True
        ):
            law = self.published.protection.printing(table, level, text)
            if geoid in self.places and isinstance(law, Printed):
                is_exact = statistic_of(self.release.statistic_by_name[table]).kind in UNROUNDED
                ties = "nobody" if text == law.no_base else "exact" if is_exact else law.ties
                words = ["printed", self.places[geoid], number[table], cell, ties, _word(text)]
                if ties not in {"nobody", "exact"} and law.decimals is not None:
                    words.append(law.decimals)
                yield " ".join(map(str, words))

    def record_lines(self, records: pl.DataFrame) -> list[str] | None:
        """Return the lines of a `set`: records of the regions, as `recon reconstruct` writes them.

        Features that no table distinguishes, null in the records, get the first values that no
        structural zero excludes; None if all values of some record are excluded.
        """
        release, lines = self.release, list[str]()
        zeros = [masks for zero in release.structural_zeros for masks in zero.impossible]
        columns = [release.geoid_column, *(feature.name for feature in release.features)]
        rows = records.group_by(columns).len().sort(columns, nulls_last=True).rows()
        for geoid, *values, number in rows:
            if geoid in self.places:
                masks = [
                    full if value is None else 1 << feature.position[value]
                    for full, feature, value in zip(
                        release.full, release.features, values, strict=True
                    )
                ]
                at = next(possible_values(masks, zeros), None)
                if at is None:
                    return None
                lines.append(" ".join(map(str, ["r", self.places[geoid], number, *at])))
        return lines


def possible_values(masks: Sequence[int], zeros: Sequence[Masks]) -> Iterator[tuple[int, ...]]:
    """Yield values within masks, one of each feature, that no structural zero excludes.

    Args:
        zeros: The masks of each zero; a box is cut into boxes outside of the zero.
    """
    for number, zero in enumerate(zeros):
        both = [mask & other for mask, other in zip(masks, zero, strict=True)]
        if all(both):
            for at, other in enumerate(zero):
                if rest := masks[at] & ~other:
                    box = [*both[:at], rest, *masks[at + 1 :]]
                    yield from possible_values(box, zeros[number + 1 :])
            return
    yield from product(*map(bits, masks))


def _word(text: str) -> str:
    return "_".join(text.split())


def statistic_words(release: Release, of: Statistic) -> str:
    """Format the kind of a statistic, and its cells or its feature, for a line."""
    if of.feature is None:
        base = of.base or release.full
        return f"share {of.times} {words(release, of.part)} {words(release, base)}"
    detail = {"median": of.definition, "quantile": str(of.order)}.get(of.kind, "-")
    return " ".join([of.kind, detail, str(of.feature), *map(str, of.values)])


def _count(key: tuple[int, int, int], low: int, high: int) -> str:
    """Format the line of a count: its place, table and cell, and its bounds."""
    ends = "" if low == high else " inf" if high == OPEN else f" {high}"
    return f"count {key[0]} {key[1]} {key[2]} {low}{ends}"


def within_region(release: Release, published: Publication, region: str) -> Publication:
    """Select the counts and geounits of one region."""
    geounits = published.geounits.filter(pl.col(release.region.name) == region)
    inside = pl.col("geoid").is_in(geounits["geoid"].implode())
    return replace(
        published,
        geounits=geounits,
        counts=published.counts.filter(inside),
        statistics=published.statistics.filter(inside),
    )


def grain_lines(grain: Grain) -> Iterator[str]:
    """Yield the `grain` lines of a proof."""
    for feature, atoms in enumerate(grain.atoms):
        yield " ".join([f"grain {feature}", *(f"{atom:x}" for atom in atoms)])


def words(release: Release, masks: Sequence[int]) -> str:
    """Format masks for a line."""
    pairs = zip(masks, release.full, strict=True)
    return " ".join("*" if mask == full else f"{mask:x}" for mask, full in pairs)


def runs(numbers: Sequence[int]) -> str:
    """Format sorted numbers as `1,3-5`.

    >>> runs([1, 3, 4, 5])
    '1,3-5'
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1][1:] = [number]
        else:
            found.append([number])
    return ",".join("-".join(map(str, run)) for run in found)
