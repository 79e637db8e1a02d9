"""Published tables in every layout: the same counts, real samples, and every refusal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from recon_cli.config import load_config
from recon_cli.schema import Release, parse_release
from recon_cli.stages.ingest_partitions import open_source
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
    source, _ = open_source(release, config)
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
