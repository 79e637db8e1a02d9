"""What overlapping areas cost: ``python -m benchmarks.areas``.

Slivers of some 10,000 units that municipalities cut grids of 100 m and 1 km into; the audit of
every count of some 400 units, of four exact tables by ward and by square; and of what is withheld
where these are suppressed, which is fewer counts. People are made up, and live in clusters, as
people do.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import polars as pl

import recon_cli as recon
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.capabilities.slivers.question import find_slivers
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
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
    """Squares, this many on a side."""

    def of(points: Points) -> Codes:
        cell = (points * side).astype(np.int64)
        return cell[:, 0] * side + cell[:, 1]

    return of


def world(
    schema: str, systems: Mapping[str, Callable[[Points], Codes]], people: int, seed: int
) -> tuple[Release, pl.DataFrame]:
    """Return a release with its units, and its people."""
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


def slivers_of_grids(seed: int) -> None:
    """Every sliver of two nested grids and municipalities."""
    rng = np.random.default_rng(seed)
    systems = {
        "hectare": grid(88),
        "kilometre": grid(8),
        "municipality": nearest(rng.random((250, 2))),
    }
    release, people = world(GRIDS, systems, 40_000, seed)
    published = recon.publish(release, recon.tabulate(release, people))
    units = published.geounits.filter(level="atom").height
    with measured() as took:
        slivers = find_slivers(release, published, 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(
        f"{units:,} units: {len(slivers):,} slivers of 1 to 9 people, {took()}, "
        f"peak {peak:,.0f} MB with making the counts"
    )


def zonings(seed: int) -> tuple[Release, pl.DataFrame]:
    """Two zonings and their people."""
    centres = np.random.default_rng(seed).random((290, 2))[250:]
    return world(ZONINGS, {"ward": nearest(centres), "square": grid(14)}, 4_000, seed)


def exact_zonings(seed: int) -> None:
    """Every count of every unit of two zonings with exact tables."""
    release, people = zonings(seed)
    published = recon.publish(release, recon.tabulate(release, people))
    with measured() as took:
        audit = recon.audit_counts(release, published, ask=("atom",))
    units = published.geounits.filter(level="atom").height
    _say(f"{units:,} units, four exact tables: {_found(audit)}, {took()}")


def suppressed_zonings(seed: int) -> None:
    """Return the withheld counts of two zonings that are suppressed together.

    Raises:
        AssertionError: A count that was withheld for its own sake is recovered, or an interval
            leaves a true count out.
    """
    release, people = zonings(seed)
    truth = count_records(release, people)
    options = SuppressionOptions(PrimaryRules(3), effort=60.0)
    with measured() as took:
        protected = suppress_counts(release, truth, options)
    primary = protected.filter("primary")
    withheld = protected["count"].null_count()
    _say(f"{primary.height:,} counts below 3, with others {withheld:,} withheld: {took()}")
    law = suppression_protection(options.rules)
    published = recon.publish(release, tidy_counts(truth, protected), protection=law)
    with measured() as took:
        audit = recon.audit_counts(release, published)
    _say(f"four suppressed tables: {_found(audit)}, {took()}")
    key = ["geoid", "table", "cell"]
    if (audit.join(primary, on=key, how="semi")["status"] == "recovered").any():
        raise AssertionError("a count that was withheld for its own sake is recovered")
    true = audit.join(protected.select(*key, "true"), on=key)
    if ((true["true"] < true["least"]) | (true["true"] > true["greatest"])).any():
        raise AssertionError("a true count is outside its interval")


def _found(audit: pl.DataFrame) -> str:
    statuses = dict(audit["status"].value_counts().sort("status").iter_rows())
    return f"{audit.height:,} counts asked, {statuses}"


@contextmanager
def measured() -> Iterator[Callable[[], str]]:
    """Tell what to ask for how long the block took, after it."""
    started, clock = time.perf_counter(), time.process_time()
    found: list[str] = []
    yield lambda: found[0]
    wall, cpu = time.perf_counter() - started, time.process_time() - clock
    found.append(f"{wall:.1f} s, {cpu:.1f} CPU seconds")


_PARTS = {"grids": slivers_of_grids, "exact": exact_zonings, "suppressed": suppressed_zonings}


def main() -> None:
    """Return all parts, or some, and what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(_PARTS)}; default all")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    for part in given.parts or _PARTS:
        _PARTS[part](given.seed)


if __name__ == "__main__":
    main()
