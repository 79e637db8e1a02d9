"""`recon run`: the order of stages, what is skipped, what is said, and kills at any moment."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result

from recon_cli import __version__
from recon_cli.capabilities.run.command import select
from recon_cli.config import SECTIONS, load_config
from recon_cli.console.stage_command import summary_of
from recon_cli.errors import ConfigError
from recon_cli.pipeline import question_worker
from recon_cli.pipeline.order import stages_of
from recon_cli.pipeline.stages import STAGES
from recon_cli.store.manifest import read_manifest
from tests.support import killing
from tests.support.command_line import recon
from tests.support.paths import ROOT

CLINIC = ROOT / "configs" / "clinic.yaml"
#: Kills in one run of the tests; more if somebody asks.
KILLS = int(os.environ.get("RECON_EXAMPLES", "4"))


def lines_of(result: Result) -> list[str]:
    """What was said of the stages, without the figures."""
    return [line.rstrip() for line in result.stdout.splitlines() if not line.startswith("  ")]


def write(folder: Path, *sections: str, name: str = "run.yaml") -> Path:
    path = folder / name
    path.write_text("\n".join(["release: sf1_2010", "work: work", *sections]))
    return path


def names(path: Path, *settings: str) -> list[str]:
    return [stage.short_name for stage in stages_of(load_config(path, settings=settings))]


def clinic(tmp_path: Path, *arguments: object, code: int = 0) -> Result:
    return recon("run", "-c", CLINIC, "--work", tmp_path, *arguments, code=code)


# the order


def test_the_order_follows_from_what_is_read_and_made() -> None:
    assert names(ROOT / "configs" / "synthetic.yaml") == [
        *("synth", "attacker", "swap", "tabulate", "ingest"),
        *("reconstruct", "solvar", "link", "score", "report"),
    ]
    assert names(ROOT / "configs" / "attack.yaml") == ["link", "score"]
    assert names(ROOT / "configs" / "nation.yaml") == [
        *("synth", "attacker", "swap", "tabulate", "ingest", "reconstruct", "solvar"),
    ]


def test_the_order_of_the_file_does_not_matter_unless_nothing_else_does(tmp_path: Path) -> None:
    ingest = "ingest: {source: tidy, paths: [t.csv]}"
    backwards = write(tmp_path, "report:", "solvar:", "link:", "reconstruct:", ingest)
    assert names(backwards) == ["ingest", "reconstruct", "solvar", "link", "report"]
    other = write(tmp_path, "link:", "solvar:", "reconstruct:", ingest)
    assert names(other) == ["ingest", "reconstruct", "link", "solvar"]


def test_the_report_comes_after_all_that_it_may_show(tmp_path: Path) -> None:
    compare = "compare: {truth: a.csv, protections: {none: }}"
    others = (
        "slivers:",
        "capacity:",
        "estimate:",
        compare,
        "ingest: {source: tidy, paths: [t.csv]}",
    )
    listed = names(write(tmp_path, "report:", *others))
    assert listed[-1] == "report"
    assert len(listed) == len(others) + 1


def test_a_setting_asks_for_a_stage_too(tmp_path: Path) -> None:
    path = write(tmp_path, "reconstruct:")
    assert names(path, "solvar.mode=exact") == ["reconstruct", "solvar"]


def test_tabulate_goes_where_its_records_come_from(tmp_path: Path) -> None:
    parts = ("ingest: {source: tidy, paths: [published.csv]}", "reconstruct:")
    before = write(tmp_path, *parts, "tabulate: {records: people.csv, to: published.csv}")
    assert names(before) == ["tabulate", "ingest", "reconstruct"]
    after = write(tmp_path, "tabulate: {to: again.csv}", *parts)
    assert names(after) == ["ingest", "reconstruct", "tabulate"]


def test_a_circle_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "ingest: {source: tidy, paths: [again.csv]}",
        "reconstruct:",
        "tabulate: {to: again.csv}",
    )
    with pytest.raises(ConfigError, match="circle: ingest → reconstruct → tabulate → ingest"):
        names(path)


@pytest.mark.parametrize("release", ["pl_2020", "pl94_1980"])
def test_a_population_for_a_release_without_age_groups(tmp_path: Path, release: str) -> None:
    path = tmp_path / "recon.yaml"
    path.write_text(
        f"release: {release}\nwork: work\nsynth: {{people: 400}}\n"
        "tabulate: {records: work/persons, to: tables.parquet}\n"
        "ingest: {source: tidy, paths: [tables.parquet]}\nreconstruct:\n"
    )
    output = recon("run", "-c", path).output
    assert "reconstruct: done" in output
    listed = pl.read_parquet(tmp_path / "work/comrcl/**/*.parquet", hive_partitioning=False)
    assert {"exact", "stale", "stranger"} <= set(listed["truth"])
    assert "binned" not in set(listed["truth"])


def test_a_config_without_stages_is_refused(tmp_path: Path) -> None:
    refused = recon("run", "-c", write(tmp_path, "calibrate:"), code=2)
    assert "no stages configured; add a section (stages: synth, " in refused.stderr


def test_choosing_stages() -> None:
    stages = stages_of(load_config(ROOT / "configs" / "synthetic.yaml"))

    def chosen(first: str | None, last: str | None, only: str | None = None) -> list[str]:
        return [stage.short_name for stage in select(stages, first, last, only)]

    assert chosen(None, "swap") == ["synth", "attacker", "swap"]
    assert chosen("score", None) == ["score", "report"]
    assert chosen("ingest", "solvar") == ["ingest", "reconstruct", "solvar"]
    assert chosen(None, None, "link") == ["link"]
    with pytest.raises(ConfigError, match="--from solvar comes after --until ingest"):
        chosen("solvar", "ingest")
    with pytest.raises(ConfigError, match=r"--only: no stage 'verify' \(stages: synth, attacker,"):
        chosen(None, None, "verify")
    refused = recon("run", "-c", CLINIC, "--only", "solvar", "--from", "ingest", code=2)
    assert "--only" in refused.stderr


def test_every_stage_has_its_function_its_section_and_its_summary() -> None:
    for each in STAGES:
        assert callable(import_module(f"{each.package}.stage").open_stage)
        assert callable(summary_of(each))
        assert each.section in SECTIONS
    made = [folder for each in STAGES for folder in each.folders]
    assert len(made) == len(set(made)), "a folder has one maker"


def test_every_section_that_is_no_stage_is_known() -> None:
    others = set(SECTIONS) - {stage.section for stage in STAGES}
    assert others <= {"account", "calibrate", "check", "cluster", "fetch"}


# one config for the whole attack


def test_the_whole_attack_from_one_config(tmp_path: Path) -> None:
    synthetic = (
        (ROOT / "configs" / "synthetic.yaml").read_text().replace("../work/synthetic", "work")
    )
    path = tmp_path / "synthetic.yaml"
    path.write_text(synthetic)
    shared = ("-c", path, "--set", "synth.people=600", "--until", "score")
    done = recon("run", *shared)
    assert lines_of(done)[-1].startswith("run: 9 stages: 9 done, 0 up to date, ")
    config = load_config(path)
    for each in select(stages_of(config), None, "score", None):
        made = read_manifest(config.work / each.folders[0], command="")
        assert set(made.folders) == set(each.folders), "a stage publishes what it declares"
    again = lines_of(recon("run", *shared))
    assert again[-1].startswith("run: 9 stages: all up to date, nothing to do, ")
    (config.work / "published.study.parquet").unlink()
    third = lines_of(recon("run", *shared))
    assert third[-1].startswith("run: 9 stages: 1 done, 8 up to date, "), "the same bytes again"


# what is skipped, and what would be done


def test_what_is_done_is_skipped_and_force_does_the_chosen_again(tmp_path: Path) -> None:
    clinic(tmp_path, "--until", "solvar")
    again = lines_of(clinic(tmp_path, "--until", "solvar"))
    assert [line.partition(":")[2].strip() for line in again[:3]] == [
        "up to date, nothing to do (--force does it again)"
    ] * 3
    assert again[-1].startswith("run: 3 stages: all up to date, nothing to do, ")
    forced = lines_of(clinic(tmp_path, "--only", "reconstruct", "--force"))
    assert forced[0] == "reconstruct: done"
    assert forced[-1].startswith("run: 1 stage: 1 done")
    after = lines_of(clinic(tmp_path, "--until", "solvar"))
    assert after[-1].startswith("run: 3 stages: all up to date"), "the same bytes again"


def test_a_dry_run_says_what_why_and_how_long_and_changes_nothing(tmp_path: Path) -> None:
    until = ("--until", "solvar")
    fresh = clinic(tmp_path / "none", *until, "--dry-run").stdout
    assert "dry run: 3 of 3 stages would run" in fresh
    assert "would run: not run yet" in fresh
    assert "would be checked again, after ingest" in fresh
    assert not (tmp_path / "none").exists()

    clinic(tmp_path, *until)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = clinic(tmp_path, *until, "--dry-run").stdout
    assert "dry run: everything is up to date" in done
    changed = clinic(tmp_path, *until, "--dry-run", "--set", "reconstruct.seed=9").stdout
    assert "would run: seed: 1 → 9" in changed
    assert "would be checked again, after reconstruct" in changed
    mode = clinic(tmp_path, "--only", "solvar", "--dry-run", "--set", "solvar.mode=exact").stdout
    assert "would run: mode: relaxed → exact" in mode
    wall = read_manifest(tmp_path / "solvar", command="").run.wall_seconds
    assert f"{wall:.1f} s" in mode
    forced = clinic(tmp_path, *until, "--dry-run", "--force").stdout
    assert "would run: it is asked for again" in forced
    assert "would run again, after ingest" in forced
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_make_runs_every_stage_by_its_name() -> None:
    said = subprocess.run(
        ["make", "-n", "solvar", "ARGS=-q"],  # noqa: S607 - the make that is on the path
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "recon run -c configs/toy.yaml --only solvar -q\n" in said
    text = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z0-9-]*):", text, re.MULTILINE)
    files = {path.name for path in ROOT.iterdir()}
    assert not {stage.short_name for stage in STAGES} & ({*targets} | files), "a name is taken"


def test_a_dry_run_knows_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic(tmp_path, "--until", "reconstruct")
    real, seen = question_worker.ask_piece, list[str]()

    def interrupted(*arguments: object) -> None:
        seen.append("")
        if len(seen) == 3:
            raise KeyboardInterrupt
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(question_worker, "ask_piece", interrupted)
    clinic(tmp_path, "--only", "solvar", "--workers", 1, code=130)
    done = "8 of 12 clinics decided; 2 of 3 partitions"
    shown = clinic(tmp_path, "--only", "solvar", "--dry-run").stdout
    assert "would continue: " in shown
    assert done in " ".join(shown.split())
    other = clinic(tmp_path, "--only", "solvar", "--dry-run", "--set", "solvar.mode=exact").stdout
    assert "would run: " in other
    assert "mode: relaxed → exact" in " ".join(other.split())


def test_an_interrupt_while_a_module_is_loaded_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `import ortools` has it: its C code raises an error of its own from ours."""

    def loading(*_: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("initialization failed")

    monkeypatch.setattr("recon_cli.capabilities.ingest.stage.open_stage", loading)
    log = tmp_path / "log.jsonl"
    said = clinic(tmp_path, "--until", "ingest", "--log-json", log, code=130).stderr
    assert said.startswith("interrupted; finished partitions are kept")
    assert json.loads(log.read_text().splitlines()[-1])["exit_code"] == 130
    alone = recon("ingest", "-c", CLINIC, "--work", tmp_path, code=130).stderr
    assert alone.startswith("interrupted; ")

    def missing(*_: object) -> None:
        raise ImportError("no such module")

    monkeypatch.setattr("recon_cli.capabilities.ingest.stage.open_stage", missing)
    failed = recon("ingest", "-c", CLINIC, "--work", tmp_path, code=1)
    assert "ImportError" in failed.stderr, "what is broken is not hidden"


def test_a_dry_run_fails_like_the_run(tmp_path: Path) -> None:
    refused = clinic(tmp_path, "--from", "solvar", "--dry-run", code=5)
    assert "run `recon ingest` first" in refused.stderr
    assert clinic(tmp_path, "--from", "solvar", code=5).stderr == refused.stderr


# what programs are told


def test_events_tell_programs_everything(tmp_path: Path) -> None:
    shared = ("--until", "reconstruct", "--workers", "1", "--log-json")
    done = clinic(tmp_path, *shared)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    told = recon("run", "--help").stdout
    assert all(key in told for event in events for key in event), "the help says what there is"
    kinds = Counter(event["event"] for event in events)
    assert kinds["partition_done"] == 3
    assert kinds["progress"] >= 2
    first, last = events[0], events[-1]
    assert (first["event"], first["version"]) == ("run_started", __version__)
    assert first["stages"] == ["ingest", "reconstruct"]
    assert (last["event"], last["exit_code"]) == ("run_done", 0)
    assert (last["done"], last["skipped"]) == (["ingest", "reconstruct"], [])
    started = [event for event in events if event["event"] == "stage_started"]
    assert [(event["index"], event["of"]) for event in started] == [(1, 2), (2, 2)]
    progress = [event for event in events if event["event"] == "progress"][-1]
    ended = next(e for e in events if e["event"] == "stage_done" and e["stage"] == "reconstruct")
    assert progress["statuses"] == ended["statuses"]
    assert progress["people"] == ended["totals"]["people"] == ended["rows"] == 900

    log = tmp_path / "log.jsonl"
    for _ in range(2):
        again = clinic(tmp_path, *shared, log)
        assert again.stderr == ""
    kinds = Counter(json.loads(line)["event"] for line in log.read_text().splitlines())
    assert kinds["stage_skipped"] == 4, "a log is added to"


def test_a_failure_is_an_event_too(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("geoid,table,cell,count\nD0100,PATIENTS,1,3\n")
    setting = ("--set", f"ingest.paths=[{bad}]")
    failed = clinic(tmp_path, *setting, "--log-json", code=4)
    *_, failure, end = [json.loads(line) for line in failed.stderr.splitlines()]
    assert (failure["event"], failure["stage"]) == ("stage_failed", "ingest")
    assert (failure["error"], failure["exit_code"]) == ("SourceError", 4)
    assert "D0100" in failure["message"]
    assert (end["event"], end["exit_code"], end["done"]) == ("run_done", 4, [])
    spoken = clinic(tmp_path, *setting, "--log-json", tmp_path / "log", code=4)
    assert spoken.stderr.startswith("error: ")
    refused = clinic(tmp_path, "--log-json", tmp_path / "no" / "log", code=2)
    assert "--log-json" in refused.stderr


# how it ends when somebody stops it


def outside(*arguments: object, stdout: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "recon_cli", *map(str, arguments)],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_reader_that_goes_away_is_no_defect(tmp_path: Path) -> None:
    recon("ingest", "-c", CLINIC, "--work", tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    process = outside("run", "-c", CLINIC, "--work", tmp_path, "--only", "ingest", stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", ["data releases", "--version"])
def test_output_that_is_closed_or_full_is_no_defect(words: str) -> None:
    command = [sys.executable, "-m", "recon_cli", *words.split()]
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    said = "the output, or a temporary file, cannot be written: No space left on device"
    assert (run.stderr, run.returncode) == (f"error: {said}\n", 5)
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command],  # noqa: S607
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (closed.stderr, closed.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("stop", "code", "word"),
    [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")],
)
def test_being_stopped_is_said_and_no_defect(
    tmp_path: Path, stop: signal.Signals, code: int, word: str
) -> None:
    log = tmp_path / "log"
    log.touch()
    process = outside(
        *("run", "-c", CLINIC, "--work", tmp_path / "work", "--log-json", log, "--until", "solvar"),
        stdout=subprocess.DEVNULL,
    )
    while "stage_started" not in log.read_text():
        assert process.poll() is None
    process.send_signal(stop)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == code
    assert said == (f"{word}; finished partitions are kept, the same command resumes\n")
    end = json.loads(log.read_text().splitlines()[-1])
    assert (end["event"], end["exit_code"]) == ("run_done", code)


ATTACK = (
    "synth",
    "attacker",
    "swap",
    "tabulate",
    "ingest",
    "reconstruct",
    "solvar",
    "link",
    "score",
)
#: Config, processes, stages; the last takes long.
KILLED = [
    ("clinic", 2, ATTACK[4:7]),
    ("toy", 1, ATTACK[4:7]),
    *([("synthetic", 2, ATTACK)] if "RECON_EXAMPLES" in os.environ else []),
]


def arguments_of(folder: Path, config: str, workers: int) -> tuple[list[str], Path]:
    """What to start, and the work folder, which lies in ``folder``."""
    path, work = ROOT / "configs" / f"{config}.yaml", folder / "work"
    more = ["--until", "solvar"]
    if config == "synthetic":
        text = path.read_text().replace("../work/synthetic", "work")
        path = folder / "synthetic.yaml"
        path.write_text(text)
        sizes = ("people=2500", "people_per_county=1000", "people_per_tract=500")
        more = ["--until", "score", *(f"--set=synth.{size}" for size in sizes)]
    return ["-c", str(path), "--work", str(work), "--workers", str(workers), *more], work


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for workers in /proc")
@pytest.mark.parametrize(("config", "workers", "stages"), KILLED)
def test_killed_at_any_moment_and_started_again_the_files_are_the_same(
    tmp_path: Path, config: str, workers: int, stages: tuple[str, ...]
) -> None:
    (tmp_path / "undisturbed").mkdir()
    arguments, work = arguments_of(tmp_path / "undisturbed", config, 1)
    recon("run", *arguments)
    undisturbed = killing.snapshot(work)
    assert killing.leftovers(work) == []

    (tmp_path / "killed").mkdir()
    arguments, work = arguments_of(tmp_path / "killed", config, workers)
    rng = random.Random(f"{config} {KILLS}")  # noqa: S311 - to repeat a failure, not to hide
    stops = tuple(each for each in killing.STOPS if workers > 1 or each.victim != "worker")
    lives: list[killing.Life] = []
    passed: tuple[str, ...] = ()
    while sum(life.stop is not None for life in lives) < KILLS / 2:
        lives.append(killing.live(arguments, rng, stages, passed, stops, later=0.1))
        passed = lives[-1].passed
        assert lives[-1].is_expected, lives[-1]
        if lives[-1].stop is None:
            assert killing.snapshot(work) == undisturbed, lives
            shutil.rmtree(work)
            passed = ()
    recon("run", *arguments)
    assert killing.snapshot(work) == undisturbed, lives
    assert killing.leftovers(work) == []
    assert "all up to date, nothing to do" in recon("run", *arguments).stdout
    for life in lives:
        how = "ended" if life.stop is None else f"{life.stop.signal.name} {life.stop.victim}"
        print(f"{life.at}: {how}, {life.code}")  # noqa: T201 - shown with -rP
