"""`recon prove` on releases with nobody, with one unit, and under rules no table speaks of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

from benchmarks.soundness.proofs import prove_release
from recon_cli.proof.tables import possible_values
from tests.support.command_line import recon

_BASE = {"release": "r", "title": "t"}
_SCHOOL = {"level": "school", "digits": 5}
_TOWN = {"level": "town", "digits": 3}


def run(folder: Path, schema: dict[str, object], counts: str, **sections: object) -> pl.DataFrame:
    """Rows of ``proofs/``, whose texts the checker accepts."""
    (folder / "r.yaml").write_text(yaml.safe_dump(_BASE | schema))
    (folder / "c.csv").write_text("geoid,table,cell,count\n" + counts)
    ingest = {"source": "tidy", "paths": ["c.csv"], **sections.pop("ingest", {})}  # type: ignore[dict-item]
    config = {"release": "r.yaml", "work": "work", "seed": 1, "ingest": ingest}
    config |= {"reconstruct": None, **sections, "prove": None}
    (folder / "recon.yaml").write_text(yaml.safe_dump(config))
    recon("run", "-c", folder / "recon.yaml", "-q")
    home = folder / "work/proofs"
    for proof in home.glob("*.proof"):
        command = [sys.executable, "-I", "-S", "reconcheck.py", f"{proof.stem}.tables", proof.name]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode < 2, done.stderr
        assert "NOT PROVEN" not in done.stdout
    return pl.read_parquet(home / "**/*.parquet", hive_partitioning=False)


def test_a_set_of_no_records_is_one(tmp_path: Path) -> None:
    """Two schools, a star of 0 to 2 each: ``prove_crash_empty_record_set`` of the cases."""
    schema = {
        "features": {"sex": {"categories": ["girl", "boy"]}, "age": {"range": "5..7"}},
        "geography": {"levels": [_SCHOOL, _TOWN], "partition": "town"},
        "microdata": ["sex", "age"],
        "histogram": ["sex", "age"],
        "families": [
            {"levels": ["school"], "cells": ["total", {"by": "sex"}], "tables": {"T1": {}}}
        ],
    }
    (tmp_path / "list.csv").write_text("geoid\nA0101\nA0102\n")
    law = {"law": {"suppressed": {"below": 3, "flagged": "may-be-zero"}}}
    (tmp_path / "law.yaml").write_text(yaml.safe_dump({"statements": [law]}))
    ingest = {"absent": "unpublished", "geounits": "list.csv", "protection": "law.yaml"}
    rows = run(tmp_path, schema, "A0101,T1,2,*\nA0102,T1,2,*\n", audit=None, ingest=ingest)
    assert set(rows["status"]) <= {"shown", "open"}
    assert "shown" in set(rows["status"])


def test_what_nothing_bounds_is_split_into_no_cases_beyond_its_end(tmp_path: Path) -> None:
    """Stars without an upper end: ``prove_crash_narrow`` of the cases."""
    schema = {
        "features": {"age": {"range": "1..4"}, "hot": {"categories": [False, True]}},
        "geography": {"levels": [_SCHOOL, _TOWN], "partition": "town"},
        "structural_zeros": [
            {"when": {"hot": False}, "only": {"age": [1, 3]}, "definition": False, "why": "so"}
        ],
        "microdata": ["age", "hot"],
        "histogram": ["hot", "age"],
        "families": [
            {
                "levels": ["town"],
                "cells": [
                    "total",
                    {"by": "age", "cells": [{"by": "hot", "cells": ["total"]}]},
                    {"where": {"hot": [True]}, "cells": ["total"]},
                ],
                "tables": {"T0": {}},
            },
            {"levels": ["school"], "cells": ["total", {"by": "age"}], "tables": {"T1": {}}},
        ],
    }
    law = {"law": {"suppressed": {"below": 3, "complementary": True}}}
    (tmp_path / "law.yaml").write_text(yaml.safe_dump({"statements": [law]}))
    counts = "A0104,T1,1,-\nA0101,T1,2,:\nA01,T0,5,..\nA0101,T1,1,3\nA0104,T1,3,*\nA01,T0,2,:\n"
    rows = run(
        tmp_path,
        schema,
        counts + "A01,T0,4,0\n",
        solvar={"mode": "exact"},
        audit=None,
        claims={"absent": True, "at_most": True},
        ingest={"protection": "law.yaml"},
    )
    assert rows.filter(status="certified").height >= 13


def test_counts_that_only_the_audit_asks_for_are_proven_of_exact_tables(tmp_path: Path) -> None:
    """``prove_crash_plan_for_intervals`` of the cases."""
    by_age = {"by": "age", "cells": ["total"]}
    schema = {
        "features": {"age": {"range": "5..7"}},
        "geography": {
            "levels": [_SCHOOL, _TOWN, {"level": "land", "digits": 1}],
            "partition": "land",
        },
        "microdata": ["age"],
        "histogram": ["age"],
        "families": [
            {
                "levels": ["town", "land"],
                "cells": [{"by": "age", "cells": [by_age]}],
                "tables": {"T0": {"universe": {"age": [5]}}},
            },
            {"levels": ["school"], "cells": ["total"], "tables": {"T1": {}}},
        ],
    }
    counts = "A0101,T1,1,0\nA02,T0,1,0\n"
    ingest = {"absent": "unpublished"}
    rows = run(
        tmp_path, schema, counts, audit={"ask": ["school"]}, claims=None, solvar=None, ingest=ingest
    )
    assert rows.height > 0


def test_values_that_no_table_sees_are_possible_ones(tmp_path: Path) -> None:
    """No girl is of column x: ``prove_rejected_by_own_checker`` of the cases."""
    schema = {
        "features": {
            "sex": {"categories": ["girl", "boy"]},
            "lang": {"multiselect": ["p", "q"]},
            "col": {"categories": ["x", "y"]},
        },
        "geography": {"levels": [_SCHOOL], "partition": "school"},
        "structural_zeros": [
            {"when": {"col": "x"}, "only": {"sex": ["boy"]}, "definition": False, "why": "so"}
        ],
        "microdata": ["sex", "lang", "col"],
        "histogram": ["col", "lang", "sex"],
        "families": [
            {"levels": ["school"], "cells": ["total", {"by": "lang"}], "tables": {"T1": {}}}
        ],
    }
    (tmp_path / "list.csv").write_text("geoid\nA0101\n")
    run(tmp_path, schema, "A0101,T1,3,1\n", ingest={"absent": "zero", "geounits": "list.csv"})
    written = (tmp_path / "work/proofs/A0101.proof").read_text()
    (line,) = (line for line in written.splitlines() if line.startswith("r "))
    sex, _, col = line.split()[3:]
    assert (sex, col) != ("0", "0")


def test_possible_values_are_all_that_no_zero_excludes() -> None:
    zeros = [(1, 3, 7), (3, 2, 1), (2, 1, 4)]
    found = list(possible_values((3, 3, 7), zeros))
    every = [(a, b, c) for a in range(2) for b in range(2) for c in range(3)]
    allowed = [
        v
        for v in every
        if not any(all(m >> x & 1 for m, x in zip(z, v, strict=True)) for z in zeros)
    ]
    assert sorted(found) == allowed
    assert next(possible_values((1, 3, 7), zeros), None) is None


@pytest.mark.parametrize("number", [3, 16, 20])
def test_proofs_of_random_releases_are_accepted(number: int) -> None:
    """One of them has a further solution in which nobody is left in a unit."""
    assert not prove_release(2, number)["wrong"]
