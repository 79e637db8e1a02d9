"""Run `recon report`: the work folder's results → ``report/``: a page, Markdown and pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from recon_cli.capabilities.report import REPORT
from recon_cli.capabilities.report.options import Report
from recon_cli.capabilities.score.options import Score
from recon_cli.errors import StageError
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.stage import undisturbed
from recon_cli.store import INGEST, Manifest, Stage, Transaction, open_folder
from recon_cli.store.files import file_digest, require_writable, write_named
from recon_cli.store.folder import manifests_in
from recon_cli.store.manifest import MANIFEST

PAGE = "report.html"


def open_stage(run: Run) -> MadeStage:
    """Open the stage that writes the report of the work folder's results.

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
            "attack": None if run.release.attack is None else run.release.attack.lists,
        },
        # the whole file: the report shows times too
        shared={
            os.path.relpath(path, run.work): file_digest(path)
            for path in (*(folder / MANIFEST for folder in found), *_of_partners(run.work, found))
        },
        is_study=any(manifest.publishable is False for manifest in found.values()),
    )

    def copy() -> None:
        if config.to is not None:
            write_named(config.to, open_folder(run.work, REPORT, "report").read_extra(PAGE))

    def make(stage: Transaction) -> Manifest:
        with undisturbed():
            from recon_cli.capabilities.report.publish import write

        return write(run, stage, tuple(found.values()), PAGE)

    return MadeStage(recipe, make, copy)


def _of_partners(work: Path, found: Mapping[Path, Manifest]) -> list[Path]:
    """List the manifests of other runs' counts that a stage read, if they still exist."""
    places = [place for each in found.values() for place in each.notes.get("partners", ())]
    manifests = (work / place / INGEST.folders[0] / MANIFEST for place in places)
    return [manifest for manifest in manifests if manifest.is_file()]


def page_of(run: Run) -> Path:
    """Return the HTML file: the copy that the config names, or the one in ``report/``."""
    return run.config.section(Report).to or run.work / "report" / PAGE


def reportable(work: Path, *, besides: Stage) -> dict[Path, Manifest]:
    """Map the first folder of every stage in ``work`` except ``besides`` to its manifest.

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
