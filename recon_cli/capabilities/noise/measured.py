"""Publication of noisy measurements: a release of the queries, its laws, and its counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

from recon_cli.arrays import IntArray
from recon_cli.capabilities.measurements.strategy import Measurement, Query, Strategy
from recon_cli.capabilities.protect.counts import PROTECTED
from recon_cli.errors import ConfigError
from recon_cli.model.margins import count_matrix
from recon_cli.publication import Publication
from recon_cli.schema import Feature, Recode, Release, bits
from recon_cli.statement import Protection, Statement

#: Cells of a table are numbered in 16 bits.
MOST_CELLS: Final = 2**15 - 1
#: Level, measurement, geoids → (geounits × cells) noise.
NoiseSource = Callable[[str, Measurement, pl.Series], IntArray]


def published_levels(strategy: Strategy, release: Release) -> tuple[str, ...]:
    """Return the levels of a strategy that the release has, finest first."""
    return tuple(
        level.name for level in release.geography.inside_partitions if level.name in strategy.levels
    )


def require_publishable(strategy: Strategy, release: Release, levels: Collection[str]) -> None:
    """Refuse levels and queries whose counts cannot be published.

    Raises:
        ConfigError: Names the level or query.
    """
    if not levels:
        raise ConfigError(
            f"strategy {strategy.name!r} measures no level that release {release.name!r} has "
            f"from {release.geography.partition!r} down"
        )
    for name in levels:
        level = release.geography.by_name.get(name)
        if level not in release.geography.inside_partitions:
            known = ", ".join(published_levels(strategy, release))
            raise ConfigError(
                f"levels: {name!r} is no level of release {release.name!r} from "
                f"{release.geography.partition!r} down (levels: {known})"
            )
        for measurement in strategy.at(name):
            if measurement.query.size > MOST_CELLS:
                raise ConfigError(
                    f"strategy {strategy.name!r}: query {measurement.query.name!r} has "
                    f"{measurement.query.size:,} cells for every {name}, at most {MOST_CELLS:,} "
                    "can be published; `recon protect topdown` measures it without listing all"
                )


def release_text(strategy: Strategy, release: Release, levels: Collection[str]) -> str:
    """Write the schema of a release with the strategy's queries as its tables.

    Args:
        strategy: A strategy whose queries are combinations of columns.
        release: Has the features, the geography and the columns of records.
    """
    features = release.feature_index
    keys = release.attack
    linked = [] if keys is None else [*keys.exact, *keys.binned, *keys.gains]
    named = (*release.microdata, *release.histogram, *linked)
    columns = [release.column_groups(name) for name in named]
    columns += [column for query in strategy.queries.values() for column in query.columns]
    document = {
        "release": f"{release.name}_{strategy.name}",
        "title": f"Noisy measurements of {release.title}",
        "features": {feature.name: _feature(feature) for feature in release.features},
        "recodes": {
            column.name: _recode(column, release.features[features[column.feature]])
            for column in columns
            if column.name not in features
        },
        "geography": {
            "levels": [
                {"level": level.name, "digits": level.digits} for level in release.geography.levels
            ],
            "partition": release.geography.partition,
        },
        "microdata": list(release.microdata),
        "histogram": list(release.histogram),
        "families": list(_families(strategy, levels)),
    }
    if keys is not None:
        document["attack"] = keys.lists
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _feature(feature: Feature) -> dict[str, Any]:
    if feature.options:
        return {"multiselect": list(feature.options)}
    if feature.ordered:
        return {"range": f"{feature.values[0]}..{feature.values[-1]}"}
    return {"categories": list(feature.values)}


def _recode(recode: Recode, feature: Feature) -> dict[str, Any]:
    if feature.ordered and isinstance(recode.labels[0], int):
        return {"of": recode.feature, "edges": list(recode.labels)}
    if feature.options and isinstance(recode.labels[0], int):
        return {"of": recode.feature, "picked": list(recode.labels)}
    groups = {
        str(label): [feature.values[at] for at in bits(mask)]
        for label, mask in zip(recode.labels, recode.masks, strict=True)
    }
    return {"of": recode.feature, "groups": groups}


def _families(strategy: Strategy, levels: Collection[str]) -> Iterator[dict[str, Any]]:
    for name, query in strategy.queries.items():
        cells: list[Any] = ["total"]
        for column in reversed(query.columns):
            inner = {} if cells == ["total"] else {"cells": cells}
            cells = [{"by": column.name, **inner}]
        at = [level for level in levels if query in _queries(strategy.at(level))]
        if at:
            yield {"levels": at, "cells": cells, "tables": {name: {}}}


def _queries(measurements: Iterable[Measurement]) -> list[Query]:
    return [each.query for each in measurements]


def noise_protection(strategy: Strategy, levels: Collection[str]) -> Protection:
    """Return the law of every table at every level."""
    return Protection(
        tuple(
            Statement(each.law, tables=(table_name(each.query),), levels=(level,))
            for level in levels
            for each in strategy.at(level)
        )
    )


def table_name(query: Query) -> str:
    """Return the table that a query's counts are published as."""
    return query.name if query.table is None else query.table.name


def measure_counts(
    strategy: Strategy, levels: Collection[str], truth: Publication, source: NoiseSource
) -> pl.DataFrame:
    """Measure all cells with noise, zeros too.

    Args:
        truth: The exact counts of the queries' tables.

    Returns:
        Columns of `capabilities.protect.counts.PROTECTED`, by level, geoid, table and cell.
    """
    frames = [PROTECTED.to_frame()]
    for number, pattern in enumerate(truth.coverage):
        if pattern.level not in levels:
            continue
        geoids = truth.geounits.filter(pl.col("pattern") == number)["geoid"].sort()
        true = count_matrix(pattern, geoids, truth.counts).toarray()
        measured = {table_name(each.query): each for each in strategy.at(pattern.level)}
        start = 0
        for table, cells in pattern.cells.items():
            counts = true[:, start : start + len(cells)]
            start += len(cells)
            if table in measured:
                noisy = counts + source(pattern.level, measured[table], geoids)
                frames.append(_rows(pattern.level, table, geoids, counts, noisy))
    return pl.concat(frames)


def _rows(
    level: str, table: str, geoids: pl.Series, true: IntArray, noisy: IntArray
) -> pl.DataFrame:
    width = true.shape[1]
    return pl.DataFrame(
        {
            "geoid": geoids.gather(np.repeat(np.arange(len(geoids)), width)),
            "level": pl.repeat(level, true.size, eager=True),
            "table": pl.repeat(table, true.size, eager=True),
            "cell": np.tile(np.arange(1, width + 1, dtype=np.int16), len(geoids)),
            "count": noisy.ravel(),
            "true": true.ravel(),
        }
    ).cast(PROTECTED)


def strategy_rows(strategy: Strategy, levels: Collection[str]) -> list[Mapping[str, Any]]:
    """Describe each query of each level, for a manifest."""
    return [
        {
            "level": level,
            "query": each.query.name,
            "cells": each.query.size,
            "budget": str(each.budget),
            "variance": each.variance,
        }
        for level in levels
        for each in strategy.at(level)
    ]
