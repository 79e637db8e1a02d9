"""``randomize:`` answers of records replaced by chance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from recon_cli.config.model import ConfigModel, ConfigPath, TableChoice
from recon_cli.config.protecting_by_chance import ProtectingByChance
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


class Randomize(ProtectingByChance):
    """The section ``randomize``.

    Attributes:
        responses: Feature → how it is randomised; other features, and the place, stay.
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        tables: Whose true counts are estimated; as in ``reconstruct``; default every table.
        interval: Coverage of the true counts' intervals, in percent, for each by itself.
        study_seed: Repeats what chance does, for study: not for publication. Without it chance is
            secret.
    """

    responses: dict[str, ResponseSection] = Field(min_length=1)
    records: ConfigPath | None = None
    tables: TableChoice | None = None
    interval: Annotated[float, Field(gt=0, lt=100, strict=False)] = 95.0

    def check(self, release: Release) -> None:
        """Refuse unknown features and tables."""
        for name in self.responses:
            if name not in release.feature_index:
                known = ", ".join(release.feature_index)
                raise ConfigError(f"responses: no feature {name!r} (features: {known})")
        release.select_tables(self.tables)

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records, where the section names any."""
        return () if self.records is None else (self.records,)
