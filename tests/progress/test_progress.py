"""What people and programs are told while work goes on."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from recon_cli.progress import ConsoleReporter, FinishedPartition, SilentReporter, Task
from recon_cli.progress import console as console_module
from recon_cli.progress.console import draw, line
from recon_cli.progress.tally import Tally, call_periodically, flow
from recon_cli.resources import Memory, resident_mb

BLOCKS = Task("reconstruct", "block", 73_000, 1_204_000)


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_counts_rate_and_time_left_follow_the_work() -> None:
    clock = Clock()
    tally = Tally(BLOCKS, clock)
    for _ in range(10):
        clock.now += 1
        tally.advance(100, 2_000, {"unique": 90, "solved": 10})
        now = tally.snapshot()
    assert (now.units, now.people, now.statuses) == (1000, 20_000, {"unique": 900, "solved": 100})
    assert now.rate == pytest.approx(2_000)
    assert now.left == pytest.approx((1_204_000 - 20_000) / 2_000)
    assert now.share == pytest.approx(20_000 / 1_204_000)
    for _ in range(40):
        clock.now += 1
        tally.advance(10, 200)
        now = tally.snapshot()
    assert now.rate == pytest.approx(200, rel=0.05), "of late, not since the start"


def test_the_rate_survives_a_long_solve() -> None:
    clock = Clock()
    tally = Tally(BLOCKS, clock)
    clock.now += 10
    tally.advance(10, 1_000)
    tally.snapshot()
    for _ in range(5):
        clock.now += 100
        now = tally.snapshot()
    assert now.rate == pytest.approx(1_000 / 510)
    assert now.left is not None


def test_an_estimate_that_did_not_hold_is_not_repeated() -> None:
    clock = Clock()
    tally = Tally(Task("compare", "stage", 12), clock)
    clock.now += 10
    tally.advance(10, 0, {"in audit": 1})
    assert tally.snapshot().left == pytest.approx(2)
    clock.now += 3
    now = tally.snapshot()
    assert now.left is None
    assert line(now) == "compare: 10 of 12 stages, 1 in audit, 0:13 so far"


def test_what_nobody_knows_is_not_guessed() -> None:
    clock = Clock()
    tally = Tally(Task("ingest", "block"), clock)
    clock.now += 5
    tally.advance(3, 60)
    now = tally.snapshot()
    assert (now.share, now.left) == (None, None)
    assert line(now) == "ingest: 3 blocks, 60 people, 12 people/s, 0:05 so far"
    unbegun = Tally(BLOCKS, clock).snapshot()
    assert (unbegun.share, unbegun.left, unbegun.rate) == (0.0, None, 0.0)


def test_records_are_called_what_they_are() -> None:
    clock = Clock()
    tally = Tally(Task("claims", "ward", 4, 60, "hospital_stay"), clock)
    clock.now += 5
    tally.advance(2, 30)
    said = line(tally.snapshot())
    assert "2 of 4 wards, 30 hospital stays, 6 hospital stays/s" in said


def test_people_who_are_not_published_are_left_to_the_units() -> None:
    clock = Clock()
    tally = Tally(Task("solvar", "clinic", 4, 0), clock)
    clock.now += 2
    tally.advance(1, 0)
    now = tally.snapshot()
    assert now.share == pytest.approx(0.25)
    assert now.left == pytest.approx(6)


def test_within_one_region_what_is_decided_is_told_and_how_long_the_rest_takes() -> None:
    clock = Clock()
    tally = Tally(Task("audit", "school", 60, 5_000), clock)
    tally.advance(0, 0, {"recovered": 10, "undecided": 1_190})
    for _ in range(10):
        clock.now += 1
        tally.advance(0, 0, {"safe": 50, "undecided": -50})
        now = tally.snapshot()
    assert line(now) == (
        "audit: 0 of 60 schools, 10 recovered, 500 safe, 690 undecided, 0:10 so far, 0:14 left"
    )
    clock.now += 1
    tally.advance(60, 0, {"safe": 690, "undecided": -690})
    assert tally.snapshot().left == 0


def test_a_line_says_all_there_is() -> None:
    clock = Clock()
    tally = Tally(BLOCKS, clock)
    clock.now += 100
    tally.advance(36_000, 600_000, {"quarantined": 2, "open": 3, "solved": 5, "unique": 35_990})
    assert line(tally.snapshot(), "2/5", 1240.4) == (
        "2/5 reconstruct: 36,000 of 73,000 blocks, 600,000 people, 35,990 proven unique, 5 solved, "
        "3 open, 2 quarantined, 6,000 people/s, 1:40 so far, 1:41 left, 1,240 MB"
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("done", [False, True])
def test_the_live_view_fits(width: int, *, done: bool) -> None:
    clock = Clock()
    tally = Tally(Task("reconstruct", "block", 6_200_000, 308_745_538), clock)
    clock.now += 3_000
    if done:
        tally.advance(6_199_999, 308_745_000, {"proven": 6_100_000, "bounded": 99_000, "open": 999})
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, color_system=None)
    console.print(draw(console, tally.snapshot(), "10/10", 123_456.7))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    if width >= 60:
        assert len(lines) <= 5
        assert lines[0].startswith("10/10 reconstruct ")
        assert ("left" in lines[0]) is done
        assert "123,457 MB" in lines[-1]


def test_facts_flow_into_few_lines() -> None:
    facts = ["aaaa", "bbbb", "cccc"]
    assert flow(facts, 100) == ["aaaa · bbbb · cccc"]
    assert flow(facts, 11) == ["aaaa · bbbb", "cccc"]
    assert flow(facts, 1) == facts


def test_lines_come_while_nothing_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module, "_EVERY", 0.02)
    stream = io.StringIO()
    reporter = ConsoleReporter(lambda: Console(file=stream, width=40), place="1/2")
    with reporter.bar(Task("solvar", "block", 10, 100)) as bar:
        bar.advance(1, 10, {"proven": 1})
        time.sleep(0.2)
    said = stream.getvalue().splitlines()
    assert len(said) >= 2
    assert all(each.startswith("1/2 solvar: 1 of 10 blocks, 10 people, 1 proven,") for each in said)


def test_the_terminal_is_left_clean() -> None:
    stream = io.StringIO()
    reporter = ConsoleReporter(lambda: Console(file=stream, force_terminal=True, width=60))
    with reporter.bar(BLOCKS) as bar:
        bar.advance(36_000, 600_000, {"unique": 36_000})
        reporter.note("a note")
    drawn = stream.getvalue()
    assert "36,000 of 73,000 blocks" in drawn
    assert "a note" in drawn
    assert drawn.rstrip().endswith("\x1b[2K"), "the last thing is to clear what was drawn"
    assert drawn.count("\x1b[?25l") == drawn.count("\x1b[?25h")


def test_details_are_for_the_curious() -> None:
    for verbose in (False, True):
        stream = io.StringIO()
        reporter = ConsoleReporter(partial(Console, file=stream), verbose)
        reporter.finished(FinishedPartition("solvar", "county 01073", 1.234, 250.0))
        expected = "solvar: county 01073 done in 1.23 s, 250 MB\n" if verbose else ""
        assert stream.getvalue() == expected


def test_ticks_are_cheap() -> None:
    tally = Tally(BLOCKS)
    started = time.perf_counter()
    for _ in range(20_000):
        tally.advance(1, 3, {"unique": 1})
    assert time.perf_counter() - started < 1


def test_a_pulse_stops_and_tells_what_stopped_it() -> None:
    beats: list[int] = []

    def beat() -> None:
        beats.append(1)
        if len(beats) == 2:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError), call_periodically(0.01, beat):
        time.sleep(0.2)
    assert len(beats) == 2
    assert not any(thread.name == "recon-progress" for thread in threading.enumerate())


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = SilentReporter()
    with reporter.bar(BLOCKS) as bar:
        bar.advance(1, 1)
    reporter.finished(FinishedPartition("a", "b", 0.0, 0.0))
    reporter.note("a note")
    reporter.detail("a detail")
    assert capsys.readouterr() == ("", "")


def test_memory_counts_children_and_is_looked_up_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = resident_mb()
    assert alone is not None
    assert alone > 5
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    if listed.exists():
        hold = "import sys; held = bytearray(80_000_000); print('ready', flush=True); input()"
        child = subprocess.Popen(
            [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        together = resident_mb()
        child.communicate("\n")
        assert together is not None
        assert together > alone + 60
    clock, found = Clock(), iter([1.0, 2.0])
    monkeypatch.setattr("recon_cli.resources.resident_mb", lambda: next(found))
    memory = Memory(clock)
    assert [memory.mb(), memory.mb()] == [1.0, 1.0]
    clock.now += 1.5
    assert memory.mb() == 2.0
