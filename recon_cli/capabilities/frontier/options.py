r"""``frontier:`` the cost of noise to users of the tables.

Reads only the release's schema. Writes frontier/: expected errors by table, level and strategy,
for an even split of ε and for the optimal split given weights; errors of a single count by
mechanism; and a page.

Example:
  recon plan frontier -c al.yaml
  recon plan frontier -c al.yaml --tables P1,P12 \
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
    """Counts that would be published exactly, beside noisy ones.

    Attributes:
        strategy: The strategy: ``pl94_2020``, or the path of a YAML file.
        query: Query of the strategy that would be exact.
        levels: Levels at which it would be exact; default all of the strategy and the release.
        without: Features that the strategy measures and the release lacks.
        scale: Multiplies every budget, as in ``1/8``.
    """

    strategy: Annotated[str, BeforeValidator(place_release)]
    query: str
    levels: Names | None = None
    without: AnyNames = ()
    scale: Positive = Fraction(1)


class User(ConfigModel):
    """A user of the tables.

    Attributes:
        weights: Table → weight of its squared error; 0 for others.
        benefit: Value of this user's accuracy relative to that of others.
    """

    weights: Annotated[dict[str, Annotated[float, Field(gt=0, strict=False)]], Field(min_length=1)]
    benefit: Annotated[float, Field(gt=0, strict=False)] = 1.0


class Frontier(Section):
    """The section ``frontier``.

    Attributes:
        tables: Tables, by name or by their finest level: ``block+tract`` for those down to blocks
            or tracts. Default: every table.
        weights: Table → weight of its squared error; default 1; give 0 to a table that is not
            published.
        users: Name → weights and benefit of a user or group, in place of ``weights``.
        epsilon: Privacy losses of the whole release.
        noise: ``laplace``, ``geometric`` (for strategies with integer weights) or ``gaussian``.
        delta: Probability that a Gaussian release exceeds its ε.
        neighbours: ``add-or-remove``: one data set has one record more; ``replace``: one record has
            other values.
        people: Size of the group that one published count is about, for randomised response.
        share: Share of these people who are counted, for randomised response.
        innocuous: Probability of "yes" for the innocuous question of randomised response.
        at_most: Public upper bound of a small count, such as that of a household. With it, results
            also tell how often each mechanism publishes such a count correctly, and which true
            counts a published one leaves possible.
        branching: Number of children of a geounit at each level, coarsest first; gives the error of
            one count after least squares over levels.
        price: Cost of a unit of ε, in units of weighted mean squared error. With it, the optimal ε
            is computed; only with ``laplace`` noise.
        invariant: Counts assumed to be exact, to compute what that costs: how much surer the
            strongest adversary becomes, and the bits that these counts reveal beyond the noisy
            ones.
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
