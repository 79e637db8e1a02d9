"""The study's tables that follow from budgets and equations; cells are text, rounded as printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import polars as pl

from recon_cli.noise.density import discrete_gaussian
from recon_cli.risk.expectation import expected
from recon_cli.risk.kazan_reiter.settings import PRIORS, SHARES, block_in_group, rho_of
from recon_cli.risk.one_level import log_odds, posterior
from recon_cli.risk.published_sampler import published_log_odds, published_upper_law
from recon_cli.risk.two_levels import two_level

#: Noisy counts of Tables 7 and 8: the block's, the block group's, the siblings' together.
_NOISY: Final = (2, 1, -1)


def _budgets() -> pl.DataFrame:
    rows = [(name, *SHARES[name], f"{rho_of(name):.4f}") for name in SHARES]
    return _frame(["level", "share of ρ", "share of the level", "ρ"], rows)


def _one_level() -> pl.DataFrame:
    rho, rows = rho_of("block"), []
    noise = discrete_gaussian(rho)
    for count in range(1, 6):
        q = [float(posterior(log_odds(count, rho, float(Fraction(p))))) for p in PRIORS]
        ratios = [f"{each / float(Fraction(p)):.2f}" for each, p in zip(q, PRIORS, strict=True)]
        masses = [f"{float(noise.p[each - noise.low]):.3f}" for each in (count, count - 1)]
        rows.append((str(count), *masses, *(f"{each:.3f}" for each in q[:4]), *ratios))
    masses = ["P(count), target out", "target in"]
    return _frame(["count", *masses, *PRIORS[:4], *(f"ratio {p}" for p in PRIORS)], rows)


def _expectations() -> pl.DataFrame:
    risks = [expected(rho_of("block"), float(Fraction(p))) for p in PRIORS]
    rows = [
        (p, f"{risk.posterior:.4f}", f"{risk.ratio:.2f}")
        for p, risk in zip(PRIORS, risks, strict=True)
    ]
    return _frame(["prior", "expected posterior", "expected ratio"], rows)


def _target() -> pl.DataFrame:
    levels = block_in_group()
    d1, d2, s = (np.asarray(each) for each in _NOISY)
    adversaries = {
        "one level": log_odds(d1, levels.rho1, 1 / 2),
        "two levels, as published": published_log_odds(d1, d2, s, levels, 1 / 2),
        "two levels, exact": two_level(d1, d2, s, levels, 1 / 2),
    }
    rows = [
        (name, f"{float(posterior(odds)):.4f}", f"{2 * float(posterior(odds)):.3f}")
        for name, odds in adversaries.items()
    ]
    return _frame(["adversary", "posterior", "ratio"], rows)


def _upper_law() -> pl.DataFrame:
    levels, (d1, d2, s) = block_in_group(), _NOISY
    _, sampler = published_upper_law(d1, d2, s, levels, 1 / 2)
    counts = np.arange(len(sampler))
    joint = np.zeros(len(sampler))
    for c in (0, 1):
        siblings = counts - c
        weight = levels.rho1 * (d1 - c) ** 2 + levels.rho2 * (d2 - counts) ** 2
        joint += np.exp(-weight - levels.rho_s * (s - siblings) ** 2) * (siblings >= 0)
    exact_law = joint / joint.sum()
    rows = [(str(n), f"{100 * sampler[n]:.2f}", f"{100 * exact_law[n]:.2f}") for n in range(8)]
    return _frame(["count above", "as published, %", "exact, %"], rows)


def _frame(header: Sequence[str], rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")


#: Number → the table.
TABLES: Mapping[str, Callable[[], pl.DataFrame]] = {
    "2": _budgets,
    "4": _one_level,
    "5": _expectations,
    "7": _target,
    "8": _upper_law,
}
