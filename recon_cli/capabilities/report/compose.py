"""Compose the whole report from `Findings`."""

from __future__ import annotations

from collections.abc import Sequence

from recon_cli.capabilities.findings.findings import Findings, ReconstructionFindings, ScoreFindings
from recon_cli.capabilities.report.answers import make_answers
from recon_cli.capabilities.report.headline import make_headline
from recon_cli.capabilities.report.sections import SECTIONS
from recon_cli.page.document import KeyFigure, ReportDocument, ReportSection, Term, terms_of
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, agreement_of, percentage, words_of


def compose_report(
    findings: Findings, title: str | None = None, forcing: Sequence[str] = ()
) -> ReportDocument:
    """Compose the report of a run.

    Args:
        title: Over it; default the release's title.
        forcing: Published tables whose cells force certain records of the worst place, if these
            were sought.
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
    """Explain the terms that the report uses."""
    scores = findings.scores
    guessers = []
    if isinstance(scores, ScoreFindings):
        guessers = sorted((scores.guessers[name], name) for name in scores.usual_guessers)
    facts = {"findings": findings, "guessers": guessers, "words": words}
    return terms_of(sentences("terms.j2", "terms", __package__, **facts))
