"""Publish the page of `recon report`, and those of the places that it lists."""

from __future__ import annotations

from dataclasses import replace

from recon_cli.capabilities.findings.findings import Place
from recon_cli.capabilities.report.compose import compose_report
from recon_cli.capabilities.report.findings import gather_findings
from recon_cli.capabilities.report.options import Report
from recon_cli.capabilities.show.geounit import Why
from recon_cli.capabilities.show.stage import view_geounit
from recon_cli.page.document import NOT_FOR_PUBLICATION
from recon_cli.page.html import report_files, report_notes, show_page
from recon_cli.page.view import GeounitView
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, Transaction


def write(run: Run, stage: Transaction, manifests: tuple[Manifest, ...], name: str) -> Manifest:
    """Gather the findings of a work folder, and publish ``report/`` with the page ``name``."""
    findings = gather_findings(run, manifests)
    forcing: tuple[str, ...] = ()
    for at, place in enumerate(findings.places):
        view = _view(run, place, is_worst=not at)
        stage.staging.write_extra("report", place.page, show_page(view, back=name).encode())
        forcing += tuple(line.table for reason in view.reasons for line in reason.lines)
    document = compose_report(
        findings, run.config.section(Report).title, tuple(dict.fromkeys(forcing))
    )
    if stage.recipe.is_study:
        document = replace(document, banner=NOT_FOR_PUBLICATION)
    for file, data in report_files(document, name).items():
        stage.staging.write_extra("report", file, data)
    return stage.publish([], notes=report_notes(document))


def _view(run: Run, place: Place, *, is_worst: bool) -> GeounitView:
    """View a place as `recon show` does; explain some certain records and counts of the worst."""
    why = Why(first=1) if is_worst else Why(numbers=(), counts=False)
    return view_geounit(run, place.geoid, why)
