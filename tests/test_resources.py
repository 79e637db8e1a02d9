"""Memory that runs out: one line and an exit code, not a traceback."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from recon_cli.errors import MemoryShortage, SourceError
from recon_cli.resources import as_shortage
from tests.support.command_line import recon
from tests.support.paths import ROOT

CLINIC = ROOT / "configs" / "clinic.yaml"


def test_what_means_that_memory_ran_out() -> None:
    assert isinstance(as_shortage(MemoryError()), MemoryShortage)
    assert isinstance(as_shortage(OSError(errno.ENOMEM, "no memory")), MemoryShortage)
    behind = ImportError("a library")
    behind.__cause__ = MemoryError()
    assert isinstance(as_shortage(behind), MemoryShortage)
    assert as_shortage(ValueError("a defect")) is None
    refusal = SourceError("a file is not what it claims to be")
    assert as_shortage(refusal) is None
    refusal.__cause__ = MemoryError()
    assert isinstance(as_shortage(refusal), MemoryShortage), "no file is accused"


def test_a_stage_without_memory_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starved(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("recon_cli.capabilities.ingest.stage.open_stage", starved)
    log = tmp_path / "log"
    done = recon("run", "-c", CLINIC, "--work", tmp_path / "work", "--log-json", log, code=11)
    assert done.stderr.startswith("error: memory ran out; finished partitions are kept")
    assert done.stderr.count("\n") == 1
    assert '"exit_code": 11' in log.read_text()


def test_a_panic_of_a_library_at_the_cap_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """polars has no room for a thread: what it raises then is no `Exception`."""

    class PanicException(BaseException):
        pass

    def starved(*_: object) -> None:
        raise PanicException("OS can't spawn worker thread")

    monkeypatch.setattr("recon_cli.capabilities.ingest.stage.open_stage", starved)
    monkeypatch.setattr("recon_cli.resources._is_at_cap", lambda: True)
    done = recon("run", "-c", CLINIC, "--work", tmp_path / "work", code=11)
    assert done.stderr.startswith("error: memory ran out; finished partitions are kept")


@pytest.mark.skipif(not Path("/proc").exists(), reason="caps mean something on Linux alone")
@pytest.mark.parametrize("megabytes", [300, 900])
def test_a_cap_below_what_libraries_need_ends_a_run_in_one_line(
    tmp_path: Path, megabytes: int
) -> None:
    def cap() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    arguments = ("run", "-c", str(CLINIC), "--work", str(tmp_path), "--until", "solvar", "-q")
    ended = subprocess.run(
        [sys.executable, "-m", "recon_cli", *arguments, "--workers", "1"],
        cwd=ROOT,
        preexec_fn=cap,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 11, ended.stderr
    assert ended.stderr.startswith(f"error: memory is capped at {megabytes} MB (ulimit -v), and ")
    assert ended.stderr.count("\n") == 1
    recon("run", "-c", CLINIC, "--work", tmp_path, "--until", "solvar")
