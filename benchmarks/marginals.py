"""Errors of fits where blocks measure marginals alone: ``python -m benchmarks.marginals``.

Nine real tracts: a tract measures all combinations of voting age, race and ethnicity, its blocks
each by itself. An error is half the sum of all differences, per person (total variation).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.noisy_attack import measure
from benchmarks.topdown import RELEASE, read_records
from recon_cli.arrays import FloatArray
from recon_cli.capabilities.measurements.domain import Domain, add_up
from recon_cli.capabilities.measurements.hierarchy import build_hierarchy
from recon_cli.capabilities.measurements.joint_fit import fit_people
from recon_cli.capabilities.measurements.measurements import Measurements, chain
from recon_cli.capabilities.measurements.strategy import Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.chance import KeyedChance
from recon_cli.markdown import markdown_table

LEVELS = ("tract", "block")
STRATEGY = """
strategy: marginals
rho: {rho}
recodes: {{voting_age: {{of: age, edges: [0, 18]}}}}
queries:
  total: []
  race: [race]
  hispanic: [hispanic]
  voting_age: [voting_age]
  detailed: [voting_age, hispanic, race]
levels:
  tract: {{share: 1/2, queries: {{total: 1/4, detailed: 3/4}}}}
  block: {{share: 1/2, queries: {{total: 1/4, race: 1/4, hispanic: 1/4, voting_age: 1/4}}}}
"""


def load(rho: str) -> Strategy:
    """The strategy with a budget."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "marginals.yaml"
        path.write_text(STRATEGY.format(rho=rho))
        return load_strategy(str(path), RELEASE)


def measured(
    records: pl.DataFrame, strategy: Strategy, levels: tuple[str, ...], seed: int
) -> tuple[Measurements, FloatArray]:
    """Measurements of the records, and their true (cells × units) histograms."""
    domain = Domain.of(RELEASE, strategy)
    hierarchy = build_hierarchy(RELEASE, levels, records["geoid_block"])
    geoids = hierarchy.geoids[-1]
    place = records["geoid_block"].replace_strict(geoids, np.arange(len(geoids)))
    ones = np.ones(len(records), dtype=np.int64)
    truth = add_up(place.cast(pl.Int64).to_numpy(), domain.cells(records), ones, len(geoids))
    found = measure(strategy, domain, hierarchy, truth, KeyedChance.for_study(seed))
    return found, np.stack([each.at(np.arange(domain.size)) for each in truth], axis=1)


def errors(measurements: Measurements, truth: FloatArray, made: FloatArray) -> FloatArray:
    """Total variation in people: by level from above, and of what blocks measure by itself."""
    gap = made - truth
    levels = [np.abs(gap @ place).sum() for place in chain(measurements.hierarchy)]
    own = np.abs(measurements.levels[-1].operator[1:] @ gap).sum() / 3  # three, beside the total
    return np.array([*levels, own, np.abs(gap.sum(axis=0)).sum()]) / 2


def fitted(measurements: Measurements) -> FloatArray:
    """Whole people of the fit of `recon reconstruct`, (cells × units)."""
    likely = fit_people(measurements)
    made = np.zeros((measurements.domain.size, likely.people.shape[1]))
    made[likely.cells] = likely.people
    return made


def rows(seeds: int, budgets: list[str]) -> list[list[str]]:
    """A row for each budget: means over seeds."""
    records = read_records("published_records.parquet", "nhopi")
    records = records.with_columns(tract=pl.col("geoid_block").str.head(11))
    parts = records.partition_by("tract")
    found = []
    for rho in budgets:
        strategy, began, total = load(rho), time.process_time(), np.zeros(len(LEVELS) + 2)
        for part in parts:
            for seed in range(1, seeds + 1):
                measurements, truth = measured(part, strategy, LEVELS, seed)
                total += errors(measurements, truth, fitted(measurements))
        shares = total / len(records) / seeds
        seconds = (time.process_time() - began) / seeds
        found.append([rho, *[f"{share:.3f}" for share in shares], f"{seconds:.0f}"])
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rho", nargs="+", default=["1", "1/16"])
    options = parser.parse_args()
    header = ["rho", *LEVELS, "block's marginals", "block's people", "CPU s"]
    print(markdown_table(header, rows(options.seeds, options.rho), 1))  # noqa: T201 - asked for


if __name__ == "__main__":
    main()
