"""What overlapping areas cost: ``python -m benchmarks.areas``.

Slivers of some 10,000 units that municipalities cut grids of 100 m and 1 km into; and the audit of
every count of some 400 units, of four exact tables by ward and by square. People are made up, and
live in clusters, as people do.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

import recon_cli as recon
from recon_cli.attack.slivers import find_slivers
from recon_cli.schema import Membership, Release, parse_release

Points = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_HEAD = """
release: overlap
title: Made-up people
features:
  sex: {categories: [female, male]}
  age: {range: "0..5"}
  origin: {categories: [a, b, c]}
microdata: [sex, age, origin]
histogram: [sex, age, origin]
"""
GRIDS = f"""{_HEAD}
geography:
  unit: atom
  areas: [{{area: hectare, within: kilometre}}, {{area: kilometre}}, {{area: municipality}}]
families:
  - {{levels: [hectare, kilometre, municipality], cells: [total], tables: {{T1: {{}}}}}}
"""
ZONINGS = f"""{_HEAD}
geography:
  unit: atom
  areas: [{{area: ward}}, {{area: square}}]
families:
  - {{levels: [ward, square], cells: [total, {{by: sex}}], tables: {{T1: {{}}}}}}
  - {{levels: [ward, square], cells: [{{by: age}}], tables: {{T2: {{}}}}}}
  - {{levels: [ward, square], cells: [{{by: sex, cells: [{{by: age}}]}}], tables: {{T3: {{}}}}}}
  - {{levels: [ward, square], cells: [{{by: origin}}], tables: {{T4: {{}}}}}}
"""
#: Points of the map by which units without people are found, on a side.
_MAP = 500


def homes(rng: np.random.Generator, people: int) -> Points:
    """(people × 2) places in the unit square; three to a house, most houses in clusters."""
    houses = max(people // 3, 1)
    centres, sizes = rng.random((20, 2)), rng.dirichlet(np.full(20, 0.7))
    place = centres[rng.choice(20, houses, p=sizes)] + rng.normal(0, 0.08, (houses, 2))
    lonely = rng.random(houses) < 0.2
    place[lonely] = rng.random((int(lonely.sum()), 2))
    found: Points = np.clip(place, 0, 0.9999)[rng.integers(0, houses, people)]
    return found


def nearest(centres: Points) -> Callable[[Points], Codes]:
    """Areas around centres."""

    def of(points: Points) -> Codes:
        parts = np.array_split(points, 100)
        found = [((part[:, None] - centres[None]) ** 2).sum(2).argmin(1) for part in parts]
        return np.concatenate(found)

    return of


def grid(side: int) -> Callable[[Points], Codes]:
    """Squares, so many on a side."""

    def of(points: Points) -> Codes:
        cell = (points * side).astype(np.int64)
        return cell[:, 0] * side + cell[:, 1]

    return of


def world(
    schema: str, systems: Mapping[str, Callable[[Points], Codes]], people: int, seed: int
) -> tuple[Release, pl.DataFrame]:
    """A release with its units, and its people."""
    rng = np.random.default_rng(seed)
    place = homes(rng, people)
    axis = (np.arange(_MAP) + 0.5) / _MAP
    everywhere = np.concatenate([place, np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)])
    keys = np.stack([of(everywhere) for of in systems.values()], 1)
    units, of_point = np.unique(keys, axis=0, return_inverse=True)
    names = [f"x{number:05d}" for number in range(len(units))]
    codes = pl.DataFrame(
        {"atom": names}
        | {name: [f"{name[0]}{n}" for n in units[:, at]] for at, name in enumerate(systems)}
    )
    release = parse_release(schema, source="benchmark")
    values = {
        feature.name: pl.Series(feature.values).gather(rng.integers(0, len(feature.values), people))
        for feature in release.features
    }
    home = pl.Series(names).gather(of_point.ravel()[:people])
    bound = release.with_membership(Membership("lookup", codes, f"{seed}"))
    return bound, pl.DataFrame({"geoid_atom": home, **values})


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Both, and what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    seed = parser.parse_args().seed
    rng = np.random.default_rng(seed)
    systems = {
        "hectare": grid(88),
        "kilometre": grid(8),
        "municipality": nearest(rng.random((250, 2))),
    }
    release, people = world(GRIDS, systems, 40_000, seed)
    published = recon.publish(release, recon.tabulate(release, people))
    units = published.geounits.filter(level="atom").height
    started, clock = time.perf_counter(), time.process_time()
    slivers = find_slivers(release, published, 10)
    wall, cpu = time.perf_counter() - started, time.process_time() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(
        f"{units:,} units: {len(slivers):,} slivers of 1 to 9 people, {wall:.1f} s, "
        f"{cpu:.1f} CPU seconds, peak {peak:,.0f} MB with making the counts"
    )
    zonings = {"ward": nearest(rng.random((40, 2))), "square": grid(14)}
    release, people = world(ZONINGS, zonings, 4_000, seed)
    published = recon.publish(release, recon.tabulate(release, people))
    units = published.geounits.filter(level="atom").height
    started, clock = time.perf_counter(), time.process_time()
    audit = recon.audit_counts(release, published, ask=["atom"])
    wall, cpu = time.perf_counter() - started, time.process_time() - clock
    found = dict(audit["status"].value_counts().sort("status").iter_rows())
    _say(
        f"{units:,} units, four exact tables: {audit.height:,} counts asked, {found}, "
        f"{wall:.1f} s, {cpu:.1f} CPU seconds"
    )


if __name__ == "__main__":
    main()
