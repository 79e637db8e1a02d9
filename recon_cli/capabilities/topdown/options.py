"""``topdown:`` records made from noisy measurements, level by level.

The design of the 2020 census: the queries of a strategy are measured at every level. From above
each geounit's histogram is divided among its children by non-negative least squares over the cells
that it has people in, and rounded with all sums kept; in passes, where the strategy says so. A
second product agrees with the first. Writes mdf/. Chance is secret, but for study.

Example:
  recon protect topdown -c nation.yaml
  recon data tabulate --set tabulate.records=work/mdf --to mdf.parquet
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo

from recon_cli.capabilities.protect.sections import MeasuringRecords
from recon_cli.config.model import AnyNames, ConfigModel, ConfigPath, Names, as_list, place_release
from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema import Release, extend_release
from recon_cli.schema.spec import FeatureSpec, Name, StructuralZeroSpec


def _placed(value: object, info: ValidationInfo) -> object:
    return [place_release(each, info) for each in value] if isinstance(value, list) else value


class InvariantCounts(ConfigModel):
    """Counts that are published as they are.

    Attributes:
        query: Of the first strategy.
        levels: Where; all levels above must be among them. ``all``: at every level.
    """

    query: str
    levels: Names | Literal["all"]

    def of(self, levels: Sequence[str]) -> list[str]:
        """Where, of the levels that are walked."""
        return list(levels if self.levels == "all" else self.levels)


class Topdown(MeasuringRecords):
    """The section ``topdown``.

    Attributes:
        strategies: What is measured and what it spends: ``pl94_2020``, ``dhc_2020`` or paths of
            YAML files; the product of each agrees with that of the one before.
        geounits: File or folder with the geoids of all units that people may be put in.
        units: In place of that list ``exact``: people are put only into units with records, so
            that it is published, exactly, which have any. One of the two is needed, but for study.
        scale: Multiplies every budget of the strategies, as in ``1/8``.
        levels: From above; default those of the last strategy that the release has, and
            ``nation``, the whole. Where they end above the unit, such as at tracts, nothing below
            is measured, and records say no more than that geounit in place of their unit.
        geography: A CSV or Parquet file with the unit's geoid and a column for each level that is
            not a prefix of it, or another one: optimised block groups.
        features: What the records say beyond the release's features, as in a schema: strategies
            measure it, the tables do not count it.
        structural_zeros: Records that cannot be, as in a schema: nobody is made one of them.
        without: Features that a strategy measures and the records lack.
        invariant: Counts that are exact.
        steps: Of least squares for each geounit, at most; it ends when no entry moves by 0.0005.
    """

    strategies: Annotated[
        tuple[str, ...], Field(strict=False), BeforeValidator(_placed), BeforeValidator(as_list)
    ] = ("pl94_2020", "dhc_2020")
    levels: Names | None = None
    geography: ConfigPath | None = None
    features: dict[Name, FeatureSpec] = Field(default_factory=dict)
    structural_zeros: list[StructuralZeroSpec] = Field(default_factory=list)
    without: AnyNames = ()
    invariant: InvariantCounts | None = None
    steps: Annotated[int, Field(ge=1)] = 3000

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
