"""The Census Bureau's noisy measurement files: rows of geounit and query, with noisy counts.

A product is a folder with a subfolder for each level, ``County.parquet`` to ``Block.parquet``. Its
``DPQuery/`` has Parquet files with ``geocode``, ``query_name``, ``value`` (the query's counts, the
last axis changing fastest) and ``variance``; its ``Constraint/``, with exact counts, is not read.
Geocodes are those of the geography that the noise was made for: each begins with the geocode of the
enclosing geounit; a block's ends with its tabulation geoid.

The layout is that of public readers of these files; see docs/noise.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

from recon_cli.capabilities.measurements.strategy import Measurement, Query, Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.noise.measured import MOST_CELLS, noise_protection, release_text
from recon_cli.capabilities.noise.stage import SCHEMA
from recon_cli.capabilities.protect.true_counts import protection_files
from recon_cli.errors import SourceError
from recon_cli.frames import UNREADABLE
from recon_cli.schema import Release, parse_release
from recon_cli.sources.damage import unreadable
from recon_cli.sources.tidy import write_tidy
from recon_cli.statement.noise import Gaussian
from recon_cli.store.files import disk, make_folder, write_bytes, written_whole

#: Level → name of its folder, finest first; levels above counties are not read.
LEVELS: Final = {
    "block": "Block.parquet",
    "block_group": "Block_Group.parquet",
    "tract": "Tract.parquet",
    "county": "County.parquet",
}
_ABOVE: Final = {"state": "State.parquet", "nation": "US.parquet"}
_QUERIES, _SUFFIX = "DPQuery", "_dpq"
#: Axis of the files → column of the strategies, in the order of the histograms: the last axis of a
#: query's counts changes fastest.
_AXES: Final = {
    "hhgq": "group_quarters",
    "hhinstlevels": "institution",
    "sex": "sex",
    "votingage": "voting_age",
    "age_18_64_116": "age3",
    "age_10_groups": "age10",
    "age_38_groups": "age38",
    "age_40_groups": "age40",
    "age": "age",
    "hispanic": "hispanic",
    "cenrace": "race",
}
#: A block's code → its tabulation geoid, for ``ingest.names``.
GEOIDS: Final = "geoids.txt"
_COLUMNS: Final = ("geocode", "query_name", "value", "variance")
#: Digits of the end of a block's geocode that hold its tabulation geoid, and of their part up to
#: the tract: the files have the block group between tract and block.
_OF_BLOCK, _OF_TRACT = 16, 11


@dataclass(frozen=True)
class MeasuredQuery:
    """A query at a level, as the files have it.

    Attributes:
        query: The strategy's query.
        numbers: For each count of a row, in order, the number of the query's cell.
    """

    level: str
    published: str
    query: Query
    numbers: tuple[int, ...]
    variance: float
    geounits: int


@dataclass(frozen=True)
class Product:
    """A product of noisy measurements.

    Attributes:
        release: Schema with the queries as tables.
        text: Text of the schema's file.
        strategy: Its queries, with the variances of the files as their laws.
        digits: Level → length of its geocodes.
        queries: By level, finest first.
        left_out: Parts of the folder that are not read.
    """

    folder: Path
    release: Release
    text: str
    strategy: Strategy
    digits: Mapping[str, int]
    queries: tuple[MeasuredQuery, ...]
    left_out: tuple[str, ...]

    @property
    def partition(self) -> str:
        """Return the coarsest level, by which counts are written."""
        return list(self.digits)[-1]


@dataclass(frozen=True)
class Written:
    """How much was written."""

    partitions: int
    counts: int
    negative: int


def read_product(
    folder: Path,
    release: Release,
    strategy: str = "pl94_2020",
    without: Sequence[str] = (),
) -> Product:
    """Read the levels, queries, variances and lengths of geocodes of a product.

    Args:
        folder: See the module.
        release: Schema of the records that were measured.
        strategy: Names the queries; its budgets are not used. Other queries are left out.
        without: Features of the strategy that the release does not have.

    Raises:
        ConfigError: There is no such strategy.
        SourceError: The folder is no such product, no query is known or a query has another size,
            a query's variance differs between geounits of a level, or geocodes do not nest.
    """
    known = load_strategy(strategy, release, without)
    levels = [name for name, part in LEVELS.items() if (folder / part / _QUERIES).is_dir()]
    if not levels:
        listed = ", ".join(f"{part}/{_QUERIES}" for part in LEVELS.values())
        raise SourceError(f"{folder}: no noisy measurements (one of {listed} is expected)")
    queries: list[MeasuredQuery] = []
    digits: dict[str, int] = {}
    lost: set[str] = set()
    for level in levels:
        about = _collect(
            _scan(folder, level)
            .group_by("query_name")
            .agg(
                pl.len(),
                *(
                    getattr(column, end)().alias(f"{name}_{end}")
                    for name, column in {
                        "variance": pl.col("variance"),
                        "cells": pl.col("value").list.len(),
                        "digits": pl.col("geocode").str.len_bytes(),
                    }.items()
                    for end in ("min", "max")
                ),
            )
            .sort("query_name"),
            folder / LEVELS[level],
        )
        rows = about.iter_rows(named=True)
        found = [(row, _read(known, folder / LEVELS[level], level, row)) for row in rows]
        queries += [query for _, query in found if query is not None]
        lost |= {row["query_name"] for row, query in found if query is None}
        if all(query is None for _, query in found):
            names = ", ".join(known.queries)
            raise SourceError(
                f"{folder / LEVELS[level]}: no query of {known.name} ({names}) among "
                f"{', '.join(sorted(lost))}"
            )
        digits[level] = _length(folder / LEVELS[level], about)
    _check_nested(folder, digits)
    measured = replace(known, levels={level: _measurements(queries, level) for level in levels})
    text = _schema(measured, release, digits)
    left = [f"{name}/" for name in (*_ABOVE.values(), "Constraint") if list(folder.rglob(name))]
    left += sorted(lost)
    return Product(
        folder, parse_release(text, source=SCHEMA), text, measured, digits, tuple(queries),
        tuple(left),
    )  # fmt: skip


def write_publication(product: Product, to: Path) -> Written:
    """Write the counts of a product, their laws and their schema, as `recon protect noise` does."""
    coarsest = product.partition
    with disk(to):
        make_folder(to)
    write_bytes(to / SCHEMA, product.text.encode())
    laws = noise_protection(product.strategy, list(product.digits))
    for name, data in protection_files(product.release, laws).items():
        write_bytes(to / name, data)
    places = _collect(
        _scan(product.folder, coarsest).select("geocode").unique().sort("geocode"),
        product.folder / LEVELS[coarsest],
    )["geocode"]
    counts = negative = 0
    for place in places:
        frame = pl.concat(_counts(product, place))
        counts, negative = counts + frame.height, negative + int((frame["count"] < 0).sum())
        with disk(to):
            make_folder(to / f"{coarsest}={place}")
        with written_whole(to / f"{coarsest}={place}" / "counts.parquet") as aside:
            write_tidy(frame, aside)
    if "block" in product.digits:
        with written_whole(to / GEOIDS) as aside:
            _geoids(product).write_csv(aside)
    return Written(len(places), counts, negative)


def _scan(folder: Path, level: str) -> pl.LazyFrame:
    files = folder / LEVELS[level] / _QUERIES / "**" / "*.parquet"
    columns = pl.col(_COLUMNS)
    return pl.scan_parquet(files, hive_partitioning=False).select(columns)


def _collect(frame: pl.LazyFrame, path: Path) -> pl.DataFrame:
    try:
        return frame.collect()
    except UNREADABLE as error:
        raise unreadable(path, error) from None


def _read(known: Strategy, path: Path, level: str, row: Mapping[str, Any]) -> MeasuredQuery | None:
    """Find the strategy's query for one of the files; None if it has none, or too many counts."""
    name, cells = row["query_name"], (row["cells_min"], row["cells_max"])
    found = _named(known, name)
    if found is None or cells[1] > MOST_CELLS:
        return None
    query, columns = found
    if cells != (query.size, query.size):
        raise SourceError(
            f"{path}: query {name!r} has {cells[0]:,} to {cells[1]:,} counts; "
            f"{query.name} of {known.name} has {query.size:,}"
        )
    if row["variance_min"] != row["variance_max"] or not row["variance_min"] > 0:
        raise SourceError(
            f"{path}: query {name!r} has variances from {row['variance_min']} to "
            f"{row['variance_max']}; one variance for a query of a level can be read"
        )
    numbers = tuple(_numbers(query, columns))
    return MeasuredQuery(level, name, query, numbers, float(row["variance_min"]), row["len"])


def _named(known: Strategy, published: str) -> tuple[Query, list[str]] | None:
    """Return the query with the axes of a name, and their columns in order.

    ``hispanic * cenrace_dpq`` names two axes; ``detailed_dpq`` is the query with most cells.
    """
    axes = published.removesuffix(_SUFFIX).split(" * ")
    queries, order = known.queries.values(), list(_AXES.values())
    if axes == ["detailed"]:
        widest = max(queries, key=lambda each: each.size)
        columns = [column.name for column in widest.columns]
        return (widest, sorted(columns, key=order.index)) if set(columns) <= set(order) else None
    wanted = [column for axis, column in _AXES.items() if axis in axes]
    if axes != ["total"] and len(wanted) < len(axes):
        return None
    query = next((q for q in queries if {c.name for c in q.columns} == set(wanted)), None)
    return None if query is None else (query, wanted)


def _numbers(query: Query, columns: Sequence[str]) -> Iterator[int]:
    """Yield for each count, its last column changing fastest, the number of the query's cell."""
    sizes = {column.name: len(column.masks) for column in query.columns}
    number = np.arange(1, query.size + 1).reshape([sizes[c.name] for c in query.columns] or [1])
    own = [column.name for column in query.columns]
    yield from number.transpose([own.index(name) for name in columns] or [0]).ravel().tolist()


def _length(path: Path, about: pl.DataFrame) -> int:
    low, high = min(about["digits_min"]), max(about["digits_max"])
    if low != high:
        raise SourceError(f"{path}: geocodes of one length are expected, found {low} to {high}")
    return int(low)


def _check_nested(folder: Path, digits: Mapping[str, int]) -> None:
    """Refuse geocodes that do not begin with a geocode of the next coarser level."""
    levels = list(digits)
    for fine, coarse in pairwise(levels):
        if digits[fine] <= digits[coarse]:
            raise SourceError(f"{folder}: geocodes of {fine} are no longer than those of {coarse}")
        parents = _scan(folder, coarse).select("geocode").unique()
        children = _scan(folder, fine).select(pl.col("geocode").str.head(digits[coarse])).unique()
        lost = _collect(children.join(parents, on="geocode", how="anti").limit(1), folder)
        if lost.height:
            raise SourceError(
                f"{folder}: {lost.item()!r} of {LEVELS[fine]} is no geocode of {LEVELS[coarse]}"
            )


def _measurements(queries: list[MeasuredQuery], level: str) -> tuple[Measurement, ...]:
    return tuple(
        Measurement(each.query, Fraction(0), Gaussian(variance=Fraction(str(each.variance))))
        for each in queries
        if each.level == level
    )


def _schema(strategy: Strategy, release: Release, digits: Mapping[str, int]) -> str:
    """Write the schema of the queries over the geography of the geocodes."""
    document = yaml.safe_load(release_text(strategy, release, list(digits)))
    document["geography"] = {
        "levels": [{"level": name, "digits": length} for name, length in digits.items()],
        "partition": list(digits)[-1],
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _counts(product: Product, place: str) -> Iterator[pl.DataFrame]:
    for level in product.digits:
        cells = pl.concat(
            pl.DataFrame(
                {"at": range(each.query.size), "cell": each.numbers},
                schema={"at": pl.Int64, "cell": pl.Int16},
            ).with_columns(query_name=pl.lit(each.published), table=pl.lit(each.query.name))
            for each in product.queries
            if each.level == level
        )
        rows = _scan(product.folder, level).filter(
            pl.col("geocode").str.starts_with(place),
            pl.col("query_name").is_in(cells["query_name"].unique().implode()),
        )
        found = _collect(rows, product.folder / LEVELS[level])
        long = found.select(
            "query_name",
            geoid="geocode",
            at=pl.int_ranges(pl.col("value").list.len()),
            count=pl.col("value").list.eval(pl.element().cast(pl.Int32)),
        ).explode("at", "count")
        yield long.join(cells, on=["query_name", "at"]).select("geoid", "table", "cell", "count")


def _geoids(product: Product) -> pl.DataFrame:
    """Return the tabulation geoid of each block, where its code ends with one."""
    end = pl.col("geocode").str.tail(_OF_BLOCK)
    block = end.str.head(_OF_TRACT) + end.str.tail(_OF_BLOCK - _OF_TRACT - 1)
    rows = _scan(product.folder, "block").select("geocode").unique().sort("geocode")
    return _collect(rows.select(geoid="geocode", name=block), product.folder / LEVELS["block"])
