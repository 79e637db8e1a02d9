"""The words of the attack on some tiny releases, one under each law, against enumeration."""

from __future__ import annotations

from benchmarks.soundness.releases import NAMES, make_release
from benchmarks.soundness.words import words_of


def test_no_word_is_false() -> None:
    said, found = 0, []
    for number in range(2 * len(NAMES)):
        tiny = make_release(7, number)
        words = [] if tiny is None else list(words_of(tiny))
        said += len(words)
        found += [f"{number}: {word}" for word in words if word.is_true is False]
    assert not found
    assert said > 100
