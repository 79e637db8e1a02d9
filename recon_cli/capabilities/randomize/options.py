"""``randomize:`` random replacement of answers.

Randomised response: each answer is kept or replaced with probabilities given by a known matrix, or
by ε. Writes randomized/ (the records) and randomized_counts/ (for each cell the reported count, an
unbiased estimate of the true one, its standard deviation and an interval). Random numbers are
secret, except in runs for study.

Example:
  recon protect randomize -c clinic.yaml
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.capabilities.protect.sections import ProtectingByChance, ProtectingRecords
from recon_cli.config.model import ConfigModel, TableChoice
from recon_cli.errors import ConfigError
from recon_cli.schema import Release


class ResponseSection(ConfigModel):
    """How one feature is randomised: one of the two.

    Attributes:
        epsilon: A value is kept with e^ε/(e^ε + k − 1), else any of the k − 1 others is reported.
        matrix: Probabilities of the reported value (columns) for each true one (rows), in the
            order of the schema.
    """

    epsilon: Annotated[float, Field(gt=0, strict=False)] | None = None
    matrix: list[list[float]] | None = None


class Randomize(ProtectingByChance, ProtectingRecords):
    """The section ``randomize``.

    Attributes:
        responses: Feature → how it is randomised; other features, and the place, stay.
        tables: Tables whose true counts are estimated, as in ``reconstruct``; default every table.
        interval: Coverage of each true count's interval, in percent; not of all together.
    """

    responses: dict[str, ResponseSection] = Field(min_length=1)
    tables: TableChoice | None = None
    interval: Annotated[float, Field(gt=0, lt=100, strict=False)] = 95.0

    def check(self, release: Release) -> None:
        for name in self.responses:
            if name not in release.feature_index:
                known = ", ".join(release.feature_index)
                raise ConfigError(f"responses: no feature {name!r} (features: {known})")
        release.select_tables(self.tables)
