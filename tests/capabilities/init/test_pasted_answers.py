"""Every flag that a question offers can be pasted, and the question is not asked again.

Files are drawn after publications, and a line that offices add is put into some of them.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.publications.archetypes import ARCHETYPES
from benchmarks.publications.drawing import draw
from recon_cli.capabilities.init.declared import NOTHING_DECLARED
from recon_cli.capabilities.init.questions import Said
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.errors import ReconError
from recon_cli.sources.documents import open_documents
from recon_cli.sources.tabular import documents_of_sheets, read_sheet
from tests.support.properties import draws

#: Rows of texts.
Rows = list[list[str]]
Change = Callable[[Rows, list[int], list[int], np.random.Generator], Rows]


def read(path: Path, flags: str = "") -> RecognisedFiles:
    declared, rest = NOTHING_DECLARED.with_flags(flags)
    said = Said().with_flags(rest)
    return recognise([path], None, said.mapping, said.choices(codes_first=False), declared)


def rows_of(path: Path) -> Rows:
    """Return the texts of a file, or of the first sheet of a workbook."""
    (document, *_) = documents_of_sheets(open_documents(path)[0], ())
    batches = pl.concat(list(read_sheet(document).batches()))
    return [[cell or "" for cell in row[1:]] for row in batches.iter_rows()]


def is_count(text: str) -> bool:
    return text.replace(",", "").isdigit()


def changed_row(rows: Rows, body: list[int], counts: list[int], rng: np.random.Generator) -> Rows:
    row = ["Change on 2022", *([""] * (len(rows[body[0]]) - 1))]
    for at in counts:
        row[at] = str(rng.integers(99))
    return [*rows[: body[-1] + 1], row, *rows[body[-1] + 1 :]]


def starred(rows: Rows, body: list[int], counts: list[int], rng: np.random.Generator) -> Rows:
    for row in body:
        for at in counts:
            rows[row][at] = "*" if rng.random() < 0.25 else rows[row][at]
    return rows


def with_column(rows: Rows, body: list[int], counts: list[int], rng: np.random.Generator) -> Rows:
    del counts
    heads = {body[0] - 1: "Change on 2022"}
    return [
        [*row, str(rng.integers(9)) if i in body else heads.get(i, "")]
        for i, row in enumerate(rows)
    ]


def without_first(rows: Rows, body: list[int], counts: list[int], rng: np.random.Generator) -> Rows:
    del body, rng
    return [[*row[: counts[0]], *row[counts[0] + 1 :]] for row in rows]


def as_long(rows: Rows, body: list[int], counts: list[int], rng: np.random.Generator) -> Rows:
    del rng
    heads = rows[body[0] - 1]
    cells = [[rows[i][0], heads[at] or f"column {at}", rows[i][at]] for i in body for at in counts]
    return [["Area", "Kind", "Value"], *cells]


CHANGES: tuple[Change | None, ...] = (
    None,
    changed_row,
    starred,
    with_column,
    without_first,
    as_long,
)


def drawn_files(folder: Path, first: int, step: int) -> list[Path]:
    """Write files after some archetypes, each as it is or with one change."""
    found = []
    for number, archetype in list(enumerate(ARCHETYPES.values()))[first::step]:
        drawn = draw(archetype, number)
        path = folder / f"{number}-{drawn.file}"
        path.write_bytes(drawn.data)
        change = CHANGES[(number // step) % len(CHANGES)]
        if change is not None:
            rows = rows_of(path)
            body = [i for i, row in enumerate(rows) if sum(map(is_count, row)) > 1]
            if not body:
                continue  # a row per count
            counts = [
                at for at in range(1, len(rows[0])) if sum(is_count(rows[i][at]) for i in body) > 2
            ]
            path = path.with_suffix(f".{change.__name__}.csv")
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(
                    change(rows, body, counts, np.random.default_rng(number))
                )
        found.append(path)
    return found


@pytest.mark.parametrize("first", draws(1, 4))
def test_every_flag_that_is_offered_settles_its_question(first: int) -> None:
    questions = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in drawn_files(Path(folder), first, 4):
            try:
                found = read(path)
            except ReconError:
                continue  # what is refused asks nothing
            for asked in found.questions:
                questions += 1
                assert asked.answers, f"{path.name}: {asked.text}"
                for flags in {*asked.answers.values()} - {"--yes"}:
                    again = read(path, flags).questions
                    assert asked.text not in {each.text for each in again}, f"{path.name}: {flags}"
    assert questions > 5
