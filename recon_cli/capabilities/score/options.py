"""``score:`` options of the result tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import Names, Section
from recon_cli.errors import ConfigError


class Score(Section):
    """The section ``score``.

    Attributes:
        compare: Show the values of a published study beside this run's.
        alternatives: Sources shown in Tables 11 and 15-17 only, such as other protections.
        sizes: Lowest population of each block-size class, rising from 1.
        interval: Coverage of intervals, in percent.
        bootstrap: Resamples of geounits for intervals; 0 for none. With several draws of links
            the intervals are across draws instead.
        seed: Seed of the resamples; default the run's seed.
        digits: Number of significant digits to round counts to.
        threshold: Number of people below which a class is small and its rates are uncertain; 0 for
            none.
        small: ``merge`` small classes with the next, or ``withhold`` them.
    """

    compare: Literal["wp31995"] | None = None
    alternatives: Names | None = None
    sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False)] = (
        *(1, 10, 50, 100),
        *(250, 500, 1000),
    )
    interval: Annotated[float, Field(gt=0, lt=100)] = 95.0
    bootstrap: Annotated[int, Field(ge=0)] = 200
    seed: int | None = None
    digits: Annotated[int, Field(ge=1)] | None = None
    threshold: Annotated[int, Field(ge=0)] = 10
    small: Literal["merge", "withhold"] = "withhold"

    def require_linked(self, sources: Sequence[str]) -> None:
        """Refuse alternatives that are not among the linked sources.

        Raises:
            ConfigError: One is not.
        """
        for name in self.alternatives or ():
            if name not in sources:
                known = ", ".join(sources)
                raise ConfigError(
                    f"score.alternatives: no source {name!r} was linked (sources: {known})"
                )

    @property
    def compares_with_study(self) -> bool:
        """Report whether values of a published study are shown beside ours."""
        return self.compare is not None
