"""Chance that a key and names decide: what protections draw from.

Words are the output of SHAKE-256 of the key and of what they are drawn for, each name preceded by
its length. So they are as good as random to whoever lacks the key, depend on nothing that is drawn
elsewhere, and are the same for any split of the work and after a kill.

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
    """Uniform words of a key and of some names.

    Attributes:
        state: The key, then the names, each preceded by its length.
    """

    state: bytes = field(repr=False)

    @classmethod
    def of_key(cls, key: bytes) -> KeyedChance:
        """Of a key, which is secret as long as what is drawn is to protect anything.

        Raises:
            ValueError: It has not `KEY_BYTES` bytes.
        """
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {KEY_BYTES} bytes is expected, found {len(key)}")
        return cls(key)

    @classmethod
    def secret(cls) -> KeyedChance:
        """Of a key that the operating system draws, and nobody keeps."""
        return cls.of_key(new_key())

    @classmethod
    def for_study(cls, seed: int) -> KeyedChance:
        """Of a key that follows from a seed: whoever guesses it takes the protection off again.

        >>> KeyedChance.for_study(1).words(1) == KeyedChance.for_study(1).words(1)
        array([ True])
        """
        return cls.of_key(hashlib.blake2b(f"study {seed}".encode(), digest_size=KEY_BYTES).digest())

    def named(self, *names: str | bytes) -> KeyedChance:
        """Of further names.

        >>> one = KeyedChance.for_study(1)
        >>> one.named("ab", "c").words(1) == one.named("a", "bc").words(1)
        array([False])
        """
        texts = [each.encode() if isinstance(each, str) else each for each in names]
        return KeyedChance(self.state + b"".join(len(t).to_bytes(8, "big") + t for t in texts))

    def words(self, count: int) -> WordArray:
        """(count,) uniform words; the first ones whatever the count."""
        return _words(hashlib.shake_256(self.state).digest(8 * count))

    def further(self, *place: int) -> Iterator[int]:
        """Words without end for what the word at a place leaves open."""
        own = self.named("further", *(str(each) for each in place))
        number = 0
        while True:
            yield int(own.named(str(number)).words(1)[0])
            number += 1

    def words_of_each(self, names: Iterable[str], count: int = 1) -> WordArray:
        """(names × count) words: those of each name by itself, whatever the others are."""
        rows = []
        for name in names:
            text = name.encode()
            own = self.state + len(text).to_bytes(8, "big") + text
            rows.append(hashlib.shake_256(own).digest(8 * count))
        return _words(b"".join(rows)).reshape(-1, count)


def new_key() -> bytes:
    """`KEY_BYTES` from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def _words(drawn: bytes) -> WordArray:
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False)


def uniform(words: WordArray) -> FloatArray:
    """Numbers on [0, 1) of the first 53 bits of words."""
    return (words >> np.uint64(WORD - 53)).astype(np.float64) / 2**53


def choose(
    words: WordArray, ends: Iterable[Fraction], further: Callable[[int], Iterator[int]]
) -> IntArray:
    """How many ends each word's number U on [0, 1) has reached: an index drawn exactly.

    A word u stands for all U from u/2⁶⁴ to (u + 1)/2⁶⁴; where an end lies between them, further
    words decide.

    Args:
        words: (n,).
        ends: P(index ≤ 0), P(index ≤ 1), …, rising, without the last, which is one.
        further: Of a word's place, further words without end.
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
    """P(index ≤ 0), P(index ≤ 1), …, without the last, where P(index) is a weight's exact share.

    >>> ends_of([0.5, 1.0, 0.5])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    ratios = [float(weight).as_integer_ratio() for weight in weights]
    common = max(below for _, below in ratios)  # all are powers of two
    sums = list(itertools.accumulate(above * (common // below) for above, below in ratios))
    return [Fraction(each, sums[-1]) for each in sums[:-1]]


@dataclass(frozen=True)
class Draws:
    """Uniform words, and where further ones come from: equal words draw alike.

    Attributes:
        words: Any shape.
        chance: Of the further words, which follow from the word that leaves something open.
    """

    words: WordArray
    chance: KeyedChance

    def at(self, places: IntArray) -> Draws:
        """Those of some places."""
        return Draws(self.words[places], self.chance)

    def choose(self, kinds: IntArray, ends: Callable[[int], Iterable[Fraction]]) -> IntArray:
        """As the function `choose`, each word by the ends of its own kind.

        Args:
            kinds: What ``ends`` is asked for; broadcasts with the words.
            ends: Of a kind.
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
    """The index of a word that an end may lie above, with as many further words as it takes."""
    low, width = Fraction(word), Fraction(1)
    while any(low < end < low + width for end in scaled):
        width /= 2**WORD
        low += next(further) * width
    return sum(end <= low for end in scaled)
