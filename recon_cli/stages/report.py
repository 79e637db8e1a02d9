"""`recon report`: what a work folder holds → ``report/``: a page, Markdown and pictures."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from recon_cli.config.sections.report import Report
from recon_cli.errors import StageError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import REPORT
from recon_cli.pipeline.status import manifests_in
from recon_cli.store import Manifest, Stage, Transaction, open_folder
from recon_cli.store.files import file_digest, write_bytes
from recon_cli.store.manifest import MANIFEST

PAGE = "report.html"


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
        {"title": config.title, "renderer": version("vl-convert-python")},
        # the whole file: the report shows times too
        shared={f"{path.name}/{MANIFEST}": file_digest(path / MANIFEST) for path in found},
    )
    with run.transaction(recipe) as stage:
        if stage.current is None:
            outcome = StageOutcome(REPORT, _write(run, stage, tuple(found.values())))
        else:
            outcome = StageOutcome(REPORT, stage.current, skipped=True)
    if config.to is not None:
        write_bytes(config.to, open_folder(run.work, REPORT, "report").read_extra(PAGE))
    return outcome


def _write(run: Run, stage: Transaction, manifests: tuple[Manifest, ...]) -> Manifest:
    from recon_cli.report.compose import compose_report  # noqa: PLC0415 - loads the chart library
    from recon_cli.report.files import report_files, report_notes  # noqa: PLC0415
    from recon_cli.stages.findings import gather_findings  # noqa: PLC0415

    title = run.config.section(Report).title
    document = compose_report(gather_findings(run, manifests), title)
    for name, data in report_files(document, PAGE).items():
        stage.staging.write_extra("report", name, data)
    return stage.publish([], notes=report_notes(document))


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
