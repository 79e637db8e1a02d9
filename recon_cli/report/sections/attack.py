"""What linking found, beside guessing: agreement, precision, zero variability."""

from __future__ import annotations

from recon_cli.evaluate.findings import ScoreFindings
from recon_cli.report.document import ReportSection
from recon_cli.report.section import Section
from recon_cli.report.sections.agreement import agreement_section
from recon_cli.report.sections.passes import passes_section
from recon_cli.report.sections.precision import precision_section
from recon_cli.report.sections.zero import zero_section
from recon_cli.report.words import Words


def _render(scores: ScoreFindings, words: Words) -> tuple[ReportSection, ...]:
    """One section each, or one that says what is missing for all."""
    return (
        agreement_section(scores, words),
        precision_section(scores, words),
        *passes_section(scores, words),
        zero_section(scores, words),
    )


SECTION = Section(
    "attack",
    lambda _: "Linking, and precision against guessing",
    lambda findings: findings.scores,
    _render,
)
