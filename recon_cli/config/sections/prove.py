"""``prove:`` what of a run's findings is proven for anyone to check."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import Section

Kind = Literal["unique", "certain", "solvar", "claims", "audit"]


class Prove(Section):
    """The section ``prove``.

    Attributes:
        what: What is proven, as far as the run has it: that blocks have one solution (`unique`),
            records in every solution (`certain`), that solutions agree or differ (`solvar`),
            `claims`, and the ends of protected counts (`audit`).
        seconds: Budget of each region, in deterministic seconds.
        seed: For other solutions that are shown; default the run's seed.
    """

    what: Annotated[tuple[Kind, ...], Field(strict=False, min_length=1)] = (
        "unique",
        "certain",
        "solvar",
        "claims",
        "audit",
    )
    seconds: Annotated[float, Field(gt=0)] = 10.0
    seed: Annotated[int, Field(ge=0)] | None = None
