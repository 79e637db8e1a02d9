"""Array types by content, and the integers of ranges."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
#: Indices of atoms; see `recon_cli.model.grain.enumerate_domain`.
AtomArray = npt.NDArray[np.int16]
#: Words of 64 bits each.
WordArray = npt.NDArray[np.uint64]


def ranges(starts: npt.NDArray[np.integer], sizes: npt.NDArray[np.integer]) -> IntArray:
    """Concatenate the integers of several ranges.

    >>> ranges(np.array([10, 20]), np.array([2, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    first = starts - (np.cumsum(sizes) - sizes)
    listed: IntArray = np.arange(int(np.sum(sizes)), dtype=np.int64) + np.repeat(first, sizes)
    return listed


def numbered(numbers: IntArray, size: int) -> tuple[IntArray, int]:
    """Number the distinct integers of an array, in their order, and count them.

    Args:
        numbers: Not negative, and below ``size``.

    >>> numbered(np.array([7, 2, 7]), 10)
    (array([1, 0, 1]), 2)
    """
    if size > 4 * len(numbers):  # to sort them takes less memory than to look all numbers up
        distinct, found = np.unique(numbers, return_inverse=True)
        return found, len(distinct)
    is_there = np.zeros(size, dtype=bool)
    is_there[numbers] = True
    return (np.cumsum(is_there) - 1)[numbers], int(is_there.sum())
