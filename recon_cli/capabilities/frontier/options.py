r"""``frontier:`` what noise would cost the users of tables.

Reads the release's schema only. Writes frontier/: expected errors by table, level and
strategy for an even split of ε and for the best one given weights, one count by every
mechanism, and a page.

Example:
  recon plan frontier -c al.yaml
  recon plan frontier -c al.yaml --set frontier.tables=[P1,P12] \
    --set 'frontier.weights={P1: 10}'
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from recon_cli.config.model import (
    AnyNames,
    ConfigModel,
    Names,
    Positive,
    Section,
    TableChoice,
    place_release,
)
from recon_cli.errors import ConfigError
from recon_cli.schema import Release


class ExactCounts(ConfigModel):
    """Counts that would be published as they are, beside noisy ones.

    Attributes:
        strategy: What is measured: ``pl94_2020``, or the path of a YAML file.
        query: Which of its queries would be exact.
        levels: At which levels; default all that it measures and the release has.
        without: Features that the strategy measures and the release lacks.
        scale: Multiplies every budget, as in ``1/8``.
    """

    strategy: Annotated[str, BeforeValidator(place_release)]
    query: str
    levels: Names | None = None
    without: AnyNames = ()
    scale: Positive = Fraction(1)


class User(ConfigModel):
    """Who uses the tables.

    Attributes:
        weights: Table → how much its squared error matters; 0 for others.
        benefit: What the user's accuracy is worth beside that of others.
    """

    weights: Annotated[dict[str, Annotated[float, Field(gt=0, strict=False)]], Field(min_length=1)]
    benefit: Annotated[float, Field(gt=0, strict=False)] = 1.0


class Frontier(Section):
    """The section ``frontier``.

    Attributes:
        tables: Finest levels joined by ``+``, or table names. Default: every table.
        weights: Table → how much its squared error matters; 1 for others, 0 for not published.
        users: Name → weights and benefit of a user or group, in place of ``weights``.
        epsilon: Privacy losses of the whole release.
        noise: ``laplace``, ``geometric`` (on strategies of integers) or ``gaussian``.
        delta: With which probability a Gaussian release may miss its ε.
        neighbours: ``add-or-remove``: data sets that differ in one record; ``replace``: in the
            values of one record.
        people: Among whom one count is published, beside randomized response.
        share: Of these people, who are counted; for randomized response.
        innocuous: How often the innocuous answer of randomized response is yes.
        at_most: A public bound of a small count, as of a household; for which mechanisms publish it
            rightly how often, and what a published one leaves.
        branching: How many geounits each one of the level above has, coarsest first; of errors of
            one count of each geounit after least squares over levels.
        price: What a unit of ε costs, in units of weighted mean squared error; of the best ε, for
            ``laplace`` noise.
        invariant: Counts whose cost is told if they are exact: what the strongest adversary
            believes then, and how many bits they add to what noise leaves open.
    """

    tables: TableChoice | None = None
    weights: dict[str, Annotated[float, Field(ge=0, strict=False)]] = Field(default_factory=dict)
    users: dict[str, User] = Field(default_factory=dict)
    epsilon: Annotated[
        tuple[Annotated[float, Field(gt=0, strict=False)], ...], Field(strict=False, min_length=1)
    ] = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    noise: Literal["laplace", "geometric", "gaussian"] = "laplace"
    delta: Annotated[float, Field(gt=0, lt=1, strict=False)] = 1e-10
    neighbours: Literal["add-or-remove", "replace"] = "add-or-remove"
    people: Annotated[int, Field(ge=1)] = 1000
    share: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.5
    innocuous: Annotated[float, Field(gt=0, lt=1, strict=False)] = 0.5
    at_most: Annotated[int, Field(ge=1, le=50)] | None = None
    branching: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False)] = ()
    price: Annotated[float, Field(gt=0, strict=False)] | None = None
    invariant: ExactCounts | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables, and weights of tables that are not used."""
        if self.price is not None and self.noise != "laplace":
            raise ConfigError(f"price: the best ε is known for laplace noise, not {self.noise}")
        if self.users and self.weights:
            raise ConfigError("weights: users state theirs; one of the two is expected")
        names = [table.name for table in release.select_tables(self.tables)]
        stated = {"weights": self.weights}
        stated |= {f"users.{name}.weights": user.weights for name, user in self.users.items()}
        for key, weights in stated.items():
            for name in weights:
                if name not in names:
                    raise ConfigError(f"{key}: {name!r} is not among the tables {', '.join(names)}")
        if not any(self.weights.get(name, 1.0) for name in names):
            raise ConfigError("weights: at least one above 0 is expected")
