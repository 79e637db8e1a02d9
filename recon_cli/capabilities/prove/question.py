"""The question of `recon prove`: proofs of a run's findings, region by region."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, Self

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli import reconcheck
from recon_cli.arrays import AtomArray, IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.capabilities.audit.left_out import coverage_with_left_out, with_left_out
from recon_cli.capabilities.audit.witnesses import WitnessOptions, differing_records
from recon_cli.capabilities.findings import wording
from recon_cli.capabilities.prove.region import (
    CONFIRMED,
    STATEMENTS,
    KnownPatterns,
    RegionProof,
    RegionProver,
    unproven,
)
from recon_cli.capabilities.prove.statements import Found, Reader, Statement
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.junction_tree import JunctionTree
from recon_cli.capabilities.solvar.question import make_variability_plan
from recon_cli.coverage import Coverage
from recon_cli.errors import VerificationError
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.margins import predicates
from recon_cli.model.plan import Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.system import System
from recon_cli.progress import OnProgress
from recon_cli.proof.derivation import Budget
from recon_cli.proof.tables import PublishedTables, within_region
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.solve.cp_sat import Effort

#: The texts of a region, as the checker reads them.
TEXTS: Final = pl.Schema({"geoid": pl.String, "tables": pl.String, "proof": pl.String})
#: Partition → what the stages of the run found there.
ReadFound = Callable[[str], Found]


#: Sets of records besides the reconstruction, and deterministic seconds for each: of a whole
#: region, or of a unit alone.
_SETS: Final = 300
_SET_SECONDS: Final = 10.0
_PART_SECONDS: Final = 2.0
#: Ratio of joint kinds to kinds of cliques from which cliques are used.
_NARROWER: Final = 4


@dataclass(frozen=True)
class ProofQuestion(Question):
    """The question of which findings can be proven to somebody who trusts no part of the run.

    Attributes:
        plan: Plan of all counts, omitted ones included; its grain distinguishes records.
        what: Kinds of statements, see `recon_cli.capabilities.prove.statements.SOURCES`.
        seconds: Deterministic seconds for each region.
        seed: Seed of the search for other solutions.
        read_found: Returns the findings of a partition.
    """

    plan: Plan
    what: frozenset[str]
    seconds: float
    seed: int
    read_found: ReadFound

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: Mapping[str, Any],
        *,
        is_exact: bool,
        read_found: ReadFound,
    ) -> Self:
        """Prepare for some tables; ``options`` are ``what``, ``seconds`` and ``seed``."""
        whole = coverage_with_left_out(release, coverage)
        is_exact &= whole == coverage
        plan = make_variability_plan(release, tables, whole, "exact", is_exact=is_exact)
        what = frozenset(options["what"])
        return cls(plan, what, options["seconds"], options["seed"], read_found)

    @property
    def release(self) -> Release:
        """Return the schema, with the structural zeros that the records used."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Compute rows of ``proofs/`` and ``proof_texts/``.

        Raises:
            SolverError: No further solution could be looked for.
            VerificationError: The checker refuses a text.
        """
        found = self.read_found(part.partition)
        statements, texts = [STATEMENTS.to_frame()], [TEXTS.to_frame()]
        form = self._cliques
        is_beyond = min(form.joint_width, form.width) > reconcheck.MOST_KINDS
        for geoid, published in self._regions(part.published):
            said = self._said(published, found)
            units = published.geounits.filter(level=self.release.geography.unit.name)
            if is_beyond:
                statements.append(unproven(geoid, said))
            else:
                proof = self._proof(geoid, published, part, said, quarantine)
                statements.append(proof.statements)
                row = (geoid, proof.tables, proof.proof)
                texts.append(pl.DataFrame([row], schema=TEXTS, orient="row"))
            on_progress(units.height, int(units["population"].sum()), {})
        rows = pl.concat(statements)
        of = rows.filter(status=CONFIRMED)["source"].value_counts().sort("source").iter_rows()
        confirmed = {f"{wording.CONFIRMED}{source}": number for source, number in of}
        return Answer(
            {"proofs": rows, "proof_texts": pl.concat(texts)},
            statuses=dict(rows["status"].value_counts().iter_rows()),
            totals={"statements": rows.height, "bytes": int(rows["bytes"].sum()), **confirmed},
        )

    def _regions(self, published: Publication) -> Iterator[tuple[str, Publication]]:
        level = self.release.region.name
        for geoid in published.geounits[level].drop_nulls().unique().sort():
            yield geoid, within_region(self.release, published, geoid)

    def _said(self, published: Publication, found: Found) -> list[Statement]:
        """List the statements about a region."""
        number = {table.name: at for at, table in enumerate(self.plan.tables)}
        reader = Reader(self.release, number, self.what)
        return list(reader.statements(found.of(published.geounits["geoid"].to_list())))

    @cached_property
    def _cliques(self) -> CliqueForm:
        return CliqueForm.of(self.plan)

    @cached_property
    def _known(self) -> KnownPatterns:
        return KnownPatterns()

    @property
    def _tree(self) -> JunctionTree | None:
        """Return the cliques, if joint kinds are too many, or many more than theirs."""
        form = self._cliques
        is_narrow = form.is_narrow and form.width * _NARROWER <= form.joint_width
        return form.tree if is_narrow or form.joint_width > reconcheck.MOST_KINDS else None

    def _proof(
        self,
        geoid: str,
        published: Publication,
        part: RegionData,
        said: Sequence[Statement],
        quarantine: Quarantine,
    ) -> RegionProof:
        geoids = published.geounits["geoid"].implode()
        inside = pl.col(self.release.geoid_column).is_in(geoids)
        is_whole = not part.missing.is_in(geoids).any()
        records = part.records.filter(inside) if is_whole else None
        written = PublishedTables(self.release, published, self.plan.tables)
        differing = [each for each in said if each.apart]
        try:
            prover = RegionProver(
                written,
                self.plan.grain,
                geoid,
                records,
                tree=self._tree,
                budget=Budget(self.seconds),
                effort=Effort(self.seed, _PART_SECONDS),
                known=self._known,
            )
            may_look = geoid not in quarantine.excluded and prover.joint is not None
            if differing and records is not None and may_look:
                quarantine.announce(geoid, geoid)
                prover.show(differing, self._others(published, differing, records))
            prover.prove_units(said)
            prover.prove_region(said)
            return prover.result(said)
        except reconcheck.Refused as why:
            level = self.release.region.name
            raise VerificationError(
                f"{level} {geoid}: the checker refuses its proof ({why}); leave kinds of "
                "statements out of prove.what"
            ) from why

    def _others(
        self, published: Publication, differing: Sequence[Statement], records: pl.DataFrame
    ) -> Iterator[pl.DataFrame]:
        """Yield records of other solutions that show the stated differences."""
        whole = with_left_out(self.release, published)
        safety = max(each.apart for each in differing)
        options = WitnessOptions(self.seed, _SET_SECONDS, safety, _SETS + 1)
        asked = DifferingCounts(self.plan, differing)
        found = differing_records(self.plan, whole, asked.of_batch, options, records)
        yield from islice(found, 1, None)  # the first is a solution like the reconstruction


@dataclass(frozen=True)
class DifferingCounts:
    """Counts that differ between solutions, according to some statements.

    Attributes:
        plan: A plan with the grain.
        statements: See `recon_cli.capabilities.prove.statements.Statement.apart`.
    """

    plan: Plan
    statements: Sequence[Statement]

    def of_batch(self, counts: PartitionCounts, system: System) -> sparse.csr_array:
        """Return sparse (counts × candidates); all records of a unit get distinct weights.

        Values that the grain does not distinguish count where they lie inside: an approximation.
        """
        candidates, width = system.candidates, len(system.candidates.unit)
        rows = [sparse.csr_array((0, width), dtype=np.int64)]
        of_place: dict[str, IntArray] = {}
        for each in self.statements:
            if each.geoid not in of_place:
                of_place[each.geoid] = _candidates_of(each.geoid, counts, system)
            at = of_place[each.geoid]
            if each.what:
                weights = self._often(each.what, candidates.atoms[at])
            else:
                weights = np.arange(1, len(at) + 1)
            if len(at):
                row = sparse.coo_array((weights, (np.zeros_like(at), at)), shape=(1, width))
                rows.append(sparse.csr_array(row))
        return sparse.csr_array(sparse.vstack(rows))

    def _often(self, what: str, atoms: AtomArray) -> IntArray:
        """Return how often masks, or a cell, count each of some candidates."""
        found = np.zeros(len(atoms), dtype=np.int64)
        for masks in self._predicates(what):
            inside = np.ones(len(atoms), dtype=bool)
            for feature, mask in enumerate(masks):
                if mask != self.plan.release.full[feature]:
                    is_within = np.zeros(self.plan.grain.sizes[feature], dtype=bool)
                    is_within[self.plan.grain.within(feature, mask)] = True
                    inside &= is_within[atoms[:, feature]]
            found += inside
        return found

    def _predicates(self, what: str) -> Sequence[Masks]:
        release = self.plan.release
        if "." in what:
            table, _, number = what.partition(".")
            cell = self.plan.tables[int(table)].cells[int(number) - 1]
            return predicates(cell.masks, cell.tally, release)
        pairs = zip(what.split(), release.full, strict=True)
        return [tuple(full if word == "*" else int(word, 16) for word, full in pairs)]


def _candidates_of(geoid: str, counts: PartitionCounts, system: System) -> IntArray:
    """Return the candidates in the units of a place."""
    row = counts.geoids.index_of(geoid)
    inside = [units for units in counts.parent.values() if row is not None and (units == row).any()]
    units = [np.flatnonzero(np.isin(system.units, counts.units[each == row])) for each in inside]
    return np.flatnonzero(np.isin(system.candidates.unit, np.concatenate([[-1], *units])))
