"""The page of risk tables and its drawings are what their commands make."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from benchmarks.kazan_reiter import page
from recon_cli.capabilities.risk.kazan_reiter import FIGURES, TABLES, line_chart
from recon_cli.cli import main
from recon_cli.page.charts import Scale
from recon_cli.page.drawing import svg_file
from tests.support.command_line import recon
from tests.support.figure_commands import commands_of
from tests.support.paths import ROOT


@pytest.fixture(scope="module", autouse=True)
def _computed_once() -> Iterator[None]:
    """Compute each table and the points of each figure once."""
    with pytest.MonkeyPatch.context() as patch:
        for number, figure in FIGURES.items():
            patch.setitem(FIGURES, number, replace(figure, make=cache(figure.make)))
        for number, make in TABLES.items():
            patch.setitem(TABLES, number, cache(make))
        yield


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "kazan_reiter.md").read_text() == page()


def test_each_table_and_figure_by_the_command(tmp_path: Path) -> None:
    asked = ["plan", "risk", "kazan-reiter", "--table", "5", "--figure", "6", "--to", str(tmp_path)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    assert "0.5237" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("figure_6.csv", "figure_6.svg", "table_5.csv"),
    ]
    points = pl.read_csv(tmp_path / "figure_6.csv").filter(series="as published", x=5)
    assert points["y"].round(2).to_list() == [59.27]


@pytest.mark.parametrize("line", commands_of("recon plan risk"))
def test_commands_of_the_page_of_figures(line: str, tmp_path: Path) -> None:
    recon(*shlex.split(line)[1:], "--to", tmp_path)
    assert list(tmp_path.glob("table_*.csv" if "--table" in line else "figure_*.csv"))


@pytest.mark.parametrize("number", FIGURES)
def test_drawings_are_up_to_date(number: str) -> None:
    figure = FIGURES[number]
    drawn = ROOT / "docs" / "images" / f"risk_figure_{number}.svg"
    x, y = Scale(figure.x, is_log=figure.is_log), Scale(figure.unit)
    assert drawn.read_text() == svg_file(line_chart(figure.points(), x, y))


def test_a_sum_of_draws_and_the_draw_that_stands_for_it() -> None:
    """Total variation as the specification of the study's S2 has it, half the distance shown."""
    points = FIGURES["9"].points()
    for panel, most in (("ρ = 0.099", 1e-9), ("ρ = 1.000", 1e-3), ("ρ = 2.000", 0.05)):
        both = points.filter(panel=panel).pivot("series", index="x", values="y")
        one, other = both.columns[1:]
        assert float((both[one] - both[other]).abs().sum()) / 2 < most


def test_the_caption_of_figure_8_says_its_points() -> None:
    ratios = dict(FIGURES["8"].points().filter(series="27 draws").select("x", "y").rows())
    for rho, less in ((1, 0.20), (2, 13.99)):
        assert round(100 * (1 - ratios[rho]), 2) == less
        assert f"{rho} by {less:.2f}%" in FIGURES["8"].caption
