"""Start-up time is a feature: a command loads no library that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.paths import ROOT
from tests.support.populations import random_records

UNITS = ["001001", "001002", "002001"]
PAGES = ["jinja2"]
SOLVERS = ["ortools", "scipy.optimize"]
FRAMES = ["numpy", "polars"]

#: Run with commands, the words of each in one argument; last it prints what is loaded.
_LOADED = """
import sys
from recon_cli.cli import main
for command in sys.argv[1:]:
    try:
        main(command.split(), prog_name="recon", standalone_mode=False)
    except SystemExit:
        pass
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's config; the run is done."""
    folder = tmp_path_factory.mktemp("startup")
    people, tidy, path = (folder / name for name in ("people.parquet", "tidy.csv", "run.yaml"))
    random_records(load_release("clinic_visits"), 3, 30, UNITS, skew=False).write_parquet(people)
    recon("data", "tabulate", people, "--release", "clinic_visits", "--to", tidy)
    path.write_text(
        "release: clinic_visits\n"
        "work: out\n"
        f"ingest: {{source: tidy, paths: [{tidy}]}}\n"
        "reconstruct:\nsolvar:\nreport:\n"
    )
    recon("run", "-qc", path)
    return path


def loaded(*commands: str) -> set[str]:
    """The modules in a new process after some commands."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *commands],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_help_loads_neither_schemas_nor_frames_nor_commands() -> None:
    """Not that of groups either."""
    asked = ["--help", *(f"{group} --help" for group in ("protect", "plan", "data", "lab"))]
    assert not {"pydantic", "yaml", "rich", *FRAMES, *SOLVERS, *PAGES} & loaded(*asked)


def test_help_of_a_command_loads_the_models_of_its_keys_alone() -> None:
    assert not {"rich", *FRAMES, *SOLVERS, *PAGES} & loaded("protect swap --help")


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        ("status", ["rich", "scipy", *FRAMES, *SOLVERS, *PAGES]),
        ("run -q", ["scipy", *FRAMES, *SOLVERS, *PAGES]),
        ("show", ["numpy", "scipy", *SOLVERS]),
        ("show 001001 --why none", ["scipy", *SOLVERS]),
        ("ingest -q --force", ["scipy", *SOLVERS, *PAGES]),
        ("reconstruct -q --force", ["scipy.optimize", "scipy.linalg", "scipy.special", *PAGES]),
        ("report -q --force", ["scipy.optimize", "scipy.linalg", "scipy.special"]),
    ],
)
def test_a_command_loads_what_it_needs(config: Path, words: str, idle: list[str]) -> None:
    assert not set(idle) & loaded(f"{words} -c {config}")
