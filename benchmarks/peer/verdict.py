"""The verifier's word on each answer: ``python -m benchmarks.peer.verdict WORK TRACT ANSWER…``.

The last answer is ours; where all its blocks are proven unique, the others must have the same
histogram.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import polars as pl

from benchmarks.peer.tract import RELEASE, read_tract
from recon_cli.schema import Release, load_release
from recon_cli.verify import verify


def main() -> None:
    """Verify every answer; leave a wrong one's first mismatches on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("tract")
    parser.add_argument("out", type=Path)
    parser.add_argument("answers", type=Path, nargs="+")
    options = parser.parse_args()
    release = load_release(RELEASE)
    published = read_tract(options.work, release, options.tract)
    answers = [pl.read_parquet(path) for path in options.answers]
    words = {}
    for path, records in zip(options.answers, answers, strict=True):
        found = verify(release, published, records, release.tables)
        found.require()
        words[path.stem] = {
            "people": records.height,
            "cells_equal": found.cells_compared,
            "histogram_as_ours": histogram(release, records).equals(
                histogram(release, answers[-1])
            ),
        }
    options.out.write_text(json.dumps(words, indent=1) + "\n")


def histogram(release: Release, records: pl.DataFrame) -> pl.DataFrame:
    """People by unit and histogram cell, in order."""
    groups = [release.column_groups(name) for name in release.histogram]
    keys = []
    for name, group in zip(release.histogram, groups, strict=True):
        feature = release.features[release.feature_index[group.feature]]
        label = {
            value: label
            for label, mask in zip(group.labels, group.masks, strict=True)
            for at, value in enumerate(feature.values)
            if mask >> at & 1
        }
        keys.append(pl.col(feature.name).replace_strict(label).alias(name))
    return (
        records.select(release.geoid_column, *keys)
        .group_by(pl.all())
        .len("people")
        .sort(pl.all())
    )


if __name__ == "__main__":
    sys.exit(main())
