"""``estimate:`` intervals of noisy counts.

Writes estimates/: for every measured count the best linear unbiased estimate from all
measurements of its tree of geounits, its standard deviation, and an interval that holds the
true count with the stated probability. The intervals are likely, not proven.

Example:
  recon estimate -c noisy.yaml
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section


class Estimate(Section):
    """The section ``estimate``.

    Attributes:
        level: Coverage of each count's interval, in percent; not of all together.
    """

    level: Annotated[float, Field(gt=0, lt=100, strict=False)] = 95
