"""Reading one item ahead changes neither items nor errors."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing

import pytest

from recon_cli.read_ahead import read_ahead


def _numbers(
    stop: int, log: list[str], *, fail_at: int | None = None
) -> Generator[int, None, None]:
    try:
        for number in range(stop):
            if number == fail_at:
                raise ValueError(f"no {number}")
            log.append(f"{number} by {threading.current_thread().name}")
            yield number
    finally:
        log.append("closed")


def test_items_come_in_order_from_another_thread() -> None:
    log: list[str] = []
    assert list(read_ahead(_numbers(50, log))) == list(range(50))
    assert all("recon-read" in line for line in log[:-1])
    assert log[-1] == "closed"


def test_nothing_is_no_item() -> None:
    assert list(read_ahead(_numbers(0, []))) == []


def test_an_item_may_be_false() -> None:
    assert list(read_ahead(each for each in [0, None, ""])) == [0, None, ""]


def test_an_error_comes_where_its_item_would_have_been() -> None:
    log: list[str] = []
    ahead = read_ahead(_numbers(9, log, fail_at=3))
    assert [next(ahead) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="no 3"):
        next(ahead)
    assert log[-1] == "closed"


def test_who_stops_early_closes_the_items_and_holds_two_at_most() -> None:
    log: list[str] = []
    with closing(read_ahead(_numbers(1_000, log))) as ahead:
        assert next(ahead) == 0
    assert log[-1] == "closed"
    assert len(log) <= 3
