"""``cellkey:`` perturbation of counts by cell keys.

Every record has a key; the sum of a cell's keys selects, in a p-table, the offset of its count. The
table is read from a file, or has maximum entropy for a given maximum and variance. With counts
instead of records (cellkey.counts), a cell's key depends on its place and definition: the same
people get different offsets in different cells. Writes perturbed/ (a tidy publication and its
protection.yaml, which recon ingest reads) and private/cellkey/ (its accuracy, the full manifest,
and the secret key that later tables need).

Example:
  recon protect cellkey --ptable ptable.csv
  recon protect cellkey --counts exact
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from recon_cli.capabilities.protect.sections import PerturbingCounts
from recon_cli.config.model import ConfigPath


class Cellkey(PerturbingCounts):
    """The section ``cellkey``.

    Attributes:
        max: Greatest offset of the p-table.
        variance: Variance of the offsets.
        never: Small counts that are never published, such as ``[1, 2]``.
        ptable: A p-table as CSV, in the format of R's ptable or of the ONS; replaces max, variance
            and never.
        identifier: Column that record keys are derived from; default all columns.
    """

    max: Annotated[int, Field(ge=1)] = 2
    variance: Annotated[float, Field(gt=0)] = 1.0
    never: Annotated[tuple[int, ...], Field(strict=False)] = ()
    ptable: ConfigPath | None = None
    identifier: str | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.ptable is not None and self.model_fields_set & {"max", "variance", "never"}:
            raise ValueError("ptable is in place of max, variance and never")
        if self.identifier is not None and self.counts is not None:
            raise ValueError("an identifier tells records apart, counts have none")
        return self
