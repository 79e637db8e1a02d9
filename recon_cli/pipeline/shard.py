"""Which pieces of a stage a process works on: all, one shard of them (job arrays), or none.

See *shard* in docs/glossary.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from recon_cli.errors import ConfigError
from recon_cli.store import Piece


@dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``of`` parts of a stage's work.

    Attributes:
        number: From 1; 0 is a shard without pieces.
        of: How many shards there are.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From ``3/10``.

        Raises:
            ConfigError: The text is not of that form.

        >>> Shard.parse("3/10")
        Shard(number=3, of=10)
        """
        number, slash, of = text.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ConfigError(f"--shard {text!r}: expected K/N with 1 ≤ K ≤ N, as in 3/10")
        return cls(int(number), int(of))

    @property
    def is_all(self) -> bool:
        """Whether nothing is left to others."""
        return self.of == 1 and self.number == 1

    @property
    def is_one_of_many(self) -> bool:
        """Whether other processes work on other pieces, and none of them publishes."""
        return self.number > 0 and not self.is_all

    def choose(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces of this shard: the largest are dealt out first, to even out the shards."""
        if self.is_all:
            return list(pieces)
        shards = [(0, number) for number in range(1, self.of + 1)]
        chosen = []
        for piece in sorted(pieces, key=lambda each: (-each.people, each.partition, each.number)):
            people, number = heapq.heappop(shards)
            heapq.heappush(shards, (people + max(piece.people, 1), number))
            if number == self.number:
                chosen.append(piece)
        return chosen


ALL_PIECES, NO_PIECES = Shard(), Shard(0)
