"""``estimate:`` intervals of noisy counts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section


class Estimate(Section):
    """The section ``estimate``.

    Attributes:
        level: Coverage of an interval in percent, for each count by itself.
    """

    level: Annotated[float, Field(gt=0, lt=100, strict=False)] = 95
