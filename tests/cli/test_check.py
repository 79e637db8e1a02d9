"""`recon check` as a script has it: exit codes, files, a time limit, and no counts in the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from recon_cli.capabilities.check.command import BROKEN, UNDECIDED
from recon_cli.errors import ConfigError
from tests.support.command_line import recon
from tests.support.pages import blocks
from tests.support.paths import ROOT

SCHEMA = """\
release: pupils
title: Pupils by sex and stage
features:
  sex: {categories: [girl, boy]}
  stage: {categories: [lower, upper]}
geography: {levels: [{level: school, digits: 4}, {level: town, digits: 2}], partition: town}
microdata: [sex, stage]
histogram: [sex, stage]
families:
  - {levels: [school, town], cells: [total, {by: sex, cells: [total, {by: stage}]}],
     tables: {PUPILS: {}}}
"""
COUNTS = {
    "A101": (31, 14, 12, 2, 17, 1, 16),
    "A102": (9, 5, 3, 2, 4, 2, 2),
    "A103": (25, 11, 7, 4, 14, 9, 5),
    "A1": (65, 30, 22, 8, 35, 12, 23),
}
LAW = "suppressed (below 3)"
CONFIG = """\
release: pupils.schema.yaml
work: work
workers: 1
ingest: {source: tidy, paths: [pupils.csv]}
check:
  rules:
    - {recovered: {from: 1, below: 3}, most: 0}
"""


def counts_csv(below: int) -> str:
    """The counts, those under ``below`` starred."""
    rows = ((geoid, at, n) for geoid, row in COUNTS.items() for at, n in enumerate(row, 1))
    lines = (f"{geoid},PUPILS,{at},{'*' if n < below else n}\n" for geoid, at, n in rows)
    return "geoid,table,cell,count\n" + "".join(lines)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """An office's folder: true counts apart, and those below 3 starred."""
    (tmp_path / "pupils.schema.yaml").write_text(SCHEMA)
    (tmp_path / "pupils.csv").write_text(counts_csv(3))
    law = "statements:\n  - {markers: ['*'], law: {suppressed: {below: 3}}}\n"
    (tmp_path / "protection.yaml").write_text(law)
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "pupils.csv").write_text(counts_csv(0))
    (tmp_path / "pupils.yaml").write_text(CONFIG)
    return tmp_path / "pupils.yaml"


def scripts() -> tuple[str, str]:
    """The gate of the page, and what it says to do where that fails."""
    gate, cure = (
        block.text
        for block in blocks((ROOT / "docs" / "check.md").read_text())
        if block.language == "sh"
    )
    return gate, cure


def run_script(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script as a workflow would, with `recon` on its path."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "recon"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m recon_cli "$@"\n')
    program.chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_script_of_the_page_fails_and_passes_after_protection(config: Path) -> None:
    folder = config.parent
    ward = folder / "ward.yaml"
    ward.write_text(CONFIG.replace("pupils.csv", "ward.csv"))
    (folder / "pupils.csv").rename(folder / "ward.csv")
    (folder / "truth" / "pupils.csv").rename(folder / "truth" / "ward.csv")
    gate, cure = scripts()
    failed = run_script(gate, folder)
    assert (failed.returncode, "check: broken" in failed.stdout) == (1, True)
    cured = run_script(cure, folder)
    assert (cured.returncode, "check: kept" in cured.stdout) == (0, True), cured.stderr
    published = ward.read_text().replace("[ward.csv]", "[work/suppressed]")
    ward.write_text(published.replace("work: work", "work: again"))
    passed = run_script(gate, folder)
    assert (passed.returncode, passed.stdout.splitlines()[-1]) == (0, "kept")
    assert json.loads((folder / "check.json").read_text())["verdict"] == "kept"


def test_what_is_written_has_counts_only_where_asked_for(config: Path) -> None:
    files = ("--json", config.parent / "o.json", "--junit", config.parent / "o.xml")
    shown = recon("check", "-c", config, *files, code=BROKEN).output
    document = json.loads((config.parent / "o.json").read_text())
    assert document == {
        "verdict": "broken",
        "rules": [
            {
                "rule": 1,
                "verdict": "broken",
                "recovered": {"from": 1, "below": 3, "published": True},
                "most": 0,
                "proven": 5,
                "undecided": 0,
                "of": 28,
                "by_table": {"PUPILS": 5},
                "not_asked": [],
                "tables": ["PUPILS"],
                "laws": [LAW],
                "assumptions": [],
                "left_out": [],
            }
        ],
    }
    suite = ET.fromstring((config.parent / "o.xml").read_bytes())  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    for text in (shown, (config.parent / "o.xml").read_text()):
        assert "A10" not in text
        assert "5 of 28 counts: PUPILS 5" in text
        assert f"if published by: {LAW}" in text
    recon("check", "-c", config, *files, "--show-counts", code=BROKEN)
    (rule,) = json.loads((config.parent / "o.json").read_text())["rules"]
    assert (rule["proven"], rule["undecided"], rule["of"]) == (5, 0, 28)
    assert {"geoid": "A101", "table": "PUPILS", "cell": 4, "count": 2} in rule["examples"]


def test_a_time_limit_is_kept_and_what_is_not_done_is_undecided(config: Path) -> None:
    started = time.monotonic()
    shown = recon("check", "-c", config, "--seconds", 0.2, code=UNDECIDED).stdout
    assert time.monotonic() - started < 15, "the machine may be busy"
    assert "the time was over" in shown
    recon("check", "-q", "-c", config, "--set", "check.seconds=300", code=BROKEN)
    changed = (config.parent / "pupils.csv").read_text().replace("A1,PUPILS,1,65", "A1,PUPILS,1,66")
    (config.parent / "pupils.csv").write_text(changed)
    recon("check", "-q", "-c", config, "--seconds", 0.2, code=UNDECIDED)


def test_a_failure_within_the_time_is_told_as_it_is(config: Path) -> None:
    counts = (config.parent / "pupils.csv").read_text()
    (config.parent / "pupils.csv").write_text(counts.replace("A1,PUPILS,1,65", "A1,PUPILS,1,99"))
    told = recon("check", "-q", "-c", config, "--seconds", 300, code=6).stderr
    assert told.startswith("error: ")


def test_tables_that_were_not_used_keep_no_rule(config: Path) -> None:
    text = SCHEMA + ("  - {levels: [school, town], cells: [{by: stage}], tables: {STAGES: {}}}\n")
    (config.parent / "pupils.schema.yaml").write_text(text)
    stages = "".join(
        f"{geoid},STAGES,{cell},{row[2 + cell - 1] + row[5 + cell - 1]}\n"
        for geoid, row in COUNTS.items()
        for cell in (1, 2)
    )
    (config.parent / "pupils.csv").write_text(counts_csv(0) + stages)
    few = ("--set", "check.rules=[{interval: {at_least: 1}, most: 0}]")
    recon("check", "-q", "-c", config, *few)
    partial = ("--set", "audit.tables=[PUPILS]", *few)
    shown = recon("check", "-c", config, *partial, code=UNDECIDED).stdout
    assert "`audit.tables` leaves out tables that are published" in shown


def test_a_unit_alone_is_no_proof_for_a_region(config: Path) -> None:
    rule = ("--set", "check.rules=[{certain_records: {}, most: 65}]")
    recon("check", "-q", "-c", config, *rule)
    shown = recon("check", "-c", config, *rule, "--set", "solvar.mode=relaxed", code=UNDECIDED)
    assert "unit by unit" in shown.stdout


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("{recovered: {from: 3, below: 3}, most: 0}", "from: less than below (3) is expected"),
        ("{recovered: {below: 3}}", "a limit is expected: most, or share for people"),
        ("{interval: {at_least: 3}, share: 0.1}", "interval has no share; give most"),
        ("{intervals: {at_least: 3}, most: 0}", "unknown key (valid keys: recovered, "),
        ("{recovered: {form: 1, below: 3}, most: 0}", "unknown key (valid keys: from, below, pub"),
        ("{disclosed: {kind: any, known: 1}, most: 0}", "'attribute', 'identity' or 'infer"),
        ("{most: 0}", "exactly one of recovered, interval, certain_records, disclosed"),
    ],
)
def test_a_wrong_rule_is_told_with_its_line(config: Path, rule: str, told: str) -> None:
    config.write_text(CONFIG + f"    - {rule}\n")
    stderr = recon("check", "-c", config, code=ConfigError.exit_code).stderr
    assert f"{config}:8: check.rules[1]" in stderr
    assert told in stderr


def test_the_only_rule_that_is_wrong_is_told_alone(config: Path) -> None:
    wrong = ("--set", "check.rules=[{recovered: {below: 3}}]")
    stderr = recon("check", "-c", config, *wrong, code=ConfigError.exit_code).stderr
    assert "a limit is expected" in stderr
    assert "at least 1 item" not in stderr
    none = recon("check", "-c", config, "--set", "check.rules=[]", code=ConfigError.exit_code)
    assert "at least 1 item" in none.stderr


def test_a_column_that_nobody_has_is_refused(config: Path) -> None:
    config.write_text(CONFIG + "    - {certain_records: {columns: [age]}, most: 0}\n")
    stderr = recon("check", "-c", config, code=ConfigError.exit_code).stderr
    assert "check.rules[1].certain_records.columns: no column 'age' in the histogram" in stderr


def test_published_zeros_disclose_the_people_of_a_group_of_any_size(config: Path) -> None:
    """One or two girls, and no upper one: whoever is a girl there is a lower one."""
    counts = config.parent / "pupils.csv"
    counts.write_text(
        "geoid,table,cell,count\n"
        + "".join(
            f"A101,PUPILS,{cell},{n}\n" for cell, n in enumerate(("*", "*", "*", 0, 0, 0, 0), 1)
        )
    )
    rule = ("--set", "check.rules=[{disclosed: {known: 1}, most: 0}]")
    schema = config.parent / "pupils.schema.yaml"
    schema.write_text(SCHEMA.replace("[school, town], cells", "[school], cells"))
    told = recon("check", "-c", config, *rule, code=BROKEN).stdout
    assert "1 counts" not in told
    assert f"if published by: {LAW}" in told


def test_a_table_that_is_not_in_the_files_keeps_no_rule(config: Path) -> None:
    text = SCHEMA + ("  - {levels: [town], cells: [{by: stage}], tables: {STAGES: {}}}\n")
    (config.parent / "pupils.schema.yaml").write_text(text)
    (config.parent / "pupils.csv").write_text(counts_csv(0))
    few = ("--set", "check.rules=[{interval: {at_least: 1}, most: 0}]")
    shown = recon("check", "-c", config, *few, code=UNDECIDED).stdout
    assert "not in the files: STAGES of town (`check.tables` says what is published)" in shown
    recon("check", "-q", "-c", config, *few, "--set", "check.tables=[PUPILS]")


def test_json_on_stdout_is_json_alone(config: Path) -> None:
    shown = recon("check", "-c", config, "--json", "-", code=BROKEN).stdout
    assert json.loads(shown)["verdict"] == "broken"
