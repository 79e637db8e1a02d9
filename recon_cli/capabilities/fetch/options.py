"""``fetch:`` source and folder of downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from recon_cli.config.model import ConfigPath, Section


def _web(value: object) -> object:
    if value is not None and not (isinstance(value, str) and value.startswith(_SCHEMES)):
        raise PydanticCustomError("mirror", "an address that starts with https:// is expected")
    return value


_SCHEMES = ("https://", "http://")


class Fetch(Section):
    """The section ``fetch``.

    Attributes:
        to: Folder for the files; default ``data`` in the current folder.
        mirror: Address in place of the publisher's, with the same folders below it.
    """

    to: ConfigPath = Path("data")
    mirror: Annotated[str | None, BeforeValidator(_web)] = None
