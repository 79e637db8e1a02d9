"""Proofs of what a run found, region by region. The question of `recon prove`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import polars as pl

from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.attack.variability.partition import make_variability_plan
from recon_cli.model.grain import Grain
from recon_cli.progress import OnProgress
from recon_cli.proofs.derivation import Effort
from recon_cli.proofs.region import STATEMENTS, RegionProof, RegionProver
from recon_cli.proofs.statements import Found, Reader
from recon_cli.proofs.tables import PublishedTables
from recon_cli.publication import Coverage, Publication
from recon_cli.schema import Release, Table

#: The texts of a region, as the checker reads them.
TEXTS: Final = pl.Schema({"geoid": pl.String, "tables": pl.String, "proof": pl.String})
#: Partition → what the stages of the run found there.
ReadFound = Callable[[str], Found]


@dataclass(frozen=True)
class ProofQuestion(Question):
    """Can what the run says be proven to somebody who trusts none of it?

    Attributes:
        schema: With the structural zeros that the records were made under.
        tables: Those in use.
        grain: What tells records apart.
        what: Kinds of statements, see `recon_cli.proofs.statements.SOURCES`.
        seconds: Deterministic seconds for each region.
        read_found: Gives what is to be proven.
    """

    schema: Release
    tables: tuple[Table, ...]
    grain: Grain
    what: frozenset[str]
    seconds: float
    read_found: ReadFound

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        *,
        is_exact: bool,
        read_found: ReadFound,
        what: Sequence[str],
        seconds: float,
    ) -> Self:
        """For some tables."""
        plan = make_variability_plan(release, tables, coverage, "exact", is_exact=is_exact)
        return cls(release, tuple(tables), plan.grain, frozenset(what), seconds, read_found)

    @property
    def release(self) -> Release:
        """The schema."""
        return self.schema

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Rows of ``proofs/`` and ``proof_texts/``.

        Raises:
            Refused: The checker's: the run's own records do not have the published counts.
        """
        del quarantine  # no solver of integer programs is asked
        found = self.read_found(part.partition)
        statements, texts = [STATEMENTS.to_frame()], [TEXTS.to_frame()]
        for geoid, published in self._regions(part.published):
            proof = self._prove(geoid, published, part, found)
            statements.append(proof.statements)
            row = (geoid, proof.tables, proof.proof)
            texts.append(pl.DataFrame([row], schema=TEXTS, orient="row"))
            units = published.geounits.filter(level=self.release.geography.unit.name)
            on_progress(units.height, int(units["population"].sum()), {})
        rows = pl.concat(statements)
        return Answer(
            {"proofs": rows, "proof_texts": pl.concat(texts)},
            statuses=dict(rows["status"].value_counts().iter_rows()),
            totals={"statements": rows.height, "bytes": int(rows["bytes"].sum())},
        )

    def _regions(self, published: Publication) -> Iterator[tuple[str, Publication]]:
        """Each region with its counts."""
        level = self.release.region.name
        for geoid in published.geounits[level].drop_nulls().unique().sort():
            geounits = published.geounits.filter(pl.col(level) == geoid)
            inside = pl.col("geoid").is_in(geounits["geoid"].implode())
            counts = published.counts.filter(inside)
            yield (
                geoid,
                Publication(geounits, counts, published.coverage, published.protection),
            )

    def _prove(
        self, geoid: str, published: Publication, part: RegionData, found: Found
    ) -> RegionProof:
        column = self.release.geoid_column
        geoids = published.geounits["geoid"]
        inside = pl.col(column).is_in(geoids.implode())
        is_whole = not part.missing.is_in(geoids.implode()).any()
        records = part.records.filter(inside) if is_whole else None
        written = PublishedTables(self.release, published, self.tables)
        prover = RegionProver(written, self.grain, geoid, records, Effort(self.seconds))
        number: Mapping[str, int] = {table.name: at for at, table in enumerate(self.tables)}
        statements = list(
            Reader(self.release, number, self.what).statements(found.of(geoids.to_list()))
        )
        prover.prove_units(statements)
        return prover.result(statements)
