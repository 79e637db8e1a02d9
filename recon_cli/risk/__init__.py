"""Bayesian disclosure risk of counts with zCDP noise, without any reconstruction.

An adversary knows everybody in a geounit but the target, so knows the number k of others in a
histogram cell; the question is whether the true count is k + 1 (the target is *in*) or k (*out*).
All functions take noisy counts less k (``d``), so that k drops out (docs/risk.md).

Source: Kazan & Reiter, on Bayesian disclosure risk of the 2020 Census's noisy counts.
"""
