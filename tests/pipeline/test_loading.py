"""What is heavy is imported undisturbed by signals."""

from __future__ import annotations

import importlib
import signal
import sys
from pathlib import Path

import pytest

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
