"""`recon ingest`: a published format → ``tables/`` and ``geounits/``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.errors import ConfigError
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import INGEST, InputFile, Manifest, Transaction
from recon_cli.store.files import file_digest
from recon_cli.store.manifest import MANIFEST
from recon_cli.store.study import NOT_FOR_PUBLICATION, has_study_name
from recon_cli.strict_yaml import parse_yaml, read_text


def open_stage(run: Run) -> MadeStage:
    """Read the published files that the config names.

    Raises:
        ConfigError: A file is not there.
    """
    config = run.config.section(Ingest)
    settings: dict[str, Any] = {"source": config.source, "piece_people": config.piece_people}
    if not config.is_legacy:
        settings["absent"] = config.absent_cells
    if config.tables is not None:
        settings["tables"] = config.tables
    if config.mapping is not None:
        settings["mapping"] = config.mapping.model_dump()
    read = [each for name, each in config.publications.items() if name in run.release.publications]
    every = (config, *read)
    # What a register says is in the release's digest, publications that are not read left out.
    files = input_files(
        path
        for each in every
        for path in (*(() if each.is_register else each.paths), *_beside(each))
    )
    is_study = any(_is_study(each, files) for each in every)
    recipe = run.recipe(INGEST, settings, files=files, is_study=is_study)

    def make(stage: Transaction) -> Manifest:
        with undisturbed():
            from recon_cli.capabilities.ingest.partitions import publish

        return publish(run, config, stage)

    return MadeStage(recipe, make)


def _is_study(config: Ingest, files: Iterable[InputFile]) -> bool:
    """Test whether a file, or the laws that the counts were published by, are for study."""
    names = [Path(file.name) for file in files]
    if any(has_study_name(name) or name.name == NOT_FOR_PUBLICATION for name in names):
        return True
    laws = config.laws_file
    if laws is None:
        return False
    said = parse_yaml(read_text(laws), source=str(laws)).data
    return isinstance(said, dict) and said.get("study") is True


def _beside(config: Ingest) -> list[Path]:
    """Return the files that the config names or implies besides the published ones."""
    beside = (config.unit_list, *config.lookups, config.names, config.laws_file)
    # Others are among the files of a published folder.
    return [path for path in beside if path is not None and path.parent not in config.paths]


def input_files(paths: Iterable[Path]) -> tuple[InputFile, ...]:
    """List name, size and digest of every file; a folder stands for the files in it.

    Raises:
        ConfigError: There is no such file or folder.
    """
    found = []
    for path in paths:
        if path.is_dir():
            # a stage's manifest has times in it, which are no part of the publication
            files = (each for each in path.rglob("*") if each.is_file() and each.name != MANIFEST)
            members = sorted(files)
        elif path.is_file():
            members = [path]
        else:
            raise ConfigError(f"ingest.paths: no such file or folder: {path}")
        for member in members:
            name = member.relative_to(path.parent).as_posix()
            found.append(InputFile(name, member.stat().st_size, file_digest(member)))
    return tuple(found)
