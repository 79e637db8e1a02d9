"""Noisy measurements against the records made of them: ``python -m benchmarks.noisy_attack``.

The redistricting data of nine real tracts are measured once. Top-down makes records of the
measurements; an attacker fits all levels together. Both know the same noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse, stats

from benchmarks.topdown import RELEASE, optimised_groups, read_records
from recon_cli.arrays import FloatArray
from recon_cli.capabilities.measurements.domain import Domain, Histogram, add_up, merge
from recon_cli.capabilities.measurements.draws import cells_of, measurement_noise
from recon_cli.capabilities.measurements.hierarchy import Hierarchy, build_hierarchy
from recon_cli.capabilities.measurements.joint_fit import fit_people
from recon_cli.capabilities.measurements.measurements import LevelMeasurements, Measurements
from recon_cli.capabilities.measurements.strategy import Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.topdown.topdown import Product, estimate
from recon_cli.chance import KeyedChance
from recon_cli.markdown import markdown_table

LEVELS = ("tract", "block_group", "block")


def measure(
    strategy: Strategy,
    domain: Domain,
    hierarchy: Hierarchy,
    truth: Sequence[Histogram],
    chance: KeyedChance,
) -> Measurements:
    """All measurements of a strategy, of all cells."""
    levels, cells = [], np.arange(domain.size)
    for depth, level in enumerate(hierarchy.levels):
        geoids = hierarchy.geoids[depth]
        histograms = merge(truth, hierarchy.place(depth), len(geoids))
        true = np.stack([each.at(cells) for each in histograms], axis=1)
        operators, noisy, weights = [], [], []
        for each in strategy.at(level):
            groups, size = domain.groups(each.query, cells), each.query.size
            operator = sparse.csr_array((np.ones(len(cells)), (groups, cells)), (size, len(cells)))
            own = chance.named(strategy.name, level)
            noise = measurement_noise(own, each, geoids, cells_of(each.query))
            operators.append(operator)
            noisy.append(operator @ true + noise.T)
            weights.append(np.full(size, 1 / each.variance))
        stacked = sparse.csr_array(sparse.vstack(operators, format="csr"))
        levels.append(
            LevelMeasurements((), stacked, np.concatenate(noisy), np.concatenate(weights))
        )
    return Measurements(domain, hierarchy, tuple(levels))


def shared(truth: Sequence[Histogram], made: Sequence[Histogram]) -> int:
    """People whose block and histogram cell somebody of ``made`` has, one for one."""
    return sum(
        int(np.minimum(one.people, other.at(one.cells)).sum())
        for one, other in zip(truth, made, strict=True)
    )


def compare(records: pl.DataFrame, seed: int, *, optimised: bool) -> dict[str, int]:
    """People whose block, voting age, race and ethnicity are right: top-down and joint fit."""
    strategy = load_strategy("pl94_2020", RELEASE, ("group_quarters",))
    domain = Domain.of(RELEASE, strategy)
    units = records["geoid_block"]
    named = optimised_groups(units) if optimised else None
    hierarchy = build_hierarchy(RELEASE, LEVELS, units, named)
    geoids = hierarchy.geoids[-1]
    place = units.replace_strict(geoids, np.arange(len(geoids))).cast(pl.Int64).to_numpy()
    ones = np.ones(len(records), dtype=np.int64)
    truth = add_up(place, domain.cells(records), ones, len(geoids))
    chance = KeyedChance.for_study(seed)
    released = estimate(Product(domain, strategy, chance), hierarchy, truth)
    measured = measure(strategy, domain, hierarchy, truth, chance)
    fitted = fit_people(measured)
    attacked = [
        Histogram(fitted.cells[column > 0], column[column > 0]) for column in fitted.people.T
    ]
    return {"top-down": shared(truth, released), "joint": shared(truth, attacked)}


def rows(seeds: int, *, optimised: bool) -> list[list[str]]:
    """A row for each tract, and their sum."""
    records = read_records("published_records.parquet", "nhopi")
    records = records.with_columns(tract=pl.col("geoid_block").str.head(11))
    found, right = [], np.zeros((2, seeds))
    for (tract,), part in sorted(records.group_by("tract")):
        here = np.array(
            [
                list(compare(part, seed, optimised=optimised).values())
                for seed in range(1, seeds + 1)
            ]
        ).T
        right += here
        found.append(_row(str(tract), 100 * here / len(part)))
    return [*found, _row("all", 100 * right / len(records))]


def _row(name: str, shares: FloatArray) -> list[str]:
    """Means over seeds, and Student's interval of the paired difference."""
    means = [f"{share:.1f}" for share in shares.mean(axis=1)]
    differences = shares[1] - shares[0]
    if len(differences) < 2:
        return [name, *means, f"{differences.mean():+.1f}"]
    reach = stats.sem(differences) * stats.t.ppf(0.975, len(differences) - 1)
    low, high = differences.mean() - reach, differences.mean() + reach
    return [name, *means, f"{differences.mean():+.1f} ({low:+.1f} to {high:+.1f})"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tabulation-groups", action="store_true")
    parser.add_argument("--page", type=Path, help="default: only printed")
    options = parser.parse_args()
    header = ["tract", "top-down", "joint fit", "difference (95%)"]
    table = markdown_table(header, rows(options.seeds, optimised=not options.tabulation_groups), 1)
    print(table)  # noqa: T201 - what was asked for
    if options.page is not None:
        options.page.write_text(table)


if __name__ == "__main__":
    main()
