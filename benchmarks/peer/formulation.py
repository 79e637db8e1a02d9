"""The study's integer program: one binary for every potential person, every published cell a row.

The published counts of one table (P12: people by sex and age group) say how many people of each
group a block has. Each of these people could be of any age in the group, of any race and
ethnicity: that many binaries there are for him, 126 for each year of the group on the 2010
tables. Nothing is left out beforehand: neither what another published zero rules out, nor that
two people of a group are interchangeable. For tract 38005956500 that makes 744,786 binaries, for
the tract whose log the study's archive shows 4,075,776.

A row is a published cell of a geounit, for each table at its finest level, zeros included; one
that concerns no binary is dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.arrays import Int32Array
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table, bits

Masks = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """``A x = counts`` over binaries, by columns: the binaries of a unit lie together.

    Attributes:
        starts: For each binary its first entry; one more at the end.
        rows: For each entry its row.
        weights: For each entry 1, or for a cell that tallies how many options the person picks.
        counts: A published count for each row.
        unit: For each binary, the place of its unit in ``units``.
        kind: For each binary, the place of its feature values in ``kinds``.
        units: Geoids.
        kinds: Positions of values, kinds x features.
    """

    starts: Int32Array
    rows: Int32Array
    weights: npt.NDArray[np.int8]
    counts: Int32Array
    unit: Int32Array
    kind: Int32Array
    units: pl.Series
    kinds: Int32Array

    def records(self, release: Release, chosen: npt.NDArray[np.intp]) -> pl.DataFrame:
        """The people that the chosen binaries stand for."""
        places = self.kinds[self.kind[chosen]]
        return pl.DataFrame(
            [
                self.units.gather(self.unit[chosen]).alias(release.geoid_column),
                *(
                    pl.Series(feature.name, feature.values).gather(places[:, at])
                    for at, feature in enumerate(release.features)
                ),
            ]
        )


def formulate(
    release: Release, published: Publication, tables: Sequence[Table], counted: str
) -> Program:
    """The program of some geounits.

    Args:
        release: The schema.
        published: Counts of whole regions; every cell of ``tables`` must be published.
        tables: All to be met.
        counted: The table whose groups say how many people there are; together its smallest
            cells must hold everybody, once.

    Raises:
        ValueError: A count above zero that no binary could meet.
    """
    groups = smallest_cells(release.table_by_name[counted])
    parts = [_kinds(masks) for masks in groups.values()]
    ends = dict(zip(groups, np.cumsum([len(part) for part in parts]), strict=True))
    slots = {
        cell: np.arange(ends[cell] - len(part), ends[cell], dtype=np.int32)
        for cell, part in zip(groups, parts, strict=True)
    }
    unit = release.geography.unit
    units = published.geounits.filter(pl.col("level") == unit.name)["geoid"].sort()
    people = published.counts.filter(
        (pl.col("table") == counted) & pl.col("cell").is_in(list(groups))
    )
    binaries = [np.empty(0, np.int32) for _ in units]
    at = {geoid: place for place, geoid in enumerate(units)}
    for (geoid,), rows in people.sort("geoid", "cell").group_by("geoid"):
        if geoid in at:
            counted_here = zip(rows["cell"], rows["count"], strict=True)
            slots_here = [np.tile(slots[cell], count) for cell, count in counted_here]
            binaries[at[str(geoid)]] = np.concatenate(slots_here)
    kinds = np.concatenate(parts)
    return _program(release, published, tables, kinds=kinds, units=units, binaries=binaries)


def smallest_cells(table: Table) -> dict[int, Masks]:
    """Number → masks of the cells that contain no other cell of the table."""

    def inside(one: Masks, other: Masks) -> bool:
        return one != other and all(a & b == a for a, b in zip(one, other, strict=True))

    masks = {cell.number: cell.masks for cell in table.cells if cell.tally is None}
    return {
        number: outer
        for number, outer in masks.items()
        if not any(inside(inner, outer) for inner in masks.values())
    }


def _kinds(masks: Masks) -> Int32Array:
    """All combinations of value positions in a cell, combinations x features."""
    return np.array(list(itertools.product(*map(bits, masks))), np.int32)


def _program(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    *,
    kinds: Int32Array,
    units: pl.Series,
    binaries: Sequence[Int32Array],
) -> Program:
    """Rows for every table at its finest level, from the binaries of each unit."""
    levels = [
        (level, [table for table in tables if release.finest_level(table) == level])
        for level in release.geography.levels
    ]
    of_kind, counts, shifts, size = [], [], [], 0
    for level, here in levels:
        if here:
            geounits = published.geounits.filter(pl.col("level") == level.name)["geoid"].sort()
            place = units.str.head(level.digits).replace_strict(geounits, np.arange(len(geounits)))
            weights = _weights(release, here, kinds)
            width = weights.shape[1]
            shift = np.repeat((size + place.to_numpy() * width)[:, None], width, axis=1)
            shifts.append(shift + np.arange(width))
            of_kind.append(weights)
            counts.append(_counts(published, here, geounits))
            size += width * len(geounits)
    row_of = np.concatenate(shifts, axis=1).astype(np.int32)  # units x cells
    weights = sparse.csr_array(sparse.hstack(of_kind, format="csr"))
    entries = [weights[kind] for kind in binaries]
    rows = np.concatenate([row_of[at][each.indices] for at, each in enumerate(entries)])
    sizes = np.concatenate([np.diff(each.indptr) for each in entries])
    expected = np.concatenate(counts)
    used = np.bincount(rows, minlength=size) > 0
    if expected[~used].any():
        raise ValueError("a published count above zero concerns nobody who could be there")
    return Program(
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        rows=(np.cumsum(used, dtype=np.int32) - 1)[rows],
        weights=np.concatenate([each.data for each in entries]),
        counts=expected[used],
        unit=np.repeat(np.arange(len(units), dtype=np.int32), [len(kind) for kind in binaries]),
        kind=np.concatenate(binaries),
        units=units,
        kinds=kinds,
    )


def _weights(
    release: Release, tables: Sequence[Table], kinds: Int32Array
) -> sparse.csr_array[np.int8, tuple[int, int]]:
    """How much a person of each kind adds to each cell, kinds x cells."""
    parts = []
    for table in tables:
        weights = np.ones((len(kinds), len(table.cells)), np.int8)
        for at, feature in enumerate(release.features):
            # a mask may be wider than 64 bits, so that each is spread out by hand
            inside = [
                [cell.masks[at] >> place & 1 for cell in table.cells]
                for place in range(len(feature.values))
            ]
            weights *= np.array(inside, np.int8)[kinds[:, at]]
        for number, cell in enumerate(table.cells):
            if cell.tally is not None:
                values = release.features[cell.tally].values
                picked = np.array([int(value).bit_count() for value in values], np.int8)
                weights[:, number] *= picked[kinds[:, cell.tally]]
        parts.append(sparse.csr_array(weights))
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def _counts(published: Publication, tables: Sequence[Table], geounits: pl.Series) -> Int32Array:
    """The published counts, geounits x cells, zeros filled in."""
    cells = pl.DataFrame(
        [(table.name, cell.number) for table in tables for cell in table.cells],
        schema={"table": pl.String, "cell": pl.Int16},
        orient="row",
    ).with_row_index("column")
    found = np.zeros((len(geounits), cells.height), np.int32)
    placed = published.counts.join(cells, on=["table", "cell"]).join(
        geounits.to_frame("geoid").with_row_index("row"), on="geoid"
    )
    found[placed["row"].to_numpy(), placed["column"].to_numpy()] = placed["count"].to_numpy()
    return found.ravel()
