"""Made-up records to try the functions with."""

from __future__ import annotations

import polars as pl


def example_patients() -> pl.DataFrame:
    """Return four made-up patients of a clinic, as records of the release ``clinic_visits``.

    >>> import recon_cli as recon
    >>> recon.example_patients().select("gender", "age", "conditions").rows()
    [('woman', 34, 1), ('woman', 71, 8), ('man', 52, 8), ('man', 55, 8)]
    """
    return pl.DataFrame(
        {
            "geoid_clinic": ["D01001"] * 4,
            "gender": ["woman", "woman", "man", "man"],
            "age": [34, 71, 52, 55],
            "insurance": ["public", "private", "public", "public"],
            "smoker": [False, True, False, False],
            "conditions": [1, 8, 8, 8],  # one has diabetes, three are healthy
        }
    )
