"""A release is made of one commit, and twice the same."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recon_cli import __version__
from tests.support.paths import ROOT

sys.path.append(str(ROOT / ".ci"))
release = importlib.import_module("release")

CHANGELOG = """# Changelog

## [Unreleased]

### Added

- `b`: new

## [0.3.0] - 2026-11-26

### Fixed

- `a`: old

## [0.2.0] - 2026-11-22
"""


def test_notes_are_the_section_of_the_version() -> None:
    assert release.notes_of(CHANGELOG, "0.3.0") == (
        "## [0.3.0] - 2026-11-26\n\n### Fixed\n\n- `a`: old\n"
    )


@pytest.mark.parametrize("version", ["0.2.0", "0.4.0"])
def test_only_the_newest_version_with_a_date_is_released(version: str) -> None:
    with pytest.raises(release.NotReadyError, match=f"newest version .* must be {version}"):
        release.notes_of(CHANGELOG, version)


def test_entries_of_no_version_are_not_released() -> None:
    with pytest.raises(release.NotReadyError, match=r"Unreleased.* has entries"):
        release.require_nothing_unreleased(CHANGELOG)
    release.require_nothing_unreleased(CHANGELOG.replace("- `b`: new\n", ""))


def test_the_version_is_in_one_place() -> None:
    assert release.version_of((ROOT / release.VERSION_FILE).read_text()) == __version__
    assert "\nversion" not in (ROOT / "CITATION.cff").read_text()
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with what a wheel is built of, nothing committed yet."""
    root = tmp_path / "one"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "recon_cli", root / "recon_cli", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "requirements.lock", ".gitignore"):
        shutil.copy(ROOT / name, root / name)
    (root / "CHANGELOG.md").write_text(f"## [{__version__}] - 2026-11-26\n\n- `a`: b\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    return root


def test_what_is_not_committed_is_not_released(checkout: Path) -> None:
    with pytest.raises(release.NotReadyError, match="not committed"):
        release.make_release(checkout, checkout / "dist")


def test_a_release_is_complete_and_has_the_same_bytes_in_another_folder(checkout: Path) -> None:
    git(checkout, "commit", "-qm", "x")
    other = checkout.parent / "two"
    git(checkout, "clone", "-q", ".", str(other))
    for root in (checkout, other):
        release.make_release(root, root / "dist")
    sums = (checkout / "dist" / "SHA256SUMS").read_text()
    assert {line.split("  ")[1] for line in sums.splitlines()} == {
        f"recon_cli-{__version__}-py3-none-any.whl",
        f"recon_cli-{__version__}.tar.gz",
        "sbom.json",
        "NOTES.md",
    }
    assert sums == (other / "dist" / "SHA256SUMS").read_text()
