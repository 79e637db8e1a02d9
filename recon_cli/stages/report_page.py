"""The page of `recon report`, and those of the worst places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recon_cli.config.sections.report import Report
from recon_cli.evaluate.findings import Place
from recon_cli.pipeline.run import Run
from recon_cli.report.answers import PlacePage
from recon_cli.report.compose import compose_report
from recon_cli.report.document import NOT_FOR_PUBLICATION
from recon_cli.report.files import report_files, report_notes
from recon_cli.report.show_page import show_page
from recon_cli.stages.findings import gather_findings
from recon_cli.stages.show import view_geounit
from recon_cli.stages.why import Why
from recon_cli.store import Manifest, Transaction


def write(run: Run, stage: Transaction, manifests: tuple[Manifest, ...], name: str) -> Manifest:
    """Gather what the work folder holds, and publish ``report/`` with its page called ``name``."""
    findings = gather_findings(run, manifests)
    pages = _place_pages(run, findings.places)
    for page, data in pages.items():
        stage.staging.write_extra("report", page.page, data)
    document = compose_report(findings, run.config.section(Report).title, tuple(pages))
    if stage.recipe.is_study:
        document = replace(document, banner=NOT_FOR_PUBLICATION)
    for file, data in report_files(document, name).items():
        stage.staging.write_extra("report", file, data)
    return stage.publish([], notes=report_notes(document))


def _place_pages(run: Run, places: Sequence[Place]) -> dict[PlacePage, bytes]:
    """The page of each of the worst places; on the first, some certain records are explained."""
    pages = {}
    for at, place in enumerate(places):
        view = view_geounit(run, place.geoid, Why(numbers=()) if at else Why(first=1))
        tables = dict.fromkeys(line.table for reason in view.reasons for line in reason.lines)
        page = PlacePage(place, f"place-{place.geoid}.html", tuple(tables))
        pages[page] = show_page(view).encode()
    return pages
