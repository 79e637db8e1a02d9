"""The generator's parameters: read from a YAML file, checked, frozen."""

from __future__ import annotations

from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from recon_cli.arrays import FloatArray
from recon_cli.errors import ConfigError
from recon_cli.strict_yaml import parse_yaml, read_text

Share = Annotated[float, Field(ge=0, le=1)]
Weights = tuple[Annotated[float, Field(ge=0)], ...]
#: One number for each class of block size.
BySize = tuple[float, ...]

PACKAGED = "nation_2010.yaml"


class ParameterSection(BaseModel):
    """Base of the file's parts: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GeographyParameters(ParameterSection):
    """Block sizes and how blocks, tracts, counties and states nest; see the file's comments."""

    people_per_tract: Annotated[int, Field(gt=0)]
    people_per_county: Annotated[int, Field(gt=0)]
    counties_per_state: Annotated[int, Field(gt=0)]
    spread_of_tracts: float
    spread_of_counties: float
    size_signal: Share
    urban_signal: Share
    uninhabited: Annotated[float, Field(ge=0, lt=1)]
    block_groups: tuple[Annotated[int, Field(ge=1, le=9)], ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    blocks: tuple[int, ...]
    people: tuple[float, ...]

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        if len({len(self.lower), len(self.upper), len(self.blocks), len(self.people)}) != 1:
            raise ValueError("lower, upper, blocks and people need one entry for each class")
        return self

    @property
    def mean_sizes(self) -> FloatArray:
        """Return the mean population of an inhabited block, by class."""
        mean: FloatArray = 1000 * np.array(self.people) / np.array(self.blocks)
        return mean

    @property
    def people_per_block(self) -> float:
        """Return the mean population of an inhabited block."""
        return 1000 * sum(self.people) / sum(self.blocks)

    def at_size(self, values: BySize, sizes: npt.NDArray[np.int64]) -> FloatArray:
        """Interpolate values by class on the logarithm of the block size."""
        at, anchors = np.log(np.maximum(sizes, 1)), np.log(self.mean_sizes)
        return np.asarray(np.interp(at, anchors, np.array(values)), np.float64)


class Households(ParameterSection):
    """Sizes, kinds and members of households."""

    sizes: Weights
    married: Weights
    family: Weights
    partner: Share
    partner_other: Share
    single_mother: Share
    own_child: Share
    others: Weights
    same_sex: tuple[Share, Share]
    head_male: tuple[Share, Share]
    alike: Share
    male_children: Share
    twins: Share


class Ages(ParameterSection):
    """Ages of householders, and of the others relative to them."""

    first: int
    step: int
    alone: Weights
    couple: Weights
    family: Weights
    other: Weights
    youngest: Weights
    spacing: float
    birth: tuple[float, float, int, int]
    partners: tuple[float, float]
    housemates: tuple[float, Share]
    parents: tuple[float, float]
    men_alone: tuple[Share, ...]
    alike: Share
    children_alike: Share
    alike_tract: Share


class Origins(ParameterSection):
    """Race and ethnicity of tracts, blocks, households and persons."""

    names: tuple[str, ...]
    fitted: Weights
    tract: BySize
    urban: tuple[float, ...]
    block: BySize
    even: Weights
    together: Annotated[float, Field(gt=0)]
    diversity: BySize
    diversity_evenness: BySize
    one_origin: BySize
    diversity_tract: Share
    several: dict[int, float]
    hispanic_rest: dict[int, float]
    mixed: tuple[Share, Share]
    both: Share
    child_hispanic: Share
    dissent: tuple[Share, ...]
    further: Weights
    stranger: Share

    @model_validator(mode="after")
    def _one_for_each(self) -> Self:
        if len(self.even) != 1 + int((~self.is_hispanic).sum()):
            raise ValueError("even needs one number for each origin, and one for all Hispanic ones")
        return self

    @cached_property
    def is_hispanic(self) -> npt.NDArray[np.bool_]:
        return np.array([name.startswith("hispanic_") for name in self.names])


class GroupQuarters(ParameterSection):
    """Group quarters."""

    share_of_blocks: BySize
    share_of_people: tuple[Share, Share]
    names: tuple[str, ...]
    weights: Weights
    weights_big: Weights
    male: tuple[Share, ...]
    ages: tuple[tuple[float, float, int, int], ...]
    institutional: tuple[bool, ...]


class Units(ParameterSection):
    """Housing units: vacancy and tenure."""

    vacant: Share
    vacant_in_uninhabited: Share
    vacancy: Weights
    own: tuple[Share, ...]
    mortgage: tuple[Share, ...]
    no_rent: Share


class PersonKeys(ParameterSection):
    """Which records have a person key, and which keys occur twice."""

    pik: BySize
    duplicates: Share


class Attacker(ParameterSection):
    """The commercial file: coverage, stale addresses, errors."""

    records: BySize
    matched: BySize
    minors: Share
    others: BySize
    exact_age: Share
    wrong: Share
    stale: Share
    age_error: float
    wrong_sex: Share
    outside: Annotated[float, Field(ge=0)]


class Nation(ParameterSection):
    """All inputs of the generator besides the seed and the size."""

    geography: GeographyParameters
    households: Households
    ages: Ages
    origins: Origins
    quarters: GroupQuarters
    units: Units
    linkage: PersonKeys
    attacker: Attacker


def load_nation(path: Path | None = None) -> Nation:
    """Read parameters.

    Args:
        path: A YAML file of the form of the packaged one, which is the default.

    Raises:
        ConfigError: The file cannot be read or something in it is wrong.
    """
    if path is None:
        text = resources.files(__package__).joinpath(PACKAGED).read_text(encoding="utf-8")
        return _parse(text, PACKAGED)
    return _parse(read_text(path), str(path))


def _parse(text: str, source: str) -> Nation:
    try:
        return Nation.model_validate(parse_yaml(text, source=source).data)
    except ValidationError as error:
        raise ConfigError(f"{source}: {error}") from error
