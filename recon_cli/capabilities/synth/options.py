"""``synth:`` the size of a synthetic population, and its parameters."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from recon_cli.config.model import ConfigPath, Section

Positive = Annotated[int, Field(gt=0)]


class Synth(Section):
    """The section ``synth``.

    Attributes:
        people: Exact number of people.
        blocks: In place of people: number of inhabited blocks, with the usual number of people
            each.
        seed: Seed of the population; default the run's seed.
        parameters: YAML file of the generator's parameters; default the packaged nation of 2010.
        people_per_tract: Mean population of a tract; overrides the parameters'.
        people_per_county: Mean population of a county; overrides the parameters'.
    """

    people: Positive | None = None
    blocks: Positive | None = None
    seed: int | None = None
    parameters: ConfigPath | None = None
    people_per_tract: Positive | None = None
    people_per_county: Positive | None = None

    @model_validator(mode="after")
    def _one_size(self) -> Synth:
        if (self.people is None) == (self.blocks is None):
            raise PydanticCustomError("size", "one of people and blocks is expected")
        return self
