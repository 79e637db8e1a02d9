"""One very mixed tract: ``python -m benchmarks.mixed OUT --people N --blocks N --largest N``.

Every person's sex, single year of age, races and ethnicity are drawn by themselves, alike in all
blocks: no two households resemble each other, so that published zeros rule out little.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

#: Race (bits: White 1, Black 2, AIAN 4, Asian 8, NHPI 16, other 32) → its share.
MIXED = {1: 40, 2: 20, 8: 15, 32: 12, 4: 3, 16: 1, 33: 3, 3: 2, 9: 2, 34: 1, 5: 1}
HISPANIC = 0.2
OLDEST = 89
_TRACT = "99001000100"
_BLOCKS_IN_GROUP = 1000


def main() -> None:
    """Draw the people, and write them as records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--largest", type=int, default=0, help="people of the first block")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-races", action="store_true", help="63 races instead of 11")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sizes = block_sizes(rng, options.people, options.blocks, options.largest)
    geoids = [
        f"{_TRACT}{1 + at // _BLOCKS_IN_GROUP}{at % _BLOCKS_IN_GROUP:03d}"
        for at in range(len(sizes))
    ]
    people = int(sizes.sum())
    races = dict.fromkeys(range(1, 64), 1) if options.all_races else MIXED
    shares = np.array(list(races.values())) / sum(races.values())
    pl.DataFrame(
        {
            "geoid_block": np.repeat(geoids, sizes),
            "sex": np.where(rng.random(people) < 0.5, "male", "female"),
            "age": rng.integers(0, OLDEST + 1, people),
            "race": rng.choice(list(races), people, p=shares),
            "hispanic": rng.random(people) < HISPANIC,
        }
    ).write_parquet(options.out)


def block_sizes(
    rng: np.random.Generator, people: int, blocks: int, largest: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Nobody's block is empty; the first has ``largest`` people, the rest share the others."""
    rest = blocks - 1 if largest else blocks
    shared = 1 + rng.multinomial(people - largest - rest, np.full(rest, 1 / rest))
    return np.concatenate([[largest] if largest else [], shared]).astype(np.int64)


if __name__ == "__main__":
    main()
