"""The keys of a section are options of its command, with the same names, checks and meanings."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from recon_cli.config import SECTIONS
from recon_cli.config.keys import keys_of
from recon_cli.console.options import RunOptions, run_options
from recon_cli.console.section_options import SectionOption, section_options
from recon_cli.console.stage_command import stage_command
from recon_cli.pipeline.stages import STAGES, stage_named
from recon_cli.stage import Stage
from tests.support.command_line import recon

OF_STAGES = [stage for stage in STAGES if stage.section in SECTIONS]


@pytest.mark.parametrize("stage", OF_STAGES, ids=lambda stage: stage.name)
def test_every_key_is_an_option_or_listed_below_the_options(stage: Stage) -> None:
    name = stage.short_name
    command = stage_command(stage_named(name))
    text = " ".join(command.get_help(click.Context(command, info_name=name)).split())
    section = stage.section
    options = {each.name for each in command.params if isinstance(each, SectionOption)}
    for key in keys_of(SECTIONS[section]):
        if f"{section}__{key.name}" in options:
            assert f"--{key.name.replace('_', '-')}" in text
        else:
            assert f"{section}.{key.name}" in text
        assert " ".join(key.meaning.replace("`", "").split()[:4]) in text.replace("`", "")


def test_what_is_typed_sets_the_keys() -> None:
    seen: list[tuple[str, ...]] = []

    @click.command()
    @run_options
    @section_options("audit")
    def command(options: RunOptions) -> None:
        seen.append(options.settings)

    typed = ["--tables", "P1,P12", "--safety", "3", "--ask", "atom", "--region-seconds", "2.5"]
    command.main(typed, standalone_mode=False)
    assert seen == [
        (
            'audit.tables=["P1", "P12"]',
            "audit.safety=3",
            'audit.ask="atom"',
            "audit.region_seconds=2.5",
        )
    ]


def test_a_value_is_refused_as_in_the_config(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("release: clinic_visits\nwork: w\nclaims:\n")
    said = recon("claims", "-c", tmp_path / "c.yaml", "--share", "1.5", code=2).stderr
    assert "claims.share: must be less than or equal to 1 (found 1.5)" in said


def test_a_flag_has_an_opposite(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("release: clinic_visits\nwork: w\nclaims: {absent: true}\n")
    for flag in ("--absent", "--no-absent"):
        said = recon("claims", "-c", tmp_path / "c.yaml", flag, code=5).stderr
        assert "run `recon ingest` first" in said
