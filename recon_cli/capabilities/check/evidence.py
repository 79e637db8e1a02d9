"""Evidence for rules: what a work folder proves, and what it leaves open.

Only stages that are up to date are read; anything published but not examined is a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.left_out import with_left_out
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.check.finding import Finding, Grounds
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.claims.groups import claim_columns
from recon_cli.capabilities.findings.asked import coverage_gaps, left_out_gaps
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import Mode, Proofs
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.coverage import Coverage, LeftOut
from recon_cli.frames import IS_AS_PUBLISHED
from recon_cli.page.missing import Missing
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.store import Folder, Stage
from recon_cli.store.protection import laws_of, read_published
from recon_cli.store.published import has_statements, open_published, read_coverage, read_left_out

#: Tables that are named before the others are only counted.
_NAMED = 5
#: Partitions whose units are kept from one rule to the next.
_KEPT = 64


@dataclass(frozen=True)
class Evidence:
    """The proven violations in a work folder; partitions are read one after the other.

    Attributes:
        expected: The tables that are published, as the config says.
        done: Names of the stages that are up to date; `recon ingest` is one of them.
    """

    work: WorkFolder
    release: Release
    expected: tuple[Table, ...]
    done: frozenset[str]

    @cached_property
    def tables(self) -> Folder:
        return open_published(self.work.path, self.release)[0]

    @cached_property
    def coverage(self) -> Coverage:
        return read_coverage(self.tables, self.release)

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Return the numbers of the published files that are not among the counts."""
        return read_left_out(self.tables)

    @cached_property
    def _laws(self) -> tuple[str, ...]:
        return laws_of(self.tables, self.release)

    @property
    def is_exact(self) -> bool:
        return not has_statements(self.tables)

    @cached_property
    def stands_alone(self) -> bool:
        unit = self.release.geography.unit.name
        return stand_alone(self.coverage, unit, is_exact=self.is_exact)

    @property
    def is_noise(self) -> bool:
        """Report whether records only fit noisy counts, which bound nothing."""
        return bool(self.work.open(RECONSTRUCT).manifest.notes["is_fitted"])

    @cached_property
    def tells_nothing(self) -> bool:
        """Report whether the reconstructed tables are totals alone, so that there are no claims."""
        used = self.release.select_tables(self.work.open(RECONSTRUCT).manifest.notes["tables"])
        return not claim_columns(self.release, used, self.coverage)

    def grounds(self, needs: Sequence[Stage]) -> Grounds:
        """Return what a verdict rests on, given the stages whose proofs it needs."""
        of_records = RECONSTRUCT in needs and RECONSTRUCT.name in self.done
        is_assumed = not of_records or self.work.open(RECONSTRUCT).manifest.notes["assumptions"]
        assumed = [
            zero for zero in self.release.structural_zeros if is_assumed and not zero.is_definition
        ]
        return Grounds(
            self.release.record,
            self._published_tables(),
            self._laws,
            (
                *self.release.assumed,
                *dict.fromkeys(zero.why or "a structural zero of the schema" for zero in assumed),
            ),
            tuple(f"{each.called}: {each.reason}" for each in self.left_out if each.reason),
        )

    def audited(self, find: Callable[[pl.DataFrame], Finding]) -> Finding:
        """Find violations in ``audit/``, with gaps for withheld counts that it lacks."""
        folder = self._made(AUDIT)
        if isinstance(folder, str):
            return Finding(gaps=(folder,))
        used = folder.manifest.notes["tables"]
        found = Finding(gaps=(*_stopped(folder), *self._gaps_of_tables(used, "audit")))
        if folder.manifest.totals.get("unsolved", 0):
            found = found.with_gaps("of some regions nobody knows whether their counts agree")
        for name in self.tables.partitions:
            rows = folder.read(name)
            found += find(rows)
            published = read_published(self.work.path, self.release, name, with_statistics=True)
            if rows.height < _count_withheld(self.release, published, used):
                found = found.with_gaps("some regions were not audited")
        return found

    def asked_of_all(self) -> Finding:
        """Return no violation, with the gaps of a question about all published tables."""
        return Finding(gaps=self._gaps_of_tables(self._published_tables(), "audit"))

    def leaves_open(self, columns: Iterable[str]) -> bool:
        """Test whether there are columns that no structural zero constrains."""
        release = self.release
        places = [release.feature_index[release.column_groups(name).feature] for name in columns]
        return any(
            all(masks[at] == release.full[at] for masks in release.impossible) for at in places
        )

    @cached_property
    def proofs(self) -> tuple[Proofs | None, tuple[str, ...]]:
        """Return the proofs about records, and the gaps in them."""
        folder = self._made(RECONSTRUCT)
        if isinstance(folder, str):
            return None, (folder,)
        notes = folder.manifest.notes
        if self.is_noise:
            return None, ("the counts have noise, which bounds none: nothing can be proven",)
        gaps = [*self._gaps_of_tables(notes["tables"], "reconstruct")]
        if self.release.has_assumptions and not notes["assumptions"]:
            gaps.append("`reconstruct.assumptions: false` leaves out what an attacker may assume")
        proofs = Proofs.of(self.work, self.release)
        proofs = replace(
            proofs,
            solvar=proofs.solvar if SOLVAR.name in self.done else None,
            claims=proofs.claims if CLAIMS.name in self.done else None,
        )
        status = pl.concat(proofs.blocks.parts(("status",)))["status"]
        gaps += [*_stopped(proofs.claims)] if proofs.claims is not None else []
        if "open" in status:
            gaps.append("the tables do not bound the people of some units")
        if status.is_in(["undecided", "quarantined"]).any():
            gaps.append("some units were not reconstructed")
        return proofs, tuple(gaps)

    def units(self, proofs: Proofs, partition: str, mode: Mode | None) -> pl.DataFrame:
        """Return the units of a partition as `Proofs.units` does, read once for all rules.

        Args:
            mode: Mode in which variability counts as measured.
        """
        key = partition, mode
        if key in self._units:
            return self._units[key]
        records = proofs.microdata.read(partition, columns=(proofs.release.geoid_column, "certain"))
        units = proofs.units(partition, records, mode=mode)
        if len(self._units) < _KEPT:
            self._units[key] = units
        return units

    @cached_property
    def _units(self) -> dict[tuple[str, Mode | None], pl.DataFrame]:
        return {}

    def with_people(self, found: Finding) -> Finding:
        """Add the number of people, where a share is allowed and the number is known."""
        if RECONSTRUCT.name not in self.done:
            return replace(found, of=None)
        blocks = self.work.open(RECONSTRUCT, "blocks")
        unknown = sum(part["population"].null_count() for part in blocks.parts(("population",)))
        if not unknown:
            return found
        return replace(found, of=None).with_gaps("not every number of people is published")

    def gaps_of_variability(self, proofs: Proofs) -> tuple[str, ...]:
        """List why variability may not show all that the tables reveal."""
        if proofs.solvar is None:
            return (self.not_done(SOLVAR),)
        if stopped := _stopped(proofs.solvar):
            return stopped
        if proofs.mode != "exact" and not self.stands_alone:
            return ("variability was measured unit by unit (`solvar.mode: exact` takes regions)",)
        return ()

    def not_done(self, stage: Stage) -> str:
        """Explain why a stage's results are missing."""
        return f"the time was over before `{stage.command}` was done"

    def _published_tables(self) -> tuple[str, ...]:
        published = {name for pattern in self.coverage for name in pattern.cells}
        return tuple(table.name for table in self.release.tables if table.name in published)

    def _gaps_of_tables(self, used: Sequence[str], section: str) -> tuple[str, ...]:
        """List tables or places that were not examined."""
        gaps = [*left_out_gaps(self.left_out), *coverage_gaps(self.coverage)]
        if absent := absent_tables(self.coverage, self.expected):
            more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
            gaps.append(
                f"not in the files: {', '.join(absent[:_NAMED])}{more} "
                "(`check.tables` says what is published)"
            )
        if not set(self._published_tables()) <= set(used):
            gaps.append(f"`{section}.tables` leaves out tables that are published")
        return tuple(gaps)

    def _made(self, stage: Stage) -> Folder | str:
        """Return the folder of a stage that is up to date, else the reason why there is none."""
        if stage.name not in self.done:
            return self.not_done(stage)
        folder = self.work.fresh(stage)
        return folder.why if isinstance(folder, Missing) else folder


def _stopped(folder: Folder) -> tuple[str, ...]:
    """List why a stopped stage's results are incomplete."""
    stopped = folder.manifest.stopped
    return () if stopped is None else (f"`recon {folder.manifest.stage}` was {stopped.words}",)


@dataclass(frozen=True)
class Before:
    """The evidence without the candidate.

    Attributes:
        explains: Whether examples come with the counts that give them away.
        base: The other publications by themselves, audited.
        records: The other publications in the features of all, with proofs about records. `base`
            and `records` are None if no rule needs them.
    """

    candidate: str
    options: Audit
    explains: bool = False
    base: Evidence | None = None
    records: Evidence | None = None


def stand_alone(coverage: Coverage, unit: str, *, is_exact: bool) -> bool:
    """Test whether the counts of coarser levels follow from those of the units.

    This holds if there are none, or if all counts are exact and every cell of a coarser geounit is
    published for its units, so that it is their sum.

    Args:
        is_exact: True if all counts are published exactly.
    """
    of_units = [pattern for pattern in coverage if pattern.level == unit and pattern.is_listed]
    coarser = [pattern for pattern in coverage if pattern.level != unit and pattern.cells]
    if not coarser:
        return True
    return is_exact and all(
        set(numbers) <= set(own.cells.get(table, ()))
        for pattern in coarser
        for table, numbers in pattern.cells.items()
        for own in of_units
    )


def absent_tables(coverage: Coverage, expected: Sequence[Table]) -> tuple[str, ...]:
    """List the tables that no geounit of one of their levels has, as ``P12 of tract``."""
    found = {(name, pattern.level) for pattern in coverage for name in pattern.cells}
    return tuple(
        f"{table.name} of {level}"
        for table in expected
        for level in table.levels
        if (table.name, level) not in found
    )


def _count_withheld(release: Release, published: Publication, tables: Sequence[str]) -> int:
    """Count the protected or omitted counts of some tables."""
    whole = with_left_out(release, published)
    if whole.is_exact:
        return 0
    stored = whole.counts.filter(pl.col("table").is_in(list(tables)))
    withheld = stored.filter(~IS_AS_PUBLISHED).height
    rows = stored.join(whole.geounits.select("geoid", "level"), on="geoid")
    of_table = {
        (table, level): n for table, level, n in rows.group_by("table", "level").len().iter_rows()
    }
    places = dict(whole.geounits["pattern"].value_counts().iter_rows())
    for number, pattern in enumerate(whole.coverage):
        for table, cells in pattern.cells.items():
            if table in tables and not whole.protection.is_true_zero(table, pattern.level):
                withheld += len(cells) * places.get(number, 0)
    for (table, level), n in of_table.items():
        if not whole.protection.is_true_zero(table, level):
            withheld -= n
    return withheld
