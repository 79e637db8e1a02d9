"""Run `recon prove`: the findings of a run → ``proofs/``, for anybody to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.prove import PROVE
from recon_cli.capabilities.prove.options import Prove
from recon_cli.capabilities.reconstruct.reconstructed import open_reconstructed
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.pipeline.opened_stage import QuestionStage
from recon_cli.pipeline.published_input import input_digests
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import Folder, Staging

#: People that are worth a process: each takes about a millisecond.
_GRAIN = 2_000


def open_stage(run: Run) -> QuestionStage:
    """Open the stage that proves the findings of current stages.

    Raises:
        StageError: ``tables/`` or ``microdata/`` is missing, damaged, or of another release.
    """
    config = run.section(Prove)
    seed = config.fixed_seed
    made = open_reconstructed(run)
    made.require_bounded(PROVE.command)
    folders = _folders(WorkFolder(run.work), made.blocks)
    recipe = made.recipe(run, PROVE, config.model_dump(mode="json", exclude={"seed"}), seed)
    digests = input_digests(made.tables, made.geounits, made.microdata, *folders.values())
    return QuestionStage(
        run,
        replace(recipe, partitions=digests),
        made.geounits,
        arguments=lambda: {
            **made.tables_in_use,
            "is_exact": made.is_exact,
            "read_found": FoundFolders(folders),
            "options": {"what": config.what, "seconds": config.seconds, "seed": seed},
        },
        records=made.records,
        notes={"tables": made.table_names},
        grain=_GRAIN,
        beside=lambda staging: _write_texts(staging, made.geounits.partitions),
    )


def _folders(work: WorkFolder, blocks: Folder) -> dict[str, Folder]:
    """Return the folders with findings to prove, by name."""
    found = {"blocks": blocks}
    for stage, names in (
        (SOLVAR, ("solvar", "intervals")),
        (CLAIMS, ("claims",)),
        (AUDIT, ("audit",)),
    ):
        if isinstance(work.fresh(stage), Folder):
            found |= {name: work.open(stage, name) for name in names}
    return found


@dataclass(frozen=True)
class FoundFolders:
    """Reads the findings of stages about a partition; pickles."""

    folders: dict[str, Folder]

    def __call__(self, partition: str) -> Any:
        """Return the findings; see `recon_cli.capabilities.prove.statements.Found`."""
        with undisturbed():
            from recon_cli.capabilities.prove.statements import Found

        found, solvar = (
            Found,
            self.folders.get("solvar"),
        )
        frames = {name: each.read(partition) for name, each in self.folders.items()}
        is_relaxed = solvar is not None and solvar.manifest.notes["mode"] == "relaxed"
        return found(**frames, is_relaxed=is_relaxed)


def _write_texts(staging: Staging, partitions: Sequence[str]) -> Mapping[str, Any]:
    with undisturbed():
        from recon_cli.capabilities.prove.texts import write_texts
    return write_texts(staging, partitions)
