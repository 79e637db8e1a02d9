"""`recon status`, and what a run would do: found out without doing it."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recon_cli import __version__
from recon_cli.errors import StageError
from recon_cli.store import Piece, Recipe, Stage, State, stage_status, transaction
from recon_cli.store.staging import COMMIT
from tests.support.command_line import recon
from tests.support.paths import ROOT

CLINIC = ROOT / "configs" / "clinic.yaml"
STAGE = Stage("made", ("made", "beside"))


def recipe(**changes: Any) -> Recipe:
    usual: dict[str, Any] = {
        "stage": STAGE,
        "release": "clinic_visits",
        "release_digest": "0" * 64,
        "partition_level": "district",
        "config": {"mode": "relaxed"},
        "seed": 1,
        "partitions": {name: {"tables": f"digest {name}"} for name in ("D01", "D02", "D03")},
    }
    return Recipe(**{**usual, **changes})


def write(work: Path, made: Recipe, *partitions: str, publish: bool = True) -> None:
    """Finish some partitions, and publish them."""
    pieces = [Piece(name) for name in partitions]
    with transaction(work, made) as stage:
        for piece in pieces:
            if not stage.is_done(piece):
                frames = {
                    name: pl.DataFrame({"geoid": [piece.partition]}) for name in STAGE.folders
                }
                stage.staging.write(piece, frames)
        if publish:
            stage.publish(pieces)


ALL = ("D01", "D02", "D03")


def test_never_run(tmp_path: Path) -> None:
    found = stage_status(tmp_path, recipe())
    assert (found.state, found.reasons, found.finished) == (State.ABSENT, (), 0)
    assert found.partitions == 3
    assert not (tmp_path / ".staging").exists(), "looking changes nothing"


def test_done(tmp_path: Path) -> None:
    write(tmp_path, recipe(), *ALL)
    found = stage_status(tmp_path, recipe())
    assert (found.state, found.reasons, found.finished) == (State.DONE, (), 3)
    assert found.last is not None
    forced = stage_status(tmp_path, recipe(), force=True)
    assert (forced.state, forced.reasons) == (State.STALE, ("it is asked for again",))


@pytest.mark.parametrize(
    ("changes", "reason", "kept"),
    [
        ({"config": {"mode": "exact"}}, "mode: relaxed → exact", 0),
        ({"config": {"mode": "relaxed", "deep": True}}, "deep: null → true", 0),
        ({"seed": 2}, "seed: 1 → 2", 0),
        ({"release_digest": "1" * 64}, "the release schema changed", 0),
        ({"shared": {"tables/_coverage.json": "x"}}, "input tables/_coverage.json is new", 0),
        (
            {"partitions": {n: {"tables": f"digest {n.replace('2', '9')}"} for n in ALL}},
            "tables/ changed in 1 of 3 partitions",
            2,
        ),
        (
            {"partitions": {n: {"tables": f"digest {n}"} for n in ALL[:2]}},
            "1 of 3 partitions: gone",
            2,
        ),
    ],
)
def test_out_of_date_and_why(
    tmp_path: Path, changes: dict[str, Any], reason: str, kept: int
) -> None:
    write(tmp_path, recipe(), *ALL)
    now = recipe(**changes)
    found = stage_status(tmp_path, now)
    assert (found.state, found.reasons) == (State.STALE, (reason,))
    assert found.finished == kept
    with transaction(tmp_path, now) as stage:
        assert len(stage.done) == kept, "what was foretold is what is found"
        assert stage.current is None


def test_half_done(tmp_path: Path) -> None:
    write(tmp_path, recipe(), *ALL[:2], publish=False)
    found = stage_status(tmp_path, recipe())
    assert (found.state, found.finished, found.partitions) == (State.HALF, 2, 3)
    other = stage_status(tmp_path, recipe(seed=2))
    assert (other.state, other.finished) == (State.ABSENT, 0)


def test_damaged(tmp_path: Path) -> None:
    write(tmp_path, recipe(), *ALL)
    next((tmp_path / "beside" / "district=D02").iterdir()).write_bytes(b"")
    found = stage_status(tmp_path, recipe())
    assert (found.state, found.reasons) == (
        State.DAMAGED,
        ("files of beside/ are missing or changed",),
    )
    shutil.rmtree(tmp_path / "beside")
    missing = stage_status(tmp_path, recipe())
    assert missing.state is State.DAMAGED
    assert "no beside/" in missing.reasons[0]


def test_a_publication_that_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        module = importlib.import_module("recon_cli.store.transaction")
        patched.setattr(module, "complete_publication", killed)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, recipe(), *ALL)
    assert list(tmp_path.glob(f".staging/*/{COMMIT}"))
    found = stage_status(tmp_path, recipe())
    assert (found.state, found.finished) == (State.HALF, 3)
    assert "its publication was interrupted" in found.reasons[0]
    other = stage_status(tmp_path, recipe(seed=2))
    assert (other.state, other.reasons) == (State.STALE, ("seed: 1 → 2",))
    assert not (tmp_path / "made").exists()
    with transaction(tmp_path, recipe()) as stage:
        assert stage.current is not None


def test_a_file_elsewhere_belongs_to_the_stage(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.csv"
    made = recipe(outside={"elsewhere.csv": elsewhere}, partitions={})
    assert made.key == recipe(partitions={}).key
    with transaction(tmp_path / "work", made) as stage:
        elsewhere.write_text("1\n")
        stage.publish([])
    assert stage_status(tmp_path / "work", made).state is State.DONE
    elsewhere.write_text("2\n")
    found = stage_status(tmp_path / "work", made)
    assert found.reasons == ("elsewhere.csv is missing, or not as it was written",)
    with transaction(tmp_path / "work", made) as stage:
        assert stage.current is None


def test_a_file_elsewhere_must_have_been_written(tmp_path: Path) -> None:
    made = recipe(outside={"never.csv": tmp_path / "never.csv"}, partitions={})
    with (
        pytest.raises(StageError, match=r"never\.csv"),
        transaction(tmp_path / "work", made) as stage,
    ):
        stage.publish([])


# the command


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("clinic")
    recon("run", "-c", CLINIC, "--work", work, "--until", "solvar")
    return work


@pytest.fixture
def work(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "work"))


def states(*arguments: object) -> dict[str, tuple[str, list[str]]]:
    found = json.loads(recon("status", *arguments, "--json").stdout)
    return {each["stage"]: (each["state"], each["reasons"]) for each in found["stages"]}


def test_a_finished_run(work: Path) -> None:
    text = recon("status", "-c", CLINIC, "--work", work).stdout
    assert text.startswith(str(work))
    assert "900 people" in text
    assert "clinics" in text
    assert f"version {__version__}" in text
    for name in ("ingest", "reconstruct", "solvar"):
        assert f"{name} " in text
    assert "not run" in text, "the report"
    found = states("-c", CLINIC, "--work", work)
    assert {name: state for name, (state, _) in found.items()} == {
        **dict.fromkeys(("ingest", "reconstruct", "solvar"), "done"),
        "report": "not run",
    }


def test_json_has_what_there_is(work: Path) -> None:
    found = json.loads(recon("status", "--work", work, "--json").stdout)
    assert found["work"] == str(work)
    ingest, reconstruct, _ = found["stages"]
    assert ingest["folders"] == ["tables", "geounits"]
    assert reconstruct["totals"]["people"] == reconstruct["rows"] == 900
    assert (reconstruct["partitions_done"], reconstruct["partitions"]) == (3, 3)
    assert reconstruct["bytes"] == sum(
        path.stat().st_size
        for name in ("microdata", "blocks")
        for path in (work / name).rglob("*.*")
        if path.is_file()
    )


def test_a_change_goes_down_the_line(work: Path) -> None:
    found = states("-c", CLINIC, "--work", work, "--set", "reconstruct.seed=5")
    assert found["ingest"] == ("done", [])
    assert found["reconstruct"] == ("out of date", ["seed: 1 → 5"])
    assert found["solvar"] == ("out of date", ["reconstruct is out of date"])


def test_without_a_config_folders_are_compared_with_each_other(work: Path) -> None:
    assert set(states("--work", work)) == {"ingest", "reconstruct", "solvar"}
    assert {state for state, _ in states("--work", work).values()} == {"done"}
    recon("reconstruct", "-c", CLINIC, "--work", work, "--set", "reconstruct.seed=5")
    found = states("--work", work)
    assert found["reconstruct"] == ("done", [])
    assert found["solvar"][0] == "out of date"
    assert any(reason.startswith("microdata/ changed in ") for reason in found["solvar"][1])


def test_damage_and_missing_inputs_are_said(work: Path, tmp_path: Path) -> None:
    shutil.rmtree(work / "blocks" / "district=D01")
    for shared in (("-c", CLINIC, "--work", work), ("--work", work)):
        state, reasons = states(*shared)["reconstruct"]
        assert (state, reasons[0]) == ("damaged", "files of blocks/ are missing or changed")
    gone = ("-c", CLINIC, "--work", work, "--set", f"ingest.paths=[{tmp_path / 'gone.csv'}]")
    state, reasons = states(*gone)["ingest"]
    assert state == "done"
    assert reasons[-1].startswith("cannot be checked: ingest.paths: no such file")


def test_nothing_there(tmp_path: Path) -> None:
    assert "no stage has run here" in recon("status", "--work", tmp_path).stdout
    found = states("-c", CLINIC, "--work", tmp_path / "none")
    assert all(each == ("not run", []) for each in found.values())
    assert not (tmp_path / "none").exists()
    assert recon("status", "-c", CLINIC, "--work", tmp_path, "-q").output == ""


@pytest.mark.parametrize("width", [50, 80, 120])
def test_it_fits(work: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work.parent)
    text = recon("status", "--work", work.name, width=width).stdout
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width


def test_a_work_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    message = recon("status", "--work", tmp_path / "nowhere", code=2).output
    assert "nowhere: no such folder" in " ".join(message.split())


def test_a_work_folder_that_cannot_be_made_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    config = ROOT / "configs" / "toy.yaml"
    message = recon("ingest", "-c", config, "--work", tmp_path / "file" / "work", code=5).output
    assert "the work folder" in message
    assert "cannot be made or written to: Not a directory" in " ".join(message.split())
