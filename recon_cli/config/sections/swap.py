"""``swap:`` how households are swapped before publication."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from recon_cli.config.model import ConfigPath, Section, place_release
from recon_cli.protect.settings import SwapSettings


class Swap(Section):
    """The section ``swap``.

    Attributes:
        population: Work folder with ``persons/`` and ``households/``; default the run's own.
        setting: Packaged settings (``targeted``, ``lo``, ``hi``), the path of a YAML file, or the
            settings themselves.
        seed: Which households; default the run's seed.
    """

    population: ConfigPath | None = None
    setting: Annotated[str, BeforeValidator(place_release)] | SwapSettings = "targeted"
    seed: int | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The folders of the population, where the section names one."""
        home = self.population
        return () if home is None else (home / "persons", home / "households")
