"""What a check of one more table costs beside publications that were checked before.

``python -m benchmarks.register``: some 400 units that wards and squares cut each other into, two
published tables, and a third one as the candidate, of all wards and squares or of a few wards. The
audit of all publications from nothing is *cold*; `recon check` with ``scope: new`` is *warm* where
the other publications were audited before. CPU seconds of the process and its workers.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

import recon_cli as recon
from benchmarks.areas import ZONINGS, grid, nearest, world
from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.check.stage import GivenConfig, check
from recon_cli.config import load_config
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.schema import Release
from recon_cli.store import INGEST

_SEED: Final = 7
#: Wards that the small candidate is about.
_WARDS: Final = 4


def cpu_seconds() -> float:
    """Return CPU seconds of this process and those that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def write_register(folder: Path, wards: int | None) -> None:
    """Files of a register: two tables, and a third of all areas or some wards."""
    rng = np.random.default_rng(_SEED)
    zonings = {"ward": nearest(rng.random((40, 2))), "square": grid(14)}
    release, people = world(ZONINGS, zonings, 4_000, _SEED)
    published = recon.publish(release, recon.tabulate(release, people))
    _write_lookup(release, folder)
    (folder / "zonings.yaml").write_text(ZONINGS)
    places = published.geounits.filter(pl.col("level") != "atom")
    if wards is not None:
        places = places.filter(level="ward").sort("geoid").head(wards)
    cells = pl.DataFrame({"cell": [cell.number for cell in release.table_by_name["T4"].cells]})
    asked = places.select("geoid", table=pl.lit("T4")).join(cells.cast(pl.Int16), how="cross")
    for name, tables in (("before", ["T1", "T2"]), ("candidate", ["T4"])):
        rows = published.counts.filter(pl.col("table").is_in(tables))
        if name == "candidate":
            rows = asked.join(rows, on=asked.columns, how="left").with_columns(
                pl.col("count").fill_null(0)
            )
        rows.write_csv(folder / f"{name}.csv")
    entries = [
        {
            "name": name,
            "release": "zonings.yaml",
            "ingest": {"source": "tidy", "paths": [f"{name}.csv"], "absent": absent},
        }
        for name, absent in (
            ("before", "zero"),
            ("candidate", "zero" if wards is None else "unpublished"),
        )
    ]
    register = {"register": "all", "title": "Made-up people", "publications": entries}
    (folder / "register.yaml").write_text(yaml.safe_dump(register))
    run: dict[str, Any] = {
        "release": "register.yaml",
        "work": "work",
        "seed": _SEED,
        "ingest": {"source": "register", "paths": ["register.yaml"], "membership": "lookup.csv"},
        "audit": {"ask": ["atom"]},
        "check": {
            "scope": "new",
            "rules": [{"recovered": {"from": 1, "below": 3}, "most": 0}],
        },
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(run))


def _write_lookup(release: Release, folder: Path) -> None:
    geography = release.geography
    units = pl.Series(list(geography.listed(())))  # type: ignore[attr-defined]
    columns = {"atom": units} | {
        name: geography.by_name[name].enclosing(units) for name in ("ward", "square")
    }
    pl.DataFrame(columns).write_csv(folder / "lookup.csv")


def measure(wards: int | None) -> None:
    """Print the CPU seconds of both ways."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_register(folder, wards)
        path = folder / "run.yaml"
        config = load_config(path, work=folder / "cold", workers=1)
        started = cpu_seconds()
        run = Run(config, config.load_release())
        run_stage(INGEST, run)
        audited = run_stage(AUDIT, run).manifest
        cold = cpu_seconds() - started
        given = GivenConfig(path, workers=1)
        started = cpu_seconds()
        check(given, 0.0)
        first = cpu_seconds() - started
        for kept in (folder / "work").iterdir():
            if kept.name != "base":  # as if the candidate had just come
                kept.rename(folder / f"away_{kept.name}")
        started = cpu_seconds()
        (judged,) = check(given, 0.0)
        warm = cpu_seconds() - started
    of = "all areas" if wards is None else f"{wards} wards"
    found = judged.finding
    sys.stdout.write(
        f"candidate of {of}: {audited.totals['cells']:,} counts audited cold, {cold:.1f} s; check "
        f"from nothing {first:.1f} s, warm {warm:.1f} s, {warm / cold:.0%} of cold; "
        f"{found.proven:,} newly recovered, {found.possible:,} undecided\n"
    )
    sys.stdout.flush()


def main() -> None:
    """Both candidates."""
    for wards in (None, _WARDS):
        measure(wards)


if __name__ == "__main__":
    main()
