"""The headline in plain words: proven, at least, or unknown; never more."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal

from recon_cli.capabilities.findings.asked import UNKNOWN_RULE
from recon_cli.capabilities.findings.findings import ClaimFindings, Findings, ScoreFindings
from recon_cli.capabilities.report.verdict import joint_verdict, make_verdicts
from recon_cli.capabilities.risk import RISK
from recon_cli.page.document import Headline
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words

#: Basis of the headline.
_Basis = Literal["nothing", "counts", "noise", "totals", "claims", "records"]
_say: Final = partial(sentences, "headline.j2", package=__package__)


def make_headline(findings: Findings, words: Words) -> Headline:
    """Compose the headline of a run."""
    verdicts = make_verdicts(findings)
    facts: dict[str, Any] = {
        "findings": findings,
        "basis": _basis(findings),
        "words": words,
        "joint": None if joint_verdict(findings) is None else findings.joint,
    }
    may_reassure = not any(each.name == "recovered" for each in verdicts)
    asks_risk = not findings.work.holds(RISK)
    return Headline(
        tuple(_say("verdicts", findings=findings, verdicts=verdicts, words=words)),
        tuple(_say("notes", **facts, asks_risk=asks_risk, unknown_rule=UNKNOWN_RULE)),
        tuple(_say("details", **facts, may_reassure=may_reassure, links=_links(findings.scores))),
    )


def _basis(findings: Findings) -> _Basis:
    found = findings.reconstruction
    if isinstance(found, Missing):
        return "nothing" if findings.audited is None else "counts"
    if found.is_fitted:
        return "noise"
    if not found.known:
        return "totals"
    return "claims" if isinstance(findings.claims, ClaimFindings) else "records"


def _links(scores: ScoreFindings | Missing) -> list[dict[str, Any]]:
    """Return the precision of links beside the best guesser: everybody, then nonmodal people."""
    if isinstance(scores, Missing) or scores.reconstruction is None or not scores.attackers:
        return []
    rows = scores.gains.filter(
        source=scores.reconstruction, against=scores.attackers[0], withheld=False
    )
    best = rows.drop_nulls("gain").sort("guesser_pct", descending=True)
    return [
        row
        for panel in ("all", "nonmodal")
        for row in best.filter(panel=panel).head(1).iter_rows(named=True)
    ]
