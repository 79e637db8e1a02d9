"""Compose the whole report from `Findings`."""

from __future__ import annotations

from collections.abc import Sequence

from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    Findings,
    ReconstructionFindings,
    ScoreFindings,
    VariabilityFindings,
)
from recon_cli.capabilities.report.answers import make_answers
from recon_cli.capabilities.report.headline import make_headline
from recon_cli.capabilities.report.sections import SECTIONS
from recon_cli.page.document import KeyFigure, ReportDocument, ReportSection, Term
from recon_cli.page.missing import Missing
from recon_cli.page.words import Words, agreement_of, percentage, words_of


def compose_report(
    findings: Findings, title: str | None = None, forcing: Sequence[str] = ()
) -> ReportDocument:
    """Compose the report of a run.

    Args:
        title: Over it; default the release's title.
        forcing: Published tables whose cells force certain records of the worst place; none if
            nobody looked.
    """
    words = words_of(findings.release, is_study=findings.is_study)
    return ReportDocument(
        title=title or findings.release.title,
        subject=f"What the published tables of {findings.release.name} give away",
        headline=make_headline(findings, words),
        answers=make_answers(findings, words, forcing),
        facts=_facts(findings, words),
        terms=_terms(findings, words),
        sections=_in_order([part for each in SECTIONS for part in each.compose(findings, words)]),
    )


def _in_order(sections: Sequence[ReportSection]) -> tuple[ReportSection, ...]:
    """Sort sections: examined, then not examined, then provenance."""
    *others, provenance = sections
    there = [each for each in others if not each.missing]
    return (*there, *(each for each in others if each.missing), provenance)


def _facts(findings: Findings, words: Words) -> tuple[KeyFigure, ...]:
    reconstruction = findings.reconstruction
    if isinstance(reconstruction, Missing):
        return _recovered(findings)
    whole, notes = reconstruction.whole, reconstruction.manifest.notes
    compared = reconstruction.manifest.totals.get("cells_compared", 0)
    return (
        KeyFigure(
            words.people if reconstruction.is_counted else f"{words.people} reconstructed",
            f"{reconstruction.people:,}",
        ),
        KeyFigure(f"{words.units} with {words.people}", f"{whole['units']:,}"),
        KeyFigure(
            f"{words.units} proven to have one reconstruction",
            f"{whole['one_units']:,}",
            percentage(whole["one_units"], whole["units"]),
        ),
        *_certain_records(findings, words, counted=reconstruction.is_counted),
        *_recovered(findings),
        KeyFigure(
            "published cells compared",
            f"{compared:,}" if notes["verified"] else "none",
            _agreement(reconstruction),
        ),
    )


def _certain_records(findings: Findings, words: Words, *, counted: bool) -> tuple[KeyFigure, ...]:
    certain = findings.certain
    if certain is None:
        return ()
    return (
        KeyFigure(
            f"records proven certain, with {words.listed(certain.columns)}",
            f"{certain.records:,}",
            percentage(certain.records, certain.of) if counted else "",
        ),
    )


def _recovered(findings: Findings) -> tuple[KeyFigure, ...]:
    """Count the protected counts that follow from others, if they were audited."""
    audit = findings.audited
    if audit is None:
        return ()
    so_far = "" if audit.manifest.stopped is None else ", when it was stopped"
    return (
        KeyFigure(
            "protected counts recovered",
            f"{audit.recovered:,}",
            f"of {audit.cells:,}, {percentage(audit.recovered, audit.cells)}{so_far}",
        ),
    )


def _agreement(found: ReconstructionFindings) -> str:
    if found.manifest.notes["verified"]:
        return agreement_of(found.manifest.totals)
    return "noise bounds none" if found.is_fitted else "not verified"


def _terms(findings: Findings, words: Words) -> tuple[Term, ...]:
    found = findings.reconstruction
    columns = "" if isinstance(found, Missing) else f" ({words.listed(found.known)})"
    is_fitted = not isinstance(found, Missing) and found.is_fitted
    agrees = "fits the noisy counts" if is_fitted else "agrees with every published count"
    terms = [
        Term(
            "Reconstruction",
            f"a set of {words.person} records{columns} that {agrees}. Where more "
            "than one is possible, none of them is known to be true.",
        ),
        Term(
            "Proven, at least",
            "a number is stated as proven, or as a lower bound of the true one; How sure says who "
            "checked it. All else is unknown.",
        ),
        Term(
            "Certain record",
            "it appears in every reconstruction. It is as true as the tables are: where records "
            "were swapped or noise was added before publication, it is a record of that file.",
        ),
        Term(
            words.variability.capitalize(),
            f"the largest share of a {words.unit}'s records that could differ.",
        ),
    ]
    variability = findings.variability
    if isinstance(variability, VariabilityFindings) and variability.mode == "relaxed":
        terms.append(
            Term(
                "Examined alone",
                f"each {words.unit} by its own counts, with coarser counts as upper bounds (`mode: "
                "relaxed`). `recon solvar --mode exact` takes its neighbours' counts, too.",
            )
        )
    if not is_fitted and not isinstance(found, Missing):
        terms.append(
            Term(
                "Rule",
                "who is given away, and how many of them are tolerated before the verdict is yes: "
                "`report.rule` and `report.tolerated` in the config.",
            )
        )
    if isinstance(findings.audit, AuditFindings):
        terms += _audit_terms(words)
    if isinstance(findings.scores, ScoreFindings):
        terms += _attack_terms(findings.scores, words)
    return tuple(terms)


def _audit_terms(words: Words) -> list[Term]:
    return [
        Term(
            "Recovered count",
            "a count that was not published, and that all others leave one number for: of a zero "
            f"that {words.nobody} is there, of any other that {words.somebody} is.",
        ),
        Term(
            "Below the threshold",
            "so small that the release's own rule withholds it for that reason.",
        ),
    ]


def _attack_terms(scores: ScoreFindings, words: Words) -> list[Term]:
    gains = words.listed(scores.links.config["gains"])
    kinds = {scores.guessers[name]: name for name in scores.usual_guessers}
    terms = [
        Term("Source", f"a file that is linked with an attacker's; right is {scores.truth}."),
        Term(
            "Putative, confirmed, precision",
            f"a link by place and keys; a putative link that gives the true {gains}; the share of "
            "putative links that are confirmed.",
        ),
        Term(
            "Modal, nonmodal" if words.is_study else "Like most, unlike most",
            f"having the most frequent {gains} of one's {words.unit}, or not.",
        ),
    ]
    method = {
        "modal": "always guesses the most frequent values",
        "proportional": "draws them as often as they occur",
    }
    guessers = [
        f"{name} {method[kind]} of the {words.unit}"
        if kind == "modal"
        else f"{name} {method[kind]} in the {words.unit}"
        for kind, name in sorted(kinds.items())
    ]
    if guessers:
        terms.append(Term("Guessers", f"{'; '.join(guessers)}."))
    return terms
