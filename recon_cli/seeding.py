"""Random numbers that depend on names, not on the order of draws.

Each part of a computation gets its own generator by name (a stage, a county, a purpose). The same
seed and names give the same numbers for any split of the work. Protections use `recon_cli.chance`
instead.
"""

from __future__ import annotations

import hashlib

import numpy as np


def digest_seed(seed: int, *names: str) -> int:
    """Derive a 64-bit seed for a named part.

    >>> digest_seed(1, "synth", "01073") == digest_seed(1, "synth", "01073")
    True
    >>> digest_seed(1, "ab", "c") == digest_seed(1, "a", "bc")
    False
    """
    text = "\x1f".join([str(seed), *names])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return a generator for a named part.

    >>> float(generator(1, "a").random()) == float(generator(1, "a").random())
    True
    """
    return np.random.default_rng(digest_seed(seed, *names))
