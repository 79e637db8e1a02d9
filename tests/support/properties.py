"""Property tests: seeds, and how many examples of tiny releases.

The suite tries the same examples every time, so that it passes or fails by the code alone.
``RECON_EXAMPLES=5000 python -m pytest tests/capabilities`` tries that many, other ones each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32 - 1)


def examples(usual: int, most: int = 1_000_000) -> settings:
    """So many examples, or as many as ``RECON_EXAMPLES`` asks for, without a deadline."""
    return settings(
        max_examples=min(int(os.environ.get("RECON_EXAMPLES", usual)), most),
        deadline=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )


def amount(usual: int, searched: int) -> int:
    """Return one number in the suite, another in ``make search``."""
    return searched if "RECON_EXAMPLES" in os.environ else usual


def draws(usual: int, searched: int) -> range:
    """Return seeds of drawn inputs: the first of them in the suite, all in ``make search``."""
    return range(amount(usual, searched))
