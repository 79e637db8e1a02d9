"""What of the run anybody can check, and how."""

from __future__ import annotations

from recon_cli.evaluate.checked import checked_sentence
from recon_cli.pipeline.stages import PROVE
from recon_cli.report.document import ReportSection
from recon_cli.report.section import Section, read_stage
from recon_cli.report.words import Words
from recon_cli.store import Manifest

_KEY = "proofs"
_TITLE = "Proofs that anyone can check"


def _render(manifest: Manifest, _: Words) -> tuple[ReportSection, ...]:
    """By whom how much was checked, and what has to be trusted."""
    text = (
        f"{checked_sentence(manifest)} Who doubts it needs none of this program: `proofs/` holds "
        "for each region the published counts and the proof as two texts, and the checker, one "
        "file that needs Python alone. To be trusted are that the first text says what was "
        "published, the checker, and Python.",
    )
    return (ReportSection(_KEY, _TITLE, text),)


SECTION = Section(_KEY, _TITLE, read_stage(PROVE, lambda folder, _: folder.manifest), _render)
