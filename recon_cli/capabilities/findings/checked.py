"""The basis of proofs: who has checked them."""

from __future__ import annotations

from typing import Final

from recon_cli.capabilities.findings.fresh import WorkFolder, made_from
from recon_cli.capabilities.findings.stages import AUDIT, CLAIMS, PROVE, SOLVAR
from recon_cli.capabilities.findings.wording import CONFIRMED
from recon_cli.page.missing import Missing
from recon_cli.store import Folder, Manifest

#: Basis of proofs that nobody else can check.
ALONE: Final = "this program alone"
_ENGINES: Final = "by propagation of bounds, or by two solvers that agree"
_CHECK: Final = "`recon prove` lets anyone check"
#: Basis without any proofs.
BY_ENGINES: Final = f"Proven here means by this program: {_ENGINES}. {_CHECK}."
#: Basis of statements without a proof, once proofs were made.
UNCHECKED: Final = "confirmed by this program alone, without a proof"


def proof_basis(work: WorkFolder) -> str:
    """Describe who checked the proofs: a checker that anyone can run, or this program alone."""
    folder = work.fresh(PROVE)
    if isinstance(folder, Missing):
        return BY_ENGINES
    sentence = (
        f"{checked_sentence(folder.manifest)} Sums, and numbers of those disclosed, are counted by "
        "this program."
    )
    if since := _made_since(work, folder.manifest):
        sentence += f" Made since, and proven by {ALONE}: {', '.join(since)}."
    return sentence


def proven_by(work: WorkFolder) -> str:
    """Return `proof_basis` in a line, for summaries."""
    folder = work.fresh(PROVE)
    if isinstance(folder, Missing):
        return f"{ALONE}; {_CHECK}"
    accepted, total = _accepted(folder.manifest)
    words = f"reconcheck 1: {accepted:,} of {total:,} statements"
    if since := _made_since(work, folder.manifest):
        words += f"; made since, by {ALONE}: {', '.join(since)}"
    return words


def _made_since(work: WorkFolder, proofs: Manifest) -> list[str]:
    """List folders with statements that the proofs do not cover."""
    found = ((stage, work.fresh(stage)) for stage in (SOLVAR, CLAIMS, AUDIT))
    return [
        stage.folders[0]
        for stage, each in found
        if isinstance(each, Folder) and not made_from(proofs, each)
    ]


def _accepted(proofs: Manifest) -> tuple[int, int]:
    """Count the statements that the checker accepted, and all statements."""
    statuses = proofs.statuses
    return statuses.get("certified", 0) + statuses.get("shown", 0), proofs.totals["statements"]


def checked_sentence(proofs: Manifest) -> str:
    """State how many statements which checker checked, and how many have no proof."""
    statuses, notes = proofs.statuses, proofs.notes
    accepted, total = _accepted(proofs)
    sentence = (
        f"Checked by reconcheck 1 (SHA-256 {notes['checker'][:12]}…): {accepted:,} of {total:,} "
        "statements, from the published tables alone."
    )
    if rest := statuses.get("confirmed", 0):
        totals = proofs.totals.items()
        of = [f"{name[len(CONFIRMED) :]} {n:,}" for name, n in totals if CONFIRMED in name]
        sentence += f" Not proven but confirmed by this program alone: {rest:,} ({', '.join(of)})."
    if rest := statuses.get("open", 0):
        sentence += f" Open, as nothing was found that shows them: {rest:,}."
    return sentence
