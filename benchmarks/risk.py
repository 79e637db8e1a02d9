"""Cells scored in a second, on one core: ``python -m benchmarks.risk``.

Simulates noisy block and block group counts with the published budgets, and times the log-odds and
the posterior of every cell, with one level and with two.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from recon_cli.capabilities.measurements.density import discrete_gaussian
from recon_cli.capabilities.risk.log_odds import log_odds, posterior
from recon_cli.capabilities.risk.two_levels import TwoLevels, two_level

BLOCK = 2.56 * 165 / 4099 * 3945 / 4097
GROUP = 2.56 * 1256 / 4099 * 1288 / 4099


def main() -> None:
    """Print seconds for each kind of adversary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000_000)
    cells = parser.parse_args().cells
    rng, levels = np.random.default_rng(1), TwoLevels(BLOCK, GROUP, 27)
    siblings = rng.geometric(0.1, cells) - 1
    d1 = 1 + discrete_gaussian(levels.rho1).draw(rng, cells)
    d2 = 1 + siblings + discrete_gaussian(levels.rho2).draw(rng, cells)
    s = siblings + discrete_gaussian(levels.rho_s).draw(rng, cells)
    started = time.process_time()
    mean = posterior(log_odds(d1, levels.rho1, 1 / 2)).mean()
    one = time.process_time()
    print(f"one level: {cells:,} cells in {one - started:.2f} s, mean posterior {mean:.4f}")  # noqa: T201
    mean = posterior(two_level(d1, d2, s, levels, 1 / 2)).mean()
    two = time.process_time() - one
    print(f"two levels: {cells:,} cells in {two:.2f} s, mean posterior {mean:.4f}")  # noqa: T201


if __name__ == "__main__":
    main()
