"""What may be said of a run that has proofs."""

from __future__ import annotations

from recon_cli.store import Manifest


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
    others = []
    if rest := statuses.get("confirmed", 0):
        others.append(f"{rest:,} are confirmed by the run alone, without a proof")
    if rest := statuses.get("open", 0):
        others.append(f"{rest:,} are open, as nothing was found that shows them")
    return f"{sentence} Of the others {' and '.join(others)}." if others else sentence
