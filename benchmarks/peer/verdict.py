"""The verifier's word on each answer: ``python -m benchmarks.peer.verdict WORK TRACT ANSWER…``.

The last answer is ours; where all its blocks are proven unique, the others must have the same
histogram.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from benchmarks.histogram import histogram
from benchmarks.peer.tract import RELEASE, read_tract
from recon_cli.schema import load_release
from recon_cli.verification import verify


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
    ours = histogram(release, answers[-1])
    words = {}
    for path, records in zip(options.answers, answers, strict=True):
        found = verify(release, published, records, release.tables)
        found.require()
        words[path.stem] = {
            "people": records.height,
            "cells_equal": found.cells_compared,
            "histogram_as_ours": histogram(release, records).equals(ours),
        }
    options.out.write_text(json.dumps(words, indent=1) + "\n")


if __name__ == "__main__":
    main()
