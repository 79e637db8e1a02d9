"""Randomised response on records: every answer is kept or replaced by a known matrix.

The counts of randomised records are sums of independent Bernoulli draws with probabilities from the
matrices, so true counts have unbiased estimates, and the variance can be estimated, too.

See *randomised response* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.randomize.intervals import answer_of, exact_intervals, normal_intervals
from recon_cli.capabilities.records.encoding import encode
from recon_cli.chance import KeyedChance, choose, ends_of
from recon_cli.errors import ConfigError
from recon_cli.schema import Feature, Release, Table, bits

#: Columns of `estimate_true_counts`.
ESTIMATED: Final = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "reported": pl.Int64,
        "estimate": pl.Float64,
        "sd": pl.Float64,
        "low": pl.Int64,
        "high": pl.Int64,
        "exact": pl.Boolean,
    }
)


@dataclass(frozen=True, eq=False)
class Response:
    """The randomisation of one feature.

    Attributes:
        matrix: (values × values) probability of each reported value (column) for each true one
            (row), in the order of the feature's values.

    Raises:
        ConfigError: The matrix has another form, or cannot be inverted.
    """

    feature: str
    matrix: FloatArray

    def __post_init__(self) -> None:
        where = f"responses.{self.feature}.matrix"
        if (self.matrix < 0).any() or not np.allclose(self.matrix.sum(axis=1), 1):
            raise ConfigError(f"{where}: every row must be probabilities that sum to 1")
        if np.linalg.matrix_rank(self.matrix) < len(self.matrix):
            raise ConfigError(f"{where}: it has no inverse, so that counts could not be estimated")

    @property
    def epsilon(self) -> float:
        """Return ε of local differential privacy; infinite if an answer excludes a true value."""
        most, least = self.matrix.max(axis=0), self.matrix.min(axis=0)
        seen = most > 0
        with np.errstate(divide="ignore"):
            found: float = np.log(most[seen] / least[seen]).max()
        return float(found)

    @classmethod
    def of_epsilon(cls, feature: Feature, epsilon: float) -> Response:
        """Keep a value with e^ε/(e^ε + k − 1), else report one of the k − 1 others.

        Source: Kairouz, Oh & Viswanath (2016), k-ary randomised response.
        """
        size = len(feature.values)
        other = 1 / (math.exp(epsilon) + size - 1)
        matrix = np.full((size, size), other)
        np.fill_diagonal(matrix, 1 - (size - 1) * other)
        return cls(feature.name, matrix)


def parse_response(
    feature: Feature, epsilon: float | None, matrix: Sequence[Sequence[float]] | None
) -> Response:
    """Make a response from ε or from a matrix.

    Raises:
        ConfigError: Both or none is given, or the matrix does not fit the feature.
    """
    where, size = f"responses.{feature.name}", len(feature.values)
    if (epsilon is None) == (matrix is None):
        raise ConfigError(f"{where}: give exactly one of epsilon, matrix")
    if epsilon is not None:
        return Response.of_epsilon(feature, epsilon)
    rows = matrix or ()
    if len(rows) != size or any(len(row) != size for row in rows):
        raise ConfigError(f"{where}.matrix: {size} rows of {size} numbers are expected")
    return Response(feature.name, np.array(rows, dtype=np.float64))


def randomize_records(
    release: Release,
    records: pl.DataFrame,
    responses: Sequence[Response],
    chance: KeyedChance,
) -> pl.DataFrame:
    """Randomise the answers of records, in the same order.

    Args:
        responses: Responses of some features; the others, and the place, stay.
        chance: Source from which each geounit's answers are drawn, in the order of its records.
    """
    coded = encode(release, records, ["the response"] * len(release.features))
    columns = []
    for response in responses:
        f = release.feature_index[response.feature]
        true, feature = coded[f], release.features[f]
        assert true is not None  # noqa: S101 - all are asked for
        reported = _answers(response, true, records[release.geoid_column], chance)
        values = pl.Series(feature.name, feature.values, dtype=feature.dtype)
        columns.append(values.gather(reported))
    return records.with_columns(columns)


def _answers(
    response: Response, true: IntArray, geoids: pl.Series, chance: KeyedChance
) -> IntArray:
    """Draw the (records,) reported values exactly by the rows of the matrix."""
    own = chance.named("answer", response.feature)
    words = np.empty(len(true), dtype=np.uint64)
    rank = np.empty(len(true), dtype=np.int64)
    order = geoids.arg_sort().to_numpy()
    runs = geoids.gather(order).rle().struct.unnest()
    start = 0
    for geoid, many in runs.select("value", "len").iter_rows():
        places = np.sort(order[start : start + many])
        words[places], rank[places] = own.named(geoid).words(many), np.arange(many)
        start += many
    reported = np.empty(len(true), dtype=np.int64)
    for value, row in enumerate(response.matrix):
        mine = np.flatnonzero(true == value)

        def further(i: int, mine: IntArray = mine) -> Iterator[int]:
            return own.named(geoids[int(mine[i])]).further(int(rank[mine[i]]))

        reported[mine] = choose(words[mine], ends_of(row.tolist()), further)
    return reported


def estimate_true_counts(
    release: Release,
    reported: pl.DataFrame,
    responses: Sequence[Response],
    tables: Sequence[Table] | None = None,
    level: float = 95,
) -> pl.DataFrame:
    """Estimate true counts without bias from randomised records. Eq. (randomized).

    Args:
        responses: Responses by which they were randomised.
        tables: Tables to estimate; default all, each at its own levels.
        level: Coverage of intervals in percent, for each count by itself.

    Returns:
        Columns of `ESTIMATED`, for every geounit with records and every cell: the reported count,
        the estimate, which may be negative, its estimated standard deviation, an interval of the
        true count, and whether the interval comes from the count's exact law.
    """
    coded = encode(release, reported, ["the response"] * len(release.features))
    answers = np.stack([each for each in coded if each is not None], axis=1)
    kinds, kind = np.unique(answers, axis=0, return_inverse=True)
    units = reported[release.geoid_column]
    frames = [ESTIMATED.to_frame()]
    for place in release.geography.levels:
        chosen = [
            table
            for table in (release.tables if tables is None else tables)
            if place.name in table.levels
        ]
        if not chosen:
            continue
        places = place.enclosing(units)
        geoids = places.unique().sort()
        row = places.replace_strict(geoids, np.arange(len(geoids)), return_dtype=pl.Int64)
        at = (row.to_numpy(), kind.ravel())
        people = sparse.coo_array(
            (np.ones(len(units)), at), shape=(len(geoids), len(kinds))
        ).tocsr()
        geounits = _Geounits(place.name, geoids, people)
        frames += [
            _table_rows(release, geounits, kinds, table, responses, level=level) for table in chosen
        ]
    return pl.concat(frames)


@dataclass(frozen=True, eq=False)
class _Geounits:
    """The geounits of a level: their geoids, and (geounits × kinds) reported people."""

    level: str
    geoids: pl.Series
    people: sparse.csr_array


def _table_rows(
    release: Release,
    geounits: _Geounits,
    kinds: IntArray,
    table: Table,
    responses: Sequence[Response],
    *,
    level: float,
) -> pl.DataFrame:
    geoids, people = geounits.geoids, geounits.people
    plain = _weights(release, table, kinds, (), power=1)
    weight = _weights(release, table, kinds, responses, power=1)
    second = _weights(release, table, kinds, responses, power=2)
    sd = np.sqrt(np.maximum(people @ (weight**2 - second), 0))
    reported, estimate = np.rint(people @ plain).astype(np.int64), people @ weight
    low, high = normal_intervals(estimate, sd, level)
    exact = np.zeros(low.shape, dtype=bool)
    matrices = {release.feature_index[each.feature]: each.matrix for each in responses}
    for at, cell in enumerate(table.cells):
        answer = answer_of(release, cell, matrices)
        if answer is not None:
            asked = np.rint(people @ _fits(kinds, answer.others)).astype(np.int64)
            here, least, most = exact_intervals(answer, asked, reported[:, at], level)
            low[here, at], high[here, at], exact[here, at] = least, most, True
    width = len(table.cells)
    size = len(geoids) * width
    return pl.DataFrame(
        {
            "geoid": geoids.gather(np.repeat(np.arange(len(geoids)), width)),
            "level": pl.repeat(geounits.level, size, eager=True),
            "table": pl.repeat(table.name, size, eager=True),
            "cell": np.tile(np.arange(1, width + 1, dtype=np.int16), len(geoids)),
            "reported": reported.ravel(),
            "estimate": estimate.ravel(),
            "sd": sd.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "exact": exact.ravel(),
        }
    ).cast(ESTIMATED)


def _fits(kinds: IntArray, masks: Sequence[int]) -> FloatArray:
    """Return (kinds,) ones where a record's values have their bits set."""
    found = np.ones(len(kinds))
    for values, mask in zip(kinds.T, masks, strict=True):
        inside = np.zeros(int(values.max(initial=0)) + 1)
        within = [value for value in bits(mask) if value < len(inside)]
        inside[within] = 1
        found *= inside[values]
    return found


def _weights(
    release: Release,
    table: Table,
    kinds: IntArray,
    responses: Sequence[Response],
    *,
    power: int,
) -> FloatArray:
    """Return (kinds × cells): the contribution of a reported record to an estimate.

    Its expectation, given the true record, is the true contribution to a power. Without responses
    it is the contribution of the reported record.
    """
    inverse = {
        release.feature_index[each.feature]: np.linalg.inv(each.matrix) for each in responses
    }
    weights = np.ones((len(kinds), len(table.cells)))
    for f, feature in enumerate(release.features):
        picked = np.ones(len(feature.values))
        for mask, is_tallied in {(cell.masks[f], cell.tally == f) for cell in table.cells}:
            added = np.zeros(len(feature.values))
            if is_tallied:
                picked = np.array([float(int(value).bit_count()) for value in feature.values])
            inside = list(bits(mask))
            added[inside] = picked[inside] ** power if is_tallied else 1
            if f in inverse:
                added = inverse[f] @ added
            cells = [
                i
                for i, cell in enumerate(table.cells)
                if cell.masks[f] == mask and (cell.tally == f) == is_tallied
            ]
            weights[:, cells] *= added[kinds[:, f]][:, None]
    return weights
