"""``ingest:`` which published files to read, and as what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import ConfigPaths, Section
from recon_cli.store.pieces import PIECE_PEOPLE


class Ingest(Section):
    """The section ``ingest``.

    Attributes:
        source: Format of the files.
        paths: Files, or folders of files.
        absent: For ``tidy``: what a cell without a row means.
        piece_people: About how many people a worker takes at a time; fewer need less memory.
    """

    source: Literal["sf1-legacy", "tidy"]
    paths: ConfigPaths
    absent: Literal["zero", "unpublished"] = "zero"
    piece_people: Annotated[int, Field(ge=1)] = PIECE_PEOPLE
