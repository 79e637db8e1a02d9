"""Spellings of the version before still work, and warn."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from recon_cli.api.reconstruction import FORMER_AUDIT
from recon_cli.capabilities.ingest.options import FORMER_SOURCES, Ingest
from recon_cli.cli import FORMER_COMMANDS
from recon_cli.deprecation import Former, FormerSpelling, series_of
from recon_cli.version import __version__
from tests.support.command_line import recon


@pytest.mark.parametrize(
    "former", [*FORMER_SOURCES, *FORMER_COMMANDS, *FORMER_AUDIT.values()], ids=lambda f: f.spelling
)
def test_a_former_spelling_is_deleted_with_the_next_version(former: Former) -> None:
    assert not former.is_due, f"delete it: {former.message}"


def test_a_spelling_is_due_in_the_version_after_its_last() -> None:
    major, minor = series_of(__version__)
    assert Former("a", "b", f"{major}.{minor - 1}").is_due
    assert not Former("a", "b", f"{major}.{minor}").is_due
    assert not Former("a", "b", f"{major}.{minor + 1}").is_due


@pytest.mark.parametrize("source", ["wide", "long"])
def test_the_two_sources_of_sheets_are_one(source: str) -> None:
    with pytest.warns(FormerSpelling, match=f"^ingest.source: {source} is now .*: sheet; version"):
        read = Ingest(source=source, paths=(Path("a.csv"),))  # type: ignore[arg-type]
    assert read.source == "sheet"


def test_the_source_of_sheets_does_not_warn() -> None:
    with warnings.catch_warnings(action="error"):
        assert Ingest(source="sheet", paths=(Path("a.csv"),)).source == "sheet"


def test_a_command_that_moved_runs_and_says_so_in_one_line() -> None:
    moved, now = recon("releases", "clinic_visits"), recon("data", "releases", "clinic_visits")
    assert moved.stdout == now.stdout
    assert moved.stderr == (
        "warning: recon releases is now recon data releases; "
        "version 0.3 is the last that accepts it\n"
    )


@pytest.mark.parametrize("former", FORMER_COMMANDS, ids=lambda f: f.spelling)
def test_every_command_that_moved_has_help(former: Former) -> None:
    words = former.spelling.split()[1:]
    options = ["x", "--help"] if words == ["merge"] else ["--help"]
    usage = recon(*words, *options).stdout.splitlines()[0]
    assert usage.startswith(f"Usage: {former.now.removesuffix(' --merge')} ")


def test_a_config_that_names_a_former_source_warns_once(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "release: clinic_visits\nwork: w\ningest:\n  source: wide\n  paths: [none.csv]\n"
    )
    said = recon("ingest", "-c", tmp_path / "c.yaml", code=2).stderr.splitlines()
    assert [line for line in said if line.startswith("warning: ")] == [
        f"warning: {FORMER_SOURCES[0].message}"
    ]
