"""``cellkey:`` counts, perturbed by cell keys.

Every record has a key; the sum of the keys in a cell picks the offset of its count. It is picked
from a p-table: of greatest entropy for a maximum and a variance, or from a file. Exact counts
(cellkey.counts) have no records: the key of a cell is then that of its place and of what it counts,
so that the same people get another offset wherever else they are counted. Writes perturbed/ (a tidy
publication and its protection.yaml, as recon ingest reads them); accuracy, the whole manifest and
the secret key, which later tables need, are in private/cellkey/.

Example:
  recon protect cellkey --set cellkey.ptable=ptable.csv
  recon protect cellkey --set cellkey.counts=exact
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
        variance: Of its offsets.
        never: Small counts, ``[1, 2]``, that are never published.
        ptable: A CSV file of R's ptable or of the ONS, in place of the three.
        identifier: The column that keys of records are made of; default what the records say.
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
