"""What the program writes is for its owner alone, whatever the umask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from recon_cli.execute import DaskWorkers, run_items
from recon_cli.execute.work_items import WorkItem
from recon_cli.store import Piece, transaction
from recon_cli.store.files import link, make_folder, write_bytes
from tests.support.command_line import recon
from tests.support.paths import ROOT
from tests.support.shards import modes_beside
from tests.support.toy_stage import RECIPE, frames


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> dict[str, str]:
    """Paths below ``folder`` that are not 0700 (folders) or 0600 (files)."""
    return {
        path.relative_to(folder).as_posix(): oct(path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.stat().st_mode & 0o777 != (0o700 if path.is_dir() else 0o600)
    }


@pytest.mark.usefixtures("_umask")
def test_a_stage_its_staging_and_its_lock_are_its_owners_alone(tmp_path: Path) -> None:
    work = tmp_path / "new" / "work"
    with transaction(work, RECIPE) as stage:
        for name in RECIPE.partitions:
            stage.staging.write(Piece(name), frames(name, RECIPE.seed), statuses={"unique": 1})
        assert open_to_others(tmp_path) == {}
        assert (work / ".staging").is_dir()
        stage.publish(map(Piece, RECIPE.partitions))
    assert len(list(work.rglob("*.parquet"))) == 6
    assert open_to_others(tmp_path) == {}


@pytest.mark.usefixtures("_umask")
def test_a_file_that_was_open_to_all_is_replaced_by_one_that_is_not(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    file = tmp_path / "a" / "file.csv"
    write_bytes(file, b"1")
    file.chmod(0o644)
    write_bytes(file, b"2")
    link(file, tmp_path / "a" / "b" / "again.csv")
    assert open_to_others(tmp_path) == {}


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    write_bytes(tmp_path / "file.csv", b"1")
    assert tmp_path.stat().st_mode & 0o777 == 0o750


def test_what_cluster_workers_read_is_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        found = run_items(
            modes_beside,
            lambda: tmp_path,
            [WorkItem("1", 1)],
            cluster=DaskWorkers(tmp_path, processes=1),
        )
    finally:
        os.umask(before)
    assert found.values == ([0o600],)


def test_all_that_commands_write_is_their_owners_alone(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        f"release: sf1_2010\nwork: {tmp_path}/made/work\nworkers: 2\n"
        f"ingest: {{source: sf1-legacy, paths: [{ROOT}/fixtures/toy2010.sf1.zip]}}\n"
        "reconstruct: {tables: block+tract}\n"
        f"tabulate: {{to: {tmp_path}/made/counts.csv, format: tidy, tables: [P1]}}\n"
        f"report: {{to: {tmp_path}/made/page.html, places: 1}}\n"
    )
    config.chmod(0o600)
    before = os.umask(0)
    try:
        recon("run", "-c", config, "--log-json", tmp_path / "log.jsonl")
    finally:
        os.umask(before)
    assert pl.read_csv(tmp_path / "made" / "counts.csv").height
    assert open_to_others(tmp_path) == {}
