"""The page that sets rates beside those of the study."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.score.comparison_page import _gains
from recon_cli.page.words import words_of
from recon_cli.schema import load_release

NOTES = {
    "truth": "CEF",
    "baseline": "HDF",
    "guessers": {"MDG": "modal", "PRG_loo": "proportional", "PRG": "proportional"},
    "leave_one_out": ["PRG_loo"],
}


def test_a_gain_is_the_precision_less_that_of_the_guess() -> None:
    rates = {
        ("table12_all", "1-9"): {"rHDF": 60.0, "PRG": 45.5, "PRG_loo": 1.0, "CEF": 99.0},
        ("table12_all", "10-49"): {"rHDF": 40.0, "PRG": 41.2},
        ("table13_nonmodal", "1-9"): {"rHDF": 30.0, "PRG": 10.0},
    }
    cells = [
        (table, "CMRCL", size, source, "precision", pct, pct / 2)
        for (table, size), by_source in rates.items()
        for source, pct in by_source.items()
    ]
    columns = ["table", "against", "block_size", "source", "rate", "pct", "published_pct"]
    frame = pl.DataFrame(cells, schema=columns, orient="row")
    words = words_of(load_release("sf1_2010"))
    *_, page = _gains(frame, NOTES, words)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    assert [row for row in rows if row[0] in {"1-9", "10-49"}] == [
        ["1-9", "rHDF", "+14.5", "+7.2", "+20.0", "+10.0"],
        ["10-49", "rHDF", "-1.2", "-0.6", "", ""],
    ]
    *_, ours = _gains(frame.drop("published_pct"), NOTES, words)
    assert [line.split("|")[3].strip() for line in ours.splitlines()[2:]] == ["+14.5", "-1.2"]
    assert not _gains(frame, {**NOTES, "guessers": {"MDG": "modal"}}, words)
