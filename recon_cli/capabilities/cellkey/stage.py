"""Perturbation of counts by cell keys: law, keys and publication."""

from __future__ import annotations

from typing import Any

from recon_cli.capabilities.cellkey.options import Cellkey
from recon_cli.capabilities.protect.counts_stage import PerturbedCountsStage
from recon_cli.pipeline.run import Run
from recon_cli.statement import Law, parse_law
from recon_cli.store import InputFile
from recon_cli.store.files import file_digest


class CellkeyStage(PerturbedCountsStage[Cellkey]):
    """The stage of `recon protect cellkey`."""

    section = Cellkey

    @property
    def law(self) -> Law:
        config = self.config
        if config.ptable is not None:
            return parse_law({"cellkey": {"table": str(config.ptable.resolve())}})
        given: dict[str, Any] = {"max": config.max, "variance": config.variance}
        never = {"never": list(config.never)} if config.never else {}
        return parse_law({"cellkey": given | never})

    @property
    def files(self) -> tuple[InputFile, ...]:
        path = self.config.ptable
        if path is None:
            return ()
        return (InputFile(path.name, path.stat().st_size, file_digest(path)),)


def open_stage(run: Run) -> CellkeyStage:
    """Open the protection of a run."""
    return CellkeyStage(run)
