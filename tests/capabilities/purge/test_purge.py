"""`recon purge`: what a run made goes, all else stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recon_cli.capabilities.purge.entries import find_purge
from recon_cli.pipeline.stages import STAGES
from recon_cli.store.transaction import STAGING
from tests.support.command_line import recon
from tests.support.paths import ROOT

CLINIC = ROOT / "configs" / "clinic.yaml"
FOLDERS = {folder for stage in STAGES for folder in stage.folders}
CONFIG = """\
release: sf1_2010
work: work
synth: {people: 400}
swap: {setting: targeted, study_seed: 1}
tabulate: {records: work/hdf, to: work/published.study.parquet}
"""


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config and the work folder of a run with secrets."""
    home = tmp_path_factory.mktemp("swapped")
    (home / "recon.yaml").write_text(CONFIG)
    recon("run", "-c", home / "recon.yaml", "-q", "--log-json", home / "work.log")
    (home / "work.log").rename(home / "work" / "log.jsonl")
    return home


@pytest.fixture
def home(swapped: Path, tmp_path: Path) -> Path:
    shutil.copytree(swapped, tmp_path / "home")
    return tmp_path / "home"


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_a_run_is_told_then_removed_whole(home: Path) -> None:
    before = everything(home)
    told = recon("purge", "-c", home / "recon.yaml").stdout
    assert "nothing is removed yet; --yes removes this" in told
    for name in ("hdf", "persons", "private/swap", ".staging", "log.jsonl", "published.study"):
        assert name in told
    assert everything(home) == before
    done = recon("purge", "-c", home / "recon.yaml", "--yes").stdout
    assert "done" in done
    assert everything(home) == {"recon.yaml"}, "the work folder is gone, the config stays"
    assert "no such folder" in recon("purge", "-c", home / "recon.yaml", "--yes", code=5).stderr


def test_what_no_run_made_stays(home: Path) -> None:
    work = home / "work"
    (work / "notes.txt").write_text("mine")
    (work / "report").mkdir()
    (work / "report" / "page.html").write_text("mine too")
    outside = home / "elsewhere"
    outside.mkdir()
    (outside / "people.csv").write_text("not in the folder")
    (work / "data").symlink_to(outside)
    (work / "hdf" / "link").symlink_to(outside)
    told = recon("purge", "--work", work, "--yes").stdout
    assert "notes.txt" in told
    assert everything(work) == {"notes.txt", "report", "report/page.html", "data"}
    assert (outside / "people.csv").read_text() == "not in the folder"
    again = recon("purge", "--work", work, "--yes", code=5).stderr
    assert again == f"error: {work} has nothing that a run made; nothing is removed\n"


def test_files_of_others_in_folders_of_ours_stay_and_are_named(home: Path) -> None:
    work = home / "work"
    level = next(path for path in (work / "persons").iterdir() if path.is_dir())
    mine = [work / "persons" / "my notes.txt", level / "mine.csv"]
    for path in mine:
        path.write_text("mine")
    (work / "private" / "own" / "manifests").mkdir(parents=True)
    told = recon("purge", "--work", work).stdout
    assert all(path.name in told for path in mine)
    recon("purge", "--work", work, "--yes")
    assert {path for path in work.rglob("*") if path.is_file()} == set(mine)
    assert (work / "private" / "own").is_dir()


def test_folders_of_others_are_refused(tmp_path: Path, home: Path) -> None:
    other = tmp_path / "other"
    for name in ("microdata", "private/keys", ".staging/deploy", "disagreements/people"):
        (other / name).mkdir(parents=True)
        (other / name / "file.txt").write_text("mine")
    (other / "log.jsonl").write_text('{"event": "login"}\n')
    before = everything(other)
    recon("purge", "--work", other, "--yes", code=5)
    assert everything(other) == before
    (tmp_path / "link").symlink_to(home / "work")
    said = recon("purge", "--work", tmp_path / "link", "--yes", code=5).stderr
    assert "is a link; name the folder itself" in said
    assert (home / "work" / "hdf").is_dir()


def test_a_file_written_elsewhere_is_named(home: Path) -> None:
    (home / "work" / "published.study.parquet").rename(home / "given away.parquet")
    told = recon("purge", "-c", home / "recon.yaml", "--yes").stdout
    assert "remove it yourself" in told
    assert (home / "given away.parquet").is_file()


def test_damaged_and_interrupted_runs_are_removed(home: Path) -> None:
    work = home / "work"
    (work / "persons" / "_manifest.json").write_text("damaged")
    shutil.rmtree(work / "places")
    shutil.move(work / "hdf", work / STAGING / "trash-purge-1-1")  # a purge that was killed
    (work / ".tmp.1.published.csv").write_text("half")
    assert work / "persons" in find_purge(work, FOLDERS).paths
    recon("purge", "--work", work, "--yes")
    assert not work.exists()


def test_a_stage_that_is_running_is_left_alone(home: Path) -> None:
    from filelock import ReadWriteLock

    before = everything(home)
    lock = ReadWriteLock(home / "work" / STAGING / "data synth.lock", timeout=0, is_singleton=False)
    with lock.read_lock():
        said = recon("purge", "-c", home / "recon.yaml", "--yes", code=5).stderr
    assert "another process is running `recon data synth`" in said
    assert {name for name in everything(home) if "lock" not in name} == {
        name for name in before if "lock" not in name
    }


def test_what_a_kill_left_beside_a_written_file_is_removed(home: Path) -> None:
    work = home / "work"
    (work / "published.study.parquet").unlink()
    (work / ".tmp.1.published.study.parquet").write_text("half of the counts")
    (work / ".tmp.1.other.parquet").write_text("another's")
    recon("run", "-c", home / "recon.yaml", "-q", "--only", "tabulate")
    assert (work / "published.study.parquet").is_file()
    assert not (work / ".tmp.1.published.study.parquet").exists()
    assert (work / ".tmp.1.other.parquet").exists()


def test_something_else_in_the_place_of_a_lock_is_named(home: Path) -> None:
    lock = home / "work" / STAGING / "data tabulate.lock"
    shutil.rmtree(lock, ignore_errors=True)
    lock.unlink(missing_ok=True)
    command = ("run", "-c", home / "recon.yaml", "-q", "--only", "tabulate", "--force")
    for linked in (False, True):
        if linked:
            lock.symlink_to(home / "recon.yaml")
        else:
            lock.mkdir()
        for words in (command, ("purge", "-c", home / "recon.yaml", "--yes")):
            said = recon(*words, code=5).stderr
            assert said.startswith("error: ")
            assert "is no ordinary file; remove it" in said
            assert said.count("\n") == 1
        if linked:
            lock.unlink()
        else:
            lock.rmdir()
    assert (home / "recon.yaml").read_text() == CONFIG
