"""Run `recon leave-one-out`: the counts with each of some people, and without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recon_cli.capabilities.leave_one_out import LEAVE_ONE_OUT
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.capabilities.reconstruct.reconstructed import open_reconstructed
from recon_cli.capabilities.records.files import RecordFile, open_records
from recon_cli.capabilities.score.options import Score
from recon_cli.errors import ConfigError
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release
from recon_cli.stage import undisturbed
from recon_cli.store import Folder, Piece, Staging
from recon_cli.store.files import key_of
from recon_cli.store.pieces import cut

#: People that are worth a process: each takes about 10 ms.
_GRAIN = 300
#: People of a piece, about: leaving them out takes a minute, and counties differ in size.
_PIECE = 5_000
#: Folders of the work folder that may hold what was tabulated; the first that is there.
_RECORDS = ("hdf", "cef", "persons")


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that attacks the counts without each of some people.

    Raises:
        ConfigError: A file or a column is not there, or the tables tell nothing of the gains.
    """
    config, scoring = run.section(LeaveOneOut), run.config.section(Score)
    seed = config.fixed_seed
    gains = config.gained(run.release)
    made = open_reconstructed(run)
    made.require_exact(
        LEAVE_ONE_OUT.command,
        "for a small release recon.leave_one_out_protected publishes them anew without each person",
    )
    file = _records(run, config)
    slices = file.slices()
    recipe = made.recipe(run, LEAVE_ONE_OUT, _settings(config, scoring, gains), seed)
    digests = {name: each.digest for name, each in slices.items()}

    def records() -> Any:
        with undisturbed():
            from recon_cli.capabilities.tabulate.stage import TabulatedRecords

        return TabulatedRecords(run.release, file, tuple(slices))

    def write_differences(staging: Staging) -> Mapping[str, Any]:
        with undisturbed():
            from recon_cli.capabilities.leave_one_out import scores

        partitions = list(made.tables.partitions)
        return scores.write_differences(staging, run.release, partitions, scoring, seed)

    return QuestionStage(
        run,
        # All records, because of the most frequent value.
        replace(recipe, shared={**recipe.shared, "records": key_of(digests)}),
        made.geounits,
        arguments=lambda: {
            "release": run.release,
            "tables": made.used,
            "coverage": made.coverage,
            "options": config,
            "read_records": lambda: records().everybody(),
        },
        records=records,
        notes={"tables": made.table_names, "gains": list(gains), "solutions": config.solutions},
        grain=_GRAIN,
        pieces=lambda: _cut_evenly(run.release, made.geounits),
        beside=write_differences,
    )


def _cut_evenly(release: Release, geounits: Folder) -> list[Piece]:
    """Return all partitions, cut into whole regions of about `_PIECE`."""
    unit = release.geography.unit.name
    pieces: list[Piece] = []
    for partition in geounits.partitions:
        places = geounits.read(partition, columns=("geoid", "level", "population"))
        units = places.filter(level=unit).select("geoid", "population")
        pieces += cut(release, partition, units, _PIECE)
    return pieces


def _settings(config: LeaveOneOut, scoring: Score, gains: tuple[str, ...]) -> dict[str, Any]:
    shown = {"sizes", "interval", "bootstrap", "threshold", "small"}
    return {
        **config.model_dump(mode="json", exclude={"seed", "records"}),
        "gains": list(gains),
        **scoring.model_dump(mode="json", include=shown),
    }


def _records(run: Run, config: LeaveOneOut) -> RecordFile:
    path = config.records
    if path is None:
        path = next((run.work / name for name in _RECORDS if (run.work / name).exists()), None)
    if path is None:
        known = ", ".join(f"{name}/" for name in _RECORDS)
        raise ConfigError(
            "leave_one_out.records: missing: the records that were tabulated (there is none of "
            f"{known} in {run.work})"
        )
    return open_records("leave_one_out.records", path, run.release)
