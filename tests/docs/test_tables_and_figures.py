"""Each command of the page of tables and figures is there, and makes its own on small data."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.engines.__main__ import Case, try_case
from benchmarks.households.__main__ import RESULT
from benchmarks.households.page import render
from benchmarks.nation_attack import Attack, costs
from recon_cli.capabilities.dinur_nissim import presets
from recon_cli.cli import main
from tests.support.command_line import measure_here, recon
from tests.support.figure_commands import COMMANDS, ROWS, commands_of
from tests.support.paths import ROOT

SYNTHETIC, ATTACK = "recon score -c configs/synthetic.yaml", "recon score -c configs/attack.yaml"


def test_what_is_made_has_a_command_and_what_is_not_has_a_reason() -> None:
    assert len(ROWS) > 50
    for name, _, made, by in ROWS:
        word, _, reason = made.partition(":")
        assert word.split(";")[0] in {"yes", "in part", "not"}, name
        assert word.startswith("not") or "`" in by, name
        assert word != "in part" or reason, name


def test_every_command_is_run_below() -> None:
    """Those of ``recon plan risk`` in tests/benchmarks/test_kazan_reiter.py."""
    run = {
        *commands_of("recon plan risk"),
        *commands_of("recon lab"),
        *commands_of(SYNTHETIC),
        *commands_of(ATTACK),
        *SMALL,
    }
    assert set(COMMANDS) == run, "one is added, or gone"


@pytest.mark.parametrize("line", commands_of("recon lab"))
def test_sums_of_bits_are_made(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fewest(experiment: presets.Experiment) -> presets.Experiment:
        settings = sorted(experiment.settings, key=lambda each: (each.bits, each.queries))[:2]
        return replace(
            experiment, settings=tuple(replace(s, bits=min(s.bits, 60)) for s in settings)
        )

    small = {name: fewest(each) for name, each in presets.FIGURES.items()}
    monkeypatch.setattr(presets, "FIGURES", small)
    recon(*shlex.split(line)[1:], "--trials", 1, "--to", tmp_path)
    assert (tmp_path / "results.csv").stat().st_size > 0


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The options of a run of configs/synthetic.yaml with 800 people, which has run."""
    folder = tmp_path_factory.mktemp("synthetic")
    work, tables = folder / "work", folder / "published.study.parquet"
    options: list[object] = [
        *("--set", f"work={work}", "--set", "synth.people=800"),
        *("--set", f"tabulate.records={work / 'hdf'}", "--set", f"tabulate.to={tables}"),
        *("--set", f"ingest.paths=[{tables}]", "-q"),
    ]
    recon("run", "-c", ROOT / "configs" / "synthetic.yaml", *options)
    return [work, *options]


def test_the_attack_makes_its_tables(synthetic: list[object]) -> None:
    work, *options = synthetic
    for name in ("solvar/percentiles.csv", "solvar/by_size.csv", "report/report.html"):
        assert Path(f"{work}/{name}").exists()
    asked = [line for line in commands_of(SYNTHETIC) if "--table" in line]
    assert len(asked) == 7
    for line in asked:
        recon(*_at(line), *options)
        assert Path(f"{work}/score/{line.split('--table ')[1]}.csv").exists()


def test_the_page_of_scores_is_made(synthetic: list[object], tmp_path: Path) -> None:
    (line,) = (line for line in commands_of(SYNTHETIC) if "--page" in line)
    page = tmp_path / "scores.md"
    recon(*_at(line.replace("scores.md", str(page))), *synthetic[1:])
    text = page.read_text()
    for part in ("## Table 6", "## Gain over guessing", "footnote 25: 95.58, 4.42, 0"):
        assert part in text


def test_alternatives_are_attacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure_here(monkeypatch)
    attack = Attack(tmp_path, seed=1, people=400, workers=1, alternatives=True, notes=None)
    costs(attack, tmp_path / "scores.md", Console(file=sys.stderr, quiet=True))
    for line in commands_of(ATTACK):
        assert (attack.nation / "score" / f"{line.split('--table ')[1]}.csv").exists()


def _at(line: str) -> list[str]:
    """The words of a command, its config that of this checkout."""
    return [str(ROOT / word) if word.endswith(".yaml") else word for word in shlex.split(line)[1:]]


def _synthetic_stage(line: str, synthetic: list[object], folder: Path) -> None:
    assert CliRunner().invoke(main, [*_at(line), *map(str, synthetic[1:])]).exit_code == 0


def _census1980(line: str, synthetic: list[object], folder: Path) -> None:
    given = ("--work", folder, "--set", f"census1980.records={synthetic[0]}/persons")
    assert "nation" in recon(*_at(line), *given).stdout


def _claims(line: str, synthetic: list[object], folder: Path) -> None:
    toy = ("-c", ROOT / "configs" / "toy.yaml", "--work", folder, "-q")
    for command in ("ingest", "reconstruct"):
        recon(command, *toy)
    recon(*_at(line), *toy)
    assert list((folder / "claims").rglob("*.parquet"))


def _tabulate(line: str, synthetic: list[object], folder: Path) -> None:
    records = Path(f"{synthetic[0]}/households")
    given = (records, "--release", "dhc_2020_households", "--tables", "P20")
    recon(*_at(line), *given, "--to", folder / "counts.csv")
    assert "P20" in (folder / "counts.csv").read_text()


def _sweep(line: str, synthetic: list[object], folder: Path) -> None:
    few = ("synth.people=300", "compare.sweep.values=[1]", "compare.sweep.draws=1")
    options = [word for each in few for word in ("--set", each)]
    recon(*_at(line), "--work", folder, "--workers", 1, "-q", *options)
    assert (folder / "comparison" / "sweep.csv").exists()


def _engines(line: str, synthetic: list[object], folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        measure_here(patch, "benchmarks.engines.__main__")
        found: dict[str, Any] = {**try_case(Case("a tract of 60 people", "tract", 60), folder)}
    assert all(way["solved"] for ways in found.values() for way in ways.values())


def _households(line: str, synthetic: list[object], folder: Path) -> None:
    assert (ROOT / "docs" / "households.md").read_text() == render(json.loads(RESULT.read_text()))


def _page(line: str, synthetic: list[object], folder: Path) -> None:
    words = shlex.split(line)
    module = importlib.import_module(words[2])
    assert Path(ROOT / words[-1]).read_text() == module.page()


#: Command → how it is run on little.
SMALL: Mapping[str, Callable[[str, list[object], Path], None]] = {
    "recon link -c configs/synthetic.yaml": _synthetic_stage,
    "recon solvar -c configs/synthetic.yaml": _synthetic_stage,
    "recon report -c configs/synthetic.yaml": _synthetic_stage,
    "recon protect census1980 --set release=pl94_1980": _census1980,
    "recon claims": _claims,
    "recon data tabulate": _tabulate,
    "recon run -c configs/sweep.yaml": _sweep,
    "python -m benchmarks.engines": _engines,
    "python -m benchmarks.households --page": _households,
    "python -m benchmarks.jason --page docs/jason.md": _page,
}


@pytest.mark.parametrize("line", list(SMALL))
def test_the_others_run(line: str, synthetic: list[object], tmp_path: Path) -> None:
    SMALL[line](line, synthetic, tmp_path)
