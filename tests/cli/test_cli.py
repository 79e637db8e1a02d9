"""The commands from end to end, on a release that is not a census."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest
from rich.console import Console

from recon_cli import __version__
from recon_cli.capabilities.ingest import partitions as ingest_partitions
from recon_cli.capabilities.reconstruct import question as attack
from recon_cli.cli import Commands, main
from recon_cli.config import SECTIONS, load_config
from recon_cli.console.output import TableColumn, fitted_table, share
from recon_cli.page.words import percentage
from recon_cli.pipeline import question_worker
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import STAGES
from recon_cli.publication import GeounitBatch
from recon_cli.schema import load_release
from recon_cli.sources.legacy import LegacySource
from recon_cli.store import Piece, partitions, read_partition
from tests.support.command_line import recon
from tests.support.paths import ROOT
from tests.support.populations import random_records
from tests.support.stages import ingest

UNITS = ["001001", "001002", "002001", "003001", "003002"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of records in three partitions."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    random_records(load_release("clinic_visits"), 3, 60, UNITS, skew=False).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def tidy(people: Path) -> Path:
    """Their published tables."""
    path = people.with_name("published.csv")
    recon("data", "tabulate", people, "--release", "clinic_visits", "--to", path)
    return path


@pytest.fixture
def config(tidy: Path, tmp_path: Path) -> Path:
    """A run's config, in a folder that is not the current one."""
    path = tmp_path / "run" / "clinics.yaml"
    path.parent.mkdir()
    path.write_text(
        "release: clinic_visits\n"
        "work: out\n"
        f"ingest: {{source: tidy, paths: [{tidy}]}}\n"
        "reconstruct: {seed: 4}\n"
    )
    return path


def work(config: Path) -> Path:
    return config.parent / "out"


def test_the_whole_way(config: Path, people: Path) -> None:
    assert "ingest: done" in recon("ingest", "-c", config).stdout
    done = recon("reconstruct", "-c", config)
    assert "reconstruct: done" in done.stdout
    assert "cells, all equal" in done.stdout
    verified = recon("verify", "-c", config)
    assert "every published cell is reproduced" in verified.stdout
    again = config.with_name("again.csv")
    recon("data", "tabulate", "-c", config, "--to", again)
    assert again.read_text() == (people.parent / "published.csv").read_text()
    microdata = read_partition(work(config) / "microdata", "001")
    assert microdata.columns[0] == "geoid_clinic"
    assert partitions(work(config) / "blocks") == ("001", "002", "003")


def test_what_is_done_is_skipped_and_said_so(config: Path) -> None:
    for command in ("ingest", "reconstruct"):
        recon(command, "-c", config)
        again = recon(command, "-c", config)
        assert f"{command}: up to date, nothing to do" in again.stdout
        assert f"{command}: done" in recon(command, "-c", config, "--force").stdout


def test_the_number_of_workers_does_not_matter(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recon("ingest", "-c", config)
    found = []
    for workers in (1, 2):
        recon("reconstruct", "-c", config, "--workers", workers, "--force")
        found.append({p.name: p.read_bytes() for p in work(config).glob("micro*/*/*.parquet")})
    assert found[0] == found[1]
    manifest = json.loads((work(config) / "microdata" / "_manifest.json").read_text())
    assert manifest["run"]["workers"] == 2
    assert manifest["run"]["worker_peak_mb"] > 0
    assert manifest["totals"]["people"] == 60
    assert sum(manifest["statuses"].values()) == 5


def test_an_interrupted_reconstruction_goes_on(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recon("ingest", "-c", config)
    real, seen = question_worker.ask_piece, []

    def interrupted(job: Any, piece: Piece, tick: Any) -> None:
        seen.append(piece)
        if len(seen) == 3:
            raise KeyboardInterrupt
        real(job, piece, tick)

    monkeypatch.setattr(question_worker, "ask_piece", interrupted)
    stopped = recon("reconstruct", "-c", config, "--workers", 1, code=130)
    assert "interrupted; finished partitions are kept" in stopped.stderr
    assert not (work(config) / "microdata").exists()
    resumed = recon("reconstruct", "-c", config, "--workers", 1)
    assert "2 of 3 pieces were finished before" in resumed.stderr
    assert seen[3:] == seen[2:3]


def test_an_interrupted_ingest_closes_its_files_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when they are collected: a second Ctrl-C would then be a traceback."""
    real, closed = LegacySource.batches, []

    def watched(source: LegacySource) -> Iterator[GeounitBatch]:
        try:
            yield from real(source)
        finally:
            closed.append(source)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LegacySource, "batches", watched)
    monkeypatch.setattr(ingest_partitions, "describe_geounits", interrupted)
    config = load_config(ROOT / "configs" / "toy.yaml", work=tmp_path)
    with pytest.raises(KeyboardInterrupt) as stopped:
        ingest(Run(config, config.load_release()))
    assert closed, f"still open in the frames of {stopped.tb}"


def test_records_that_do_not_fit_are_not_published(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recon("ingest", "-c", config)
    real = attack.reconstruct_plan

    def forged(*arguments: Any, **options: Any) -> Any:
        result = real(*arguments, **options)
        object.__setattr__(result, "microdata", result.microdata[1:])
        return result

    monkeypatch.setattr("recon_cli.capabilities.reconstruct.question.reconstruct_plan", forged)
    refused = recon("reconstruct", "-c", config, "--workers", 1, code=7)
    assert refused.stderr.startswith("error: district 00")
    assert "expected" in refused.stderr
    assert not (work(config) / "microdata").exists()
    recon("reconstruct", "-c", config, "--workers", 1, "--set", "reconstruct.verify=false")
    differing = recon("verify", "-c", config, code=7)
    assert "published cells differ" in differing.stderr
    assert "table PATIENTS, cell 1 (PAT-001): expected" in differing.stderr


def test_a_table_that_is_not_published_is_refused_by_name(config: Path, tidy: Path) -> None:
    fewer = config.with_name("fewer.csv")
    pl.read_csv(tidy, infer_schema=False).filter(pl.col("table") != "SMOKERS").write_csv(fewer)
    recon("ingest", "-c", config, "--set", f"ingest.paths=[{fewer}]")
    refused = recon("reconstruct", "-c", config, "--tables", "PATIENTS,SMOKERS", code=2)
    assert refused.stderr.startswith("error: tables: 'SMOKERS' is not published in these files")
    recon("reconstruct", "-c", config, "--tables", "PATIENTS")
    recon("reconstruct", "-c", config, "--tables", "clinic")
    notes = json.loads((work(config) / "microdata" / "_manifest.json").read_text())["notes"]
    assert notes["unpublished_tables"] == ["SMOKERS"]
    assert "DECADES" not in notes["tables"]


@pytest.mark.parametrize(
    ("command", "first"),
    [("reconstruct", "ingest"), ("verify", "ingest"), ("data tabulate", "reconstruct")],
)
def test_a_missing_stage_names_its_command(config: Path, command: str, first: str) -> None:
    extra = ["--to", config.with_name("t.csv")] if command == "data tabulate" else []
    refused = recon(*command.split(), "-c", config, *extra, code=5)
    assert f"run `recon {first}` first" in refused.stderr


def test_ingest_refuses_bad_input_and_keeps_what_was_there(config: Path, tidy: Path) -> None:
    recon("ingest", "-c", config)
    before = (work(config) / "tables" / "_manifest.json").read_bytes()
    bad = config.with_name("bad.csv")
    bad.write_text(tidy.read_text().replace("001001,", "00100,", 1))
    refused = recon("ingest", "-c", config, "--set", f"ingest.paths=[{bad}]", code=4)
    assert "00100" in refused.stderr
    assert (work(config) / "tables" / "_manifest.json").read_bytes() == before
    missing = recon("ingest", "-c", config, "--set", "ingest.paths=[none.csv]", code=2)
    assert missing.stderr == "error: ingest.paths: no such file or folder: none.csv\n"


def test_the_size_of_a_write_does_not_change_what_is_read(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recon("ingest", "-c", config)
    whole = read_partition(work(config) / "tables", "001")
    monkeypatch.setattr(ingest_partitions, "_BUFFERED_ROWS", 1)
    recon("ingest", "-c", config, "--force")
    assert read_partition(work(config) / "tables", "001").equals(whole)


def test_geounits_have_region_and_population(config: Path, people: Path) -> None:
    recon("ingest", "-c", config)
    found = read_partition(work(config) / "geounits", "001")
    assert found.columns == ["geoid", "level", "district", "population", "pattern"]
    records = pl.read_parquet(people)["geoid_clinic"]
    expected = {geoid: int(records.str.starts_with(geoid).sum()) for geoid in found["geoid"]}
    assert dict(found.select("geoid", "population").iter_rows()) == expected
    assert set(found["district"]) == {"001"}


def test_records_from_csv_equal_records_from_parquet(
    people: Path, tidy: Path, tmp_path: Path
) -> None:
    pl.read_parquet(people).write_csv(tmp_path / "people.csv")
    recon(
        "data", "tabulate", tmp_path / "people.csv", "--release", "clinic_visits",
        "--to", tmp_path / "t.csv",
    )  # fmt: skip
    assert (tmp_path / "t.csv").read_text() == tidy.read_text()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("age", "old", "column 'age': Int16 values are expected; 60 records"),
        ("smoker", "maybe", "column 'smoker': Boolean values are expected; 60 records"),
        (None, None, "no column 'age' (columns: "),
    ],
)
def test_records_that_cannot_be_read(
    people: Path, tmp_path: Path, column: str | None, value: str | None, message: str
) -> None:
    frame = pl.read_parquet(people).cast(pl.String)
    frame = frame.drop("age") if column is None else frame.with_columns(pl.lit(value).alias(column))
    frame.write_csv(tmp_path / "bad.csv")
    refused = recon(
        "data", "tabulate", tmp_path / "bad.csv", "--release", "clinic_visits",
        "--to", tmp_path / "t.csv", code=4,
    )  # fmt: skip
    assert message in refused.stderr
    assert not (tmp_path / "t.csv").exists()


def test_tabulate_needs_somewhere_to_write(people: Path, tmp_path: Path) -> None:
    refused = recon("data", "tabulate", people, "--release", "clinic_visits", code=2)
    assert "tabulate.to: missing" in refused.stderr
    refused = recon(
        "data", "tabulate", people, "--release", "clinic_visits", "--to", tmp_path / "t.txt", code=2
    )
    assert "a .csv, .parquet or .zip file is expected" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("show", "001001", "--html", "."), "'--html': File '.' is a directory"),
        (("show", "001001", "--html", ""), "'--html': an empty path"),
        (("report", "--to", ""), "'--to': an empty path"),
        (("init", "clinics.yaml", "--to", "."), "'--to': File '.' is a directory"),
        (("run", "--work", ""), "'--work': an empty path"),
        (("run", "--work", "clinics.yaml"), "'--work': Directory 'clinics.yaml' is a file"),
        (("run", "--set", "work=clinics.yaml"), "work: a folder is expected, this is a file"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(
    arguments: tuple[str, ...], why: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    options = () if arguments[0] == "init" else ("-c", config)
    assert why in recon(*arguments, *options, code=2).stderr
    assert [path.name for path in Path().iterdir()] == ["clinics.yaml"]


def test_a_work_folder_that_is_a_file_is_named_with_its_line(config: Path) -> None:
    config.write_text(config.read_text().replace("work: out", "work: clinics.yaml"))
    refused = recon("run", "-c", config, code=2).stderr
    assert f"{config}:2: work: a folder is expected, this is a file" in refused


def test_a_report_for_a_folder_is_refused(config: Path) -> None:
    recon("ingest", "-c", config)
    refused = recon("report", "-c", config, "--set", f"report.to={config.parent}", code=5).stderr
    assert refused.startswith(f"error: {config.parent}: is a folder; name a file to write")
    assert not (work(config) / "report").exists()


def test_usage_names_the_command_that_users_have(config: Path) -> None:
    assert recon("status", "-x", code=2).stderr.startswith("Usage: recon status ")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("capacty", "recon plan capacity"),
        ("noisy", "recon data noisy"),
        ("plan audit", "recon audit"),
        ("reconstuct", "recon reconstruct"),
        ("data tabluate", "recon data tabulate"),
    ],
)
def test_what_is_no_command_is_answered_with_what_to_type(typed: str, meant: str) -> None:
    refused = recon(*typed.split(), code=2).stderr
    assert refused.endswith(
        f"Error: No such command {typed.rpartition(' ')[2]!r}. Did you mean `{meant}`?\n"
    )
    assert recon("xyzzy", code=2).stderr.endswith("Error: No such command 'xyzzy'.\n")


def test_quiet_says_nothing_and_very_verbose_shows_the_traceback(config: Path) -> None:
    assert recon("ingest", "-c", config, "-q").output == ""
    assert "district 001 done in" in recon("reconstruct", "-c", config, "-v").stderr
    refused = recon("verify", "-c", config, "--tables", "X", "-vv", code=2)
    assert "Traceback" in refused.stderr
    refused = recon("verify", "-c", config, "--tables", "X", "-v", code=2)
    assert "Traceback" not in refused.stderr
    assert "exclude each other" in recon("verify", "-v", "-q", code=2).stderr


def test_releases() -> None:
    assert "clinic_visits" in recon("data", "releases").stdout
    shown = recon("data", "releases", "sf1_2010").stdout
    assert "34 tables, 4,188 cells" in shown
    assert "P12 49" in shown
    assert "no packaged schema 'sf1'" in recon("data", "releases", "sf1", code=2).stderr


def every_command() -> Iterator[tuple[str, click.Command]]:
    """The words of every command and group, and itself."""
    groups = [click.Context(main, info_name="recon")]
    while groups:
        context = groups.pop()
        assert isinstance(context.command, click.Group)
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            inner = click.Context(command, info_name=name, parent=context)
            yield inner.command_path.removeprefix("recon "), command
            if isinstance(command, click.Group):
                groups.append(inner)


EVERY_COMMAND = dict(every_command())


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_help_is_enough_to_begin(words: str) -> None:
    text = recon(*words.split(), "--help").stdout
    assert "\n  Example:\n    recon " in text, "a line each"
    listed = text.partition("\nCommands:\n")[2]
    assert not [line for line in listed.splitlines() if line.endswith("...")], "cut off"
    name = words.rpartition(" ")[2]
    for key in SECTIONS[name].model_fields if name in SECTIONS else ():
        assert f"{name}.{key}" in text or f"--{key.replace('_', '-')}" in text


def test_every_stage_has_its_command() -> None:
    assert {each.command.removeprefix("recon ") for each in STAGES} <= set(EVERY_COMMAND)


def test_the_list_of_commands_says_whole_sentences() -> None:
    text = recon("--help", width=60).stdout
    listed = text.partition("Begin:")[2]
    assert max(map(len, listed.splitlines())) <= 60
    assert "..." not in listed
    whole = "solvar Measure how far any other solution could differ, and find the records that "
    whole += "all solutions share. "
    assert whole in " ".join(listed.split())


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_the_list_of_commands_says_what_each_says_itself(words: str) -> None:
    path, _, name = words.rpartition(" ")
    group = EVERY_COMMAND[path] if path else main
    if isinstance(group, Commands):
        assert group.purpose(name) == EVERY_COMMAND[words].get_short_help_str(limit=200)


@pytest.mark.parametrize("command", ["ingest", "reconstruct", "verify"])
def test_output_fits_a_narrow_terminal_without_colour(
    config: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for before in ("ingest", "reconstruct"):
        recon(before, "-c", config)
    text = recon(command, "-c", config, width=60).stdout
    assert "\x1b" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 60


@pytest.mark.parametrize("width", [30, 40, 60, 72, 100])
def test_tables_are_folded_and_not_cut(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    columns = [
        TableColumn(name, at > 1) for at, name in enumerate(["level", "table", "within range"])
    ]
    rows = [["hospital", "SEX_BY_AGE_BY_DIAGNOSIS", "1,234"], ["region", "AGES", "7"]]
    Console(width=width).print(fitted_table(columns, rows, width))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    for word in ["hospital", "SEX_BY_AGE_BY_DIAGNOSIS", "1,234", "region", "AGES", "7", "within"]:
        assert word in said
    assert "…" not in said
    assert ("within range 1,234" in said) == (width < 60)  # one fact a line


def test_rows_without_words_are_told_by_their_first_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = [
        TableColumn(name, is_number=True) for name in ("columns known", "identity", "attribute")
    ]
    Console(width=20).print(fitted_table(columns, [["2", "21", "153"]], 20))
    assert capsys.readouterr().out.split() == [
        "columns",
        "known",
        "2",
        "identity",
        "21",
        "attribute",
        "153",
    ]


def test_shares_are_rounded_as_the_report_rounds_them() -> None:
    assert share(48, 260) == "48 (18.5%)"
    assert share(2999, 3000) == "2,999 (more than 99.9%)"
    assert share(1, 3000) == "1 (less than 0.1%)"
    assert (share(3000, 3000), share(0, 3000)) == ("3,000 (100%)", "0 (0%)")
    assert percentage(48, 260) in share(48, 260)


def outside(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recon_cli", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_from_another_folder(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    recon("ingest", "-q", "-c", "../run/clinics.yaml")
    done = outside(elsewhere, "reconstruct", "-qc", "../run/clinics.yaml", "--workers", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert work(config).is_dir()
    assert list(elsewhere.iterdir()) == []
    missing = recon("verify", code=2)
    assert missing.stderr.startswith("error: no config: give --config FILE")
    assert recon("--version").stdout == f"recon, version {__version__}\n"


def test_shards_are_merged_by_run(config: Path) -> None:
    recon("ingest", "-qc", config)
    for number in (1, 2):
        recon("reconstruct", "-c", config, "--shard", f"{number}/2")
        assert not (work(config) / "microdata").exists()
    assert "reconstruct: done" in recon("run", "-c", config, "--merge", "reconstruct").stdout
    assert (work(config) / "microdata").is_dir()
    refused = recon("run", "-c", config, "--merge", "ingest", code=2)
    assert "'ingest' is not one of audit, reconstruct, " in refused.stderr
    recon("run", "-c", config, "--merge", "reconstruct", "--force", code=2)


def test_the_help_of_run_names_every_stage() -> None:
    said = " ".join(recon("run", "--help").stdout.split())
    order = said.partition("so the order is")[2].partition("A stage that is up")[0]
    named = re.findall(r"[a-z0-9-]+", order)
    assert {stage.short_name for stage in STAGES} <= set(named)


def test_help_lists_every_command_under_what_it_is_for() -> None:
    context = click.Context(main)
    sections = main.sections(main.list_commands(context))
    assert list(sections)[:3] == ["Begin", "Run", "Stages"]
    listed = [name for names in sections.values() for name in names]
    assert sorted(listed) == main.list_commands(context)
