"""`recon protect round` and `recon protect cellkey`: records, or exact counts → protected counts.

``rounded/`` or ``perturbed/`` is a tidy publication with its ``protection.yaml``, as
`recon ingest` reads it; the folder beside it says how far off the counts are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recon_cli.config.sections.cellkey import Cellkey
from recon_cli.config.sections.round import Round
from recon_cli.errors import ConfigError
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import CELLKEY, ROUND
from recon_cli.stages.drawing import chance_of
from recon_cli.stages.protected_file import write_protected
from recon_cli.store import InputFile, Manifest, Stage, Transaction
from recon_cli.store.files import file_digest, key_of
from recon_cli.store.study import require_study_name

if TYPE_CHECKING:
    from recon_cli.protect.counts import Keys
    from recon_cli.statement import Law


def round_counts(run: Run) -> MadeStage:
    """Round the counts of records, or exact counts.

    Raises:
        ConfigError: There are no records, or a table or level is unknown.
        SourceError: The records do not fit the schema, or what is published differs within a level.
        SolverError: No controlled rounding was found in time.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.statement import parse_law  # noqa: PLC0415 - loads polars

    config = run.config.section(Round)
    if config.records is not None and config.counts is not None:
        raise ConfigError("round: records and counts exclude each other")
    law = parse_law({"rounded": {"base": config.base, "how": config.how}})
    keys = config.keys if config.how == "random" else "records"
    return _protect(run, ROUND, config, law, keys=keys)


def perturb_counts(run: Run) -> MadeStage:
    """Perturb the counts of records by cell keys.

    Raises:
        ConfigError: There are no records, or no such p-table.
        SourceError: The records do not fit the schema.
        StageError: The work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.statement import parse_law  # noqa: PLC0415 - loads polars

    config = run.config.section(Cellkey)
    given: dict[str, Any] = {"max": config.max, "variance": config.variance}
    given |= {"never": list(config.never), "table": config.ptable and str(config.ptable.resolve())}
    law = parse_law({"cellkey": {key: value for key, value in given.items() if value}})
    return _protect(run, CELLKEY, config, law, keys="records")


def _protect(run: Run, stage: Stage, config: Round | Cellkey, law: Law, *, keys: Keys) -> MadeStage:
    """Protect each partition, then write the law and the accuracy of the whole."""
    from recon_cli.protect.counts import require_zeros_kept  # noqa: PLC0415 - loads polars
    from recon_cli.stages import protect_counts_pieces as work  # noqa: PLC0415
    from recon_cli.stages.unit_lists import list_files, listed_units, unit_list_file  # noqa: PLC0415
    from recon_cli.statement import Protection, Statement, describe_law  # noqa: PLC0415

    require_zeros_kept(law)
    levels = config.levels if isinstance(config, Round) else None
    protection = Protection((Statement(law, levels=levels),))
    origin = work.Origin(
        stage.section,
        run.release.select_tables(config.tables),
        config.records or run.work / "persons",
        counts=config.counts if isinstance(config, Round) else None,
        identifier=config.identifier if isinstance(config, Cellkey) else None,
    )
    is_study = config.study_seed is not None or run.reads_study(stage)
    if is_study:
        require_study_name(f"{stage.section}.to", config.to)
    key = f"{stage.section}.geounits"
    listed = None if config.geounits is None else listed_units(key, config.geounits, run.release)
    beside = work.protection_files(run.release, protection, is_study=is_study)
    beside |= unit_list_file(listed)
    digests = origin.digests(run.release)
    recipe = run.recipe(
        stage,
        _settings(config, keys, origin.tables, beside),
        seed=config.study_seed,
        files=(*_files(config), *list_files(key, config.geounits)),
        partitions=digests,
        is_study=is_study,
    )

    def make(transaction: Transaction) -> Manifest:
        pieces, staging = origin.pieces(run.release), transaction.staging
        kept_for = _kept_for(law, config, digests)
        chance = chance_of(transaction, config.study_seed, kept_for=kept_for)
        context = work.ProtectContext(
            run.release, origin, protection, chance, keys, staging, listed
        )
        results = run.map_unfinished(transaction, work.protect_piece, lambda: context, pieces)
        work.write_beside(run.release, staging, pieces, beside)
        copies = work.copies_in_a_unit(run.release, origin.tables)
        return transaction.publish(
            pieces,
            notes={"law": describe_law(law), "copies": copies},
            usages=results.usages,
            workers=results.workers,
        )

    return MadeStage(recipe, make, lambda: write_protected(run, stage, config.to))


def _kept_for(law: Law, config: Round | Cellkey, digests: Mapping[str, Mapping[str, str]]) -> str:
    """What the key is kept for: later tables of the same records, protected alike."""
    return key_of(
        {
            "law": law.model_dump(mode="json", exclude={"table"}),
            "files": [file.as_json() for file in _files(config)],
            "identifier": config.identifier if isinstance(config, Cellkey) else None,
            "inputs": {name: dict(each) for name, each in digests.items()},
        }
    )


def _settings(
    config: Round | Cellkey, keys: Keys, tables: Any, beside: Mapping[str, bytes]
) -> dict[str, Any]:
    return {
        "keys": keys,
        "identifier": config.identifier if isinstance(config, Cellkey) else None,
        "tables": [table.name for table in tables],
        "statements": beside["protection.yaml"].decode(),
    }


def _files(config: Round | Cellkey) -> tuple[InputFile, ...]:
    """The file of a p-table."""
    if isinstance(config, Round) or config.ptable is None:
        return ()
    path = config.ptable
    return (InputFile(path.name, path.stat().st_size, file_digest(path)),)
