"""Runs that are stopped or killed inside one region: what is published, and where they go on."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from benchmarks.office.publication import WARDS, write
from recon_cli.pipeline import checkpoint
from recon_cli.store import files
from tests.support import killing
from tests.support.command_line import recon

#: One region.
OFFICE = replace(WARDS, units=2)
#: Deterministic seconds between two states that are kept.
_TOLD = 0.005
KEY = ["geoid", "table", "cell"]

#: As a process ends that is killed: nothing is written any more.
_KILLED = SystemExit(9)


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided is told and written after every step."""
    monkeypatch.setattr("recon_cli.solve.nested_blocks._TOLD", _TOLD)
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config, its counts ingested."""
    folder = tmp_path_factory.mktemp("office")
    write(OFFICE, folder)
    recon("ingest", "-q", "-c", folder / "recon.yaml")
    return folder


@pytest.fixture
def begun(office: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    folder = tmp_path / "office"
    shutil.copytree(office, folder)
    return folder


@pytest.fixture(scope="module")
def undisturbed(office: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, audited."""
    folder = tmp_path_factory.mktemp("undisturbed") / "office"
    shutil.copytree(office, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recon_cli.solve.nested_blocks._TOLD", _TOLD)
        audit(folder, "-q")
    return folder


@contextmanager
def ended_after(writes: int, how: BaseException) -> Iterator[None]:
    """End the program before it writes to a checkpoint once more."""
    made: list[str] = []
    whole = files.write_bytes

    def write_bytes(path: Path, *data: bytes) -> None:
        if path.parent.parent.name == "begun":
            if len(made) == writes:
                raise how
            made.append(path.name)
        whole(path, *data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "write_bytes", write_bytes)
        yield


def audit(folder: Path, *arguments: object, code: int = 0) -> str:
    given = ("-c", folder / "recon.yaml", "--workers", 1, "--set", "audit.region_seconds=0.3")
    return recon("audit", *given, *arguments, code=code).output


def rows(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "work/audit/**/*.parquet", hive_partitioning=False)


def test_killed_inside_a_region_it_goes_on_and_the_files_are_the_same(
    begun: Path, undisturbed: Path
) -> None:
    rng = random.Random(1)  # noqa: S311 - to repeat a failure, not to hide
    for _ in range(3):
        with ended_after(rng.randrange(1, 12), _KILLED):
            audit(begun, "-q", code=9)
    audit(begun, "-q")
    assert killing.snapshot(begun / "work") == killing.snapshot(undisturbed / "work")
    assert killing.leftovers(begun / "work") == []


@pytest.mark.parametrize("writes", [0, 9])
def test_what_was_decided_when_it_was_stopped_is_published_and_the_rest_undecided(
    begun: Path, undisturbed: Path, writes: int
) -> None:
    with ended_after(writes, KeyboardInterrupt()):
        said = audit(begun, code=130)
    whole, found = rows(undisturbed), rows(begun)
    assert found.select(KEY).equals(whole.select(KEY)), "every count has a row"
    both = found.join(whole, on=KEY, suffix="_whole")
    # What is said stands; what is not known yet is not said.
    assert (both["least"] <= both["least_whole"]).all()
    assert (both["greatest"] >= both["greatest_whole"]).all()
    decided = both.filter(pl.col("status") != "undecided")
    assert decided["status"].equals(decided["status_whole"], check_names=False)
    assert decided.height < both.height
    words = f"{decided.height} of {both.height} counts decided"
    assert words in said
    manifest = json.loads((begun / "work/audit/_manifest.json").read_text())
    assert manifest["stopped"]["decided"] == decided.height
    assert manifest["stopped"]["asked"] == both.height
    assert manifest["statuses"]["undecided"] == both.height - decided.height
    assert words in recon("status", "-c", begun / "recon.yaml").stdout
    assert words in recon("status", "--work", begun / "work").stdout

    audit(begun, "-q")
    assert killing.snapshot(begun / "work") == killing.snapshot(undisturbed / "work")
    assert killing.leftovers(begun / "work") == []
    assert "up to date" in audit(begun)


def test_a_stopped_audit_reads_as_undecided_everywhere(begun: Path) -> None:
    with ended_after(12, KeyboardInterrupt()):
        audit(begun, "-q", code=130)
    recon("report", "-q", "-c", begun / "recon.yaml")
    page = (begun / "work/report/report.md").read_text()
    assert page.count("counts decided") == 2
    assert "not safe; the next `recon audit` or `recon run` goes on from there" in page


def test_what_is_stopped_when_it_is_made_again_does_not_replace_what_is_whole(
    undisturbed: Path,
) -> None:
    before = killing.snapshot(undisturbed / "work")
    with ended_after(3, KeyboardInterrupt()):
        audit(undisturbed, "--force", code=130)
    assert killing.snapshot(undisturbed / "work") == before
    assert "up to date" in audit(undisturbed)


def test_a_damaged_checkpoint_is_none(begun: Path, undisturbed: Path) -> None:
    with ended_after(12, _KILLED):
        audit(begun, "-q", code=9)
    for path in (begun / "work/.staging").glob("audit-*/begun/*/*"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    audit(begun, "-q")
    assert killing.snapshot(begun / "work") == killing.snapshot(undisturbed / "work")
