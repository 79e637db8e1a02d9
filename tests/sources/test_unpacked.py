"""What a killed process left of unpacked counts is removed by the next one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from recon_cli.sources.unpacked import UnpackedFolder, remove_abandoned
from tests.support.paths import ROOT

pytest.importorskip("fcntl")
LEFT = """
import os, signal
from recon_cli.sources.unpacked import UnpackedFolder
folder = UnpackedFolder()
(folder.path / "counts").write_text("12")
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_is_removed_that_of_another_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "recon-tables-link").symlink_to(ROOT)
    ours = UnpackedFolder()
    run = subprocess.run(
        [sys.executable, "-c", LEFT], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    left = Path(run.stdout.strip())
    assert left.parent == tmp_path
    assert (left / "counts").is_file()
    assert remove_abandoned() == [left]
    assert not left.exists()
    assert ours.path.is_dir()
    ours.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["recon-tables-link"]
    assert ROOT.is_dir()


def test_a_folder_that_another_process_removes_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, gone = tempfile.mkdtemp, list[Path]()

    def removed_at_once(prefix: str) -> str:
        made = make(prefix=prefix)
        if not gone:
            gone.append(Path(made))
            gone[0].rmdir()
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_once)
    folder = UnpackedFolder()
    assert folder.path.is_dir()
    assert folder.path != gone[0]
    folder.remove()
