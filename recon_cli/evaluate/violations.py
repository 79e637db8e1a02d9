"""What a work folder proves of the violations of a rule, and what it does not say.

Only stages that are up to date are read; what else is published, left out or not bounded is a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from recon_cli.attack.audit.left_out import with_left_out
from recon_cli.config.sections.check import CertainRecords, Disclosed, Recovered, Rule
from recon_cli.evaluate.check import (
    Finding,
    certain_by_claims,
    coverage_gaps,
    disclosed_at_most,
    find_certain,
    find_disclosed,
    find_narrow,
    find_published,
    find_recovered,
    stand_alone,
)
from recon_cli.evaluate.fresh import Missing, WorkFolder
from recon_cli.evaluate.proven import Proofs, placed_records, proven_units
from recon_cli.pipeline.stages import AUDIT, CLAIMS, RECONSTRUCT, SOLVAR
from recon_cli.publication import Coverage, Publication
from recon_cli.schema import Release
from recon_cli.store import INGEST, Folder, Stage, read_published
from recon_cli.store.published import has_statements, open_published, read_coverage


def find_violations(
    work: WorkFolder, release: Release, rule: Rule, done: frozenset[str]
) -> Finding:
    """What is proven of a rule's violations.

    Args:
        work: The work folder.
        release: The schema.
        rule: The rule.
        done: Names of the stages that are up to date.

    Raises:
        StageError: A folder is damaged.
    """
    if INGEST.name not in done:
        return Finding(gaps=("the time was over before the tables were read",))
    tables, _ = open_published(work.path, release)
    gathered = _Gathered(work, release, tables, read_coverage(tables, release), done)
    found = Finding()
    if rule.recovered is not None:
        found += gathered.recovered(rule.recovered)
    if rule.interval is not None:
        found += gathered.narrow(rule.interval.at_least)
    if rule.certain_records is not None:
        found += gathered.certain(rule.certain_records)
    if rule.disclosed is not None:
        found += gathered.disclosed(rule.disclosed)
    return found if rule.share is None else found.with_gaps(*gathered.people_gaps())


@dataclass(frozen=True)
class _Gathered:
    """What a work folder proves of violations; partitions are read one after the other."""

    work: WorkFolder
    release: Release
    tables: Folder
    coverage: Coverage
    done: frozenset[str]

    def recovered(self, rule: Recovered) -> Finding:
        """Of counts that are known though they were withheld, or are published."""
        found = self._audited(lambda rows: find_recovered(rows, rule.from_, rule.below))
        if not rule.published:
            return found
        for name in self.tables.partitions:
            found += find_published(self.tables.read(name), max(rule.from_, 1), rule.below)
        return found

    def narrow(self, width: int) -> Finding:
        """Of withheld counts of which too little is left open."""
        return self._audited(lambda rows: find_narrow(rows, width))

    def certain(self, rule: CertainRecords) -> Finding:
        """Of records that are certain."""
        proofs, gaps = self._proofs()
        if proofs is None:
            return Finding(gaps=gaps)
        place = self.release.geoid_column
        columns = rule.columns or proofs.columns
        unseen = [name for name in columns if name not in proofs.columns]
        if unseen:
            gaps = (*gaps, f"no table shows {', '.join(unseen)}")
        alone = self._stands_alone()
        is_whole = set(columns) == set(proofs.columns)
        found = Finding(gaps=gaps)
        for name in proofs.microdata.partitions:
            records = placed_records(
                self.release, proofs.microdata.read(name, columns=(place, "certain"))
            )
            units = proven_units(
                proofs.blocks.read(name),
                records,
                None if proofs.solvar is None else proofs.solvar.read(name),
                proofs.claimed(name),
                "exact" if alone else proofs.mode,
            )
            people = pl.col("placed").fill_null(0)
            known = pl.col("certain") if not unseen else pl.lit(0)
            most = pl.min_horizontal(people, "certain_at_most") if is_whole else people
            known_units = units.select(
                place, people=people, certain=known.cast(pl.Int64), certain_at_most=most
            )
            found += find_certain(
                self._with_claims(known_units, proofs, name, columns, alone=alone)
            )
        return found.with_gaps(*self._bound_gaps(proofs, alone=alone, is_whole=is_whole))

    def disclosed(self, rule: Disclosed) -> Finding:
        """Of people of whom known columns settle another one."""
        proofs, gaps = self._proofs()
        if proofs is None:
            return Finding(gaps=gaps)
        if proofs.claims is None:
            return Finding(gaps=(*gaps, self._not_done(CLAIMS)))
        place = self.release.geoid_column
        columns = proofs.claims.manifest.notes["columns"]
        disclosures = self.work.open(CLAIMS, "disclosures")
        known = min(rule.known, len(columns) - 1)
        alone = self._stands_alone()
        found = Finding(gaps=gaps)
        for name in proofs.claims.partitions:
            units = self._claimed_units(proofs, name)
            proven = disclosures.read(name).filter(known=known)
            proven = proven.select(place, disclosed=pl.col(rule.kind).cast(pl.Int64))
            most = disclosed_at_most(units.select(place, "people"), proofs.claims.read(name), rule)
            joined = units.join(proven, on=place, how="left").join(most, on=place, how="left")
            is_bound = pl.col("is_complete") & pl.lit(alone)
            least = pl.col("disclosed").fill_null(0)
            bound = pl.when(is_bound).then("in_groups").otherwise("people")
            found += find_disclosed(
                joined.select(
                    place,
                    "people",
                    disclosed=least,
                    disclosed_at_most=pl.max_horizontal(least, bound),
                )
            )
        if not alone:
            return found.with_gaps(
                "claims take each unit alone: tables of coarser levels may tell more"
            )
        return found

    def people_gaps(self) -> tuple[str, ...]:
        """Why a share of the people cannot be told: nobody says how many there are."""
        if RECONSTRUCT.name not in self.done:
            return ()
        blocks = self.work.open(RECONSTRUCT, "blocks")
        unknown = sum(
            blocks.read(name, columns=("population",))["population"].null_count()
            for name in blocks.partitions
        )
        return ("not every number of people is published",) if unknown else ()

    def _audited(self, find: Callable[[pl.DataFrame], Finding]) -> Finding:
        """What the audit says; with gaps where it says nothing of a withheld count."""
        folder = self._made(AUDIT)
        if isinstance(folder, str):
            return Finding(gaps=(folder,))
        notes = folder.manifest.notes
        gaps = [*coverage_gaps(self.coverage), *self._left_out_tables(notes["tables"], "audit")]
        found = Finding(gaps=tuple(gaps))
        for name in self.tables.partitions:
            rows = folder.read(name)
            found += find(rows)
            published = read_published(self.work.path, self.release, name)
            if rows.height < _count_withheld(self.release, published, notes["tables"]):
                found = found.with_gaps("some regions were not audited")
        return found

    def _proofs(self) -> tuple[Proofs | None, tuple[str, ...]]:
        """The proofs about records, and why they may not be all that can be proven."""
        folder = self._made(RECONSTRUCT)
        if isinstance(folder, str):
            return None, (folder,)
        notes = folder.manifest.notes
        if notes["is_fitted"]:
            return None, ("the counts have noise, which bounds none: nothing can be proven",)
        gaps = [
            *coverage_gaps(self.coverage),
            *self._left_out_tables(notes["tables"], "reconstruct"),
        ]
        if self.release.has_assumptions and not notes["assumptions"]:
            gaps.append("`reconstruct.assumptions: false` leaves out what an attacker may assume")
        proofs = Proofs.of(self.work, self.release)
        proofs = replace(
            proofs,
            solvar=proofs.solvar if SOLVAR.name in self.done else None,
            claims=proofs.claims if CLAIMS.name in self.done else None,
        )
        status = pl.concat(
            proofs.blocks.read(name, columns=("status",)) for name in proofs.blocks.partitions
        )["status"]
        if "open" in status:
            gaps.append("the tables do not bound the people of some units")
        if status.is_in(["undecided", "quarantined"]).any():
            gaps.append("some units were not reconstructed")
        return proofs, tuple(gaps)

    def _with_claims(
        self,
        units: pl.DataFrame,
        proofs: Proofs,
        partition: str,
        columns: Sequence[str],
        *,
        alone: bool,
    ) -> pl.DataFrame:
        """``people``, ``certain`` and ``certain_at_most`` of units, tightened by claims."""
        if proofs.claims is None:
            return units
        place, spoken = units.columns[0], proofs.claims.manifest.notes["columns"]
        if not set(columns) <= set(spoken):
            return units
        claims = proofs.claims.read(partition).filter(certain_by_claims(spoken, columns))
        sums = claims.group_by(place).agg(claimed=pl.col("count").cast(pl.Int64).sum())
        complete = self._claimed_units(proofs, partition).select(place, "is_complete")
        joined = units.join(sums, on=place, how="left").join(complete, on=place, how="left")
        claimed = pl.col("claimed").fill_null(0)
        least = pl.max_horizontal("certain", claimed)
        is_bound = pl.col("is_complete").fill_null(value=False) & pl.lit(alone)
        most = pl.when(is_bound).then(claimed).otherwise("certain_at_most")
        return joined.select(
            place,
            "people",
            certain=least,
            certain_at_most=pl.max_horizontal(least, pl.min_horizontal(most, "certain_at_most")),
        )

    def _claimed_units(self, proofs: Proofs, partition: str) -> pl.DataFrame:
        """Units that claims are made of: ``people``, and whether all is known of their groups."""
        place = self.release.geoid_column
        units = self.work.open(CLAIMS, "claim_units").read(partition)
        placed = proofs.microdata.read(partition, columns=(place,))[place].value_counts(name="n")
        people = pl.max_horizontal(pl.col("population"), pl.col("n").fill_null(0))
        return units.join(placed, on=place, how="left").select(
            place, people=people.cast(pl.Int64), is_complete=pl.col("status") == "complete"
        )

    def _bound_gaps(self, proofs: Proofs, *, alone: bool, is_whole: bool) -> list[str]:
        """Which stages would tell more of certain records."""
        if alone:
            return []
        if not is_whole:
            return ["of some columns claims take each unit alone: coarser levels may tell more"]
        if proofs.solvar is None:
            return [self._not_done(SOLVAR)]
        if proofs.mode != "exact":
            return ["variability was measured unit by unit (`solvar.mode: exact` takes regions)"]
        return []

    def _stands_alone(self) -> bool:
        unit = self.release.geography.unit.name
        return stand_alone(self.coverage, unit, is_exact=not has_statements(self.tables))

    def _left_out_tables(self, used: Sequence[str], section: str) -> list[str]:
        published = {name for pattern in self.coverage for name in pattern.cells}
        is_partial = not published <= set(used)
        return [f"`{section}.tables` leaves out tables that are published"] if is_partial else []

    def _made(self, stage: Stage) -> Folder | str:
        """The folder of a stage that is up to date; else why there is none."""
        if stage.name not in self.done:
            return self._not_done(stage)
        folder = self.work.fresh(stage)
        return folder.why if isinstance(folder, Missing) else folder

    def _not_done(self, stage: Stage) -> str:
        return f"the time was over before `{stage.command}` was done"


def _count_withheld(release: Release, published: Publication, tables: Sequence[str]) -> int:
    """How many counts of some tables are not published exactly, or left out."""
    whole = with_left_out(release, published)
    if whole.is_exact:
        return 0
    is_exact = (pl.col("low") == pl.col("high")).fill_null(value=False)
    stored = whole.counts.filter(pl.col("table").is_in(list(tables)))
    withheld = stored.filter(~is_exact).height
    rows = stored.join(whole.geounits.select("geoid", "level"), on="geoid")
    of_table = {
        (table, level): n for table, level, n in rows.group_by("table", "level").len().iter_rows()
    }
    places = dict(whole.geounits["pattern"].value_counts().iter_rows())
    for number, pattern in enumerate(whole.coverage):
        for table, cells in pattern.cells.items():
            if table in tables and whole.protection.greatest_of_zero(table, pattern.level) > 0:
                withheld += len(cells) * places.get(number, 0)
    for (table, level), n in of_table.items():
        if whole.protection.greatest_of_zero(table, level) > 0:
            withheld -= n
    return withheld
