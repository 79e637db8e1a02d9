"""Columns of statistics that a draft does not use are called by what they seem to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.sources.read.statistic_words import statistic_named
from tests.support.command_line import recon


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("Mean age", "mean"),
        ("Âge moyen des femmes", "mean"),
        ("Edad media", "mean"),
        ("Gemiddelde leeftijd", "mean"),
        ("MEDIAN_AGE", "median"),
        ("Âge médian", "median"),
        ("Oldest patient", "maximum"),
        ("Upper quartile", "quantile"),
        ("Standard deviation of age", "deviation"),
        ("Rate", None),
        ("Social media", None),
        ("Meantime", None),
        ("Minimum and maximum", None),
    ],
)
def test_a_word_of_a_header_names_a_statistic(header: str, kind: str | None) -> None:
    assert statistic_named(header) == kind


def test_a_draft_says_that_medians_are_not_used(tmp_path: Path) -> None:
    rows = ["Oak,31,12,19,34.5,36.0", "Elm,25,13,12,41.25,40.5", "Ash,40,22,18,38.2,37.5"]
    path, config = tmp_path / "pupils.csv", tmp_path / "pupils.yaml"
    path.write_text("\n".join(["School,Pupils,Boys,Girls,Mean age,Median age", *rows, ""]))
    said = " ".join(recon("init", path, "--to", config, "--yes").stdout.split())
    assert "'Mean age' of pupils.csv seems to be a mean" in said
    assert "'Median age' of pupils.csv seems to be a median" in said
    assert "what these give away is in no result: say what they are of by --statistic" in said
    assert "seems to be a median" in config.read_text()
