"""On whose word rests what is called proven."""

from __future__ import annotations

from typing import Final

from recon_cli.evaluate.fresh import Missing, WorkFolder, made_from
from recon_cli.pipeline.stages import AUDIT, CLAIMS, PROVE, SOLVAR
from recon_cli.proofs.wording import CONFIRMED
from recon_cli.store import Folder, Manifest

#: Where no proofs are.
BY_ENGINES: Final = (
    "Proven here means by this program: by propagation of bounds, or by two solvers that agree. "
    "`recon prove` lets anyone check."
)
#: Of what has no proof, once proofs were made.
UNCHECKED: Final = "confirmed by this program alone, without a proof"


def proof_basis(work: WorkFolder) -> str:
    """Who checked what is called proven: a checker that anyone may ask, or this program alone."""
    folder = work.fresh(PROVE)
    if isinstance(folder, Missing):
        return BY_ENGINES
    found = ((stage, work.fresh(stage)) for stage in (SOLVAR, CLAIMS, AUDIT))
    since = [
        stage.folders[0]
        for stage, each in found
        if isinstance(each, Folder) and not made_from(folder.manifest, each)
    ]
    sentence = (
        f"{checked_sentence(folder.manifest)} Sums, and numbers of those disclosed, are counted by "
        "this program."
    )
    if since:
        sentence += f" Made since, and proven by this program alone: {', '.join(since)}."
    return sentence


def checked_sentence(proofs: Manifest) -> str:
    """By which checker how many statements were checked, and how many have no proof.

    Args:
        proofs: Of ``proofs/``.
    """
    statuses, notes = proofs.statuses, proofs.notes
    total = proofs.totals["statements"]
    accepted = statuses.get("certified", 0) + statuses.get("shown", 0)
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
