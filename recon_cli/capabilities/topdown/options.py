"""``topdown:`` records made from noisy measurements, level by level.

The design of the 2020 census: the queries of a strategy are measured at every level. From the top
down, each geounit's histogram is divided among its children by non-negative least squares over its
occupied cells, and rounded, keeping all sums; in several passes if the strategy has them. The
product of a second strategy is made to agree with that of the first. Writes mdf/. Random numbers
are secret, except in runs for study.

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
    """Counts that are published exactly.

    Attributes:
        query: Query of the first strategy.
        levels: Levels at which it is exact, with all levels above them; or ``all``.
    """

    query: str
    levels: Names | Literal["all"]

    def of(self, levels: Sequence[str]) -> list[str]:
        """Return the levels at which the query is exact."""
        return list(levels if self.levels == "all" else self.levels)


class Topdown(MeasuringRecords):
    """The section ``topdown``.

    Attributes:
        strategies: Queries and budgets: ``pl94_2020``, ``dhc_2020`` or paths of YAML files; each
            product agrees with the one before.
        geounits: File or folder with the geoids of all units that people may be placed in.
        units: ``exact`` in place of a list of geounits: people are placed only in units with
            records, which reveals exactly which they are. Either geounits or units is needed,
            except for study.
        scale: Multiplies every budget of the strategies, as in ``1/8``.
        levels: Levels, top first; default ``nation`` (everyone) and the release's levels, as far as
            the last strategy measures them. If they end above the unit, such as at tracts, nothing
            below is measured, and records have that geounit in place of their unit.
        geography: A CSV or Parquet file with the unit's geoid and a column for each level whose
            geoid is not a prefix of the unit's, such as optimised block groups.
        features: Further features of the records, as in a schema: strategies measure them, tables
            do not count them.
        structural_zeros: Impossible records, as in a schema, which are never made.
        without: Features that a strategy measures and the records lack.
        invariant: Counts that are exact.
        steps: Limit on steps of least squares for each geounit; they stop when no entry moves by
            0.0005 or more.
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
        self.extended(release)

    def extended(self, release: Release) -> Release:
        """Add the records' further features to the release.

        Raises:
            ConfigError: See `check`.
        """
        try:
            return extend_release(release, self.features, self.structural_zeros)
        except SchemaError as error:
            raise ConfigError(str(error)) from error
