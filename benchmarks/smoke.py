"""The benchmarks in small, for their answers and not their times: ``python -m benchmarks.smoke``.

A nation of a few thousand people goes through every command; its records must reproduce every
published count, what is called proven must be true, and HiGHS and CP-SAT on the study's own
formulation of the smallest tract must agree with us. Fails on a wrong answer only.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.growth import grow
from benchmarks.machine import module
from benchmarks.nation import Nation
from benchmarks.peer.__main__ import face

PEOPLE = 3_000
PEOPLE_PER_TRACT = 120
#: Generous: an engine that takes so long is not wrong.
CAP = 600


def main() -> None:
    """Run everything once.

    Raises:
        SystemExit: A command failed, or an answer is wrong.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        nation = Nation(folder, PEOPLE, workers=2, people_per_tract=PEOPLE_PER_TRACT)
        grow(nation)
        nation.run("verify")
        module("truth", nation.work, folder / "truth.json")
        truth = json.loads((folder / "truth.json").read_text())
        face(nation.work, truth["smallest_tract"], {"highs": 1, "cpsat": 1}, CAP)
    sys.stdout.write(f"no wrong answer: {truth['checked']}\n")


if __name__ == "__main__":
    main()
