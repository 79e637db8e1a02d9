"""Chance of a key and of names."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from recon_cli.capabilities.measurements.density import Density, discrete_gaussian, geometric
from recon_cli.capabilities.measurements.draws import draw_noise
from recon_cli.chance import Draws, KeyedChance, choose, ends_of, new_key, uniform
from recon_cli.statement.noise import Gaussian, Geometric, published

CHANCE = KeyedChance.for_study(7)


def _digits(digits: tuple[int, ...], _: int) -> Iterator[int]:
    return iter(digits)


def further(place: tuple[int, ...]) -> Iterator[int]:
    return CHANCE.further(*place)


def test_names_that_read_alike_together_are_kept_apart() -> None:
    names = [("a", "b", "c"), ("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c", ""), ()]
    words = [int(CHANCE.named(*each).words(1)[0]) for each in names]
    assert len(set(words)) == len(names)


def test_words_are_the_same_for_any_split_of_the_work() -> None:
    names = [f"unit {i}" for i in range(50)]
    whole = CHANCE.words_of_each(names, 9)
    backwards = CHANCE.words_of_each(reversed(names), 9)[::-1]
    assert (whole == backwards).all()
    assert (whole[3] == CHANCE.named("unit 3").words(9)).all()
    assert (whole[:, :4] == CHANCE.words_of_each(names, 4)).all()
    there: KeyedChance = pickle.loads(pickle.dumps(CHANCE))  # noqa: S301 - as workers get it
    assert (there.words(9) == CHANCE.words(9)).all()


def test_a_key_is_never_shown() -> None:
    key = new_key()
    chance = KeyedChance.of_key(key)
    assert key.hex() not in repr(chance)
    assert repr(key) not in repr(chance)
    with pytest.raises(ValueError, match="a key of 32 bytes is expected, found 3"):
        KeyedChance.of_key(b"abc")


@pytest.mark.parametrize(
    ("law", "density"),
    [
        (Gaussian(variance=Fraction("10.09")), discrete_gaussian(1 / 20.18)),
        (Gaussian(variance=Fraction("0.3")), discrete_gaussian(1 / 0.6)),
        (Geometric(epsilon=Fraction("0.4")), geometric(0.4)),
    ],
)
def test_a_million_keyed_draws_have_the_law_and_no_correlation(
    law: Gaussian | Geometric, density: Density
) -> None:
    one, other = (
        draw_noise(law, CHANCE.named(name).words(1_000_000), further) for name in ("one", "other")
    )
    expected = density.p * len(one)
    common = expected >= 20
    seen = np.bincount(one - density.low, minlength=len(density.p))[common]
    rest = np.array([len(one) - seen.sum(), max(len(one) - expected[common].sum(), 1e-9)])
    chi = float(((seen - expected[common]) ** 2 / expected[common]).sum())
    assert stats.chi2.sf(chi, common.sum() - 1) > 1e-4
    assert rest[0] <= rest[1] + 6 * rest[1] ** 0.5 + 6
    for shifted in (other, np.roll(one, 1), np.roll(other, 1)):
        assert abs(np.corrcoef(one, shifted)[0, 1]) < 0.005


def test_choices_are_exact_at_every_end() -> None:
    """Words on both sides of each end, and on it, where further words decide."""
    ends = [Fraction(1, 3), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3) + Fraction(1, 2**80)]
    near = [(end * 2**64).__floor__() + step for end in ends for step in (-1, 0, 1)]
    words = np.array(sorted({0, 2**64 - 1, *near}), dtype=np.uint64)
    for digits in itertools.product((0, 2**63, 2**64 - 1), repeat=2):
        chosen = choose(words, ends, partial(_digits, (*digits, 0, 0)))
        for word, index in zip(words.tolist(), chosen.tolist(), strict=True):
            low = Fraction(word, 2**64) + Fraction(digits[0], 2**128) + Fraction(digits[1], 2**192)
            assert index == sum(end <= low for end in ends)


def test_choices_have_their_probabilities() -> None:
    words = CHANCE.words(300_000)
    chosen = choose(words, [Fraction(1, 5), Fraction(1, 5), Fraction(9, 10)], CHANCE.further)
    assert np.bincount(chosen, minlength=4)[1] == 0
    seen = np.bincount(chosen, minlength=4)[[0, 2, 3]]
    assert stats.chisquare(seen, np.array([0.2, 0.7, 0.1]) * len(words)).pvalue > 1e-4
    assert stats.kstest(uniform(words), "uniform").pvalue > 1e-4
    assert (choose(words, [Fraction(1)], CHANCE.further) == 0).all()


def test_shares_are_exact() -> None:
    weights = [0.1, 0.0, 0.3, 1e-30, 0.25]
    exact = [Fraction(each) for each in weights]
    sums = list(itertools.accumulate(exact))
    assert ends_of(weights) == [each / sums[-1] for each in sums[:-1]]
    assert ends_of([1 / 3] * 3) == [Fraction(1, 3), Fraction(2, 3)]


def test_draws_of_many_kinds_are_those_of_each_and_equal_words_draw_alike() -> None:
    """A word on an end is decided by further words, which are its own."""
    kinds = np.arange(6000).reshape(60, 100) % 3
    words = CHANCE.words(100).copy()
    words[:3] = [2**64 // 3, 2 * (2**64 // 3), 2**64 - 1]
    ends = {0: [Fraction(1, 3)], 1: [Fraction(2, 3), Fraction(2, 3)], 2: []}
    chosen = Draws(words, CHANCE).choose(kinds, ends.__getitem__)
    for kind, of_kind in ends.items():
        assert (chosen[kinds == kind] <= len(of_kind)).all()
    for at, word in enumerate(words.tolist()):
        further = list(itertools.islice(CHANCE.further(word), 2))
        low = Fraction(word, 2**64) + Fraction(further[0], 2**128) + Fraction(further[1], 2**192)
        for kind, of_kind in ends.items():
            expected = sum(end <= low for end in of_kind)
            assert (chosen[:, at][kinds[:, at] == kind] == expected).all()
    assert Draws(words, CHANCE).at(np.array([2])).words.tolist() == [2**64 - 1]


@pytest.mark.parametrize("value", ["2/3", "10/9", "123456789/7", "1/7000000", "5/2"])
def test_published_parameters_spend_no_more_and_read_back(value: str) -> None:
    exact = Fraction(value)
    up, down = published(exact, least=True), published(exact, least=False)
    assert down <= exact <= up
    assert up - down <= max(Fraction(1, 10**12), exact / 10**14)
    for each in (up, down):
        assert Fraction(str(float(each))) == each
    law = Gaussian(variance=up)
    assert Gaussian.model_validate(law.model_dump(mode="json")) == law
