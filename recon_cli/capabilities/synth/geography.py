"""The plan of a nation: its blocks, their nesting and their populations.

The plan is made once, in one place, from the seed and the size alone. Everything else is drawn
county by county. Block populations have the published distribution, exactly at any size of nation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtri

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.synth.origins import block_diversity, tract_mixes
from recon_cli.capabilities.synth.parameters import GeographyParameters, Nation
from recon_cli.schema.states import STATES
from recon_cli.seeding import generator

#: Real county codes end at 840: no geoid of a synthetic population is a real place.
FIRST_COUNTY = 841
LAST_COUNTY = 999
_TERRITORIES = {"72"}
_BLOCKS_IN_GROUP = 1000


def block_sizes(geography: GeographyParameters, people: int, rng: np.random.Generator) -> IntArray:
    """Draw populations of inhabited blocks, largest first, that sum to ``people``.

    The sizes are quantiles of the published distribution, evenly spaced, so that the share of every
    class is exact up to one block; rounding differences are spread over blocks that stay in their
    class.
    """
    count = max(1, round(people / geography.people_per_block))
    cumulative = np.cumsum(_probabilities(geography))
    at = (np.arange(count)[::-1] + 0.5) / count
    sizes = np.searchsorted(cumulative, at) + 1
    return _settle(geography, sizes.astype(np.int64), people, rng)


def class_of(geography: GeographyParameters, sizes: npt.NDArray[np.integer]) -> IntArray:
    """Return the position of each size's class in the published tables."""
    return np.searchsorted(np.array(geography.lower), sizes, side="right") - 1


@cache
def _probabilities(geography: GeographyParameters) -> FloatArray:
    """Return the probability of each block size from 1 up: published means by class, else flat."""
    total = np.zeros(geography.upper[-1])
    for low, high, blocks, mean in zip(
        geography.lower, geography.upper, geography.blocks, geography.mean_sizes, strict=True
    ):
        sizes = np.arange(low, high + 1)
        total[low - 1 : high] = blocks * _exponential(sizes, float(mean))
    return np.asarray(total / total.sum(), np.float64)


def _exponential(sizes: IntArray, mean: float) -> FloatArray:
    """Return the maximum-entropy distribution over ``sizes`` with a given mean."""

    def weights(rate: float) -> FloatArray:
        raw = np.exp(-rate * (sizes - sizes[0]) / (sizes[-1] - sizes[0]))
        return np.asarray(raw / raw.sum(), np.float64)

    rate = brentq(lambda rate: float(weights(rate) @ sizes) - mean, -200.0, 200.0)
    return weights(float(rate))


def _settle(
    geography: GeographyParameters, sizes: IntArray, people: int, rng: np.random.Generator
) -> IntArray:
    """Change sizes by one, as often as needed, until they sum to ``people``."""
    low, high = np.array(geography.lower), np.array(geography.upper)
    while (missing := people - int(sizes.sum())) != 0:
        step = 1 if missing > 0 else -1
        kind = class_of(geography, sizes)
        room = (sizes + step >= low[kind]) & (sizes + step <= high[kind])
        if not room.any():  # a handful of blocks cannot all stay in their class
            room = sizes + step >= 1
        movable = np.flatnonzero(room)
        chosen = rng.choice(movable, min(abs(missing), len(movable)), replace=False)
        sizes[chosen] += step
    return np.sort(sizes)[::-1]


@dataclass(frozen=True)
class County:
    """One county of the plan, with all that is needed to populate it.

    Attributes:
        geoid: Five digits.
        first_person: Number of people in the counties before it.
        tract: For each block, inhabited or not, the number of its tract in the county.
        block: For each block its four-digit code; the first digit is the block group.
        population: For each block its people.
        density: For each tract, how densely built it is, in standard deviations.
        mixes: For each tract (row) the shares of the origins (columns) among householders.
        diversity: For each block the share of householders not of its most frequent origin.
    """

    geoid: str
    first_person: int
    tract: IntArray
    block: IntArray
    population: IntArray
    density: FloatArray
    mixes: FloatArray
    diversity: FloatArray

    @property
    def people(self) -> int:
        return int(self.population.sum())


def plan_nation(nation: Nation, people: int, seed: int) -> tuple[County, ...]:
    """Plan a nation of ``people``.

    Args:
        people: Exact number of people.
        seed: Same seed, same nation.

    Returns:
        Counties by geoid.
    """
    geography = nation.geography
    rng = generator(seed, "synth", "plan")
    sizes = block_sizes(geography, people, rng)
    tract, density = _tracts(nation, sizes, rng)
    tract_people = np.bincount(tract, sizes, len(density)).astype(np.float64)
    mixes = tract_mixes(nation.origins, tract_people, density, rng)
    diversity = block_diversity(nation, sizes=sizes, tract=tract, mixes=mixes, rng=rng)
    tract, sizes, diversity = _with_uninhabited(geography.uninhabited, tract, sizes, diversity, rng)
    county = _counties(nation, tract_people, density, rng)
    geoids = county_geoids(int(county.max()) + 1, geography.counties_per_state)
    made, first = [], 0
    for number, geoid in enumerate(geoids):
        members = np.flatnonzero(county == number)
        place = np.full(len(density), -1)
        place[members] = np.arange(len(members))
        rows = np.flatnonzero(place[tract] >= 0)
        rows = rows[np.argsort(place[tract[rows]], kind="stable")]
        local = place[tract[rows]]
        codes = _block_codes(geography.block_groups, local, len(members), rng)
        made.append(
            County(
                geoid,
                first,
                local,
                codes,
                sizes[rows],
                density[members],
                mixes[members],
                diversity[rows],
            )
        )
        first += made[-1].people
    return tuple(made)


def county_geoids(count: int, counties_per_state: int) -> list[str]:
    """List geoids of ``count`` synthetic counties in real states, in order.

    >>> county_geoids(3, 2)
    ['01841', '01842', '02841']
    """
    states = [code for code in sorted(STATES) if code not in _TERRITORIES]
    used = min(len(states), -(-count // counties_per_state))
    shares = [len(part) for part in np.array_split(np.arange(count), used)]
    return [
        f"{state}{FIRST_COUNTY + number:03d}"
        for state, share in zip(states, shares, strict=False)
        for number in range(share)
    ]


def _tracts(
    nation: Nation, sizes: IntArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return the tract of each block, and its density; a tract's blocks have similar sizes."""
    geography = nation.geography
    count = max(1, round(float(sizes.sum()) / geography.people_per_tract))
    rank = _scores(len(sizes))[::-1]  # sizes fall
    signal = geography.size_signal
    drawn = signal * rank + np.sqrt(1 - signal**2) * rng.standard_normal(len(sizes))
    order = np.argsort(drawn, kind="stable")
    tract = np.empty(len(sizes), np.int64)
    tract[order] = _cut(sizes[order], count, geography.spread_of_tracts, rng)
    count = int(tract.max()) + 1
    return tract, _scores(count)


def _counties(
    nation: Nation, people: FloatArray, density: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Assign each tract to a county; dense tracts tend to be in the same counties."""
    geography = nation.geography
    count = max(1, round(float(people.sum()) / geography.people_per_county))
    signal = geography.urban_signal
    drawn = signal * density + np.sqrt(1 - signal**2) * rng.standard_normal(len(density))
    order = np.argsort(drawn, kind="stable")
    county = np.empty(len(people), np.int64)
    county[order] = _cut(people[order], count, geography.spread_of_counties, rng)
    return rng.permutation(int(county.max()) + 1)[county]


def _cut(
    weights: FloatArray | IntArray, count: int, spread: float, rng: np.random.Generator
) -> IntArray:
    """Number at most ``count`` runs of about lognormal total weight, none empty."""
    shares = np.cumsum(rng.lognormal(0.0, spread, count))
    ends = shares / shares[-1] * float(np.sum(weights))
    middle = np.cumsum(weights) - np.asarray(weights) / 2
    runs = np.searchsorted(ends, middle)
    return np.unique(np.minimum(runs, count - 1), return_inverse=True)[1].astype(np.int64)


def _scores(count: int) -> FloatArray:
    """Return sorted normal scores."""
    return np.asarray(ndtri((np.arange(count) + 0.5) / count), np.float64)


def _with_uninhabited(
    share: float, tract: IntArray, sizes: IntArray, diversity: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, FloatArray]:
    """Add blocks without people, to tracts in proportion to their blocks."""
    count = round(len(sizes) * share / (1 - share))
    tract = np.concatenate([tract, tract[rng.integers(0, len(tract), count)]])
    order = rng.permutation(len(tract))
    sizes = np.concatenate([sizes, np.zeros(count, np.int64)])[order]
    return tract[order], sizes, np.concatenate([diversity, np.zeros(count)])[order]


def _block_codes(
    groups: tuple[int, ...], tract: IntArray, tracts: int, rng: np.random.Generator
) -> IntArray:
    """Return codes 1000, 1001, … of the blocks of each tract, which come tract by tract."""
    blocks = np.bincount(tract, minlength=tracts)
    wanted = rng.choice(np.array(groups), tracts)
    wanted = np.clip(wanted, -(-blocks // _BLOCKS_IN_GROUP), np.minimum(9, blocks))
    within = np.arange(len(tract)) - (np.cumsum(blocks) - blocks)[tract]
    size = -(-blocks // wanted)
    codes: IntArray = (1 + within // size[tract]) * _BLOCKS_IN_GROUP + within % size[tract]
    return codes
