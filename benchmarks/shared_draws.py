"""Draws of a sweep: what share of its words two values of a budget's scale have in common.

    python -m benchmarks.shared_draws CONFIG --scales 1 4

CONFIG has a section `topdown` with a `study_seed`, and its records.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.capabilities.measurements.draws import measurement_noise
from recon_cli.capabilities.measurements.strategy import Measurement
from recon_cli.capabilities.topdown import topdown
from recon_cli.chance import KeyedChance
from recon_cli.cli import main as recon

#: What words are drawn for: strategy and level, query, cells, geounit; to how many there are.
Drawn = dict[tuple[bytes, str, bytes, str], int]


def drawn_words(config: Path, scale: str) -> Drawn:
    """What one run of top-down draws."""
    found: Drawn = {}

    def noted(
        chance: KeyedChance, each: Measurement, geoids: Sequence[str] | pl.Series, cells: IntArray
    ) -> IntArray:
        for geoid in geoids:
            found[chance.state, each.query.name, cells.tobytes(), geoid] = len(cells)
        return measurement_noise(chance, each, geoids, cells)

    words = ["protect", "topdown", "-q", "--force", "-c", str(config), "--workers", "1"]
    with mock.patch.object(topdown, "measurement_noise", noted):
        recon([*words, "--set", f"topdown.scale={scale}"], standalone_mode=False)
    return found


def main() -> None:
    """Print the share."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    options.add_argument("config", type=Path)
    options.add_argument("--scales", nargs=2, default=["1", "4"])
    given = options.parse_args()
    one, other = (drawn_words(given.config, scale) for scale in given.scales)
    shared = sum(one[name] for name in one.keys() & other.keys())
    sys.stdout.write(f"{100 * shared / sum(one.values()):.1f}% of {sum(one.values()):,} words\n")


if __name__ == "__main__":
    main()
