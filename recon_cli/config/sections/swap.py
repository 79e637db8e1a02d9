"""``swap:`` how households are swapped before publication."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from recon_cli.config.model import Section, place_release


class Swap(Section):
    """The section ``swap``.

    Attributes:
        setting: Packaged settings (``targeted``, ``lo``, ``hi``), or the path of a YAML file.
        seed: Which households; default the run's seed.
    """

    setting: Annotated[str, BeforeValidator(place_release)] = "targeted"
    seed: int | None = None
