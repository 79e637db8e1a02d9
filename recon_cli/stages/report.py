"""`recon report`: what a work folder holds → ``report/``: a page, Markdown and pictures."""

from __future__ import annotations

from pathlib import Path

from recon_cli.config.sections.report import Report
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import REPORT
from recon_cli.report.compose import compose_report
from recon_cli.report.document import ReportDocument
from recon_cli.report.headline import Headline
from recon_cli.report.html import html_page
from recon_cli.report.images import render_picture, versions
from recon_cli.report.markdown import markdown_page
from recon_cli.report.markup import to_text
from recon_cli.stages.findings import gather_findings, reportable
from recon_cli.store import open_folder
from recon_cli.store.files import file_digest, write_bytes
from recon_cli.store.manifest import MANIFEST

PAGE = "report.html"
_MARKDOWN = "report.md"


def report(run: Run) -> StageOutcome:
    """Write the report of whatever the work folder holds.

    Raises:
        ConfigError: The config is wrong.
        StageError: There is no stage folder, one is damaged or was made with another schema, or
            the work folder is in use.
    """
    config = run.config.section(Report)
    found = reportable(run.work, besides=REPORT)
    recipe = run.recipe(
        REPORT,
        {"title": config.title, "renderers": versions()},
        # the whole file: the report shows times too
        shared={f"{path.name}/{MANIFEST}": file_digest(path / MANIFEST) for path in found},
    )
    with run.transaction(recipe) as stage:
        current = stage.current
        if current is None:
            document = compose_report(gather_findings(run, tuple(found.values())), config.title)
            for name, data in report_files(document).items():
                stage.staging.write_extra("report", name, data)
            outcome = StageOutcome(REPORT, stage.publish([], notes=_notes(document)))
        else:
            outcome = StageOutcome(REPORT, current, skipped=True)
    if config.to is not None:
        write_bytes(config.to, open_folder(run.work, REPORT, "report").beside(PAGE))
    return outcome


def page_of(run: Run) -> Path:
    """The HTML file: the copy that the config asks for, or the one in ``report/``."""
    return run.config.section(Report).to or run.work / "report" / PAGE


def report_files(document: ReportDocument) -> dict[str, bytes]:
    """File name → bytes: the page, the Markdown, and every chart as SVG and PNG."""
    pictures = {figure.name: render_picture(figure.spec) for figure in document.figures}
    files = {
        PAGE: html_page(document, pictures).encode(),
        _MARKDOWN: markdown_page(document).encode(),
    }
    for name, picture in pictures.items():
        files[f"chart-{name}.svg"] = picture.svg.encode()
        files[f"chart-{name}.png"] = picture.png
    return files


def _notes(document: ReportDocument) -> dict[str, list[str]]:
    return {"headline": _plain(document.headline), "missing": _gaps(document)}


def _plain(headline: Headline) -> list[str]:
    return [to_text(sentence) for sentence in headline.sentences]


def _gaps(document: ReportDocument) -> list[str]:
    return [
        f"{section.title}: {gap.why}" for section in document.sections for gap in section.missing
    ]
