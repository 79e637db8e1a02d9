"""What is heavy is imported undisturbed by signals, and a stop is never told as a defect."""

from __future__ import annotations

import importlib
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from recon_cli.console.signals import Terminated, behind, stoppable
from recon_cli.stage import undisturbed


def test_a_signal_waits_until_a_module_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loaded_slowly.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nwhole = [0] * 1000\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    class Stopped(Exception):  # noqa: N818 - as a handler raises it
        pass

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(Stopped), undisturbed():
            importlib.import_module("loaded_slowly")
        assert len(sys.modules["loaded_slowly"].whole) == 1000
        assert signal.getsignal(signal.SIGTERM) is stop
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_stop_is_told_whatever_the_code_that_it_struck_makes_of_it() -> None:
    with pytest.raises(Terminated), stoppable():
        _strike_code_that_raises_its_own()
    with pytest.raises(TypeError, match="no type"), stoppable():
        raise TypeError("no type")


def _strike_code_that_raises_its_own() -> None:
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert isinstance(behind(TypeError("no type")), Terminated)
    raise TypeError("no type")
