"""``cellkey:`` counts of records, perturbed by cell keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from recon_cli.config.model import ConfigPath, TableChoice
from recon_cli.config.protecting import PerturbingCounts
from recon_cli.schema import Release
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
        tables: As in ``reconstruct``; default every table.
        identifier: The column that keys of records are made of; default what the records say.
    """

    max: Annotated[int, Field(ge=1)] | None = None
    variance: Annotated[float, Field(gt=0)] | None = None
    never: Annotated[tuple[int, ...], Field(strict=False)] = ()
    ptable: ConfigPath | None = None
    tables: TableChoice | None = None
    identifier: str | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables."""
        release.select_tables(self.tables)


class CellkeyStage(PerturbedCountsStage[Cellkey]):
    """Every record has a key; the sum of the keys in a cell picks the offset of its count.

    It is picked from a p-table: of greatest entropy for a maximum and a variance, or from a file.
    Writes perturbed/ (a tidy publication and its protection.yaml, as recon ingest reads them);
    accuracy, the whole manifest and the secret key, which later tables need, are in
    private/cellkey/.

    Example:
      recon protect cellkey --set cellkey.ptable=ptable.csv
      recon protect cellkey -c nation.yaml
    """

    section = Cellkey

    @property
    def law(self) -> Law:
        """Perturbation by a p-table."""
        from recon_cli.statement import parse_law  # noqa: PLC0415 - loads polars

        config = self.config
        given: dict[str, Any] = {"max": config.max, "variance": config.variance}
        given |= {"never": list(config.never)}
        given |= {"table": config.ptable and str(config.ptable.resolve())}
        return parse_law({"cellkey": {key: value for key, value in given.items() if value}})

    @property
    def files(self) -> tuple[InputFile, ...]:
        """The p-table."""
        path = self.config.ptable
        if path is None:
            return ()
        return (InputFile(path.name, path.stat().st_size, file_digest(path)),)
