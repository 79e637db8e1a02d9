"""Findings of a work folder: sums, and the worst places by name if they are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.joint_findings import JointFindings
from recon_cli.capabilities.findings.kinds import Disclosure
from recon_cli.capabilities.findings.proven import Mode
from recon_cli.page.missing import Missing
from recon_cli.schema import Release
from recon_cli.store import Manifest

#: Name of the tabulated file in `recon link`.
PROTECTED = "HDF"


@dataclass(frozen=True)
class Rule:
    """The rule by which people count as disclosed.

    Attributes:
        kind: See `recon_cli.capabilities.report.options.Report`.
        tolerated: Percentage of people who may be disclosed.
    """

    kind: Disclosure = "attribute"
    tolerated: float = 0.0


@dataclass(frozen=True)
class Place:
    """A unit where people are disclosed, or a place with recovered counts.

    Attributes:
        people: Number of people; None if unknown, or for places of other levels.
        given: Least number of disclosed people.
        recovered: Number of recovered counts.
        small: Number of recovered counts above zero and below the threshold.
        name: Published name; empty where the files have none.
    """

    geoid: str
    people: int | None
    given: int
    recovered: int = 0
    small: int = 0
    name: str = ""

    @property
    def page(self) -> str:
        """Return the file beside the report with its details."""
        return f"place-{self.geoid}.html"

    @property
    def called(self) -> str:
        """Return its name, or else its geoid."""
        return self.name or self.geoid


@dataclass(frozen=True)
class ReconstructionFindings:
    """The results of a reconstruction.

    Attributes:
        people: Records.
        empty: Places without people.
        uncounted: Places whose number of people the tables in use do not give.
        known: Histogram columns that the tables in use distinguish.
        unknown: The other histogram columns.
        by_size: Result of `uniqueness_by_size`, the first row over all sizes.
        as_published: Disclosed people, by the rule, of places whose counts are all published,
            where others are protected.
        certain_as_published: Certain records in these places.
    """

    manifest: Manifest
    people: int
    empty: int
    uncounted: int
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    by_size: pl.DataFrame
    as_published: int = 0
    certain_as_published: int = 0

    @property
    def whole(self) -> Mapping[str, int]:
        """Return the sums over all sizes."""
        row: dict[str, int] = self.by_size.drop("size").row(0, named=True)
        return row

    @property
    def unlisted(self) -> int:
        """Return the number of units that stand for all unlisted places."""
        return self.manifest.totals.get("unlisted", 0)

    @property
    def is_counted(self) -> bool:
        """Report whether the tables state the number of people of every unit."""
        return not (self.uncounted or self.manifest.totals["uncounted"])

    @property
    def is_fitted(self) -> bool:
        """Report whether the records only fit noisy counts, which bound nothing."""
        return bool(self.manifest.notes["is_fitted"])

    @property
    def knows_unique_units(self) -> bool:
        """Report whether no further unit may have exactly one reconstruction."""
        return self.whole["undecided_units"] == self.whole["open_units"] == 0

    @property
    def knows_certain_records(self) -> bool:
        """Report whether no further record may be certain."""
        return self.whole["certain_at_most"] == self.whole["certain"]

    @property
    def least(self) -> list[int]:
        """List which of two numbers may be greater than proven.

        The numbers are the people of units with one reconstruction, and the certain records.
        """
        unique = self.whole["one_population"], self.knows_unique_units
        certain = self.whole["certain"], self.knows_certain_records
        return [
            number
            for number, is_known in (unique, certain)
            if (number and not self.is_counted)
            or (not is_known and (not number or number != self.people))
        ]


@dataclass(frozen=True)
class VariabilityFindings:
    """The results of `recon solvar`.

    Attributes:
        percentiles: Table 6.
        by_size: Table 7.
    """

    manifest: Manifest
    mode: Mode
    percentiles: pl.DataFrame
    by_size: pl.DataFrame


@dataclass(frozen=True)
class UniqueFindings:
    """People who are unique in their unit on the linking key, by size.

    Attributes:
        by_size: ``size``, ``population``, ``unique``, ``unique_pct``, the first row over all; null
            where withheld. ``published_pct`` where a study's value is known.
        is_true: Whether they were counted in the truth (only people who can be linked); else in the
            reconstruction.
    """

    by_size: pl.DataFrame
    is_true: bool


@dataclass(frozen=True)
class ClaimFindings:
    """The results of `recon claims`.

    Attributes:
        people: People of all units.
        whole: Least number of records that are certain on all columns of claims.
        alone: Number of these records that are alone with their values in their place.
        by_known: Columns ``known``, ``identity``, ``attribute``, ``inferential``: least number of
            people for whom so many columns, or fewer, determine another one.
        surprise: Columns ``k``, ``singletons``, ``p_region``, ``p_all``: for each number of columns
            the claims about exactly one person, and the median chance that guessing gives them.
    """

    manifest: Manifest
    people: int
    whole: int
    alone: int
    by_known: pl.DataFrame
    surprise: pl.DataFrame

    @property
    def is_counted(self) -> bool:
        """Report whether the tables bound the people of every unit."""
        return not self.manifest.totals.get("open", self.manifest.statuses.get("open", 0))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.manifest.notes["columns"])

    @property
    def disclosed(self) -> Mapping[str, int]:
        """Count by kind of disclosure the people of whom any columns determine another."""
        if self.by_known.is_empty():
            return {"identity": 0, "attribute": 0, "inferential": 0}
        row: dict[str, int] = self.by_known.drop("known").row(-1, named=True)
        return row


@dataclass(frozen=True)
class ScoreFindings:
    """The results of `recon score`.

    Attributes:
        links: Manifest of ``links/``: its notes name sources, guessers and attackers.
        rates: Result of `recon_cli.capabilities.score.tables.make_rates`.
        gains: Result of `recon_cli.capabilities.score.gains.make_gains`.
        passes: Result of `capabilities.score.gains.make_passes`; None for the study's two.
        own: The source that is this folder's ``microdata/``, if one is.
        labels: Name of a source or an attacker's file in the config → what the page calls it, and
            what it is called in ``rates`` and ``gains``; itself where it is not there.
    """

    manifest: Manifest
    links: Manifest
    rates: pl.DataFrame
    gains: pl.DataFrame
    passes: pl.DataFrame | None
    own: str | None
    labels: Mapping[str, str]

    @property
    def truth(self) -> str:
        return self._called(str(self.links.notes["truth"]))

    @property
    def protected(self) -> str:
        """Return the records that were tabulated."""
        return self._called(PROTECTED)

    @property
    def attackers(self) -> tuple[str, ...]:
        return tuple(map(self._called, self.links.notes["attackers"]))

    @property
    def guessers(self) -> Mapping[str, str]:
        """Map guessers to ``modal`` or ``proportional``."""
        return {self._called(name): kind for name, kind in self.links.notes["guessers"].items()}

    @property
    def usual_guessers(self) -> tuple[str, ...]:
        """Return the first guesser of each kind that does not leave out the person guessed."""
        left_out = set(map(self._called, self.links.notes["leave_one_out"]))
        first: dict[str, str] = {}
        for name, kind in self.guessers.items():
            if name not in left_out:
                first.setdefault(kind, name)
        return tuple(first.values())

    @property
    def records(self) -> tuple[str, ...]:
        """Return the sources that have records, the truth first."""
        sources = map(self._called, self.links.notes["sources"])
        return tuple(name for name in sources if name not in self.guessers)

    @property
    def reconstruction(self) -> str | None:
        """Return the main source: this folder's own records, else the first of any others."""
        if self.own is not None:
            return self.own
        others = [name for name in self.records if name not in (self.truth, self.protected)]
        return others[0] if others else None

    def _called(self, name: str) -> str:
        return self.labels.get(name, name)

    def table(self, *names: str) -> pl.DataFrame:
        """Return the rates of some tables, as far as they exist."""
        return self.rates.filter(pl.col("table").is_in(names))


@dataclass(frozen=True)
class AuditFindings:
    """The results of `recon audit`.

    Attributes:
        by_table: ``level, table, cells``, the number of cells of each status, and the ``smallest``
            width of one that is not recovered.
        by_suppression: The same numbers of flagged counts, by ``suppression``.
        recovered_counts: ``geoid, table, cell, count, is_small`` (below the threshold and no zero).
        names: Geoid → name of the place.
    """

    manifest: Manifest
    by_table: pl.DataFrame
    by_suppression: pl.DataFrame
    recovered_counts: pl.DataFrame
    names: Mapping[str, str]

    @property
    def zeros(self) -> int:
        """Count the recovered zeros, which reveal that nobody is there."""
        return int((self.recovered_counts["count"] == 0).sum())

    @property
    def small(self) -> int:
        """Count the recovered counts above 0 and below the threshold."""
        return int((self.recovered_counts["is_small"]).sum())

    @property
    def recovered(self) -> int:
        """Count the protected counts that follow from the others."""
        return self.manifest.statuses.get("recovered", 0)

    @property
    def cells(self) -> int:
        """Count the protected counts."""
        return self.manifest.totals["cells"]

    @property
    def left_out(self) -> int:
        return self.manifest.totals.get("left_out", 0)

    @property
    def ways(self) -> list[str]:
        """List how the counts are protected."""
        flagged = int(self.by_suppression["cells"].sum())
        changed = self.cells - flagged - self.left_out
        done = {"suppressed": flagged, "changed": changed, "left out": self.left_out}
        return [how for how, cells in done.items() if cells]


@dataclass(frozen=True)
class Certain:
    """Certain records: their number, and the columns on which they are certain.

    Attributes:
        records: Least number of certain records.
    """

    records: int
    of: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """The findings that the headline and several sections share.

    Attributes:
        work: The folders that a section reads for itself.
        manifests: One a stage, in the order of the work.
        rule: Rule by which people count as disclosed.
        is_study: Whether the values, and so the words, of the 2010 study stand beside ours.
        lists_places: Whether places and their counts may be named.
        places: Places with most disclosed people, then with most recovered counts, if they may be
            named.
        reconstruction: ``microdata/`` and ``blocks/``.
        variability: ``solvar/``.
        uniques: Uniques in the truth if people were linked, else as counted by ``solvar/``.
        audit: ``audit/``; None where no counts were audited.
        joint: ``joint/``; None where no releases were taken together.
        laws: Laws of the counts, in words; none where all are exact.
        kinds_of_law: Names of these laws, each once.
        has_unknown_rule: Whether a law leaves open below which number counts are suppressed.
        assumes_zeros: Whether proofs rest on structural zeros that the schema assumes.
        not_asked: What was not examined, half a sentence each.
        reasons: Numbers of the files that are not used, each with the officer's reason.
    """

    work: WorkFolder
    release: Release
    manifests: tuple[Manifest, ...]
    rule: Rule
    is_study: bool
    lists_places: bool
    places: tuple[Place, ...]
    reconstruction: ReconstructionFindings | Missing
    variability: VariabilityFindings | Missing
    uniques: UniqueFindings | Missing
    claims: ClaimFindings | Missing
    scores: ScoreFindings | Missing
    audit: AuditFindings | Missing | None = None
    joint: JointFindings | Missing | None = None
    laws: tuple[str, ...] = ()
    kinds_of_law: tuple[str, ...] = ()
    has_unknown_rule: bool = False
    assumes_zeros: bool = False
    not_asked: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def audited(self) -> AuditFindings | None:
        """Return the findings on protected counts, if there are such counts."""
        audit = self.audit
        return audit if isinstance(audit, AuditFindings) and audit.cells else None

    @property
    def certain(self) -> Certain | None:
        """Return the main number of certain records: from claims, if there are any."""
        found = self.reconstruction
        if isinstance(self.claims, ClaimFindings):
            claims = self.claims
            return Certain(claims.whole, claims.people, claims.columns)
        if isinstance(found, Missing):
            return None
        return Certain(found.whole["certain"], found.people, found.known)
