"""The violations of a rule, with their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

#: Violations that are shown.
EXAMPLES: Final = 10


@dataclass(frozen=True)
class Finding:
    """The known violations of a rule.

    Attributes:
        proven: Least number of violations.
        possible: Number of possible violations that are not proven; with ``gaps``, among those
            that were asked about.
        of: Number of examined counts or people; None if the number of people is unknown.
        gaps: Reasons why there may be any number of others, half a sentence each.
        tables: Proven violations by table, where they are counts.
    """

    proven: int = 0
    possible: int = 0
    of: int | None = 0
    gaps: tuple[str, ...] = ()
    tables: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[dict[str, Any], ...] = ()

    def __add__(self, other: Finding) -> Finding:
        return Finding(
            self.proven + other.proven,
            self.possible + other.possible,
            None if self.of is None or other.of is None else self.of + other.of,
            tuple(dict.fromkeys((*self.gaps, *other.gaps))),
            Counter(self.tables) + Counter(other.tables),
            (*self.examples, *other.examples)[:EXAMPLES],
        )

    def with_gaps(self, *gaps: str) -> Finding:
        """Add gaps: reasons why there may be more violations."""
        return replace(self, gaps=tuple(dict.fromkeys((*self.gaps, *gaps))))


@dataclass(frozen=True)
class Grounds:
    """The grounds of a verdict.

    Attributes:
        record: Subject of a record, by the schema.
        laws: Laws of the counts, in words; none where all are exact.
        assumptions: Assumptions that no table states, one a line.
        left_out: Numbers of the files that are not used, each with the officer's reason.
        candidate: The publication of a register that is judged by what it adds; empty where all
            violations count.
    """

    record: str = "person"
    tables: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    candidate: str = ""


def difference(now: Finding, before: Finding) -> Finding:
    """Return the violations that are new, provided that no earlier one is gone."""
    proven = 0 if before.gaps else max(now.proven - before.proven - before.possible, 0)
    possible = max(now.proven + now.possible - before.proven - proven, 0)
    is_all_new = not (before.proven or before.possible or before.gaps)
    examples = now.examples if is_all_new else ()
    return Finding(proven, possible, now.of, now.gaps, examples=examples)


def found_counts(violations: pl.DataFrame, of: int, possible: int = 0) -> Finding:
    """Make a finding of counts that violate a rule.

    Args:
        violations: A row each: ``geoid, table, cell`` and what is known.
        of: Number of examined counts.
        possible: Number of other examined counts that may violate the rule.
    """
    return Finding(
        violations.height,
        possible,
        of,
        tables=Counter(violations["table"].to_list()),
        examples=tuple(violations.head(EXAMPLES).to_dicts()),
    )


def found_people(units: pl.DataFrame) -> Finding:
    """Make a finding of people who violate a rule.

    Args:
        units: A geoid, ``people``, and bounds ``at_least`` and ``at_most`` of the number of people
            who violate the rule, null if unbounded.
    """
    unbounded = units["at_most"].null_count() > 0
    at_most = units["at_most"].fill_null(units["people"])
    proven, most = int(units["at_least"].sum()), int(at_most.sum())
    examples = units.filter(units["at_least"] > 0).rename({"at_least": "violations"})
    return Finding(
        proven,
        max(most - proven, 0),
        int(units["people"].sum()),
        ("the tables do not bound the people of some units",) if unbounded else (),
        examples=tuple(examples.select(units.columns[0], "violations").head(EXAMPLES).to_dicts()),
    )
