"""The words of the attack on some tiny releases, one under each law, against enumeration."""

from __future__ import annotations

from unittest import mock

from hypothesis import given

from benchmarks.soundness.releases import NAMES, make_release
from benchmarks.soundness.words import words_of
from tests.support.properties import SEEDS, examples


def test_no_word_is_false() -> None:
    said, found = 0, []
    for number in range(len(NAMES)):
        tiny = make_release(7, number)
        words = [] if tiny is None else list(words_of(tiny))
        said += len(words)
        found += [f"{number}: {word}" for word in words if word.is_true is False]
    assert not found
    assert said > 100


@examples(8)
@given(seed=SEEDS)
def test_no_word_is_false_of_any_release(seed: int) -> None:
    tiny = make_release(seed, seed % len(NAMES))
    words = [] if tiny is None else list(words_of(tiny))
    assert not [word for word in words if word.is_true is False]


def test_a_unit_that_is_wrongly_taken_to_be_empty_is_found() -> None:
    """A right release under zeroing, with people in a unit without a row."""
    with mock.patch("recon_cli.sources.listing._absent_is_empty", return_value=True):
        tiny = make_release(7, 134)
        assert tiny is not None
        kinds = {word.kind for word in words_of(tiny) if word.is_true is False}
    assert kinds == {"places", "refusal"}


def test_records_that_no_row_mentions_can_be_measured() -> None:
    """Noise that bounds nobody: a likely reconstruction has people whom no interval mentions."""
    tiny = make_release(1, 931)
    assert tiny is not None
    kinds = {word.kind for word in words_of(tiny) if word.is_true}
    assert "certain records" in kinds
