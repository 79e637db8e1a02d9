"""Publish the page of `recon report`, and those of the places that it lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from recon_cli.capabilities.findings.findings import Place
from recon_cli.capabilities.report.compose import compose_report
from recon_cli.capabilities.report.findings import gather_findings
from recon_cli.capabilities.report.options import Report
from recon_cli.capabilities.show.geounit import Why
from recon_cli.capabilities.show.page import show_page
from recon_cli.capabilities.show.stage import view_geounit
from recon_cli.capabilities.show.view import GeounitView
from recon_cli.page.document import NOT_FOR_PUBLICATION, ReportDocument
from recon_cli.page.html import report_files
from recon_cli.page.markup import to_text
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, Transaction

#: Places whose recovered counts are explained.
_EXPLAINED: Final = 5


def write(run: Run, stage: Transaction, manifests: tuple[Manifest, ...], name: str) -> Manifest:
    """Gather the findings of a work folder, and publish ``report/`` with the page ``name``."""
    findings = gather_findings(run, manifests)
    forcing: tuple[str, ...] = ()
    for at, place in enumerate(findings.places):
        view = _view(run, place, at)
        stage.staging.write_extra("report", place.page, show_page(view, back=name).encode())
        forcing += tuple(line.table for reason in view.reasons for line in reason.lines)
    document = compose_report(
        findings, run.config.section(Report).title, tuple(dict.fromkeys(forcing))
    )
    if stage.recipe.is_study:
        document = replace(document, banner=NOT_FOR_PUBLICATION)
    stage.staging.write_extras("report", report_files(document, name))
    return stage.publish([], notes=_notes(document))


def _view(run: Run, place: Place, at: int) -> GeounitView:
    """View a place as `recon show` does, the worst first.

    For a few places the sums that give recovered counts are sought, and for the first place some
    certain records are explained, too: both take seconds.
    """
    why = Why(numbers=None if at == 0 else (), first=1, counts=at < _EXPLAINED)
    return view_geounit(run, place.geoid, why)


def _notes(document: ReportDocument) -> dict[str, list[str]]:
    """Summarise a report for the manifest: its headline without marks, and missing parts."""
    return {
        "headline": [to_text(sentence) for sentence in document.headline.sentences],
        "missing": [
            f"{each.title}: {gap.why}" for each in document.sections for gap in each.missing
        ],
    }
