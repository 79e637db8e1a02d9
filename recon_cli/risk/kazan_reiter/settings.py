"""Budgets and priors of the study."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from recon_cli.noise.budget import exact
from recon_cli.risk.two_levels import TwoLevels

#: Share of the level and of its detailed query in the 2020 redistricting data's ρ of 2.56.
SHARES: Final = {
    "US": ("104/4099", "189/241"),
    "state": ("1440/4099", "230/4097"),
    "county": ("447/4099", "754/4097"),
    "tract": ("687/4099", "241/2051"),
    "block group": ("1256/4099", "1288/4099"),
    "block": ("165/4099", "3945/4097"),
}
PRIORS: Final = ("1/2", "1/5", "1/10", "1/50", "1/864")
#: Other blocks of the block group.
SIBLINGS: Final = 27


def rho_of(level: str) -> float:
    """ρ of the detailed query of a level, from exact fractions."""
    share, query = SHARES[level]
    return float(Fraction("2.56") * exact(share) * exact(query))


def block_in_group(rho2: float | None = None) -> TwoLevels:
    """Budgets of a block and its block group, or of another one above."""
    above = rho_of("block group") if rho2 is None else rho2
    return TwoLevels(rho_of("block"), above, SIBLINGS)
