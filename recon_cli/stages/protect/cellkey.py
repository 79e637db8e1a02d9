"""``cellkey:`` counts, perturbed by cell keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from recon_cli.config.model import ConfigPath
from recon_cli.config.protecting import PerturbingCounts
from recon_cli.stages.protected_counts import PerturbedCountsStage
from recon_cli.store import InputFile
from recon_cli.store.files import file_digest

if TYPE_CHECKING:
    from recon_cli.statement import Law


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


class CellkeyStage(PerturbedCountsStage[Cellkey]):
    """Every record has a key; the sum of the keys in a cell picks the offset of its count.

    It is picked from a p-table: of greatest entropy for a maximum and a variance, or from a file.
    Exact counts (cellkey.counts) have no records: the key of a cell is then that of its place and
    of what it counts, so that the same people get another offset wherever else they are counted.
    Writes perturbed/ (a tidy publication and its protection.yaml, as recon ingest reads them);
    accuracy, the whole manifest and the secret key, which later tables need, are in
    private/cellkey/.

    Example:
      recon protect cellkey --set cellkey.ptable=ptable.csv
      recon protect cellkey --set cellkey.counts=exact
    """

    section = Cellkey

    @property
    def law(self) -> Law:
        """Perturbation by a p-table."""
        from recon_cli.statement import parse_law  # noqa: PLC0415 - loads polars

        config = self.config
        if config.ptable is not None:
            return parse_law({"cellkey": {"table": str(config.ptable.resolve())}})
        given: dict[str, Any] = {"max": config.max, "variance": config.variance}
        never = {"never": list(config.never)} if config.never else {}
        return parse_law({"cellkey": given | never})

    @property
    def files(self) -> tuple[InputFile, ...]:
        """The p-table."""
        path = self.config.ptable
        if path is None:
            return ()
        return (InputFile(path.name, path.stat().st_size, file_digest(path)),)
