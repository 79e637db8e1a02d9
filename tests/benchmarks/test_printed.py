"""The benchmark of printed statistics: its oracle, and a few of its releases."""

from fractions import Fraction

import pytest

from benchmarks import printed
from recon_cli.model.statistic_rows import mean_rows
from tests.support.properties import draws


def test_what_prints_so_is_written_out() -> None:
    one_woman = tuple(int(cell == (0, 2, 1)) for cell in map(tuple, printed.CELLS.tolist()))
    assert printed.printed("MEAN", 1, one_woman, "half_up") == {"3.0"}
    assert printed.printed("PERCENT", 1, one_woman, "half_up") == {"100"}
    assert printed.printed("RATIO", 1, one_woman, "half_up") == frozenset()
    assert printed.rounded(Fraction(5, 2), 0, "unknown") == {"2", "3"}
    assert printed.rounded(Fraction(5, 2), 0, "half_even") == {"2"}


@pytest.mark.parametrize("seed", draws(4, 8))
def test_audits_tell_what_enumeration_finds(seed: int) -> None:
    found = printed.judge(printed.make_release(seed))
    assert found["ends"] > 0
    assert found["false"] == 0
    assert 2 * found["exact"] == found["ends"]


def test_a_wrong_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "recon_cli.model.statistic_texts.mean_rows"
    monkeypatch.setattr(wrong, lambda *given: mean_rows(*given)[:1])
    found = [printed.judge(printed.make_release(seed)) for seed in draws(4, 12)]
    assert sum(2 * each["exact"] < each["ends"] for each in found) > 0
