"""Keyed chance: the random numbers of protections, determined by a key and names.

Words are the output of SHAKE-256 of the key and the names of their purpose, each name preceded by
its length. So they look random to anybody without the key, do not depend on other draws, and are
the same for any split of the work and after a kill.

Source: FIPS 202, SHA-3 Standard.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray, IntArray, WordArray

KEY_BYTES: Final = 32
WORD: Final = 64


@dataclass(frozen=True)
class KeyedChance:
    """Uniform words determined by a key and some names.

    Attributes:
        state: The key, then the names, each preceded by its length.
    """

    state: bytes = field(repr=False)

    @classmethod
    def of_key(cls, key: bytes) -> KeyedChance:
        """Use a key, which must stay secret as long as the protection is to hold.

        Raises:
            ValueError: The key does not have `KEY_BYTES` bytes.
        """
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {KEY_BYTES} bytes is expected, found {len(key)}")
        return cls(key)

    @classmethod
    def secret(cls) -> KeyedChance:
        """Use a key from the operating system that is not kept."""
        return cls.of_key(new_key())

    @classmethod
    def for_study(cls, seed: int) -> KeyedChance:
        """Use a key derived from a seed: anybody who guesses the seed can undo the protection.

        >>> KeyedChance.for_study(1).words(1) == KeyedChance.for_study(1).words(1)
        array([ True])
        """
        return cls.of_key(hashlib.blake2b(f"study {seed}".encode(), digest_size=KEY_BYTES).digest())

    def named(self, *names: str | bytes) -> KeyedChance:
        """Add names.

        >>> one = KeyedChance.for_study(1)
        >>> one.named("ab", "c").words(1) == one.named("a", "bc").words(1)
        array([False])
        """
        texts = [each.encode() if isinstance(each, str) else each for each in names]
        return KeyedChance(self.state + b"".join(len(t).to_bytes(8, "big") + t for t in texts))

    def words(self, count: int) -> WordArray:
        """Return (count,) uniform words; the first ones do not depend on the count."""
        return _words(hashlib.shake_256(self.state).digest(8 * count))

    def further(self, *place: int) -> Iterator[int]:
        """Yield further words without end, to refine the word at a position."""
        own = self.named("further", *(str(each) for each in place))
        number = 0
        while True:
            yield int(own.named(str(number)).words(1)[0])
            number += 1

    def words_of_each(self, names: Iterable[str], count: int = 1) -> WordArray:
        """Return (names × count) words; those of each name do not depend on the other names."""
        rows = []
        for name in names:
            text = name.encode()
            own = self.state + len(text).to_bytes(8, "big") + text
            rows.append(hashlib.shake_256(own).digest(8 * count))
        return _words(b"".join(rows)).reshape(-1, count)


def new_key() -> bytes:
    """Draw a key of `KEY_BYTES` from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def _words(drawn: bytes) -> WordArray:
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False)


def uniform(words: WordArray) -> FloatArray:
    """Convert the first 53 bits of words to numbers in [0, 1).

    >>> uniform(np.array([0, 2**63], dtype=np.uint64)).tolist()
    [0.0, 0.5]
    """
    return (words >> np.uint64(WORD - 53)).astype(np.float64) / 2**53


def choose(
    words: WordArray, ends: Iterable[Fraction], further: Callable[[int], Iterator[int]]
) -> IntArray:
    """Draw an exact index: the number of thresholds that each word's U in [0, 1) has reached.

    A word u stands for all U from u/2⁶⁴ to (u + 1)/2⁶⁴; if a threshold lies between them, further
    words decide.

    Args:
        words: (n,).
        ends: P(index ≤ 0), P(index ≤ 1), …, sorted, without the last, which is one.
        further: Yields further words without end for the word at a position.
    """
    scaled = [end * 2**WORD for end in ends]
    floors = np.array([min(int(end), 2**WORD - 1) for end in scaled], dtype=np.uint64)
    chosen = np.searchsorted(floors, words, side="right").astype(np.int64)
    for end, floor in zip(scaled, floors, strict=True):
        if end != int(floor):
            for place in np.flatnonzero(words == floor):
                chosen[place] = _refined(int(words[place]), scaled, further(int(place)))
    return chosen


def ends_of(weights: Sequence[float]) -> list[Fraction]:
    """Return P(index ≤ 0), P(index ≤ 1), …, without the last, for indices weighted exactly.

    >>> ends_of([0.5, 1.0, 0.5])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    ratios = [float(weight).as_integer_ratio() for weight in weights]
    common = max(below for _, below in ratios)  # all are powers of two
    sums = list(itertools.accumulate(above * (common // below) for above, below in ratios))
    return [Fraction(each, sums[-1]) for each in sums[:-1]]


@dataclass(frozen=True)
class Draws:
    """Uniform words with a source of further ones: equal words draw equally.

    Attributes:
        words: Any shape.
        chance: Source of further words, which depend on the word that they refine.
    """

    words: WordArray
    chance: KeyedChance

    def at(self, places: IntArray) -> Draws:
        return Draws(self.words[places], self.chance)

    def choose(self, kinds: IntArray, ends: Callable[[int], Iterable[Fraction]]) -> IntArray:
        """Draw as the function `choose`, each word with the thresholds of its own kind.

        Args:
            kinds: Argument of ``ends`` for each word; broadcasts with the words.
            ends: Returns the thresholds of a kind.
        """
        words, kinds = np.broadcast_arrays(self.words, kinds)
        flat, chosen = words.ravel(), np.empty(words.size, dtype=np.int64)
        order = np.argsort(kinds, axis=None, kind="stable")
        distinct, starts = np.unique(kinds.ravel()[order], return_index=True)
        for kind, mine in zip(distinct.tolist(), np.split(order, starts)[1:], strict=True):
            own = flat[mine]

            def further(place: int, own: WordArray = own) -> Iterator[int]:
                return self.chance.further(int(own[place]))

            chosen[mine] = choose(own, ends(kind), further)
        return chosen.reshape(words.shape)


def _refined(word: int, scaled: list[Fraction], further: Iterator[int]) -> int:
    """Return the index of a word near a threshold, with as many further words as needed."""
    low, width = Fraction(word), Fraction(1)
    while any(low < end < low + width for end in scaled):
        width /= 2**WORD
        low += next(further) * width
    return sum(end <= low for end in scaled)
