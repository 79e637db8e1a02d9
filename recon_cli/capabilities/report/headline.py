"""The headline in plain words: proven, at least, or unknown; never more."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from recon_cli.capabilities.findings.asked import UNKNOWN_RULE
from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    ReconstructionFindings,
    ScoreFindings,
)
from recon_cli.capabilities.findings.joint_findings import JointFindings
from recon_cli.capabilities.findings.proven import proof_conditions
from recon_cli.capabilities.report.verdict import (
    claims_verdict,
    counts_verdict,
    joint_verdict,
    records_verdict,
)
from recon_cli.capabilities.risk import RISK
from recon_cli.page.document import Headline
from recon_cli.page.html import sentences
from recon_cli.page.missing import Missing
from recon_cli.page.words import (
    Words,
    capitalized,
    enumerate_words,
    of_people,
    percentage,
    stopped_words,
)
from recon_cli.plurals import plural

#: Writes the sentences of ``headline.j2``.
_say: Final = partial(sentences, "headline.j2", package=__package__)
#: Begin a verdict that alarms, and one that does not.
_ALARM: Final = "**Yes"
_ALL_CLEAR: Final = "**Not proven:**"
#: Begin the verdict on counts that alarms, and details that reassure.
_COUNTS_ALARM: Final = f"{_ALARM}, protected counts"
_REASSURING: Final = "**No"
#: What is said of all, and of what was looked at.
_WITHIN: Final = ("**No more than", "**Not proven to be more than")


def make_headline(findings: Findings, words: Words) -> Headline:
    """Compose the headline of a run."""
    headline = _headline(findings, words)
    if isinstance(findings.joint, JointFindings):
        headline = _together(headline, findings.joint, findings, words)
    stopped = [note for manifest in findings.manifests for note in stopped_words(manifest)]
    unknown = [f"A count is safe if {UNKNOWN_RULE}."] if findings.has_unknown_rule else []
    headline = replace(headline, notes=(*stopped, *headline.notes, *unknown))
    return _never_all_clear(headline, findings, words)


def _never_all_clear(headline: Headline, findings: Findings, words: Words) -> Headline:
    """Remove reassuring sentences beside an alarm, or about what was not examined."""
    verdicts, notes, details = headline.verdicts, headline.notes, headline.details
    if any(each.startswith(_ALARM) for each in verdicts):
        alarms = tuple(each for each in verdicts if not each.startswith(_ALL_CLEAR))
        if len(alarms) < len(verdicts):
            alarms = (*alarms, _beside(alarms[0], findings.audit, words))
        verdicts = alarms
    if any(each.startswith(_COUNTS_ALARM) for each in verdicts):
        details = tuple(each for each in details if not each.startswith(_REASSURING))
    if findings.not_asked:
        verdicts = tuple(
            each.replace(_ALL_CLEAR, "**Undecided:**").replace(*_WITHIN) for each in verdicts
        )
        notes = (f"Not asked about: {'; '.join(findings.not_asked)}.", *notes)
    if findings.reasons:
        notes = (*notes, f"Left out of the files, with a reason: {'; '.join(findings.reasons)}.")
    return replace(headline, verdicts=verdicts, notes=notes, details=details)


def _beside(alarm: str, audit: AuditFindings | Missing | None, words: Words) -> str:
    """Say of what is beside an alarm no more than that nothing is known."""
    if alarm.startswith(_COUNTS_ALARM) or not isinstance(audit, AuditFindings):
        return f"**Of single {words.people}** no more is proven than what these counts say."
    cells = audit.manifest.totals["cells"]
    return f"**Of {cells:,} protected counts** none is known to follow from the others."


def _together(
    headline: Headline, joint: JointFindings, findings: Findings, words: Words
) -> Headline:
    """Add the joint results of several releases, which may be all that is known."""
    verdict = joint_verdict(joint, findings.rule)
    if verdict is None:
        return headline
    first, *others = headline.verdicts
    is_open = first.startswith(("**Unknown", _ALL_CLEAR))
    verdicts = (verdict, *others) if is_open else headline.verdicts
    records, alone, certain = joint.own
    named = enumerate_words([plural(part) for part in joint.manifest.notes["parts"]])
    together = (
        f"**At least {certain:,} of {of_people(records, words)}** "
        f"({percentage(certain, records)}) are certain by the releases of {named} together, "
        f"{certain - alone:,} more than by their own."
    )
    is_assumed = joint.manifest.config["assumptions"]
    assumed = ", and so do the structural zeros that the schemas assume" if is_assumed else ""
    condition = (
        f"What the releases of {named} prove together is proven if all were made from the same "
        f"records, and what links these holds in them{assumed}."
    )
    return replace(
        headline,
        verdicts=verdicts,
        notes=(*headline.notes, condition),
        details=(*headline.details, together),
    )


def _headline(findings: Findings, words: Words) -> Headline:
    """Compose the headline from the results of all stages."""
    reconstruction = findings.reconstruction
    if isinstance(reconstruction, Missing):
        return _without_records(findings, reconstruction, words)
    precision = (
        _precision(findings.scores, words) if isinstance(findings.scores, ScoreFindings) else []
    )
    if reconstruction.is_fitted:
        return _of_noise(findings, reconstruction, precision, words)
    if not reconstruction.known:
        return _of_totals(findings, reconstruction, words)
    if isinstance(findings.claims, ClaimFindings):
        claims = findings.claims
        notes = _say("examined", claims=claims, words=words, has_laws=bool(findings.laws))
        notes += _say("gaps", found=reconstruction, words=words)
        notes += proof_conditions(findings.laws, assumes_zeros=findings.assumes_zeros)
        counted = reconstruction.is_counted and claims.is_counted
        verdict = claims_verdict(claims, reconstruction, findings.rule, words)
        verdicts = _alarms_first(verdict, findings.audit)
        asked = ", by what was asked about" if findings.not_asked else ""
        disclosed = _say("disclosed", claims=claims, words=words, is_counted=counted, asked=asked)
        return Headline(tuple(verdicts), tuple(notes), (*disclosed, *precision))
    is_asked = not findings.not_asked
    verdict = records_verdict(reconstruction, findings.rule, words, is_asked=is_asked)
    verdicts = _alarms_first(verdict, findings.audit)
    knows_units = reconstruction.knows_unique_units and is_asked
    knows_records = reconstruction.knows_certain_records and is_asked
    details = (
        *_say("one", found=reconstruction, words=words, is_known=knows_units),
        *_say("certain", found=reconstruction, words=words, is_known=knows_records),
        *precision,
    )
    hedge = _hedge([*verdicts, *details])
    notes = []
    if hedge is not None and is_asked:
        found = findings.variability
        is_missing = isinstance(found, Missing)
        notes = _say(
            "why_hedged", hedge=hedge, variability=found, is_missing=is_missing, words=words
        )
    notes.append(
        "Only whole records were examined: some of their columns may be disclosed all the same. "
        f"{findings.claims.remedy} examines every combination of columns."
    )
    notes += _say("gaps", found=reconstruction, words=words)
    notes += proof_conditions(findings.laws, assumes_zeros=findings.assumes_zeros)
    return Headline(tuple(verdicts), tuple(notes), details)


def _without_records(findings: Findings, gap: Missing, words: Words) -> Headline:
    """Compose the headline from an audit alone, or state that nothing is known."""
    audit = findings.audit
    if not isinstance(audit, AuditFindings) or not audit.manifest.totals["cells"]:
        return Headline(
            (f"**Unknown:** nothing here says whether {words.people} are given away.",),
            (f"{capitalized(gap.why)}. Run {gap.remedy}.",),
        )
    verdict = counts_verdict(audit)
    undecided = audit.manifest.statuses.get("undecided", 0)
    notes = [f"Of them {undecided:,} were not decided within the effort."] if undecided else []
    notes.append(
        f"Only the protected counts were examined, and no {words.people}: "
        "`recon reconstruct`, then `recon claims` examine those."
    )
    notes += proof_conditions(findings.laws, assumes_zeros=False)
    return Headline((verdict,), tuple(notes))


def _of_noise(
    findings: Findings, found: ReconstructionFindings, precision: list[str], words: Words
) -> Headline:
    """Compose the headline for noisy counts, which prove nothing; records are one likely set."""
    verdict = (
        f"**Unknown:** the noise bounds no count, so that nothing is proven of any {words.person}."
    )
    records = (
        f"The **{of_people(found.people, words)}** here fit the noisy counts best; others fit "
        "them, too, and none is known to be true."
    )
    notes = (
        []
        if findings.work.holds(RISK)
        else [
            f"What such counts let somebody believe about a {words.person}: "
            "`recon plan risk release`."
        ]
    )
    notes += _say("unknown", found=found, words=words)
    notes.append(f"The counts were published by: {'; '.join(findings.laws)}.")
    verdicts = _alarms_first(verdict, findings.audit)
    return Headline(tuple(verdicts), tuple(notes), (records, *precision))


def _of_totals(findings: Findings, found: ReconstructionFindings, words: Words) -> Headline:
    """Compose the headline for tables of totals alone, which reveal no record."""
    verdict = (
        f"**Not proven:** the tables in use say how many {words.people} there are, and no more: "
        f"{words.listed(found.unknown)} unknown."
    )
    notes = proof_conditions(findings.laws, assumes_zeros=findings.assumes_zeros)
    return Headline(tuple(_alarms_first(verdict, findings.audit)), tuple(notes))


def _alarms_first(verdict: str, audit: AuditFindings | Missing | None) -> list[str]:
    """Return the verdicts on people and on counts, those that alarm first."""
    if not isinstance(audit, AuditFindings) or not audit.manifest.totals["cells"]:
        return [verdict]
    counts = counts_verdict(audit)
    both = [verdict, counts]
    return sorted(both, key=lambda each: not each.startswith(_ALARM))


def _precision(scores: ScoreFindings, words: Words) -> list[str]:
    """Compare the precision of links with the best guesser: everybody, then nonmodal people."""
    source = scores.reconstruction
    if source is None or not scores.attackers:
        return []
    attacker = scores.attackers[0]
    rows = scores.gains.filter(source=source, against=attacker, withheld=False).drop_nulls("gain")
    known = words.listed(scores.links.config["gains"])
    told = []
    for panel in ("all", "nonmodal"):
        beside = rows.filter(panel=panel).sort("guesser_pct", descending=True)
        for best in beside.head(1).to_dicts():
            told += _say(
                "precision", best=best, source=source, attacker=attacker, known=known, words=words
            )
    return told


def _hedge(sentences: list[str]) -> str | None:
    """Return the word that leaves room for more; None if nothing is open."""
    for words, quoted in (("At least", "At least"), ("is proven to", "Proven")):
        if any(words in sentence for sentence in sentences):
            return quoted
    return None
