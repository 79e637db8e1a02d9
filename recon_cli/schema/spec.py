"""The YAML form of a release schema, as pydantic models: shape only, meaning is in `load`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Scalar = bool | int | str


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Values = Annotated[list[Scalar], BeforeValidator(_as_list)]


class Spec(BaseModel):
    """Base: frozen, unknown keys refused, no silent conversion of numbers to text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FeatureSpec(Spec):
    """``categories: [a, b]``, ``range: 0..110`` or ``multiselect: [a, b, c]``."""

    categories: list[Scalar] | None = None
    range: str | None = None
    multiselect: list[Name] | None = None


class ChoiceSpec(Spec):
    """A set of multi-select values: by how many options are picked, or by an included option."""

    picked: Values | None = None
    includes: Name | None = None


class RecodeSpec(Spec):
    """Groups of one feature, in one of four forms."""

    of: Name
    edges: list[Scalar] | None = None
    groups: dict[Scalar, Values | ChoiceSpec] | None = None
    picked: Values | None = None
    includes: list[Name] | None = None


class LevelSpec(Spec):
    """``{level: tract, digits: 11}``."""

    level: Name
    digits: int


class GeographySpec(Spec):
    """Levels finest first, and the level that files are split by."""

    levels: list[LevelSpec]
    partition: Name


Condition = dict[Name, ChoiceSpec | Values]


class TallySpec(Spec):
    """A cell that counts picked options of a multi-select feature instead of people."""

    tally: Name


class BySpec(Spec):
    """The inner cells once for every group of a feature or recode, in its order."""

    by: Name
    cells: list[CellSpec] = ["total"]


class WhereSpec(Spec):
    """The inner cells under a further condition."""

    where: Condition
    cells: list[CellSpec] = ["total"]


CellSpec = Literal["total"] | TallySpec | BySpec | WhereSpec


class TableSpec(Spec):
    """One table of a family: its cell code and, where it has one, its universe."""

    code: str | None = None
    universe: Condition = Field(default_factory=dict)


class FamilySpec(Spec):
    """Tables that share levels and cells and differ in universe."""

    levels: list[Name]
    cells: list[CellSpec]
    tables: dict[Name, TableSpec]


class AttackSpec(Spec):
    """Columns that an attacker links on, exactly and then binned, and those that he gains."""

    exact: list[Name]
    binned: list[Name]
    gains: list[Name]


class ReleaseSpec(Spec):
    """A whole schema file."""

    release: Name
    title: str
    features: dict[Name, FeatureSpec]
    recodes: dict[Name, RecodeSpec] = Field(default_factory=dict)
    geography: GeographySpec
    microdata: list[Name]
    histogram: list[Name]
    attack: AttackSpec | None = None
    families: list[FamilySpec]
    layouts: dict[str, Any] = Field(default_factory=dict)
