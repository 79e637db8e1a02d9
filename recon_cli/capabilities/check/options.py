"""``check:`` rules for the published tables, and the number of violations that each allows.

A rule is *broken* if more violations than it allows are proven. It is *kept* only if more than it
allows are proven impossible, and nothing was left out that could contain them. Else it is
*undecided*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, create_model, model_validator

from recon_cli.capabilities.check.counts import Interval, Recovered
from recon_cli.capabilities.check.finding import Finding, Grounds
from recon_cli.capabilities.check.people import Categories, CertainRecords, Disclosed, Geography
from recon_cli.capabilities.check.subject import Subject
from recon_cli.config.model import ConfigModel, Section, TableChoice
from recon_cli.errors import ConfigError
from recon_cli.schema import Release

#: Subjects of rules, by key.
SUBJECTS: Final[Mapping[str, type[Subject]]] = {
    "recovered": Recovered,
    "interval": Interval,
    "certain_records": CertainRecords,
    "disclosed": Disclosed,
    "geography": Geography,
    "categories": Categories,
}
Verdict = Literal["kept", "broken", "undecided"]


class AnyRule(ConfigModel):
    """One rule: its subject, and how many violations are allowed."""

    if TYPE_CHECKING:  # behind the subjects, in the file and in the reference
        most: int | None
        share: float | None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """Treat ``certain_records:`` with an empty value as a rule with defaults."""
        if not isinstance(value, dict):
            return value
        return {k: {} if each is None and k in SUBJECTS else each for k, each in value.items()}

    @model_validator(mode="after")
    def _is_one(self) -> AnyRule:
        if sum(getattr(self, name) is not None for name in SUBJECTS) != 1:
            raise ValueError(f"exactly one of {', '.join(SUBJECTS)} is expected")
        if (self.most is None) == (self.share is None):
            raise ValueError("a limit is expected: most, or share for people")
        if self.share is not None and not self.subject.is_of_people:
            raise ValueError(f"{self.name} has no share; give most")
        return self

    @property
    def name(self) -> str:
        """Return the name of its subject among `SUBJECTS`."""
        return next(name for name in SUBJECTS if getattr(self, name) is not None)

    @property
    def subject(self) -> Subject:
        found: Subject = getattr(self, self.name)
        return found


if TYPE_CHECKING:
    Rule = AnyRule
else:
    Rule = create_model(
        "Rule",
        __base__=AnyRule,
        __module__=__name__,
        __doc__="\n".join(
            (
                f"{AnyRule.__doc__}\n\nAttributes:",
                *(f"    {name}: {each.__doc__.splitlines()[0]}" for name, each in SUBJECTS.items()),
                "    most: Number of violations that are allowed.",
                "    share: Share of all people, 0 to 1, that may be violations; of people only.",
            )
        ),
        **{name: (each | None, None) for name, each in SUBJECTS.items()},
        most=(Annotated[int, Field(ge=0)] | None, None),
        share=(Annotated[float, Field(ge=0, le=1, strict=False)] | None, None),
    )


@dataclass(frozen=True)
class Judged:
    """A rule with its finding."""

    rule: AnyRule
    finding: Finding
    grounds: Grounds = field(default_factory=Grounds)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict: broken if too many violations are proven, kept if none can be."""
        found = self.finding
        if self._is_exceeded(found.proven):
            return "broken"
        is_known = not found.gaps and self._allows(found.proven + found.possible)
        return "kept" if is_known else "undecided"

    def _is_exceeded(self, violations: int) -> bool:
        """Test if violations exceed the limit; of unknown people only a limit of 0 can be."""
        if self.rule.share and self.finding.of is None:
            return False
        return not self._allows(violations)

    def _allows(self, violations: int) -> bool:
        if self.rule.most is not None:
            return violations <= self.rule.most
        return violations <= Fraction(str(self.rule.share)) * (self.finding.of or 0)


def verdict_of(judged: Sequence[Judged]) -> Verdict:
    """Return the verdict on all rules: broken if one is, kept if all are."""
    verdicts = {each.verdict for each in judged}
    if "broken" in verdicts:
        return "broken"
    return "kept" if verdicts == {"kept"} else "undecided"


class Check(Section):
    """The section ``check``.

    Attributes:
        rules: Each with one subject (``recovered``, ``interval``, ``certain_records``,
            ``disclosed``, ``geography``, ``categories``) and a limit, ``most`` or ``share``.
        tables: The published tables, as in ``reconstruct``; no rule counts as kept while one of
            them is missing from the files. Default: every table.
        seconds: Stop the stages after this time; unfinished work leaves rules undecided.
        scope: With several publications (``source: register``), which violations count: ``new``,
            those that the candidate adds to the others, or ``all``, those of all together.
        candidate: With several publications, the one to check; default the last.
    """

    example: ClassVar[str] = "--set 'check.rules=[{recovered: {below: 5}, most: 0}]'"

    rules: Annotated[tuple[Rule, ...], Field(strict=False, min_length=1)]
    tables: TableChoice | None = None
    seconds: Annotated[float, Field(ge=0, strict=False)] | None = None
    scope: Literal["all", "new"] = "all"
    candidate: str | None = None

    def candidate_of(self, release: Release) -> str:
        """Return the publication to check by what it adds; empty if everything counts."""
        return "" if self.scope == "all" else self.candidate or release.publications[-1]

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
        if self.scope == "new" and len(release.publications) < 2:
            raise ConfigError("scope: new is judged of a register with two publications or more")
        if self.candidate is not None and self.scope == "all":
            raise ConfigError("candidate: it is judged with `scope: new`")
        if self.candidate is not None and self.candidate not in release.publications:
            known = ", ".join(release.publications)
            raise ConfigError(f"candidate: no publication {self.candidate!r} (they are: {known})")
        for number, rule in enumerate(self.rules):
            try:
                rule.subject.check(release)
            except ConfigError as error:
                raise ConfigError(f"rules[{number}].{rule.name}.{error}") from error
