"""Noise from OpenDP, for use beyond study: its random source cannot be repeated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.errors import ConfigError
from recon_cli.statement.noise import Gaussian, Geometric


def opendp_noise(law: Gaussian | Geometric, shape: tuple[int, ...]) -> IntArray:
    """Draw integer noise with OpenDP.

    Args:
        law: Whose noise.
        shape: How much.

    Raises:
        ConfigError: OpenDP is not installed.
    """
    measurement = opendp_measurement(law)
    return np.array(measurement([0] * math.prod(shape)), dtype=np.int64).reshape(shape)


def opendp_measurement(law: Gaussian | Geometric) -> Any:
    """The noise of a list of counts in OpenDP; its ``map`` says what a sensitivity spends.

    Raises:
        ConfigError: OpenDP is not installed.
    """
    try:
        import opendp.prelude as dp  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigError(
            "noise.source: opendp is not installed (pip install 'recon-cli[dp]')"
        ) from error
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(law, Gaussian):
        scale = math.sqrt(law.variance)
        return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    return dp.m.make_geometric(domain, dp.l1_distance(T="i64"), scale=float(1 / law.epsilon))
