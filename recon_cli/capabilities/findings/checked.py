"""The basis of proofs: who has checked them. ``proofs.j2`` has the words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from recon_cli.capabilities.findings.fresh import WorkFolder, made_from
from recon_cli.capabilities.findings.stages import AUDIT, CLAIMS, PROVE, SOLVAR
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.store import Folder, Manifest

#: Basis of proofs that nobody else can check.
ALONE: Final = "this program alone"
#: Basis of statements without a proof, once proofs were made.
UNCHECKED: Final = "confirmed by this program alone, without a proof"

_say: Final = partial(sentences, "proofs.j2", package=__package__)


def proof_basis(work: WorkFolder) -> str:
    """Describe who checked the proofs: a checker that anyone can run, or this program alone."""
    return " ".join(_say("basis", **_checked(work)))


def proven_by(work: WorkFolder) -> str:
    """Return `proof_basis` in a line, for summaries."""
    return " ".join(_say("in_a_line", **_checked(work)))


def checked_sentence(proofs: Manifest) -> str:
    """State how many statements which checker checked, and how many have no proof."""
    return " ".join(_say("checked", proofs=proofs))


def proof_conditions(laws: Sequence[str], *, assumes_zeros: bool) -> list[str]:
    """List the conditions of every proof besides the counts, a sentence each.

    Args:
        laws: Laws of the counts, in words; none where all are exact.
        assumes_zeros: Whether structural zeros that the schema assumes were used.
    """
    return _say("conditions", laws=laws, assumes_zeros=assumes_zeros)


def _checked(work: WorkFolder) -> dict[str, Any]:
    """Return the manifest of ``proofs/`` that fit, or None, and folders made since."""
    folder = work.fresh(PROVE)
    if isinstance(folder, Missing):
        return {"proofs": None, "since": ()}
    found = ((stage, work.fresh(stage)) for stage in (SOLVAR, CLAIMS, AUDIT))
    since = [
        stage.folders[0]
        for stage, each in found
        if isinstance(each, Folder) and not made_from(folder.manifest, each)
    ]
    return {"proofs": folder.manifest, "since": since}
