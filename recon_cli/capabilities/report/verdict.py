"""Verdicts on disclosure: yes, no more than tolerated, or not proven; never safe."""

from __future__ import annotations

from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    ReconstructionFindings,
    Rule,
)
from recon_cli.capabilities.findings.joint_findings import JointFindings
from recon_cli.page.words import Words, of_people, percentage

#: Kind of rule → who is given away by it.
_WHO = {
    "attribute": "of {words.whom} some columns settle another one",
    "identity": "{words.who} are alone with some values, which settle another column",
    "record": "whose whole record is certain",
}

#: What is said of records that are the same in all solutions; a group of them singles nobody out.
_CERTAIN = "whole records are certain"


def claims_verdict(
    claims: ClaimFindings, found: ReconstructionFindings, rule: Rule, words: Words
) -> str:
    """Return the verdict if every combination of columns was examined.

    People with certain records count as disclosed even if no known column determines another.

    Args:
        claims: What was found.
        found: How many people there are, and whose counts are all published.
    """
    counted = found.is_counted and claims.is_counted
    disclosed = 0 if rule.kind == "record" else claims.disclosed[rule.kind]
    given = disclosed or claims.whole
    if not given:
        return (
            f"**Not proven:** {words.nobody} is known to be given away, on these columns and in "
            f"these {words.units}."
        )
    what = f"{words.people} are given away" if disclosed or rule.kind == "record" else _CERTAIN
    as_published = found.as_published if disclosed else found.certain_as_published
    if given <= as_published:
        return _published_verdict(given, words)
    verdict = _verdict(what, given, claims.people, rule, least="at least ", counted=counted)
    if what == _CERTAIN:
        alone = f"at least {claims.alone:,} of people" if claims.alone else "nobody is known to be"
        verdict = f"{verdict[:-1]}; {alone} alone with these values."
    return _with_published(verdict, as_published, words)


def records_verdict(
    found: ReconstructionFindings, rule: Rule, words: Words, *, is_asked: bool
) -> str:
    """Return the verdict if only whole records were examined; that of claims may be worse.

    Args:
        is_asked: Whether everything was examined.
    """
    certain, is_known = found.whole["certain"], found.knows_certain_records and is_asked
    if not certain:
        which = "certain" if is_known else "proven certain"
        return f"**Unknown:** no whole record is {which}, and parts of records were not examined."
    least = "" if is_known else "at least "
    if certain <= found.certain_as_published:
        return _published_verdict(certain, words)
    verdict = _verdict(_CERTAIN, certain, found.people, rule, least=least, counted=found.is_counted)
    return _with_published(verdict, found.certain_as_published, words)


def _published_verdict(given: int, words: Words) -> str:
    """Return the verdict if people are known only where all counts are published as they are."""
    where = f"in {words.units} whose counts are all published"
    return f"**Published as it is:** what is known of {of_people(given, words)} {where}."


def _with_published(verdict: str, given: int, words: Words) -> str:
    """Say how many of the people are known where all counts are published as they are."""
    if not given:
        return verdict
    return f"{verdict[:-1]}; {given:,} of them in {words.units} whose counts are all published."


def joint_verdict(joint: JointFindings, rule: Rule) -> str | None:
    """Return the verdict on whole records by several releases; None if nothing is proven."""
    records, _, certain = joint.own
    if not certain:
        return None
    counted = not joint.manifest.statuses.get("open", 0)
    return _verdict(_CERTAIN, certain, records, rule, least="at least ", counted=counted)


def counts_verdict(audit: AuditFindings) -> str:
    """Return the verdict on protected counts."""
    recovered, cells = audit.recovered, audit.manifest.totals["cells"]
    if not recovered:
        return (
            f"**Not proven:** none of {cells:,} protected counts is known to follow from the "
            "others."
        )
    small, zeros = audit.small, audit.zeros
    told = f"; {small:,} are [[below the threshold]]" if small else ""
    if zeros == recovered:
        told = "; all of them are 0, and say that nobody is there"
    elif zeros:
        told += f"; {zeros:,} are 0, and say that nobody is there"
    return (
        f"**Yes, protected counts are given away:** {recovered:,} of {cells:,} that were "
        f"{audit.how} ({percentage(recovered, cells)}) follow from the others{told}."
    )


def _verdict(what: str, given: int, people: int, rule: Rule, *, least: str, counted: bool) -> str:
    number = f"{least}{given:,} of {people:,} ({percentage(given, people)})"
    if not counted:
        number = f"at least {given:,}"
    elif given == people:
        number = f"all {people:,}"
    if 100 * given > rule.tolerated * people:
        return f"**Yes, {what}:** {number}."
    within = "Not proven to be more" if least and given < people else "No more"
    return f"**{within} than the rule tolerates:** {what}, {number}."


def rule_in_words(rule: Rule, words: Words, *, examined: bool) -> str:
    """Describe the rule of the verdict.

    Args:
        examined: Whether parts of records were examined, so that the rule could be applied.
    """
    kind = rule.kind if examined else "record"
    tolerated = (
        f"up to {rule.tolerated:g}% of the {words.people} are tolerated"
        if rule.tolerated
        else "none is tolerated"
    )
    who = _WHO[kind].format(words=words)
    if kind != "record":
        who += ", or, where there are none, whose whole record is certain"
    text = f"Given away are {words.people} {who}; {tolerated} ([[rule]])."
    if kind != rule.kind:
        text += f" The rule asked for is {rule.kind}, which takes `recon claims`."
    return text
