"""``account:`` the total privacy loss of products about the same people, and its limit."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from recon_cli.config.model import ConfigModel, ConfigPath, Positive, Section

People = Annotated[int, Field(ge=1)]


class AccountLimit(ConfigModel):
    """Limit of the total privacy loss; a product beyond it is not drawn.

    Attributes:
        rho: ρ, as in ``2.56*165/4099``.
        epsilon: ε at ``account.delta``.
    """

    rho: Positive | None = None
    epsilon: Annotated[float, Field(gt=0, strict=False)] | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.rho is None and self.epsilon is None:
            raise ValueError("rho or epsilon is expected")
        return self


class Account(Section):
    """The section ``account``.

    Attributes:
        of: A name for these people; products that share it are added up.
        file: File of the account, for all runs on these people; default
            ``private/account.jsonl`` in the work folder.
        limit: Limit of the total privacy loss; a protection that would exceed it is refused
            before anything is drawn.
        delta: Probability that ε is exceeded.
        people: Sizes of groups of people for which ε is shown.
        tight: Also compute ε from the distribution of the privacy loss; takes seconds.
    """

    of: Annotated[str, Field(min_length=1)]
    file: ConfigPath | None = None
    limit: AccountLimit | None = None
    delta: Annotated[float, Field(gt=0, lt=1, strict=False)] = 1e-10
    people: Annotated[tuple[People, ...], Field(strict=False, min_length=1)] = (1, 2, 5)
    tight: bool = False
