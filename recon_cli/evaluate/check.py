"""Rules about published tables, and what proofs say of them: *broken*, *kept* or *undecided*.

What reassures needs more proof than what alarms: a rule is broken by the violations that are
proven, and kept only if all that could still be violations are few enough, too, and nothing was
left out that could hold some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal

import polars as pl

from recon_cli.attack.audit.statuses import RECOVERED, SAFE, UNDECIDED
from recon_cli.config.sections.check import Disclosed, Rule
from recon_cli.frames import COUNTS
from recon_cli.publication import Coverage

Verdict = Literal["kept", "broken", "undecided"]

#: Violations that are shown.
_EXAMPLES: Final = 10


@dataclass(frozen=True)
class Finding:
    """What is known of the violations of a rule.

    Attributes:
        proven: Violations, at least.
        possible: What may be one and is not proven to be; where there are ``gaps``, of what was
            looked at.
        of: Counts or people that were looked at.
        gaps: Why there may be any number of others, half a sentence each.
        examples: Some violations.
    """

    proven: int = 0
    possible: int = 0
    of: int = 0
    gaps: tuple[str, ...] = ()
    examples: tuple[dict[str, Any], ...] = ()

    def __add__(self, other: Finding) -> Finding:
        return Finding(
            self.proven + other.proven,
            self.possible + other.possible,
            self.of + other.of,
            tuple(dict.fromkeys((*self.gaps, *other.gaps))),
            (*self.examples, *other.examples)[:_EXAMPLES],
        )

    def with_gaps(self, *gaps: str) -> Finding:
        """With further reasons why there may be others."""
        return replace(self, gaps=tuple(dict.fromkeys((*self.gaps, *gaps))))


@dataclass(frozen=True)
class Judged:
    """A rule with what is known of it.

    Attributes:
        rule: The rule.
        finding: Its violations.
    """

    rule: Rule
    finding: Finding

    @property
    def verdict(self) -> Verdict:
        """*broken*: more violations are proven than are allowed; *kept*: no more are possible."""
        found = self.finding
        if not self._allows(found.proven):
            return "broken"
        is_known = not found.gaps and self._allows(found.proven + found.possible)
        return "kept" if is_known else "undecided"

    def _allows(self, violations: int) -> bool:
        if self.rule.most is not None:
            return violations <= self.rule.most
        return violations <= Fraction(str(self.rule.share)) * self.finding.of


def verdict_of(judged: Sequence[Judged]) -> Verdict:
    """Of all rules: broken if one is, kept if all are."""
    verdicts = {each.verdict for each in judged}
    if "broken" in verdicts:
        return "broken"
    return "kept" if verdicts == {"kept"} else "undecided"


def find_recovered(audit: pl.DataFrame, least: int, below: int) -> Finding:
    """Withheld counts from ``least`` to ``below - 1`` that the others settle.

    Args:
        audit: Rows of ``audit/``.
        least: The least count that is asked about.
        below: The first that is not.
    """
    is_known = pl.col("status") == RECOVERED
    is_open = pl.col("status") == UNDECIDED
    reaches = pl.col("greatest").is_null() | (pl.col("greatest") >= least)
    in_question = reaches & (pl.col("least") < below)
    found = audit.filter(is_known & in_question)
    examples = found.select("geoid", "table", "cell", count="least")
    return Finding(
        found.height,
        audit.filter(is_open & in_question).height,
        audit.height,
        examples=_shown(examples),
    )


def find_published(counts: pl.DataFrame, least: int, below: int) -> Finding:
    """Counts from ``least`` to ``below - 1`` that are published as they are.

    Args:
        counts: Rows of ``tables/``.
        least: The least count that is asked about; zeros have no rows.
        below: The first that is not.
    """
    if "low" in counts.columns:
        counts = counts.filter(pl.col("low") == pl.col("high")).with_columns(count="low")
    found = counts.filter(pl.col("count").is_between(least, below - 1))
    return Finding(found.height, of=found.height, examples=_shown(found.select(COUNTS.names())))


def find_narrow(audit: pl.DataFrame, width: int) -> Finding:
    """Withheld counts whose least and greatest are less than ``width`` apart.

    Args:
        audit: Rows of ``audit/``.
        width: How far apart they are allowed to be.
    """
    apart = pl.col("greatest") - pl.col("least")
    is_narrow = (apart < width).fill_null(value=False)
    two_apart = (pl.col("required") >= width) & (pl.col("status") == SAFE)
    is_wide = two_apart | (pl.col("is_exact") & (apart >= width)).fill_null(value=False)
    found = audit.filter(is_narrow)
    return Finding(
        found.height,
        audit.filter(~is_narrow & ~is_wide).height,
        audit.height,
        examples=_shown(found.select("geoid", "table", "cell", "least", "greatest")),
    )


def find_certain(units: pl.DataFrame) -> Finding:
    """Records that are certain.

    Args:
        units: A geoid; ``people``, ``certain`` (at least) and ``certain_at_most``.
    """
    proven, most = (int(units[name].sum()) for name in ("certain", "certain_at_most"))
    found = units.filter(pl.col("certain") > 0).select(geoid=pl.nth(0), people="certain")
    return Finding(
        proven, max(most - proven, 0), int(units["people"].sum()), examples=_shown(found)
    )


def find_disclosed(units: pl.DataFrame) -> Finding:
    """People of whom known columns settle another one.

    Args:
        units: A geoid; ``people``, ``disclosed`` (at least) and ``disclosed_at_most``.
    """
    renamed = {"disclosed": "certain", "disclosed_at_most": "certain_at_most"}
    return find_certain(units.rename(renamed))


def certain_by_claims(columns: Sequence[str], named: Sequence[str]) -> pl.Expr:
    """Which rows of ``claims/`` speak of ``named`` and of no other of their ``columns``."""
    return pl.all_horizontal(
        pl.col(name).is_not_null() if name in named else pl.col(name).is_null() for name in columns
    )


def disclosed_at_most(units: pl.DataFrame, claims: pl.DataFrame, rule: Disclosed) -> pl.DataFrame:
    """How many people of each unit are in a disclosing group, if all claims of it are known.

    A group of verified size discloses a column if a claim with one more column has as many people:
    then it is not *maximal*. Groups may share people: their sum bounds. Of an inferential
    disclosure claims do not tell so much: everybody may be in such a group.

    Args:
        units: A geoid and ``people``.
        claims: Rows of ``claims/``.
        rule: What is asked.

    Returns:
        The geoid and ``in_groups``, at most ``people``.
    """
    place = units.columns[0]
    if rule.kind == "inferential":
        return units.select(place, in_groups="people")
    alone = pl.lit(value=True) if rule.kind == "attribute" else pl.col("count") == 1
    discloses = pl.col("exact") & ~pl.col("maximal") & alone & (pl.col("k") <= rule.known)
    size = pl.col("count").cast(pl.Int64)
    in_groups = claims.filter(discloses).group_by(place).agg(in_groups=size.sum())
    # Where nothing is known the group is everybody, and a claim about one column is about all.
    widest = claims.filter(k=1).group_by(place).agg(widest=size.max())
    is_alike = pl.col("widest") >= pl.col("people")
    if rule.kind == "identity":
        is_alike &= pl.col("people") == 1
    joined = units.join(in_groups, on=place, how="left").join(widest, on=place, how="left")
    everybody = pl.when(is_alike).then("people").otherwise(0)
    most = pl.max_horizontal(pl.col("in_groups").fill_null(0), everybody)
    return joined.select(place, in_groups=pl.min_horizontal(most, "people"))


def stand_alone(coverage: Coverage, unit: str, *, is_exact: bool) -> bool:
    """Whether the counts of coarser levels say nothing that those of the units do not.

    So it is where there are none, and where all counts are exact and every cell of a coarser
    geounit is published of its units: then it is their sum.

    Args:
        coverage: What is published.
        unit: The finest level.
        is_exact: Whether all counts are published exactly.
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


def coverage_gaps(coverage: Coverage) -> tuple[str, ...]:
    """What is not published of every place, and so is not asked about: half a sentence each."""
    gaps = []
    if any(not pattern.is_listed for pattern in coverage):
        gaps.append("units stand for places that the files do not list")
    by_level: dict[str, set[frozenset[str]]] = {}
    for pattern in coverage:
        by_level.setdefault(pattern.level, set()).add(frozenset(pattern.cells))
    if any(len(tables) > 1 for tables in by_level.values()):
        gaps.append("whole tables are left out of some places, which nobody asked about")
    return tuple(gaps)


def _shown(rows: pl.DataFrame) -> tuple[dict[str, Any], ...]:
    return tuple(rows.head(_EXAMPLES).to_dicts())
