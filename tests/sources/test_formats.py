"""Published tables in every layout: the same counts, real samples, and every refusal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from recon_cli.capabilities.ingest.partitions import open_source
from recon_cli.config import load_config
from recon_cli.errors import SourceError
from recon_cli.schema import Release, parse_release
from recon_cli.sources.formats.place import are_digits
from tests.support.layouts import LAYOUTS, SCHEMA, Layout, counts_of

BLOCKS = [f"3402100010{t}{b:04}" for t in (0, 1) for b in (1000, 1001, 2000)]


@pytest.fixture(scope="module")
def release() -> Release:
    return parse_release(SCHEMA, source="sexage.yaml")


@pytest.fixture(scope="module")
def counts() -> dict[str, list[int]]:
    draw = random.Random(1)  # noqa: S311 - a table of numbers
    return counts_of({block: [draw.choice((0, 0, 1, 2, 7)) for _ in range(6)] for block in BLOCKS})


def configured(layout: Layout, folder: Path, **changes: Any) -> Any:
    """The section ``ingest`` as a user would write it."""
    ingest = {"source": layout.source, "paths": [str(path) for path in layout.paths]}
    if layout.mapping:
        ingest["mapping"] = dict(layout.mapping)  # type: ignore[assignment]
    (folder / "sexage.yaml").write_text(SCHEMA)
    path = folder / "recon.yaml"
    path.write_text(yaml.safe_dump({"release": "sexage.yaml", "ingest": {**ingest, **changes}}))
    return load_config(path).sections["ingest"]


def read(release: Release, config: Any) -> tuple[pl.DataFrame, pl.DataFrame, set[Any]]:
    source = open_source(release, config).source
    batches = list(source.batches())
    counts = pl.concat([batch.counts for batch in batches]).sort("geoid", "table", "cell")
    units = pl.concat([batch.geounits for batch in batches]).sort("geoid")
    coverage = {(p.level, tuple(sorted(p.cells.items()))) for p in source.coverage if p.cells}
    return counts, units, coverage


@pytest.mark.parametrize("name", LAYOUTS)
def test_one_table_in_every_layout(
    name: str, release: Release, counts: dict[str, list[int]], tmp_path: Path
) -> None:
    found, units, coverage = read(release, configured(LAYOUTS[name](counts, tmp_path), tmp_path))
    expected = pl.DataFrame(
        [
            (geoid, "P99", number, count)
            for geoid, row in counts.items()
            for number, count in enumerate(row, start=1)
            if count
        ],
        schema=found.schema,
        orient="row",
    )
    assert found.equals(expected.sort("geoid", "table", "cell"))
    assert set(counts) <= set(units["geoid"])
    every = (("P99", tuple(range(1, 13))),)
    assert coverage == {("block", every), ("tract", every)}


@pytest.mark.parametrize("name", ["ons_bulk", "long"])
def test_markers_are_read_by_the_law(name: str, release: Release, tmp_path: Path) -> None:
    """A text in place of a count becomes the interval that ``protection.yaml`` declares."""
    counts = counts_of({block: [3, 0, 7, 5, 4, 0] for block in BLOCKS})
    layout = LAYOUTS[name](counts, tmp_path)
    path = layout.paths[0]
    rows = path.read_text().splitlines()
    at = next(i for i, row in enumerate(rows) if f"{BLOCKS[0]}" in row)
    comma = ";" if name == "long" else ","
    cells = rows[at].split(comma)
    cells[3 if name == "ons_bulk" else 5] = "<3"
    path.write_text("\n".join([*rows[:at], comma.join(cells), *rows[at + 1 :]]))
    (tmp_path / "protection.yaml").write_text(
        "release: sexage\nstatements:\n  - law: {suppressed: {below: 3}}\n"
    )
    opened = open_source(release, configured(layout, tmp_path))
    found = pl.concat([batch.counts for batch in opened.source.batches()])
    assert opened.protection is not None
    hidden = found.filter(pl.col("count").is_null())
    assert hidden.select("geoid", "cell", "high").rows() == [(BLOCKS[0], 1, 2)]
    shown = found.filter(pl.col("count") > 0).select("geoid", "cell", "count")
    truth = {(g, i): n for g, row in counts.items() for i, n in enumerate(row, start=1) if n}
    truth.pop((BLOCKS[0], 1), None)
    assert {(g, cell): n for g, cell, n in shown.rows()} == truth
    path.write_text(path.read_text().replace("<3", "<7"))
    with pytest.raises(SourceError, match=r"row .*: geoid .*below 3 are suppressed, found '<7'"):
        list(open_source(release, configured(layout, tmp_path)).source.batches())


def test_digits_are_told_without_a_pattern() -> None:
    """A sign, a blank, a fraction, other scripts' digits and nothing at all are no digits."""
    texts = ["0", "007", "34003000000100", "+5", "-0", " 5", "5.0", "1e3", "", "٣", "5a", None]
    assert are_digits(pl.Series(texts)).to_list() == [True] * 3 + [False] * 9
