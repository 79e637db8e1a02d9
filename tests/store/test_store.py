"""Stage folders: published whole or not at all, resumed by partition, checked when read."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

from recon_cli.coverage import CoveragePattern
from recon_cli.errors import StageError
from recon_cli.schema import Release, load_release
from recon_cli.store import (
    INGEST,
    InputFile,
    Manifest,
    PartWriter,
    Piece,
    Recipe,
    coverage_bytes,
    open_folder,
    partitions,
    read_partition,
    transaction,
)
from recon_cli.store.files import parquet_bytes, write_bytes
from recon_cli.store.protection import read_published
from recon_cli.store.published import read_coverage
from tests.support.paths import ROOT
from tests.support.toy_stage import NEXT, RECIPE, STAGE, frames


def publish(work: Path, recipe: Recipe = RECIPE, *, force: bool = False) -> list[str]:
    """Run the toy stage; returns the partitions that were worked on."""
    worked = []
    with transaction(work, recipe, force=force) as stage:
        if stage.current is not None:
            return []
        for name in recipe.partitions:
            if name not in stage.done:
                worked.append(name)
                stage.staging.write(Piece(name), frames(name, recipe.seed), statuses={"unique": 1})
        for folder in STAGE.folders:
            stage.staging.write_extra(folder, "_note.json", b"{}\n")
        stage.publish(map(Piece, recipe.partitions), notes={"tables": ["P1"]})
    return worked


def contents(work: Path) -> dict[str, Any]:
    """Everything published, manifests without their volatile part."""
    found: dict[str, Any] = {}
    for path in sorted(work.rglob("*")):
        name = path.relative_to(work).as_posix()
        if path.is_dir() or name.startswith(".staging"):
            continue
        data = path.read_bytes()
        if path.name == "_manifest.json":
            manifest = json.loads(data)
            assert set(manifest.pop("run")) >= {"created", "wall_seconds", "peak_mb"}
            found[name] = manifest
        else:
            found[name] = data
    return found


def leftovers(work: Path) -> list[str]:
    return [path.name for path in (work / ".staging").iterdir() if path.suffix != ".lock"]


def test_a_published_stage_reads_back(tmp_path: Path) -> None:
    assert publish(tmp_path) == ["01001", "01003", "02001"]
    assert partitions(tmp_path / "microdata") == ("01001", "01003", "02001")
    assert read_partition(tmp_path / "microdata", "01003").equals(frames("01003")["microdata"])
    scanned = pl.read_parquet(
        tmp_path / "microdata" / "*" / "*.parquet",
        hive_partitioning=True,
        hive_schema={"county": pl.String},
    )
    assert scanned["county"].unique().sort().to_list() == ["01001", "01003", "02001"]
    assert leftovers(tmp_path) == []


def test_the_manifest_says_where_the_data_come_from(tmp_path: Path) -> None:
    publish(tmp_path)
    text = (tmp_path / "microdata" / "_manifest.json").read_text()
    manifest = json.loads(text)
    assert text == json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert manifest["stage"] == "reconstruct"
    assert manifest["folders"] == ["microdata", "blocks"]
    assert manifest["release"] == {"name": "toy", "digest": "d" * 64}
    assert manifest["config"] == {"tables": ["P1"]}
    assert manifest["seed"] == 7
    assert manifest["inputs"]["partitions"]["01003"] == {"tables": "b"}
    assert manifest["rows"] == 9
    assert manifest["statuses"] == {"unique": 3}
    assert manifest["notes"] == {"tables": ["P1"]}
    row = manifest["partitions"][0]
    assert (row["partition"], row["rows"], row["statuses"]) == ("01001", 3, {"unique": 1})
    assert list(row["files"]) == ["part-00000.parquet"]
    assert str(tmp_path) not in text


def test_equal_runs_make_equal_bytes(tmp_path: Path) -> None:
    publish(tmp_path / "a")
    publish(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_parquet_bytes_depend_on_the_rows_alone() -> None:
    whole = pl.DataFrame({"geoid": [str(i) for i in range(5000)], "count": range(5000)})
    pieces = pl.concat([whole[:17], whole[17:4000], whole[4000:]], rechunk=False)
    assert parquet_bytes(pieces) == parquet_bytes(whole)
    assert parquet_bytes(whole) != parquet_bytes(whole.reverse())


def test_an_up_to_date_stage_is_not_done_again(tmp_path: Path) -> None:
    publish(tmp_path)
    before = contents(tmp_path)
    assert publish(tmp_path) == []
    assert contents(tmp_path) == before
    assert publish(tmp_path, force=True) == ["01001", "01003", "02001"]
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "changed",
    [
        replace(RECIPE, seed=8),
        replace(RECIPE, config={"tables": ["P1", "P12"]}),
        replace(RECIPE, release_digest="e" * 64),
        replace(RECIPE, files=(InputFile("al.zip", 3, "f" * 64),)),
        replace(RECIPE, shared={"_coverage.json": "9"}),
    ],
)
def test_what_every_partition_depends_on_changes_every_key(tmp_path: Path, changed: Recipe) -> None:
    assert changed.key != RECIPE.key
    publish(tmp_path)
    assert publish(tmp_path, changed) == list(RECIPE.partitions)


def test_another_tool_version_changes_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    before = RECIPE.key, RECIPE.partition_key("01001")
    monkeypatch.setattr("recon_cli.store.recipe.__version__", "99")
    fresh = replace(RECIPE)
    assert fresh.key != before[0]
    assert fresh.partition_key("01001") != before[1]


def test_only_the_partition_whose_input_changed_is_done_again(tmp_path: Path) -> None:
    publish(tmp_path)
    inputs: Mapping[str, Mapping[str, str]] = {**RECIPE.partitions, "01003": {"tables": "new"}}
    changed = replace(RECIPE, partitions=inputs)
    assert publish(tmp_path, changed) == ["01003"]
    manifest = open_folder(tmp_path, STAGE, "microdata").manifest
    assert manifest.key == changed.key
    assert manifest.run.reused_partitions == 2
    fewer = {name: digests for name, digests in inputs.items() if name != "02001"}
    assert publish(tmp_path, replace(RECIPE, partitions=fewer)) == []
    assert partitions(tmp_path / "blocks") == ("01001", "01003")
    assert not (tmp_path / "blocks" / "county=02001").exists()


def interrupt_after(work: Path, finished: int, recipe: Recipe = RECIPE) -> None:
    """Finish some partitions, and go no further."""
    with transaction(work, recipe) as stage:
        for name in list(recipe.partitions)[:finished]:
            stage.staging.write(Piece(name), frames(name, recipe.seed), statuses={"unique": 1})


def test_resume_goes_on_after_the_finished_partitions(tmp_path: Path) -> None:
    interrupt_after(tmp_path, 2)
    assert not (tmp_path / "microdata").exists()
    assert publish(tmp_path) == ["02001"]
    publish(tmp_path / "undisturbed")
    shutil.move(tmp_path / "undisturbed", other := tmp_path.with_name("undisturbed"))
    assert contents(tmp_path) == contents(other)


def test_a_finished_partition_is_taken_over_by_a_run_with_other_inputs(tmp_path: Path) -> None:
    interrupt_after(tmp_path, 2)
    changed = replace(RECIPE, partitions={**RECIPE.partitions, "01001": {"tables": "new"}})
    assert publish(tmp_path, changed) == ["01001", "02001"]
    assert leftovers(tmp_path) == []


def test_a_damaged_unfinished_partition_is_done_again(tmp_path: Path) -> None:
    interrupt_after(tmp_path, 2)
    part = next(tmp_path.rglob("new/blocks/county=01001/*.parquet"))
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    next(tmp_path.rglob("done/01003.json")).write_text("{")
    assert publish(tmp_path) == list(RECIPE.partitions)


def test_publishing_an_unfinished_stage_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(StageError, match="partition 01001 is not finished"),
        transaction(tmp_path, RECIPE) as stage,
    ):
        stage.publish(map(Piece, RECIPE.partitions))


class Killed(BaseException):
    """Nothing in the program may catch it."""


def kill_at(
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    of: tuple[str, ...] = ("fsync", "replace", "rename", "rmtree"),
) -> Callable[[], int]:
    """Die just before the ``step``-th flush, rename or removal; returns how many there were."""
    counter = count()
    last = 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal last
            last = next(counter)
            if last == step:
                raise Killed
            return real(*args, **kwargs)

        return call

    real = {"fsync": os, "replace": Path, "rename": Path, "rmtree": shutil}
    for name in of:
        monkeypatch.setattr(real[name], name, dying(getattr(real[name], name)))
    return lambda: last + 1


def steps_of_a_run(tmp_path: Path) -> int:
    publish(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        steps = kill_at(patch, -1)
        publish(tmp_path, NEXT)
    return steps()


def test_a_kill_at_any_step_leaves_the_old_the_new_or_a_known_gap(tmp_path: Path) -> None:
    steps = steps_of_a_run(tmp_path / "undisturbed")
    assert steps > 60
    wanted = contents(tmp_path / "undisturbed")
    seen: set[str] = set()
    for step in range(steps):
        work = tmp_path / str(step)
        publish(work)
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, step)
            with pytest.raises(Killed):
                publish(work, NEXT)
        seen.add(state(work))
        publish(work, NEXT)
        assert contents(work) == wanted, f"killed at step {step}"
        assert leftovers(work) == []
    assert seen == {"old", "new", "gap"}


def state(work: Path) -> str:
    """What a reader finds: ``old``, ``new``, or ``gap``: an error that names the command."""
    try:
        found = [open_folder(work, STAGE, name) for name in STAGE.folders]
        people = pl.concat([found[0].read(name) for name in found[0].partitions])
    except StageError as error:
        return "gap" if "recon reconstruct" in str(error) else str(error)
    keys = {folder.manifest.key for folder in found}
    assert len(keys) == 1
    assert people.height == 9
    return {RECIPE.key: "old", NEXT.key: "new"}[keys.pop()]


def test_a_run_with_other_settings_first_finishes_an_interrupted_publication(
    tmp_path: Path,
) -> None:
    for step in count():
        publish(work := tmp_path / str(step))
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, step, of=("rename",))
            with pytest.raises(Killed):
                publish(work, NEXT)
        if state(work) == "gap":
            break
    interrupt_after(work, 0, replace(RECIPE, seed=9))
    assert state(work) == "new"


_CHILD = """
import sys, time
from pathlib import Path
from tests.support.toy_stage import NEXT, frames
from recon_cli.store import Piece, transaction

with transaction(Path(sys.argv[1]), NEXT) as stage:
    for i, name in enumerate(NEXT.partitions):
        stage.staging.write(Piece(name), frames(name, 8), statuses={"unique": 1})
        print(name, flush=True)
        if i == 1:
            time.sleep(60)
"""


def test_a_killed_process_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    publish(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert [child.stdout.readline().strip() for _ in range(2)] == ["01001", "01003"]
        with pytest.raises(StageError, match="another process is running `recon reconstruct`"):
            publish(tmp_path, NEXT)
        child.send_signal(signal.SIGKILL)
    assert state(tmp_path) == "old"
    time.sleep(0.05)
    assert publish(tmp_path, NEXT) == ["02001"]
    assert state(tmp_path) == "new"


def test_a_missing_stage_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"no microdata/ in .*: run `recon reconstruct` first"):
        open_folder(tmp_path, STAGE, "microdata")


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"stage": "reconstruct"}', "\xff"])
def test_a_damaged_manifest_is_recognised_and_made_again(tmp_path: Path, damage: str) -> None:
    publish(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "blocks" / "_manifest.json").write_text(damage, encoding="latin-1")
    for folder in STAGE.folders:
        with pytest.raises(StageError, match="run `recon reconstruct` again"):
            open_folder(tmp_path, STAGE, folder)
    publish(tmp_path)
    assert contents(tmp_path) == before


def test_a_manifest_that_says_something_else_is_recognised(tmp_path: Path) -> None:
    publish(tmp_path)
    path = tmp_path / "blocks" / "_manifest.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "run": {**written["run"], "wall_seconds": 9.0}}))
    open_folder(tmp_path, STAGE, "blocks")  # what differs from run to run is not sealed
    row = written["partitions"][0]
    changes: list[dict[str, Any]] = [
        {"rows": written["rows"] + 1},
        {"partitions": [{**row, "files": {}}, *written["partitions"][1:]]},
        {"partitions": []},
        {"notes": {"tables": None}},
        {"seal": ""},
    ]
    for changed in changes:
        path.write_text(json.dumps({**written, **changed}))
        with pytest.raises(StageError, match=r"is not as it was written; run `recon reconstruct`"):
            open_folder(tmp_path, STAGE, "blocks")


def test_a_stage_file_with_other_columns_is_refused_with_its_stage(tmp_path: Path) -> None:
    publish(tmp_path)
    (part, *_) = sorted((tmp_path / "blocks").glob("*/*.parquet"))
    frame = pl.read_parquet(part)
    name = frame.columns[-1]
    whole = part.read_bytes()
    for damaged in (
        parquet_bytes(frame.drop(name)),
        parquet_bytes(frame.with_columns(pl.lit(1.5).alias(name))),
        whole[: len(whole) // 2],
        b"",
    ):
        part.write_bytes(damaged)
        with pytest.raises(StageError, match=r"is not the file that was published") as refused:
            open_folder(tmp_path, STAGE, "blocks").read(part.parent.name.partition("=")[2])
        assert str(part) in str(refused.value)
        assert "run `recon reconstruct --force`" in str(refused.value)


def test_folders_of_different_runs_do_not_pass_as_one(tmp_path: Path) -> None:
    publish(tmp_path)
    publish(other := tmp_path / "other", NEXT)
    shutil.rmtree(tmp_path / "blocks")
    shutil.move(other / "blocks", tmp_path / "blocks")
    with pytest.raises(StageError, match=r"microdata/ and blocks/ .* come from different runs"):
        open_folder(tmp_path, STAGE, "microdata")


def test_a_manifest_in_the_wrong_folder_is_refused(tmp_path: Path) -> None:
    publish(tmp_path)
    shutil.copy(tmp_path / "blocks" / "_manifest.json", tmp_path / "microdata")
    with pytest.raises(StageError, match="is the manifest of blocks/, not of microdata/"):
        open_folder(tmp_path, STAGE, "microdata")


def test_changed_data_are_not_read_as_if_nothing_had_happened(tmp_path: Path) -> None:
    publish(tmp_path)
    part = tmp_path / "microdata" / "county=01001" / "part-00000.parquet"
    part.write_bytes(parquet_bytes(frames("01001", 99)["microdata"]))
    with pytest.raises(StageError, match=r"is not the file that was published: .*--force`"):
        read_partition(tmp_path / "microdata", "01001")
    part.unlink()
    with pytest.raises(StageError, match="cannot be read"):
        read_partition(tmp_path / "microdata", "01001")
    assert publish(tmp_path) == ["01001"]
    with pytest.raises(StageError, match="no partition county=55555"):
        read_partition(tmp_path / "microdata", "55555")


def test_an_unwritable_work_folder_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StageError, match="file"):
        publish(tmp_path / "file" / "work")


@pytest.mark.parametrize("target", ["", ".", "folder", "file/page.html", "file/deeper/page.html"])
def test_a_place_for_no_file_is_named_as_it_was_given(target: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with contextlib.chdir(tmp_path), pytest.raises(StageError) as refused:
        write_bytes(Path(target), b"page")
    why = "is a folder; name a file" if "page" not in target else "is no folder; choose another"
    assert str(refused.value).startswith(f"{Path(target)}: ")
    assert why in str(refused.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_refusal_of_the_disk_names_the_file_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _mode: str) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(_path))

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(StageError) as refused:
        write_bytes(tmp_path / "page.html", b"page")
    message = f"{tmp_path}/page.html: cannot be written (No space left on device); choose another"
    assert str(refused.value).startswith(message)
    assert not list(tmp_path.iterdir())


def test_a_device_is_not_replaced_by_a_file() -> None:
    with pytest.raises(StageError, match="/dev/null: is no ordinary file"):
        write_bytes(Path("/dev/null"), b"page")


def test_part_files_of_a_partition_add_up(tmp_path: Path) -> None:
    recipe = replace(RECIPE, partitions={})
    with transaction(tmp_path, recipe) as stage:
        writer = PartWriter(stage.staging)
        for seed in (1, 2):
            for folder, frame in frames("01001", seed).items():
                writer.append("01001", folder, frame)
        assert writer.read("01001", "microdata", ["age"]).to_dict(as_series=False) == {
            "age": [1, 2, 1, 1, 2, 2]
        }
        writer.finish("01001")
        stage.publish(map(Piece, writer.partitions()))
    assert read_partition(tmp_path / "microdata", "01001")["age"].to_list() == [1, 2, 1, 1, 2, 2]


@pytest.fixture(scope="module")
def clinics() -> Release:
    return load_release("clinic_visits")


def ingested(work: Path, release: Release) -> Manifest:
    coverage = (
        CoveragePattern.complete(release, "clinic"),
        CoveragePattern("district", {"PATIENTS": (1,), "DECADES": (2, 3)}),
    )
    geounits = pl.DataFrame(
        {
            "geoid": ["001", "001002", "001001"],
            "level": ["district", "clinic", "clinic"],
            "district": ["001", "001", "001"],
            "population": [5, 0, 5],
            "pattern": [1, 0, 0],
        },
        schema_overrides={"population": pl.Int32, "pattern": pl.Int16},
    )
    counts = pl.DataFrame(
        {"geoid": ["001", "001001"], "table": ["PATIENTS"] * 2, "cell": [1, 1], "count": [5, 5]},
        schema_overrides={"cell": pl.Int16, "count": pl.Int32},
    )
    recipe = Recipe(INGEST, release.name, release.digest, "district", {})
    with transaction(work, recipe) as stage:
        stage.staging.write(Piece("001"), {"tables": counts, "geounits": geounits})
        stage.staging.write_extra("tables", "_coverage.json", coverage_bytes(coverage, release))
        return stage.publish([Piece("001")])


def test_published_counts_read_back(tmp_path: Path, clinics: Release) -> None:
    ingested(tmp_path, clinics)
    published = read_published(tmp_path, clinics, "001")
    assert published.geounits["geoid"].to_list() == ["001001", "001002", "001"]
    assert published.counts.height == 2
    assert published.coverage[0] == CoveragePattern.complete(clinics, "clinic")
    assert published.coverage[1].cells == {"PATIENTS": (1,), "DECADES": (2, 3)}
    text = (tmp_path / "tables" / "_coverage.json").read_text()
    assert '"SMOKERS": "all"' in text


def test_counts_of_another_schema_are_refused(tmp_path: Path, clinics: Release) -> None:
    ingested(tmp_path, clinics)
    with pytest.raises(StageError, match=r"another schema.*run `recon ingest` again"):
        read_published(tmp_path, load_release("sf1_2010"), "001")


def test_coverage_that_does_not_fit_the_schema_is_refused(tmp_path: Path, clinics: Release) -> None:
    ingested(tmp_path, clinics)
    tables = open_folder(tmp_path, INGEST, "tables")
    with pytest.raises(StageError, match="does not fit release 'sf1_2010'"):
        read_coverage(tables, load_release("sf1_2010"))
    (tmp_path / "tables" / "_coverage.json").unlink()
    with pytest.raises(StageError, match=r"_coverage.json cannot be read"):
        read_coverage(tables, clinics)
