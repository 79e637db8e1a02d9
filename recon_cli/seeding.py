"""Random numbers that depend on names, never on who draws first.

Every part of a computation that needs chance asks for a generator of its own by name (a stage,
a county, a purpose). The same seed and names give the same numbers for any split of the work.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]


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


def scramble(bits: Bits) -> Bits:
    """SplitMix64's finaliser: neighbouring numbers become unrelated ones."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
