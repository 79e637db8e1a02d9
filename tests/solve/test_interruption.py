"""A signal stops engines that would work on for minutes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from scipy import sparse

from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, find_feasible
from recon_cli.solve.interruption import is_engine_left


def market_split(rows: int, columns: int) -> IntegerProgram:
    """Halves of sums that no choice has at once, as far as anybody finds out in minutes."""
    random = np.random.default_rng(5)
    A = random.integers(0, 100, (rows, columns))
    half = A.sum(axis=1) // 2
    ends = np.zeros(columns, dtype=np.int64), np.ones(columns, dtype=np.int64)
    return IntegerProgram(LinearConstraints(sparse.csr_array(A), half, half), *ends)


def stop(number: int, frame: FrameType | None) -> None:
    """What a command does on SIGTERM."""
    raise KeyboardInterrupt


@pytest.fixture
def alarm() -> Iterator[None]:
    """A signal comes after half a second."""
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_cp_sat_ends() -> None:
    with pytest.raises(KeyboardInterrupt):
        find_feasible(market_split(6, 50), Effort(1, 600.0))
    assert not is_engine_left()


@pytest.mark.usefixtures("alarm")
def test_nobody_waits_for_scip() -> None:
    with pytest.raises(KeyboardInterrupt):
        confirm_infeasible(market_split(6, 50), 1.1)
    assert is_engine_left()
    while is_engine_left():  # or it would be, when a later test runs a command
        time.sleep(0.1)


def test_the_program_ends_beside_an_engine_that_hears_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, threading\n"
        "import click\n"
        "from recon_cli.cli import Recon\n"
        "from recon_cli.solve.certificates import confirm_infeasible\n"
        "from tests.solve.test_interruption import market_split\n"
        "def solve():\n"
        "    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()\n"
        "    confirm_infeasible(market_split(6, 50), 600)\n"
        "class Commands(Recon):\n"
        "    def get_command(self, ctx, name):\n"
        "        return click.Command(name, callback=solve)\n"
        "Commands('recon', path='recon', package='recon_cli.cli').main(['solve'])\n"
    )
    ended = subprocess.run([sys.executable, str(script)], check=False, timeout=60)
    assert ended.returncode == 143
