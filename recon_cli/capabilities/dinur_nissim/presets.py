"""The published experiments, by the number of their figure in JASON's report (JSR-19-2F)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.capabilities.dinur_nissim.closed_form import sum_accuracy
from recon_cli.capabilities.dinur_nissim.subset_sums import (
    AnswerNoise,
    Decoder,
    Design,
    attack,
    check_design,
    describe,
    results_frame,
)
from recon_cli.seeding import generator

_EXACT = (AnswerNoise("none"),)
_EPSILONS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0)
#: Figure 5-6.
ONE_SUM_BITS = (100, 200, 500, 1000, 2000, 5000)
ONE_SUM_EPSILONS = (
    *(0.001, 0.005),
    *(round(0.01 * k, 2) for k in range(1, 21)),
    *(round(0.1 * k, 1) for k in range(3, 11)),
)


@dataclass(frozen=True)
class Setting:
    """A number of queries about a number of bits.

    Attributes:
        noises: Kinds of noise of the answers, which are tried in order.
    """

    bits: int
    queries: int
    noises: tuple[AnswerNoise, ...]


@dataclass(frozen=True)
class Experiment:
    """Settings to try.

    Attributes:
        trials: Published number of trials.

    Raises:
        ValueError: See `subset_sums.check_design`.
    """

    title: str
    settings: tuple[Setting, ...]
    trials: int
    decoder: Decoder = "least-squares"
    design: Design = "random"

    def __post_init__(self) -> None:
        for setting in self.settings:
            check_design(self.design, setting.bits, setting.queries)


def _figure_4_1() -> Experiment:
    settings = tuple(Setting(1000, m, _EXACT) for m in range(50, 701, 50))
    return Experiment("Figure 4-1: 1,000 bits, exact answers", settings, 100)


def _threshold(title: str) -> Experiment:
    """Try m around n/2, the threshold of uniqueness; the study tries all m up to n."""
    settings = tuple(
        Setting(n, round(n / 2 + step * math.sqrt(n)), _EXACT)
        for n in range(100, 1001, 100)
        for step in (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0)
    )
    return Experiment(title, settings, 100)


def _figure_4_4() -> Experiment:
    """Use √n·ln(n)/2 as standard deviation, as in the listing, and as variance, as in the text."""
    settings = []
    for n in (10, 40, 100):
        size = math.sqrt(n) * math.log(n) / 2
        for sd in (size, math.sqrt(size)):
            last = n / 2 + (4 * sd * 1.65) ** 2
            settings += [
                Setting(n, round(m), (AnswerNoise("gaussian", sd),))
                for m in np.geomspace(n, last, 8)
            ]
    return Experiment("Figure 4-4: normal noise of √n·ln(n)/2", tuple(settings), 100)


def _figure_5_7() -> Experiment:
    noises = tuple(AnswerNoise("laplace", epsilon) for epsilon in _EPSILONS)
    settings = tuple(Setting(4000, 4000 * times, noises) for times in (1, 5, 10, 20))
    return Experiment("Figure 5-7: 4,000 bits, Laplace noise of ε an answer", settings, 10)


#: Figure → its experiment; 5-6 is `one_sum`.
FIGURES: Mapping[str, Experiment] = {
    "4-1": _figure_4_1(),
    "4-2": _threshold("Figure 4-2: where exact answers give all bits"),
    "4-3": _threshold("Figure 4-3: the same in queries a bit"),
    "4-4": _figure_4_4(),
    "5-7": _figure_5_7(),
}


def run_experiment(experiment: Experiment, trials: int, seed: int) -> Iterator[pl.DataFrame]:
    """Yield the results of each setting; see `subset_sums.describe`."""
    for setting in experiment.settings:
        shares = attack(
            setting.bits,
            setting.queries,
            setting.noises,
            decoder=experiment.decoder,
            design=experiment.design,
            trials=trials,
            seed=seed,
        )
        yield results_frame(
            [
                describe(
                    setting.bits,
                    setting.queries,
                    noise,
                    found,
                    experiment.decoder,
                    design=experiment.design,
                )
                for noise, found in zip(setting.noises, shares, strict=True)
            ]
        )


def one_sum(trials: int, seed: int, bits: Sequence[int] = ONE_SUM_BITS) -> pl.DataFrame:
    """Simulate Figure 5-6: accuracy of one sum of fair bits with rounded Laplace noise.

    Returns:
        ``bits``, ``epsilon``, ``mean`` of 1 − |S̃ − S|/S over trials with S above 0, its standard
        ``error``, and ``closed_form``.
    """
    rows = []
    for n in bits:
        for epsilon in ONE_SUM_EPSILONS:
            rng = generator(seed, "one sum", str(n), str(epsilon))
            sums = rng.binomial(n, 0.5, trials)
            noise = np.round(rng.laplace(scale=1 / epsilon, size=trials))
            right = 1 - np.abs(noise[sums > 0]) / sums[sums > 0]
            error = float(right.std() / math.sqrt(len(right)))
            rows.append((n, epsilon, float(right.mean()), error, sum_accuracy(n, epsilon)))
    names = ["bits", "epsilon", "mean", "error", "closed_form"]
    return pl.DataFrame(rows, schema=names, orient="row")
