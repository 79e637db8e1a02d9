"""Pages that the tool makes, made when the site is built: ``gallery/`` beside the site's own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

import recon_cli as recon

ROOT = Path(__file__).parent.parent.parent


def _county(work: Path) -> Path:
    """Report the toy county, with a page for each place."""
    made = recon.run_config(
        ROOT / "configs" / "toy.yaml", "claims={}", "report.places=5", work=work
    )
    return made.page.parent


def _schools(work: Path) -> Path:
    """Report an office's workbook of schools with stars, from the draft on."""
    workbook = ROOT / "fixtures" / "offices" / "schools.xlsx"
    drafted = recon.draft(workbook, to=work.parent / "schools.yaml", yes=True)
    stages = ("ingest", "audit", "report")
    made = recon.run_config(drafted.path, "report.places=3", work=work, only=stages)
    return made.page.parent


def _protections(work: Path) -> Path:
    """Compare protections of a clinic's patients."""
    ways = {
        "exact": None,
        "suppressed": {"suppress": {"below": 3}},
        "rounded": {"round": {"base": 3, "study_seed": 1}},
        "fewer tables": {"coarser": {"tables": ["PATIENTS", "SMOKERS"]}},
    }
    options = recon.options.Compare(
        protections={name.replace(" ", "-"): way for name, way in ways.items()},  # type: ignore[misc]
        claims=recon.options.Claims(),
    )
    release = recon.load_release("clinic_visits")
    return recon.compare(release, recon.example_patients(), options, folder=work).page.parent


PAGES: Mapping[str, Callable[[Path], Path]] = {
    "county": _county,
    "schools": _schools,
    "protections": _protections,
}


def make_pages(folder: Path) -> None:
    """Write the pages of each example into a folder of its own."""
    for name, make in PAGES.items():
        with tempfile.TemporaryDirectory() as home:
            pages = make(Path(home) / name)
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir(parents=True)
            for page in pages.glob("*.html"):
                shutil.copyfile(page, folder / name / page.name)


def _on_finished(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        make_pages(Path(app.outdir) / "gallery")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the pages when the site is done."""
    app.connect("build-finished", _on_finished)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
