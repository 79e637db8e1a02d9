"""Verdicts on disclosure: alarm, tolerated, or nothing proven; never safe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    ReconstructionFindings,
    Rule,
)
from recon_cli.capabilities.findings.joint_findings import JointFindings
from recon_cli.page.missing import Missing

#: Names of verdicts on people, on counts, and on what stands beside an alarm.
OnPeople = Literal["given", "certain", "published", "nobody", "no_record", "noise", "totals"]
OnCounts = Literal["recovered", "unrecovered"]
Beside = Literal["beside_counts", "beside_people", "nothing"]
#: ``clear`` reassures; ``published`` is what is known where all counts are published.
Tone = Literal["alarm", "tolerated", "published", "clear", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """The facts of a verdict; its macro in ``verdict.j2`` has the words.

    Attributes:
        name: Name of the macro. ``given``: people are given away. ``certain``: whole records are,
            but singling nobody out. ``recovered``: counts are, see `Findings`.
        given: Least number of people who are given away.
        people: Number of all people.
        is_least: Whether more people may be given away.
        is_counted: Whether the number of all people is known.
        as_published: Number of people given away in units whose counts are all published.
        alone: Number of certain people who are alone with their values, if this was examined.
    """

    name: OnPeople | OnCounts | Beside
    tone: Tone
    given: int = 0
    people: int = 0
    is_least: bool = True
    is_counted: bool = True
    as_published: int = 0
    alone: int | None = None

    @property
    def is_alarm(self) -> bool:
        return self.tone == "alarm"

    def judged(self, rule: Rule) -> Verdict:
        """Set the tone by the number of people, by what is published, and by the rule."""
        if self.given <= self.as_published:
            return replace(self, name="published", tone="published")
        return replace(
            self, tone="alarm" if 100 * self.given > rule.tolerated * self.people else "tolerated"
        )


def make_verdicts(findings: Findings) -> tuple[Verdict, ...]:
    """Return the verdicts on people and on counts, alarming ones first.

    Nothing that reassures stands beside an alarm.
    """
    on_people, on_counts = _on_people(findings), _on_counts(findings.audited)
    found = [each for each in (on_people, on_counts) if each is not None]
    first, *others = sorted(found, key=lambda each: not each.is_alarm) or [
        Verdict("nothing", "unknown")
    ]
    together = joint_verdict(findings)
    if together is not None and first.tone in ("clear", "unknown"):
        first = together
    if first.is_alarm and any(each.tone == "clear" for each in others):
        beside: Beside = "beside_counts" if first.name == "recovered" else "beside_people"
        others = [Verdict(beside, "unknown")]
    return (first, *others)


def _on_people(findings: Findings) -> Verdict | None:
    """Return the verdict on people; None without records."""
    found = findings.reconstruction
    if isinstance(found, Missing):
        return None
    if found.is_fitted:
        return Verdict("noise", "unknown")
    if not found.known:
        return Verdict("totals", "clear")
    if isinstance(findings.claims, ClaimFindings):
        return _of_claims(findings.claims, found, findings.rule)
    return _of_records(found, findings.rule, is_asked=not findings.not_asked)


def _of_claims(claims: ClaimFindings, found: ReconstructionFindings, rule: Rule) -> Verdict:
    """Return the verdict if every combination of columns was examined.

    People with certain records count as disclosed even if no known column determines another.

    Args:
        found: How many people there are, and whose counts are all published.
    """
    disclosed = 0 if rule.kind == "record" else claims.disclosed[rule.kind]
    given = disclosed or claims.whole
    if not given:
        return Verdict("nobody", "clear")
    is_given = bool(disclosed) or rule.kind == "record"
    return Verdict(
        "given" if is_given else "certain",
        "unknown",
        given,
        claims.people,
        is_counted=found.is_counted and claims.is_counted,
        as_published=found.as_published if disclosed else found.certain_as_published,
        alone=None if is_given else claims.alone,
    ).judged(rule)


def _of_records(found: ReconstructionFindings, rule: Rule, *, is_asked: bool) -> Verdict:
    """Return the verdict if only whole records were examined; that of claims may be worse.

    Args:
        is_asked: Whether everything was examined.
    """
    certain, is_least = found.whole["certain"], not (found.knows_certain_records and is_asked)
    if not certain:
        return Verdict("no_record", "unknown", is_least=is_least)
    return Verdict(
        "certain",
        "unknown",
        certain,
        found.people,
        is_least=is_least,
        is_counted=found.is_counted,
        as_published=found.certain_as_published,
    ).judged(rule)


def joint_verdict(findings: Findings) -> Verdict | None:
    """Return the verdict on whole records by several releases; None if nothing is proven."""
    joint = findings.joint
    if not isinstance(joint, JointFindings) or not joint.own[2]:
        return None
    records, _, certain = joint.own
    is_counted = not joint.manifest.statuses.get("open", 0)
    return Verdict("certain", "unknown", certain, records, is_counted=is_counted).judged(
        findings.rule
    )


def _on_counts(audit: AuditFindings | None) -> Verdict | None:
    """Return the verdict on protected counts; None where none were audited."""
    if audit is None:
        return None
    return Verdict("recovered", "alarm") if audit.recovered else Verdict("unrecovered", "clear")
