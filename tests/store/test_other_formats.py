"""A work folder of another version, or with files of another form: a sentence, and what to run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from recon_cli.cli import main
from recon_cli.config.load import load_config
from recon_cli.errors import StageError
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.stages import STAGES
from recon_cli.store import Stage
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.version import FORMAT
from tests.support.all_stages import LAYOUT, everything, layout


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return everything(tmp_path_factory.getbasetemp() / "all-stages")


def test_the_form_has_a_new_number_where_columns_changed(configs: tuple[Path, ...]) -> None:
    assert layout(configs) == LAYOUT.read_text(), (
        "files of stages have other columns: raise recon_cli.version.FORMAT (not for a new stage), "
        "then `python -m tests.support.all_stages`"
    )


def test_every_stage_is_in_one_of_the_runs(configs: tuple[Path, ...]) -> None:
    for stage in STAGES:
        assert home_of(stage, configs).is_file()


def home_of(stage: Stage, configs: tuple[Path, ...]) -> Path:
    """The config of a run with all folders of a stage."""
    for config in configs:
        if all((config.parent / "work" / name).is_dir() for name in stage.folders):
            return config
    raise AssertionError(f"{stage.name} is in none of the runs of tests/support/all_stages.py")


def test_stages_declare_what_they_read(configs: tuple[Path, ...]) -> None:
    for path in configs:
        config = load_config(path)
        asked = stages_of(config)
        makers = {folder: stage.short_name for stage in asked for folder in stage.folders}
        for stage in asked:
            made = read_manifest(config.work / stage.folders[0], command="").inputs
            named = [*made["shared"], *(k for own in made["partitions"].values() for k in own)]
            read = {makers.get(name.partition("/")[0], "") for name in named}
            declared = dependencies(asked, config)[stage.short_name]
            assert read - {"", stage.short_name} <= declared, stage.name


def older(folder: Path) -> None:
    """As a version wrote it that did not yet say its form."""
    said = json.loads((folder / MANIFEST).read_text())
    del said["format"]
    (folder / MANIFEST).write_text(json.dumps({**said, "tool": "0.1.9"}))


def newer(folder: Path) -> None:
    said = json.loads((folder / MANIFEST).read_text())
    text = json.dumps({**said, "tool": "9.0.0", "format": FORMAT + 1, "rows": "many"})
    (folder / MANIFEST).write_text(text)


def change_data(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    for path in folder.rglob("*.parquet"):
        change(pl.read_parquet(path, hive_partitioning=False)).write_parquet(path)


def column_missing(folder: Path) -> None:
    change_data(folder, lambda frame: frame.drop(frame.columns[-1]))


def another_type(folder: Path) -> None:
    change_data(folder, lambda frame: frame.with_columns(pl.lit(b"x").alias(frame.columns[-1])))


def further_column(folder: Path) -> None:
    change_data(folder, lambda frame: frame.with_columns(pl.lit(1).alias("further")))


FORMS = (older, newer)
DATA = (column_missing, another_type, further_column)
#: The data of every stage in one way; manifests, which one function reads, at every sixth.
DAMAGED = [
    *((stage, DATA[at % len(DATA)]) for at, stage in enumerate(STAGES)),
    *((stage, FORMS[at % len(FORMS)]) for at, stage in enumerate(STAGES[::6])),
]


def commands(stage: Stage, config: Path) -> Iterator[tuple[str, ...]]:
    """Every command that may read a stage's folders, without the stage itself."""
    named = {line.partition(":")[0] for line in config.read_text().splitlines()}
    for each in STAGES:
        reads = set(each.reads) & set(stage.folders) and each.section in named
        if reads and each.section != "report":
            yield ("run", "--only", each.short_name, "--force")
    yield from (("report", "--force"), ("show",), ("status",), ("check",), ("verify",))
    yield ("purge",)


@pytest.mark.parametrize(
    ("stage", "damage"),
    DAMAGED,
    ids=lambda each: each.short_name if isinstance(each, Stage) else each.__name__,
)
def test_a_folder_of_another_form_is_a_sentence_in_every_command(
    stage: Stage,
    damage: Callable[[Path], None],
    configs: tuple[Path, ...],
    tmp_path: Path,
) -> None:
    home = tmp_path / "run"
    origin = home_of(stage, configs)
    shutil.copytree(origin.parent, home, ignore=shutil.ignore_patterns(".staging"))
    config = home / origin.name
    config.write_text(config.read_text().replace("../office", str(configs[0].parent)))
    for name in stage.folders:
        damage(home / "work" / name)
    for command in commands(stage, config):
        said = CliRunner().invoke(main, [*command, "-q", "-c", str(config)])
        assert said.exit_code in {0, 2, StageError.exit_code}, (command, said.output)
        assert "Traceback" not in said.output, (command, said.output)
        errors = [line for line in said.stderr.splitlines() if line.startswith("error: ")]
        assert len(said.stderr.splitlines()) <= 1, (command, said.stderr)
        if said.exit_code == StageError.exit_code:
            assert "run `recon " in errors[0], (command, errors)
    assert_status(stage, config, damage)


def assert_status(stage: Stage, config: Path, damage: Callable[[Path], None]) -> None:
    """A folder of another form is out of date, with a config and without."""
    if damage not in FORMS:
        return
    for given in (("-c", str(config)), ("--work", str(config.parent / "work"))):
        said = CliRunner().invoke(main, ["status", "--json", *given])
        found = {each["stage"]: each for each in json.loads(said.stdout)["stages"]}
        named = found[stage.short_name if stage.short_name in found else stage.name]
        assert named["state"] == "out of date"
        assert any(
            "made by recon-cli" in reason and f"run `{stage.command}` again" in reason
            for reason in named["reasons"]
        )
