"""``cluster:`` Dask workers to run the stages on."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from recon_cli.config.model import Section


def address(value: object) -> object:
    """Require an address as a scheduler prints it: protocol, host, port."""
    if not isinstance(value, str) or not re.fullmatch(r"[a-z]+://.+:\d+", value):
        raise PydanticCustomError("address", "an address as in tcp://host:8786 is expected")
    return value


class Cluster(Section):
    """The section ``cluster``; needs the extra ``recon-cli[cluster]``.

    Attributes:
        scheduler: Address of a running Dask scheduler, as in ``tcp://host:8786``.
        processes: Alternatively, number of workers to start on this machine for a stage.
        wait_seconds: Seconds to wait for a worker when there is none.
    """

    scheduler: Annotated[str, BeforeValidator(address)] | None = None
    processes: Annotated[int, Field(ge=1)] | None = None
    wait_seconds: Annotated[float, Field(gt=0)] = 300.0

    @model_validator(mode="after")
    def _one_place(self) -> Cluster:
        if (self.scheduler is None) == (self.processes is None):
            raise PydanticCustomError("cluster", "one of scheduler and processes is expected")
        return self
