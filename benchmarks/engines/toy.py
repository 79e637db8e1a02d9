"""The people of the shipped toy county: ``python -m benchmarks.engines.toy OUT``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from fixtures.make_fixtures import toy


def main() -> None:
    """Generate them again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        toy(Path(work))[0].write_parquet(options.out)


if __name__ == "__main__":
    main()
