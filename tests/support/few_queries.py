"""Printed tables about few sums: JASON's A-4 to A-7 and 6-3 (report JSR-19-2F).

Few exact sums that determine all bits are Lindström's, On a combinatorial problem in number theory
(1965): his matrix and its decoder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from recon_cli.arrays import IntArray


def lindstroem_bits(queries: int) -> int:
    """How many bits so many queries determine.

    >>> [lindstroem_bits(m) for m in (7, 8, 10, 11, 12)]
    [12, 13, 17, 20, 22]
    """
    return sum(a.bit_count() for a in range(1, queries + 1))


def lindstroem_queries(bits: int) -> int:
    """How many queries determine so many bits."""
    queries = 0
    while lindstroem_bits(queries) < bits:
        queries += 1
    return queries


def lindstroem_matrix(bits: int) -> IntArray:
    """(queries × bits) 0/1 matrix whose sums determine every choice of bits.

    Row x, from 1. The columns of a are 1 where x∧a is among the first 2^k subsets of a with an
    odd number of elements, k = 0, …, popcount(a) − 1.
    """
    queries = lindstroem_queries(bits)
    x = np.arange(1, queries + 1)
    columns = [
        np.isin(x & a, odd[: 1 << k])
        for a in range(1, queries + 1)
        for odd in [_odd_subsets(a)]
        for k in range(a.bit_count())
    ]
    return np.array(columns[:bits], dtype=np.int64).T.reshape(queries, -1)


def lindstroem_decode(answers: IntArray, bits: int) -> IntArray:
    """The bits that have these sums, in polynomial time.

    Sums over subsets of a, signed by their size, hold no bit of an a' that does not hold a; of a
    itself they are Σ 2^k bit_k. So bits follow from the largest a to the smallest.
    """
    matrix = lindstroem_matrix(bits)
    rest = np.asarray(answers, dtype=np.int64).copy()
    found = np.zeros(bits, dtype=np.int64)
    first = np.cumsum([0, *(a.bit_count() for a in range(1, len(answers) + 1))])
    for a in range(len(answers), 0, -1):
        subsets = np.array(list(_subsets(a)), dtype=np.int64)
        signs = np.where(_popcount(subsets) % 2, 1, -1)
        value = int(signs @ rest[subsets - 1])
        columns = range(int(first[a - 1]), min(int(first[a]), bits))
        for k, column in enumerate(columns):
            found[column] = value >> k & 1
        rest -= matrix[:, columns] @ found[columns]
    if rest.any():
        raise ValueError("no bits have these sums")
    return found


def _odd_subsets(a: int) -> list[int]:
    return sorted(x for x in _subsets(a) if x.bit_count() % 2)


def _subsets(a: int) -> Iterator[int]:
    """All subsets but the empty one."""
    x = a
    while x:
        yield x
        x = (x - 1) & a


def _popcount(values: IntArray) -> IntArray:
    return np.array([int(value).bit_count() for value in values], dtype=np.int64)


def sums_of_three_bits() -> dict[tuple[int, int], int]:
    """Tables A-4 and A-5: (b1 + b2, b2 + b3) → of how many of the eight choices."""
    found: dict[tuple[int, int], int] = {}
    for b1, b2, b3 in product((0, 1), repeat=3):
        sums = b1 + b2, b2 + b3
        found[sums] = found.get(sums, 0) + 1
    return found


def pair_entropy(one: tuple[int, ...], other: tuple[int, ...], bits: int = 3) -> float:
    """Entropy of two sums of fair bits, given by the places that they add."""
    counts: dict[tuple[int, int], int] = {}
    for choice in product((0, 1), repeat=bits):
        sums = sum(choice[at] for at in one), sum(choice[at] for at in other)
        counts[sums] = counts.get(sums, 0) + 1
    p = np.array(list(counts.values())) / 2**bits
    return float(-(p @ np.log2(p)))


def gaussian_entropy(bits: int) -> float:
    """½log₂(πen/2), what the entropy of a sum of fair bits tends to; −∞ of no bit: Table A-6."""
    return -math.inf if bits == 0 else 0.5 * math.log2(math.pi * math.e * bits / 2)


def cell_budget(total: float, levels: int, share: float) -> tuple[float, float]:
    """ε of a query and the scale of its Laplace noise, as in Table 6-3.

    Args:
        total: ε of the release.
        levels: Among which it is divided evenly.
        share: Of the query in its level; sensitivity 2, for neighbours that replace a person.
    """
    epsilon = total / levels * share
    return epsilon, 2 / epsilon
