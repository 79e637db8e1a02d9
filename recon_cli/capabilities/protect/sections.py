"""Shared options of protections: input, chance, and a file of counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from recon_cli.config.model import ConfigPath, CsvPath, Positive, Section, TableChoice
from recon_cli.schema import Release


class ProtectingByChance(Section):
    """Base of the sections of protections that use chance.

    Attributes:
        study_seed: Makes the random choices repeatable, for study and not for publication. Without
            it they are secret.
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


class ProtectingRecords(Section):
    """Base of the sections of protections of records, or of their counts.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
    """

    records: ConfigPath | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """List the files and folders that the section names, except its output."""
        return tuple(value for key, value in self if isinstance(value, Path) and key != "to")


class MeasuringRecords(ProtectingByChance, ProtectingRecords):
    """Base of protections whose noise hides who is counted, and so which units are inhabited.

    Attributes:
        geounits: File or folder with the geoids of all units, inhabited or not.
        units: ``exact`` in place of a list of geounits: it is published which units have records.
        scale: Multiplies every budget of the strategy, as in ``1/8``.
    """

    geounits: ConfigPath | None = None
    units: Literal["exact"] | None = None
    scale: Positive = Fraction(1)

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.geounits is not None and self.units is not None:
            raise ValueError("geounits and units exclude each other")
        return self

    @property
    def invariants(self) -> dict[str, list[str]]:
        """List exact facts about units that are published, for the notes of a manifest."""
        return {} if self.geounits is not None else {"invariants": ["which units have records"]}


class PublishingCounts(ProtectingRecords):
    """Base of protections that can write their counts as a file.

    Attributes:
        to: A ``.csv`` file for the publishable counts, in which ``*`` stands for counts that are
            suppressed, if any are; default none.
    """

    to: CsvPath | None = None


class ProtectingCounts(PublishingCounts):
    """Base of the sections that also accept exact counts.

    Attributes:
        counts: A work folder, in place of records, in which `recon ingest` read exact counts.
    """

    counts: ConfigPath | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.records is not None and self.counts is not None:
            raise ValueError("records and counts exclude each other")
        return self

    def inputs(self, work: Path) -> tuple[Path, ...]:
        """List the files that the section names; for a work folder, its counts."""
        named = super().inputs(work)
        if self.counts is None:
            return named
        counts = self.counts / "tables", self.counts / "geounits"
        return (*counts, *(path for path in named if path != self.counts))


class PerturbingCounts(ProtectingByChance, ProtectingCounts):
    """Base of the sections that perturb each count by itself.

    Attributes:
        geounits: File or folder with the geoids of all units, inhabited or not; the list is
            published beside the counts. Without it, if the input is records, units whose counts all
            became zero are left out, so readers must allow for units that are not listed.
        tables: Tables to publish, if the input is records; written as for ``reconstruct``; default
            every table.
    """

    geounits: ConfigPath | None = None
    tables: TableChoice | None = None

    @model_validator(mode="after")
    def _tables_of_records(self) -> Self:
        if self.tables is not None and self.counts is not None:
            raise ValueError("tables are those of records; of counts, all that were read are taken")
        return self

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
