"""Origins of people: mixes in tracts and blocks, and the races that people report.

The householder's origin is drawn by place. Partners mostly share it, children report the races of
their parents, of whom one may live elsewhere, a few members answer otherwise, lodgers come from the
block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaincinv, ndtri

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.capabilities.synth.households import CountyHouseholds, Role
from recon_cli.capabilities.synth.parameters import Nation, Origins

#: Rounds of raking; the totals agree to about a millionth after a few dozen.
_ROUNDS = 60
#: Rounds for the blocks of a county: enough to take away most of what chance did.
_FEW_ROUNDS = 4
#: Most that one round may scale by.
_STEP = 2.0
_TINY = 1e-12
#: Blocks of like size that share out the quantiles of diversity.
_BUCKET = 8
_MOST_DIVERSE = 0.8
#: Share of other origins that a uniform block takes from its tract.
_RESERVE = 0.02


def tract_mixes(
    origins: Origins,
    people: FloatArray,
    density: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw shares of origins among the householders of each tract (rows sum to 1).

    Dense tracts are more mixed, tracts differ strongly, and together they have the nation's shares
    exactly.
    """
    base = np.array(origins.fitted) / sum(origins.fitted)
    tilted = base * np.exp(np.outer(density, origins.urban))
    tilted /= tilted.sum(1, keepdims=True)
    place = np.linspace(0, 1, len(origins.tract))
    rank = (np.argsort(np.argsort(density)) + 0.5) / len(density)
    concentration = np.interp(rank, place, origins.tract)
    return rake(vary(origins, tilted, concentration, rng), base, people)


def rake(
    mixes: FloatArray, shares: FloatArray, weights: FloatArray | IntArray, rounds: int = _ROUNDS
) -> FloatArray:
    """Scale columns and rows until the weighted mean of the rows is nearly ``shares``.

    Args:
        mixes: Rows that sum to 1.
        shares: Target of their mean.
        rounds: Number of iterations; few change rows little.
    """
    weights = weights / weights.sum()
    mixes = mixes + _TINY
    for _ in range(rounds):
        mixes = mixes * np.clip(shares / (weights @ mixes), 1 / _STEP, _STEP)
        mixes = mixes / mixes.sum(1, keepdims=True)
    return mixes


def vary(
    origins: Origins, around: FloatArray, concentration: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw shares of origins in places that vary around given ones.

    A Dirichlet draw with two exceptions. Some origins are spread more evenly than others; and
    Hispanic people of all races live in the same places: their share is drawn first, the races
    within it, which differ less from place to place, second.

    Args:
        around: For each place (row) the expected shares.
        concentration: For each place the concentration: the greater, the smaller the variation.
    """
    whole = around.sum(axis=1, keepdims=True)
    hispanic = origins.is_hispanic
    among = around[:, hispanic].sum(axis=1, keepdims=True)
    shares = np.hstack([around[:, ~hispanic], among]) / whole
    even = np.array(origins.even)
    drawn = _gamma(concentration[:, None] * even * shares, rng) / even
    within = _gamma(
        concentration[:, None] * origins.together * around[:, hispanic] / (among + _TINY), rng
    )
    mixes = np.empty_like(around)
    mixes[:, ~hispanic] = drawn[:, :-1]
    mixes[:, hispanic] = drawn[:, -1:] * within / within.sum(axis=1, keepdims=True)
    return np.asarray(mixes / mixes.sum(axis=1, keepdims=True), np.float64)


def _gamma(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.standard_gamma(np.maximum(shape, 1e-4)) + 1e-300, np.float64)


def block_diversity(
    nation: Nation,
    *,
    sizes: IntArray,
    tract: IntArray,
    mixes: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw the target diversity of each block; see `Origins.diversity`.

    Blocks of similar size share the quantiles of its distribution, so that even a small nation has
    the right mean in every class of size; those of diverse tracts get the higher ones.

    Args:
        sizes: Populations of inhabited blocks, largest first.
        mixes: For each tract the shares of origins.
    """
    origins, geography = nation.origins, nation.geography
    variety = 1 - mixes.max(axis=1)
    score = ndtri((np.argsort(np.argsort(variety)) + 0.5) / len(variety))
    common = origins.diversity_tract
    latent = np.sqrt(common) * score[tract]
    latent += np.sqrt(1 - common) * rng.standard_normal(len(tract))
    bucket = np.arange(len(sizes)) // _BUCKET
    order = np.lexsort((latent, bucket))
    place = np.empty(len(sizes))
    full = np.bincount(bucket)
    jitter = rng.random(len(sizes))
    place[order] = (np.arange(len(sizes)) % _BUCKET + jitter) / full[bucket]
    single = geography.at_size(origins.one_origin, sizes)
    mean = geography.at_size(origins.diversity, sizes)
    evenness = geography.at_size(origins.diversity_evenness, sizes)
    quantile = np.clip((place - single) / (1 - single), 0, 1)
    drawn = betaincinv(mean * evenness, (1 - mean) * evenness, quantile)
    return np.where(place < single, 0.0, np.minimum(drawn, _MOST_DIVERSE))


def block_mixes(
    nation: Nation,
    *,
    mixes: FloatArray,
    tract: IntArray,
    population: IntArray,
    diversity: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw shares of origins among the householders of each block.

    The shares vary around the tract's; the most frequent origin then gets the share that the
    block's diversity leaves.
    """
    concentration = np.exp(
        nation.geography.at_size(tuple(np.log(nation.origins.block)), population)
    )
    local = mixes[tract]
    drawn = vary(nation.origins, local, concentration, rng)
    mixed = _with_diversity(drawn, local, diversity)
    if not len(mixed):
        return mixed
    target = np.average(local, axis=0, weights=population)
    return _with_diversity(rake(mixed, target, population, _FEW_ROUNDS), local, diversity)


def _with_diversity(mixes: FloatArray, local: FloatArray, diversity: FloatArray) -> FloatArray:
    """Set the share of the most frequent origin of each row by its diversity."""
    rows = np.arange(len(mixes))
    mode = mixes.argmax(axis=1)
    others = mixes + _RESERVE * local + _TINY
    others[rows, mode] = 0.0
    scaled: FloatArray = others * (diversity / others.sum(axis=1))[:, None]
    scaled[rows, mode] = 1 - diversity
    return scaled


def draw(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one column for each row, with the row's shares as probabilities."""
    cumulative = np.cumsum(shares, axis=1)
    at = rng.random(len(shares)) * cumulative[:, -1]
    column = (cumulative < at[:, None]).sum(1)
    return np.asarray(np.minimum(column, shares.shape[1] - 1), np.int64)


@dataclass(frozen=True)
class Answers:
    """Race bits and ethnicity, as reported on the form."""

    race: IntArray
    hispanic: BoolArray

    def at(self, rows: IntArray) -> Answers:
        return Answers(self.race[rows], self.hispanic[rows])

    def put(self, mask: BoolArray, other: Answers) -> Answers:
        """Insert ``other`` at the positions of ``mask``, in order."""
        race, hispanic = self.race.copy(), self.hispanic.copy()
        race[mask], hispanic[mask] = other.race, other.hispanic
        return Answers(race, hispanic)

    def where(self, mask: BoolArray, other: Answers) -> Answers:
        """Choose ``other`` where ``mask`` holds, else these answers."""
        return Answers(
            np.where(mask, other.race, self.race), np.where(mask, other.hispanic, self.hispanic)
        )


@dataclass(frozen=True)
class AnswerModel:
    """Draws answers on race and ethnicity for people of known origins."""

    origins: Origins

    @cached_property
    def _single(self) -> dict[str, int]:
        names = ("white", "black", "aian", "asian", "nhpi", "other")
        return {name: 1 << bit for bit, name in enumerate(names)}

    def answer(self, origin: IntArray, rng: np.random.Generator) -> Answers:
        """Draw the answers of one person of each given origin."""
        names = self.origins.names
        race = np.zeros(len(origin), np.int64)
        for number, name in enumerate(names):
            rows = np.flatnonzero(origin == number)
            plain = name.removeprefix("hispanic_")
            if plain in self._single:
                race[rows] = self._single[plain]
            else:
                table = self.origins.several if name == "several" else self.origins.hispanic_rest
                weights = np.array(list(table.values()))
                race[rows] = rng.choice(np.array(list(table)), len(rows), p=weights / weights.sum())
        hispanic = np.array([name.startswith("hispanic_") for name in names])
        return Answers(race, hispanic[origin])

    def answer_differently(
        self, origin: IntArray, answers: Answers, local: FloatArray, rng: np.random.Generator
    ) -> Answers:
        """Let some members of a household answer otherwise than the rest.

        Hispanic people choose another race, others report a further one.

        Args:
            origin: Origin of the person's household.
            local: Shares of origins where the person lives.
        """
        rare = rng.random(len(origin)) < np.array(self.origins.dissent)[origin]
        rows = np.flatnonzero(rare)
        race = answers.race.copy()
        hispanic = answers.hispanic[rows]
        names = self.origins.names
        kinds = np.array([name.startswith("hispanic_") for name in names])
        shares = np.where(kinds[None, :], local[rows] + 0.01, 0.0)
        other = self.answer(draw(shares, rng), rng).race
        weights = np.array(self.origins.further)
        further = race[rows] | (1 << rng.choice(len(weights), len(rows), p=weights / weights.sum()))
        race[rows] = np.where(hispanic, other, further)
        return Answers(race, answers.hispanic)


@dataclass(frozen=True)
class HouseholdAnswers:
    """The inputs of the answers of a county's households.

    Attributes:
        blocks: For each block the shares of origins.
        tracts: For each block the shares of origins in its tract.
    """

    origins: Origins
    homes: CountyHouseholds
    blocks: FloatArray
    tracts: FloatArray

    def answer(self, rng: np.random.Generator) -> Answers:
        """Draw race and ethnicity of every member."""
        homes, answer_model = self.homes, AnswerModel(self.origins)
        local = self.blocks[homes.block]
        origin = draw(local, rng)
        head = answer_model.answer(origin, rng)
        mate = self._mates(origin, head, rng)
        person, role = homes.household, homes.role
        own, other = head.at(person), mate.at(person)
        answers = own.where((role == Role.SPOUSE) | (role == Role.PARTNER), other)
        young = (role == Role.CHILD) | (role == Role.GRANDCHILD)
        answers = answers.where(young, self._children(own, other, rng))
        otherwise = answer_model.answer_differently(origin[person], answers, local[person], rng)
        answers = answers.where(role != Role.HOUSEHOLDER, otherwise)
        lodger = (role == Role.NONRELATIVE) & (rng.random(len(person)) < self.origins.stranger)
        return answers.put(lodger, answer_model.answer(draw(local[person[lodger]], rng), rng))

    def _mates(self, origin: IntArray, head: Answers, rng: np.random.Generator) -> Answers:
        """Draw the answers of each householder's partner, real or hypothetical: mostly the same."""
        married, unmarried = self.origins.mixed
        rate = np.where(self.homes.second(Role.SPOUSE), married, unmarried)
        mixed = rng.random(self.homes.count) < rate
        anew = draw(self.tracts[self.homes.block], rng)
        return head.where(
            mixed, AnswerModel(self.origins).answer(np.where(mixed, anew, origin), rng)
        )

    def _children(self, one: Answers, two: Answers, rng: np.random.Generator) -> Answers:
        """Draw children's answers: the races of both parents or of one, alike in a household."""
        both, which, ethnicity = rng.random((3, self.homes.count))[:, self.homes.household]
        single = np.where(which < 0.5, one.race, two.race)
        race = np.where(both < self.origins.both, one.race | two.race, single)
        mixed = one.hispanic != two.hispanic
        hispanic = np.where(mixed, ethnicity < self.origins.child_hispanic, one.hispanic)
        return Answers(race, hispanic)
