"""Texts as numbers, so that equal ones are compared and counted at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import IntArray


def coded(texts: NDArray[Any]) -> tuple[list[str], IntArray]:
    """Return the distinct texts of an array in order of appearance, and the number of each cell's.

    A hash is several times faster than sorting texts of one width.

    Example:
        >>> names, numbers = coded(np.array([["b", "a"], ["a", "b"]], dtype=object))
        >>> names, numbers.tolist()
        (['b', 'a'], [[0, 1], [1, 0]])
    """
    known: dict[str, int] = {}
    flat = [known.setdefault(str(text), len(known)) for text in texts.ravel().tolist()]
    return list(known), np.array(flat, dtype=np.int64).reshape(texts.shape)
