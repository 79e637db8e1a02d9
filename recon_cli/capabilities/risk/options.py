"""``risk:`` how sure noisy counts make an adversary about each person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from recon_cli.budget import as_written, exact
from recon_cli.capabilities.risk.given import precision, prior_of
from recon_cli.config.model import ConfigModel, ConfigPath, ConfigPaths, Names, Section
from recon_cli.errors import ConfigError
from recon_cli.schema import Release

UNIFORM = "uniform"


def _texts(value: object) -> object:
    return (
        [as_written(each) for each in value]
        if isinstance(value, list | tuple)
        else as_written(value)
    )


class LevelNoise(ConfigModel):
    """Noise of one level's counts.

    Attributes:
        rho: ρ of the query, as a number or products and quotients of numbers.
        sensitivity: Change of a count by one person.
        variance: Variance of the noise before it is made discrete, in place of ρ.
    """

    rho: Annotated[str, BeforeValidator(as_written)] | None = None
    sensitivity: float = Field(default=1, gt=0, strict=False)
    variance: float | None = Field(default=None, strict=False)

    @model_validator(mode="after")
    def _check(self) -> LevelNoise:
        _ = self.precision
        return self

    @property
    def precision(self) -> float:
        """Return 1/(2 variance)."""
        rho = None if self.rho is None else exact(self.rho)
        return precision(rho, self.sensitivity, self.variance)


class Upper(ConfigModel):
    """The adversary's prior for the level above.

    Attributes:
        prior: ``flat``, ``uniform:K``, ``poisson:MEAN`` on the siblings' true count; ``known``:
            the true upper count is, ``known:K``: every upper count is taken for K, rightly or not;
            ``none``: the upper level is not used; ``as-published``: the limit of the published
            sampler.
        siblings: ``together``: the prior is on the sum of their counts, and the sum of their noisy
            counts is used; ``each``: it is on every sibling's count, and all of them are.
    """

    prior: str = "flat"
    siblings: Literal["together", "each"] = "together"

    @field_validator("prior")
    @classmethod
    def _known(cls, value: str) -> str:
        name, _, parameter = value.partition(":")
        plain = name in {"flat", "known", "none", "as-published"} and not parameter
        counted = name in {"uniform", "known"} and parameter.isdecimal()
        poisson = name == "poisson" and parameter and exact(parameter) > 0
        if not (plain or counted or poisson):
            raise ValueError(
                "flat, uniform:K, poisson:MEAN, known, known:K, none or as-published is expected"
            )
        return value

    @model_validator(mode="after")
    def _proper(self) -> Upper:
        if self.siblings == "each" and not self.prior.startswith(("uniform:", "poisson:")):
            raise ValueError("siblings: each needs the prior uniform:K or poisson:MEAN")
        return self


class Flag(ConfigModel):
    """Thresholds above which a person is counted as at risk.

    Attributes:
        posterior: Probability that the target is in.
        ratio: Posterior over prior.
    """

    posterior: float = Field(default=0.5, gt=0, lt=1, strict=False)
    ratio: float = Field(default=2, gt=0, strict=False)


class Risk(Section):
    """The section ``risk``.

    Attributes:
        truth: The true counts: a CSV or Parquet file (``geoid, table, cell, count``), or a
            folder ``tables/``.
        measurements: Noisy counts of every geounit and cell: CSV or Parquet files (``geoid,
            table, cell, noisy``, perhaps ``variance``), or ``noisy/`` of `recon protect noise`;
            several are independent releases.
        noise: Level → its noise; one level, or the finest and one above.
        priors: Prior probabilities that the target is in a cell; ``uniform`` is one over the number
            of cells measured in any of the files.
        upper: The adversary's prior for the level above.
        flag: Thresholds above which a person is counted as at risk.
    """

    truth: ConfigPath
    measurements: ConfigPaths
    noise: dict[str, LevelNoise] = Field(min_length=1, max_length=2)
    priors: Annotated[Names, BeforeValidator(_texts)] = ("1/2",)
    upper: Upper = Upper()
    flag: Flag = Flag()

    @field_validator("priors")
    @classmethod
    def _priors(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if value != UNIFORM:
                prior_of(value)
        return values

    def check(self, release: Release) -> None:
        levels = release.geography.by_name
        for name in self.noise:
            if name not in levels:
                raise ConfigError(f"noise: no level {name!r} (levels: {', '.join(levels)})")
        if release.geography.unit.name not in self.noise:
            raise ConfigError(f"noise: missing level {release.geography.unit.name!r}")

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        return (self.truth, *self.measurements)
