"""What is made of something for study says so too, wherever it went in between."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from recon_cli.schema import load_release
from recon_cli.store.study import NOT_FOR_PUBLICATION, has_study_name, is_for_study
from tests.capabilities.noise.test_protect_noise import STRATEGY as NOISE
from tests.capabilities.topdown.test_topdown import FINE
from tests.capabilities.topdown.test_topdown import STRATEGY as TOPDOWN
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")
LAST = "  not for publication: chance follows from a study_seed"
#: Protection → its settings, and the folder of its counts or records.
PROTECTIONS = {
    "round": ("", "rounded"),
    "cellkey": ("max: 2, variance: 1.08, ", "perturbed"),
    "suppress": ("", "suppressed"),
    "noise": ("strategy: HOME/noise.yaml, units: exact, ", "noisy"),
    "topdown": ("strategies: [HOME/fine.yaml], units: exact, ", "mdf"),
    "randomize": ("responses: {insurance: {epsilon: 1}}, ", "randomized"),
}


def make_home(tmp_path: Path) -> Path:
    records = random_records(CLINIC, 5, 60, random_units(CLINIC, 5, 4))
    records.write_csv(tmp_path / "patients.csv")
    (tmp_path / "noise.yaml").write_text(NOISE)
    (tmp_path / "fine.yaml").write_text(TOPDOWN.format(name="fine", rho="2", queries=FINE))
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\nworkers: 1\n"
        "randomize: {records: patients.csv, responses: {insurance: {epsilon: 1}}}\n"
    )
    return tmp_path


def run(home: Path, *words: object, code: int = 0) -> str:
    return recon(*words, "-c", home / "run.yaml", code=code).output


def said(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "_manifest.json").read_text())
    return manifest


def marked(folder: Path) -> bool:
    """Whether a folder says it twice; that it says it once only is an error."""
    has_file, is_told = (folder / NOT_FOR_PUBLICATION).is_file(), "publishable" in said(folder)
    assert has_file == is_told
    return has_file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


@pytest.fixture(scope="module")
def randomized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = make_home(tmp_path_factory.mktemp("study"))
    run(home, "protect", "randomize", "--set", "randomize.study_seed=1")
    return home


@pytest.fixture
def study(randomized: Path, tmp_path: Path) -> Path:
    """Records that were randomised for study, in `work/randomized`."""
    shutil.copytree(randomized, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_path_says_that_it_is_for_study(tmp_path: Path) -> None:
    inner = tmp_path / "made" / "county=01"
    inner.mkdir(parents=True)
    (inner / "part.parquet").touch()
    assert not is_for_study(inner / "part.parquet")
    (tmp_path / "made" / NOT_FOR_PUBLICATION).touch()
    assert is_for_study(inner / "part.parquet")
    assert is_for_study(tmp_path / "made")
    assert not is_for_study(tmp_path)
    (tmp_path / "counts.study.csv").touch()
    (tmp_path / "counts.csv").symlink_to(tmp_path / "counts.study.csv")
    assert is_for_study(tmp_path / "counts.csv")
    assert [has_study_name(Path(name)) for name in ("a.STUDY.csv", "a.study", "study.csv")] == [
        True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("work", [["--work", "work"], []])
def test_tables_of_records_for_study_say_so(study: Path, work: list[str]) -> None:
    records = study / "work/randomized"
    given = ["--release", "clinic_visits", *([work[0], study / work[1]] if work else [])]
    refused = recon(
        "data", "tabulate", records, *given, "--to", study / "counts.csv", code=2
    ).stderr
    assert "tabulate.to: counts.csv: counts made with a study_seed are not for publication; " in (
        " ".join(refused.split())
    )
    assert not (study / "counts.csv").exists()
    printed = recon("data", "tabulate", records, *given, "--to", study / "counts.study.csv").stdout
    assert printed.splitlines()[-1] == LAST
    part = next(records.rglob("*.parquet"))  # of a folder whose mark lies above
    recon("data", "tabulate", part, *given, "--to", study / "counts.csv", code=2)
    if work:
        assert marked(study / "work/tabulated")


def test_counts_for_study_are_so_after_ingest_and_in_the_report(study: Path) -> None:
    run(study, "data", "tabulate", study / "work/randomized", "--to", study / "counts.study.csv")
    for folder in ("randomized", "randomized_counts", "tabulated"):
        shutil.rmtree(study / "work" / folder)  # nothing but the file says it
    paths = f"ingest={{source: tidy, paths: [{study / 'counts.study.csv'}]}}"
    assert run(study, "ingest", "--set", paths).splitlines()[-1] == LAST
    assert all(marked(study / "work" / name) for name in ("tables", "geounits"))
    run(study, "reconstruct", "--set", paths)
    assert marked(study / "work/microdata")
    assert run(study, "report", "--set", paths).splitlines()[-1] == LAST
    assert "For study, not for publication" in (study / "work/report/report.html").read_text()
    run(study, "data", "tabulate", "--to", study / "again.csv", code=2)  # of the reconstruction


def test_another_mark_is_another_output(study: Path) -> None:
    """The same bytes under a name that says nothing, or in a folder without its mark."""
    run(study, "data", "tabulate", study / "work/randomized", "--to", study / "counts.study.csv")
    shutil.rmtree(study / "work/tabulated")
    shutil.copy(study / "counts.study.csv", study / "counts.csv")
    paths = f"ingest={{source: tidy, paths: [{study / 'counts.csv'}]}}"
    assert LAST not in run(study, "ingest", "--set", paths)
    assert "up to date" in run(study, "ingest", "--set", paths)
    (study / "counts.csv").with_name(NOT_FOR_PUBLICATION).touch()
    status = run(study, "status", "--set", paths)
    assert "it is for study now" in " ".join(status.split())
    again = run(study, "ingest", "--set", paths)
    assert "up to date" not in again
    assert again.splitlines()[-1] == LAST


@pytest.mark.parametrize("name", PROTECTIONS)
def test_protections_take_over_the_mark_of_what_they_read(study: Path, name: str) -> None:
    more, folder = PROTECTIONS[name]
    more = more.replace("HOME", str(study))
    records = study / "work/randomized"
    given = f"{name}={{{more}records: {records}}}"
    printed = run(study, "protect", name, "--work", study / "new", "--set", given)
    assert printed.splitlines()[-1] == LAST
    assert marked(study / "new" / folder)
    law = study / "new" / folder / "protection.yaml"
    assert not law.exists() or yaml.safe_load(law.read_text())["study"] is True
    plain = f"{name}={{{more}records: {study / 'patients.csv'}}}"
    assert LAST not in run(study, "protect", name, "--work", study / "new", "--set", plain)
    assert not marked(study / "new" / folder)
    if name in ("round", "cellkey", "suppress"):
        to = f"{name}={{{more}records: {records}, to: {study / 'counts.csv'}}}"
        assert f"{name}.to: counts.csv" in run(study, "protect", name, "--set", to, code=2)


@pytest.mark.parametrize("name", ["round", "suppress"])
def test_counts_of_a_work_folder_for_study_stay_so(study: Path, name: str) -> None:
    run(study, "data", "tabulate", study / "work/randomized", "--to", study / "counts.study.csv")
    paths = f"ingest={{source: tidy, paths: [{study / 'counts.study.csv'}]}}"
    run(study, "ingest", "--set", paths, "--work", study / "attacked")
    given = f"{name}={{counts: {study / 'attacked'}}}"
    run(study, "protect", name, "--work", study / "new", "--set", given)
    assert marked(study / "new" / PROTECTIONS[name][1])


def test_a_law_for_study_marks_what_was_published_by_it(home: Path) -> None:
    given = f"round={{records: {home / 'patients.csv'}, study_seed: 1}}"
    run(home, "protect", "round", "--set", given)
    (home / "work/rounded" / NOT_FOR_PUBLICATION).unlink()
    law = home / "work/rounded/protection.yaml"
    paths = f"ingest={{source: tidy, paths: [{home / 'work/rounded'}]}}"
    assert run(home, "ingest", "--set", paths, "--work", home / "new").splitlines()[-1] == LAST
    law.write_text(law.read_text().replace("study: true\n", ""))
    assert LAST not in run(home, "ingest", "--set", paths, "--work", home / "new")
