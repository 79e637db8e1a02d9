"""``calibrate:`` a comparison of synthetic populations with published figures."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import ConfigPath, Section


class Calibrate(Section):
    """The section ``calibrate``.

    Attributes:
        seeds: A synthetic population is generated from each.
        page: Markdown page to write; default ``calibration.md`` in the work folder.
    """

    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False, min_length=1)] = (
        1,
    )
    page: ConfigPath | None = None
