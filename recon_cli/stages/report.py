"""`recon report`: what a work folder holds → ``report/``: a page, Markdown and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from recon_cli.config.sections.report import Report
from recon_cli.config.sections.score import Score
from recon_cli.errors import StageError
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import REPORT
from recon_cli.pipeline.status import manifests_in
from recon_cli.store import Manifest, Stage, Transaction, open_folder
from recon_cli.store.files import file_digest, require_writable, write_named
from recon_cli.store.manifest import MANIFEST

if TYPE_CHECKING:
    from recon_cli.evaluate.findings import Place
    from recon_cli.report.answers import PlacePage

PAGE = "report.html"


def report(run: Run) -> MadeStage:
    """Write the report of whatever the work folder holds.

    Raises:
        StageError: There is no stage folder, one is damaged or was made with another schema, or
            the work folder is in use.
    """
    config = run.config.section(Report)
    if config.to is not None:
        require_writable(config.to)
    found = reportable(run.work, besides=REPORT)
    recipe = run.recipe(
        REPORT,
        {
            "title": config.title,
            "rule": config.rule,
            "tolerated": config.tolerated,
            "places": config.places,
            "compare": run.config.section(Score).compare,
            "renderer": version("vl-convert-python"),
        },
        # the whole file: the report shows times too
        shared={f"{path.name}/{MANIFEST}": file_digest(path / MANIFEST) for path in found},
        is_study=any(manifest.publishable is False for manifest in found.values()),
    )

    def copy() -> None:
        if config.to is not None:
            write_named(config.to, open_folder(run.work, REPORT, "report").read_extra(PAGE))

    return MadeStage(recipe, lambda stage: _write(run, stage, tuple(found.values())), copy)


def _write(run: Run, stage: Transaction, manifests: tuple[Manifest, ...]) -> Manifest:
    from recon_cli.report.compose import compose_report  # noqa: PLC0415 - loads the chart library
    from recon_cli.report.document import NOT_FOR_PUBLICATION  # noqa: PLC0415
    from recon_cli.report.files import report_files, report_notes  # noqa: PLC0415
    from recon_cli.stages.findings import gather_findings  # noqa: PLC0415

    findings = gather_findings(run, manifests)
    pages = _place_pages(run, findings.places)
    for page, data in pages.items():
        stage.staging.write_extra("report", page.page, data)
    document = compose_report(findings, run.config.section(Report).title, tuple(pages))
    if stage.recipe.is_study:
        document = replace(document, banner=NOT_FOR_PUBLICATION)
    for name, data in report_files(document, PAGE).items():
        stage.staging.write_extra("report", name, data)
    return stage.publish([], notes=report_notes(document))


def _place_pages(run: Run, places: Sequence[Place]) -> dict[PlacePage, bytes]:
    """The page of each of the worst places; on the first, some certain records are explained."""
    from recon_cli.report.answers import PlacePage  # noqa: PLC0415 - likewise
    from recon_cli.report.show_page import show_page  # noqa: PLC0415
    from recon_cli.stages.show import view_geounit  # noqa: PLC0415
    from recon_cli.stages.why import Why  # noqa: PLC0415

    pages = {}
    for at, place in enumerate(places):
        view = view_geounit(run, place.geoid, Why(numbers=()) if at else Why(first=1))
        tables = dict.fromkeys(line.table for reason in view.reasons for line in reason.lines)
        page = PlacePage(place, f"place-{place.geoid}.html", tuple(tables))
        pages[page] = show_page(view).encode()
    return pages


def page_of(run: Run) -> Path:
    """The HTML file: the copy that the config asks for, or the one in ``report/``."""
    return run.config.section(Report).to or run.work / "report" / PAGE


def reportable(work: Path, *, besides: Stage) -> dict[Path, Manifest]:
    """Folder → manifest: the first folder of every stage in ``work`` but ``besides``.

    Raises:
        StageError: There is none, or one is damaged.
    """
    manifests, damage = manifests_in(work)
    if damage:
        raise damage[0]
    found = {
        folder: manifest
        for folder, manifest in manifests.items()
        if manifest.stage != besides.name and folder.name == manifest.folders[0]
    }
    if not found:
        raise StageError(
            f"nothing to report in {work}: run `recon ingest` and `recon reconstruct` first"
        )
    return found
