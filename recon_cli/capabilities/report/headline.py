"""The headline in plain words: proven, at least, or unknown; never more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from recon_cli.capabilities.findings.asked import UNKNOWN_RULE
from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    ReconstructionFindings,
    ScoreFindings,
    VariabilityFindings,
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
from recon_cli.page.missing import Missing
from recon_cli.page.words import (
    Words,
    capitalized,
    enumerate_words,
    of_people,
    of_units,
    percent,
    percentage,
    stopped_words,
)
from recon_cli.plurals import plural

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
        notes = [_examined(findings, findings.claims, words)]
        notes += _gaps(reconstruction, words)
        notes += proof_conditions(findings.laws, assumes_zeros=findings.assumes_zeros)
        counted = reconstruction.is_counted and findings.claims.is_counted
        verdict = claims_verdict(findings.claims, reconstruction, findings.rule, words)
        verdicts = _alarms_first(verdict, findings.audit)
        asked = ", by what was asked about" if findings.not_asked else ""
        disclosed = _disclosed(findings.claims, words, asked, counted=counted)
        return Headline(tuple(verdicts), tuple(notes), (*disclosed, *precision))
    is_asked = not findings.not_asked
    verdict = records_verdict(reconstruction, findings.rule, words, is_asked=is_asked)
    verdicts = _alarms_first(verdict, findings.audit)
    details = (
        _one(reconstruction, words, is_asked=is_asked),
        _certain(reconstruction, words, is_asked=is_asked),
        *precision,
    )
    hedge = _hedge([*verdicts, *details])
    notes = (
        [] if hedge is None or not is_asked else [_why_hedged(hedge, findings.variability, words)]
    )
    notes.append(
        "Only whole records were examined: some of their columns may be disclosed all the same. "
        f"{findings.claims.remedy} examines every combination of columns."
    )
    notes += _gaps(reconstruction, words)
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
    if found.unknown:
        notes.append(f"The tables in use do not show {words.listed(found.unknown)}: unknown.")
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


def _disclosed(claims: ClaimFindings, words: Words, asked: str, *, counted: bool) -> list[str]:
    """Describe the worst disclosure over all combinations of columns.

    Args:
        asked: Ends a sentence that reassures, where not everything was asked about.
    """
    disclosed, listed = claims.disclosed, words.listed(claims.columns)
    identity, attribute = disclosed["identity"], disclosed["attribute"]

    def given(people: int) -> str:
        return _given(people, claims.people if counted else None, words)

    return [
        f"{given(identity)} the only {'one' if identity == 1 else 'ones'} in their {words.unit} "
        "with some values, and another column of theirs is settled."
        if identity
        else f"**{capitalized(words.nobody)}** is proven to be alone with some values and have "
        f"another column settled{asked}.",
        f"{given(attribute)} in a group of their {words.unit} that is known to be "
        "alike in a further column."
        if attribute
        else f"**No group** of {words.people} is proven to be alike in a further column{asked}.",
        f"{given(claims.whole)} certain with all of {listed}."
        if claims.whole
        else f"**No record** is proven certain with all of {listed}{asked}.",
    ]


def _given(people: int, everybody: int | None, words: Words) -> str:
    """Format a number of people, with the total if the tables have it."""
    if everybody is None:
        return f"**At least {of_people(people, words)}** {'is' if people == 1 else 'are'}"
    if people == everybody:
        return f"**All {of_people(people, words)}** are"
    share = percentage(people, everybody)
    verb = "is" if people == 1 else "are"
    return f"**At least {people:,} of {of_people(everybody, words)}** ({share}) {verb}"


def _examined(findings: Findings, claims: ClaimFindings, words: Words) -> str:
    statuses = claims.manifest.statuses
    text = (
        f"Every combination of {words.listed(claims.columns)} was examined, each {words.unit} "
        "alone: its neighbours' counts may settle more."
    )
    if statuses.get("partial", 0):
        text += (
            f" Of {of_units(statuses['partial'], words)} some combinations were not decided within "
            "the budget (`claims.unit_seconds`)."
        )
    if not claims.is_counted:
        places = statuses.get("open", 0)
        if places:
            text += (
                f" Of {of_units(places, words)} the tables do not bound the {words.people}: only "
                "what simple bounds prove is counted there"
            )
            text += "; a narrower law (`protection.yaml`) may prove more." if findings.laws else "."
        else:
            text += (
                f" {capitalized(words.units)} that are not listed have no counts of their own, so "
                "that only what simple bounds prove is counted there; a list of all of them "
                "(`ingest.geounits`) may prove more."
            )
    return text


def _one(reconstruction: ReconstructionFindings, words: Words, *, is_asked: bool) -> str:
    whole, is_known = reconstruction.whole, reconstruction.knows_unique_units and is_asked
    people, everybody = whole["one_population"], reconstruction.people
    where = f"{words.live} in {words.units} with exactly one possible reconstruction"
    if not people:
        proven = "has" if is_known else "is proven to have"
        return f"**No {words.unit}** {proven} exactly one possible reconstruction."
    if people == everybody and reconstruction.is_counted:
        return f"**All {of_people(people, words)}** {where}."
    if not reconstruction.is_counted:
        return f"At least **{of_people(people, words)}** {where}."
    return (
        f"{_at_least(is_known)}**{people:,} of {of_people(everybody, words)}** "
        f"({percentage(people, everybody)}) {where}."
    )


def _certain(reconstruction: ReconstructionFindings, words: Words, *, is_asked: bool) -> str:
    certain, everybody = reconstruction.whole["certain"], reconstruction.people
    is_known = reconstruction.knows_certain_records and is_asked
    what = words.listed(reconstruction.known)
    where = "in every reconstruction that has the published counts"
    if not certain:
        proven = "appears" if is_known else "is proven to appear"
        return f"**No record** ({what}) {proven} {where}."
    if certain == everybody and reconstruction.is_counted:
        return f"**Every record** ({what}) appears {where}."
    noun, verb = ("record", "appears") if certain == 1 else ("records", "appear")
    if not reconstruction.is_counted:
        return f"At least **{certain:,} {noun}** ({what}) {verb} {where}."
    return (
        f"{_at_least(is_known)}**{certain:,} {noun}** ({percentage(certain, everybody)}; {what}) "
        f"{verb} {where}."
    )


def _at_least(is_known: bool) -> str:
    return "" if is_known else "At least "


def _precision(scores: ScoreFindings, words: Words) -> list[str]:
    """Compare the precision of links with the best guesser: everybody, then nonmodal people."""
    source = scores.reconstruction
    if source is None or not scores.attackers:
        return []
    attacker = scores.attackers[0]
    rows = scores.gains.filter(source=source, against=attacker, withheld=False).drop_nulls("gain")
    known = words.listed(scores.links.config["gains"])
    named = source if source.startswith("the ") else f"the reconstruction [[{source}|Source]]"
    sentences = []
    for panel in ("all", "nonmodal"):
        beside = rows.filter(panel=panel).sort("guesser_pct", descending=True)
        if beside.is_empty():
            continue
        best = beside.row(0, named=True)
        who = (
            f"Of all links between the file {attacker} and {named}"
            if panel == "all"
            else f"Of the links of {words.nonmodal}"
        )
        sentences.append(
            f"{who}, **{percent(best['pct'])}%** give the true {known}; of the best guess, "
            f"[[{best['guesser']}|Guessers]], **{percent(best['guesser_pct'])}%**: {_gain(best)}."
        )
    return sentences


def _gain(row: dict[str, Any]) -> str:
    """Describe the difference, and whether its interval contains zero."""
    gain, low, high = row["gain"], row["low"], row["high"]
    points = f"{percent(abs(gain))} points {'more' if gain >= 0 else 'fewer'}"
    if low is None or high is None:
        return points
    within = f"{points} (between {_signed(low)} and {_signed(high)})"
    if low > 0:
        return f"{within}, so the tables give away more than guessing does"
    if high < 0:
        return f"{within}, so guessing does better"
    return f"{within}, which may be chance"


def _signed(points: float) -> str:
    """Format points with their sign; a minus as wide as a plus."""
    return f"{points:+.1f}".replace("-", "\u2212")


def _hedge(sentences: list[str]) -> str | None:
    """Return the word that leaves room for more; None if nothing is open."""
    for words, quoted in (("At least", "At least"), ("is proven to", "Proven")):
        if any(words in sentence for sentence in sentences):
            return quoted
    return None


def _gaps(reconstruction: ReconstructionFindings, words: Words) -> list[str]:
    """List what the records do not show."""
    notes = []
    if unlisted := reconstruction.unlisted:
        stand = "unit stands" if unlisted == 1 else "units stand"
        notes.append(
            f"Besides the {words.units} that are counted here {unlisted:,} {stand} for any that "
            f"are not listed, with the {words.people} that published totals have beyond those that "
            "are."
        )
    if reconstruction.unknown:
        notes.append(
            f"The tables in use do not show {words.listed(reconstruction.unknown)}: unknown."
        )
    if reconstruction.uncounted:
        notes.append(
            f"The tables in use do not say how many {words.people} {words.live} in "
            f"{of_units(reconstruction.uncounted, words)}: those of one reconstruction are counted "
            "here, and more than their certain records may be given away there."
        )
    if not reconstruction.manifest.notes["verified"]:
        notes.append("The records were not compared with the published counts: `recon verify`.")
    return notes


def _why_hedged(hedge: str, variability: VariabilityFindings | Missing, words: Words) -> str:
    if isinstance(variability, Missing):
        return (
            f"“{hedge}”, because these are the proofs of arithmetic alone: {variability.why}. "
            f"{variability.remedy} looks for all of them."
        )
    if variability.mode == "relaxed":
        return (
            f"“{hedge}”: each {words.unit} was [[examined alone]], and its neighbours' counts may "
            "settle more."
        )
    manifest = variability.manifest
    open_units = manifest.totals["units"] - manifest.statuses.get("proven", 0)
    if open_units:
        return (
            f"“{hedge}”, because {of_units(open_units, words)} were not settled within the budget "
            "of `recon solvar` (`solvar.unit_seconds`)."
        )
    if manifest.config["intervals"] == "propagation":
        return (
            f"“{hedge}”, because `recon solvar` only bounded how many alike records every "
            "reconstruction has (`solvar.intervals: propagation`); `exact` settles it."
        )
    return (
        f"“{hedge}”, because `recon solvar` did not settle within its budget how many alike "
        "records every reconstruction has (`solvar.unit_seconds`)."
    )
