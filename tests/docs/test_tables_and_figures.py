"""Each command of the page of tables and figures is there, and those that are cheap make theirs."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from recon_cli.cli import main
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "tables_and_figures.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.split("|")[1:-1])
    for line in PAGE.splitlines()
    if line.startswith(("| Table", "| Figure"))
]
COMMANDS = list(
    dict.fromkeys(text for *_, by in ROWS for text in re.findall(r"`((?:recon|python) [^`]*)`", by))
)


def test_what_is_made_has_a_command_and_what_is_not_has_a_reason() -> None:
    assert len(ROWS) > 50
    for name, _, made, by in ROWS:
        word, _, reason = made.partition(":")
        assert word.split(";")[0] in {"yes", "in part", "not"}, name
        assert word.startswith("not") or "`" in by, name
        assert word != "in part" or reason, name


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_is_there(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "python":
        assert words[1] == "-m"
        assert importlib.util.find_spec(words[2]) is not None
        return
    command: click.Command = main
    context = click.Context(main, info_name="recon")
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest[0])
        assert found is not None, line
        context = click.Context(found, info_name=rest[0], parent=context)
        command, rest = found, rest[1:]
    command.parse_args(context, rest)
    for config in (word for word in words if word.endswith(".yaml")):
        assert (ROOT / config).exists()


@pytest.mark.parametrize(
    "line", [line for line in COMMANDS if line.startswith("recon plan risk") and "--table" in line]
)
def test_cheap_tables_are_made(line: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [*shlex.split(line)[1:], "--to", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert list(tmp_path.glob("table_*.csv"))


def test_the_attack_makes_its_tables(tmp_path: Path) -> None:
    work, tables = tmp_path / "work", tmp_path / "published.study.parquet"
    given = ["-c", str(ROOT / "configs" / "synthetic.yaml"), "--set", f"work={work}"]
    few = [
        *("--set", "synth.people=1500", "--set", f"tabulate.records={work / 'hdf'}"),
        *("--set", f"tabulate.to={tables}", "--set", f"ingest.paths=[{tables}]", "-q"),
    ]
    run = CliRunner().invoke(main, ["run", *given, *few])
    assert run.exit_code == 0, run.output
    for name in ("percentiles.csv", "by_size.csv"):
        assert (work / "solvar" / name).exists()
    assert (work / "report" / "report.html").exists()
    asked = [line for line in COMMANDS if line.startswith("recon score -c configs/synthetic.yaml")]
    asked = [line for line in asked if "--table" in line]
    assert len(asked) == 7
    for line in asked:
        table = line.split("--table ")[1]
        shown = CliRunner().invoke(main, ["score", *given, *few, "--table", table])
        assert shown.exit_code == 0, shown.output
        assert (work / "score" / f"{table}.csv").exists(), sorted((work / "score").iterdir())
