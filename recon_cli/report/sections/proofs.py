"""What of the run anybody can check, and how."""

from __future__ import annotations

from recon_cli.evaluate.checked import checked_sentence
from recon_cli.evaluate.findings import Findings
from recon_cli.evaluate.fresh import Missing
from recon_cli.pipeline.stages import PROVE
from recon_cli.report.document import ReportSection
from recon_cli.report.section import Section
from recon_cli.report.words import Words
from recon_cli.store import Manifest

_KEY = "proofs"


def _title(_: Words) -> str:
    return "Proofs that anyone can check"


def _read(findings: Findings) -> Manifest | Missing | None:
    work = findings.work
    if not work.holds(PROVE):
        return None
    folder = work.fresh(PROVE)
    return folder if isinstance(folder, Missing) else folder.manifest


def _render(manifest: Manifest, words: Words) -> tuple[ReportSection, ...]:
    """By whom how much was checked, and what has to be trusted."""
    text = (
        f"{checked_sentence(manifest)} Who doubts it needs none of this program: `proofs/` holds "
        "for each region the published counts and the proof as two texts, and the checker, one "
        "file that needs Python alone. To be trusted are that the first text says what was "
        "published, the checker, and Python.",
    )
    return (ReportSection(_KEY, _title(words), text),)


SECTION = Section(_KEY, _title, _read, _render)
