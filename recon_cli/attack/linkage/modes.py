"""The most frequent gained value of every origin: counted by partition, then of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from recon_cli.attack.linkage.baselines import most_frequent
from recon_cli.attack.linkage.key_encoding import KeyEncoder
from recon_cli.attack.linkage.published_margins import PublishedMargins
from recon_cli.attack.linkage.specification import TABLES, LinkageSpecification

#: Origin → packed gained value → people who have it.
GainCounts = Mapping[str, Mapping[int, int]]


def count_gains(
    spec: LinkageSpecification,
    records: Mapping[str, pl.DataFrame],
    margins: PublishedMargins | None,
) -> GainCounts:
    """Count one partition's gained values in every origin that is guessed from.

    Args:
        spec: What is linked with what.
        records: Origin → its records.
        margins: For guessers from published tables.

    Raises:
        SourceError: A column is missing, or holds a value that the schema does not know.
    """
    encoder = KeyEncoder(spec.release, spec.keys, pl.Series([], dtype=pl.String))
    counts = {}
    for origin in spec.guessed_from:
        if origin != TABLES:
            counts[origin] = encoder.gain_counts(records[origin], origin)
        elif margins is not None:
            gains = margins.gains
            counts[origin] = encoder.gain_counts(gains, origin, gains["n"])
    return counts


def with_modes(spec: LinkageSpecification, counts: Iterable[GainCounts]) -> LinkageSpecification:
    """The specification with the modes over all partitions."""
    totals: dict[str, Counter[int]] = {}
    for partition in counts:
        for origin, values in partition.items():
            totals.setdefault(origin, Counter()).update(values)
    modes = {origin: most_frequent(values) for origin, values in totals.items()}
    return replace(spec, modes=modes)
