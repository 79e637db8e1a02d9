"""Verified claims in plain words, from the schema's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recon_cli.proofs.wording import size_text
from recon_cli.report.words import Words, enumerate_words, of_people, percentage
from recon_cli.schema import Release
from recon_cli.schema.description import describe_condition


def claim_sentence(
    release: Release, words: Words, columns: Sequence[str], claim: Mapping[str, Any]
) -> str:
    """A claim in one line; the columns that it leaves open are named.

    Args:
        columns: The columns that claims speak of.
        claim: A row of ``claims/``.
    """
    masks = list(release.full)
    for name in columns:
        if claim[name] is not None:
            groups = release.column_groups(name)
            place = groups.labels.index(claim[name])
            masks[release.feature_index[groups.feature]] &= groups.masks[place]
    said = [describe_condition(f, mask) for f, mask in zip(release.features, masks, strict=True)]
    values = ", ".join(each for each in said if each) or f"any {words.person}"
    still_open = [words.columns.get(name, name) for name in columns if claim[name] is None]
    rest = f"; {enumerate_words(still_open)} left open" if still_open else ""
    rules = "; assuming structural zeros" if claim["rests_on"] != "tables" else ""
    is_nobody = claim["exact"] and not claim["count"]
    size = words.nobody if is_nobody else size_text(claim, of_people(claim["count"], words))
    return f"{size}: {values}{rest}{rules}; {_by_guessing(claim)}"


def _by_guessing(claim: Mapping[str, Any]) -> str:
    """The chance of the claim, by the shares nearest to the unit."""
    shares = claim["p_all"] if claim["p_region"] is None else claim["p_region"]
    return f"{percentage(shares, 1)} by guessing"
