"""What the sections of protections share that leave something to chance."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from recon_cli.config.model import Section


class ProtectingByChance(Section):
    """Base of the sections ``swap``, ``round``, ``cellkey``, ``noise``, ``topdown``, ``randomize``.

    Attributes:
        study_seed: Repeats what chance does, for study: the output is not for publication. Without
            it chance is secret.
    """

    study_seed: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_seed(cls, data: Any) -> Any:
        if isinstance(data, dict) and "seed" in data:
            said = PydanticCustomError(
                "seed", "is now study_seed, and what it makes is not for publication"
            )
            where = InitErrorDetails(type=said, loc=("seed",), input=data["seed"])
            raise ValidationError.from_exception_data(cls.__name__, [where])
        return data
