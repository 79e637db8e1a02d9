"""``swap:`` swapping of households before publication.

Writes hdf/ and hdf_households/, the records with their new blocks. The pairs are in
private/swap/swaps/. The settings `lo` and `hi` are those of the 2010 study's Appendix C; with the
setting `targeted`, households at risk are swapped, at rates fitted to Table 8 of that study, which
shows how often swapped and true records agree.

Example:
  recon protect swap -c nation.yaml
  recon protect swap --setting hi --work work/hi
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from recon_cli.capabilities.protect.sections import ProtectingByChance
from recon_cli.capabilities.swap.settings import SwapSettings
from recon_cli.config.model import ConfigPath, place_release


class Swap(ProtectingByChance):
    """The section ``swap``.

    Attributes:
        population: Work folder with ``persons/`` and ``households/``; default the run's own.
        setting: Packaged settings (``targeted``, ``lo``, ``hi``), the path of a YAML file, or the
            settings themselves.
    """

    population: ConfigPath | None = None
    setting: Annotated[str, BeforeValidator(place_release)] | SwapSettings = "targeted"

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        home = self.population
        return () if home is None else (home / "persons", home / "households")
