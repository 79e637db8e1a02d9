"""The attack of `benchmarks.nation_attack`: its commands are the configs', in another folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.nation_attack import Attack
from recon_cli.capabilities.link.options import Link
from recon_cli.capabilities.score.options import Score
from recon_cli.config import load_config
from recon_cli.pipeline.order import stages_of


def attack(folder: Path, *, alternatives: bool = True) -> Attack:
    return Attack(folder, seed=7, people=5000, workers=1, alternatives=alternatives, notes=None)


@pytest.mark.parametrize("alternatives", [True, False])
def test_every_command_loads_and_stays_in_the_folder(tmp_path: Path, alternatives: bool) -> None:
    steps = dict(attack(tmp_path, alternatives=alternatives).steps(tmp_path / "scores.md"))
    for words in steps.values():
        named = [str(word) for word in words]
        at = {option: named[named.index(option) + 1] for option in ("-c", "--work")}
        settings = [named[at + 1] for at, word in enumerate(named) if word == "--set"]
        config = load_config(Path(at["-c"]), settings=settings, work=Path(at["--work"]))
        assert config.top.seed == 7
        assert config.work.is_relative_to(tmp_path)
        assert stages_of(config)
    assert [name for name in steps if name.startswith("swap")] == (
        ["swap lo", "swap hi"] if alternatives else []
    )


def test_alternatives_are_linked_and_shown_as_such(tmp_path: Path) -> None:
    for alternatives, names in (
        (True, ("MDF", "rMDF_bt", "rSWAPLo_bt", "rSWAPHi_bt")),
        (False, None),
    ):
        words = dict(attack(tmp_path, alternatives=alternatives).steps(tmp_path / "s.md"))["link"]
        named = [str(word) for word in words]
        settings = [named[at + 1] for at, word in enumerate(named) if word == "--set"]
        config = load_config(Path(named[2]), settings=settings)
        assert config.section(Score).alternatives == names
        sources = config.section(Link).sources
        assert sources is not None
        assert set(sources) == {"rHDF_bt", "rHDF_b", *(names or ())}
