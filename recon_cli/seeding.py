"""Random numbers that depend on names, never on who draws first.

Every part of a computation that needs chance asks for a generator of its own by name (a stage,
a county, a purpose). The same seed and names give the same numbers for any split of the work.
Protections draw from `recon_cli.chance`.
"""

from __future__ import annotations

import hashlib

import numpy as np


def digest_seed(seed: int, *names: str) -> int:
    """A 64-bit seed for a named part.

    >>> digest_seed(1, "synth", "01073") == digest_seed(1, "synth", "01073")
    True
    >>> digest_seed(1, "ab", "c") == digest_seed(1, "a", "bc")
    False
    """
    text = "\x1f".join([str(seed), *names])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator for a named part.

    >>> float(generator(1, "a").random()) == float(generator(1, "a").random())
    True
    """
    return np.random.default_rng(digest_seed(seed, *names))
