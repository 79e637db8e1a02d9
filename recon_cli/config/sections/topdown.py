"""``topdown:`` records made from noisy measurements, level by level."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from recon_cli.config.model import (
    AnyNames,
    ConfigModel,
    ConfigPath,
    Names,
    as_list,
    place_release,
)
from recon_cli.config.protecting_by_chance import ProtectingByChance
from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema import Release, extend_release
from recon_cli.schema.spec import FeatureSpec, Name, StructuralZeroSpec


def _placed(value: object, info: ValidationInfo) -> object:
    return [place_release(each, info) for each in value] if isinstance(value, list) else value


class InvariantCounts(ConfigModel):
    """Counts that are published as they are.

    Attributes:
        query: Of the first strategy.
        levels: Where; all levels above must be among them.
    """

    query: str
    levels: Names


class Topdown(ProtectingByChance):
    """The section ``topdown``.

    Attributes:
        strategies: What is measured and what it spends: ``pl94_2020``, ``dhc_2020`` or paths of
            YAML files; the product of each agrees with that of the one before.
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        geounits: File or folder with the geoids of all units that people may be put in.
        units: In place of that list ``exact``: people are put only into units with records, so
            that it is published, exactly, which have any. One of the two is needed, but for study.
        levels: From above; default those of the last strategy that the release has, and
            ``nation``, the whole.
        geography: A CSV or Parquet file with the unit's geoid and a column for each level that is
            not a prefix of it, or another one: optimised block groups.
        features: What the records say beyond the release's features, as in a schema: strategies
            measure it, the tables do not count it.
        structural_zeros: Records that cannot be, as in a schema: nobody is made one of them.
        without: Features that a strategy measures and the records lack.
        invariant: Counts that are exact.
        steps: Of least squares for each geounit, at most; it ends when no entry moves by 0.0005.
        study_seed: Repeats what chance does, for study: not for publication. Without it chance is
            secret.
    """

    strategies: Annotated[
        tuple[str, ...], Field(strict=False), BeforeValidator(_placed), BeforeValidator(as_list)
    ] = ("pl94_2020", "dhc_2020")
    records: ConfigPath | None = None
    geounits: ConfigPath | None = None
    units: Literal["exact"] | None = None
    levels: Names | None = None
    geography: ConfigPath | None = None
    features: dict[Name, FeatureSpec] = Field(default_factory=dict)
    structural_zeros: list[StructuralZeroSpec] = Field(default_factory=list)
    without: AnyNames = ()
    invariant: InvariantCounts | None = None
    steps: Annotated[int, Field(ge=1)] = 3000

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.geounits is not None and self.units is not None:
            raise ValueError("geounits and units exclude each other")
        return self

    def check(self, release: Release) -> None:
        """Refuse features that the release has, and rules about what is not there."""
        self.extended(release)

    def extended(self, release: Release) -> Release:
        """The release with what the records say beyond it.

        Raises:
            ConfigError: See `check`.
        """
        try:
            return extend_release(release, self.features, self.structural_zeros)
        except SchemaError as error:
            raise ConfigError(str(error)) from error

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The files that the section names."""
        named = (self.records, self.geounits, self.geography)
        return tuple(path for path in named if path is not None)
