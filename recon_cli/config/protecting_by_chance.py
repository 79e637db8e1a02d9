"""What the sections of protections share that leave something to chance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from recon_cli.config.model import Section
from recon_cli.errors import ConfigError

#: How the name of a file of counts ends that is not for publication.
STUDY_SUFFIX: Final = ".study.csv"


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


def require_study_name(key: str, to: Path | None) -> None:
    """Refuse a file of counts for study whose name does not say so.

    Raises:
        ConfigError: The message begins with ``key``.
    """
    if to is not None and not to.name.endswith(STUDY_SUFFIX):
        raise ConfigError(
            f"{key}: {to.name}: counts made with a study_seed are not for publication; the name of "
            f"their file ends in {STUDY_SUFFIX}"
        )
