"""Bayesian disclosure risk of counts with zCDP noise, without any reconstruction.

An adversary knows everybody in a geounit but the target, so knows the number k of others in a
histogram cell; the question is whether the true count is k + 1 (the target is *in*) or k (*out*).
All functions take noisy counts less k (``d``), so that k drops out (docs/risk.md).

Source: Kazan & Reiter, on Bayesian disclosure risk of the 2020 Census's noisy counts.

>>> import recon_cli as recon
>>> risk = recon.risk.expected(0.0992, 1 / 2)
>>> f"{risk.posterior:.4f}, ratio {risk.ratio:.2f}"
'0.5237, ratio 1.05'
"""

from recon_cli.capabilities.risk.expectation import (
    ExpectedRisk,
    expected,
    expected_known_siblings,
    expected_two_level,
)
from recon_cli.capabilities.risk.log_odds import (
    MeasuredLevel,
    chain_log_odds,
    compose,
    log_odds,
    posterior,
    unique_log_odds,
)
from recon_cli.capabilities.risk.postprocessing import postprocessed, projection
from recon_cli.capabilities.risk.siblings import each_sibling_evidence
from recon_cli.capabilities.risk.two_levels import Flat, Poisson, TwoLevels, Uniform, two_level

__all__ = [
    "ExpectedRisk",
    "Flat",
    "MeasuredLevel",
    "Poisson",
    "TwoLevels",
    "Uniform",
    "chain_log_odds",
    "compose",
    "each_sibling_evidence",
    "expected",
    "expected_known_siblings",
    "expected_two_level",
    "log_odds",
    "posterior",
    "postprocessed",
    "projection",
    "two_level",
    "unique_log_odds",
]
