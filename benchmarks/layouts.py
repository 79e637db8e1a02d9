"""Workbooks of made-up offices in layouts drawn at random: is what `recon init` reads the truth?

``python -m benchmarks.layouts --workbooks 200 --seed 1`` counts what came of them. It fails where
one is silently wrong: a count in another place or cell, lost, or a schema that forbids the truth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from tests.support.office_layouts import judge, write_office

_VERDICTS: Final = {
    "right": "right: every count in its place and cell",
    "looser": "right, in a schema that allows more than the layout says",
    "said": "right, but for columns that were left out and named",
    "question": "one question",
    "refused": "refused, with the row or the key",
    "WRONG": "silently wrong",
}


def main() -> int:
    """Write and read the workbooks; 1 if one was read wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workbooks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    clean: Counter[str] = Counter()
    damaged: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.workbooks):
            path = Path(folder) / "office.xlsx"
            truth = write_office(path, seed)
            found = judge(path, truth)
            (damaged if truth.slip else clean)[found.verdict] += 1
            if found.verdict == "WRONG":
                sys.stdout.write(f"seed {seed}: {found.about}\n")
    sys.stdout.write(f"{'':58}as made  with a slip\n")
    for verdict, words in _VERDICTS.items():
        sys.stdout.write(f"{words:58}{clean[verdict]:7}{damaged[verdict]:13}\n")
    return int(clean["WRONG"] + damaged["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main())
