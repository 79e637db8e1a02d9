"""What the prover finds is true and accepted, and it finds what single steps prove."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from recon_cli import reconcheck, reconstruct
from recon_cli.capabilities.audit.witnesses import WitnessOptions, find_witnesses
from recon_cli.capabilities.prove.record_sets import PartSearch, RecordSet
from recon_cli.capabilities.prove.refutation import prove_unique
from recon_cli.capabilities.prove.region import RegionProver
from recon_cli.capabilities.prove.statements import Statement
from recon_cli.model.planning import make_interval_plan
from recon_cli.proof.derivation import Budget, ScopeProver
from recon_cli.proof.scope_rows import RowSource
from recon_cli.proof.tables import PublishedTables, grain_lines, runs
from recon_cli.solve.cp_sat import Effort
from tests.capabilities.audit.test_witnesses import TOWNS, flagged
from tests.capabilities.prove.certificates import check, derived, ends, program, prover
from tests.capabilities.prove.test_reconcheck import TABLES, U_RECORDS, V_RECORDS
from tests.support.properties import draws


@pytest.mark.parametrize("seed", draws(12, 25))
def test_ends_of_tiny_programs(seed: int) -> None:
    """All true ends of all sums of kinds; a false one is never found."""
    assert set(ends(seed)) <= {"certified", "by cases"}


def test_cases_prove_what_no_sum_does() -> None:
    counts = ("7 7", "4 4", "3 5", "4 4")
    cells = [f"cell 0 {n} {mask}" for n, mask in enumerate(("1f", "18", "13", "9"))]
    rows = [f"count 0 0 {n} {ends}" for n, ends in enumerate(counts)]
    text = "\n".join(["feature kind 5", "table T", *cells, "pattern 0.0-3", "unit U 0", *rows])
    lines = derived(prover(text), "e", 3, is_least=True)
    assert lines is not None
    assert any(line.startswith("if ") for line in lines)
    assert check(text, "\n".join(lines)) == [True]
    assert derived(prover(text), "e", 4, is_least=True) is None


@pytest.mark.parametrize("seed", range(40))
def test_unique_units_of_tiny_programs(seed: int) -> None:
    text, solutions, _ = program(np.random.default_rng(seed))
    found = prover(text)
    records = {kind: n for kind, n in enumerate(solutions[0]) if n}
    lines = prove_unique(found, 0, records)
    if lines is None:
        return
    assert len(solutions) == 1
    given = [f"r 0 {n} {kind}" for kind, n in records.items()]
    shared = [found.text(found.log[at]) for at in sorted(found.closure(lines))]
    statement = ["in all", *shared, "set s", *given, "end", "unique 0"]
    assert check(text, "\n".join(statement)) == [True]


def test_unique_units_are_found() -> None:
    found = 0
    for seed in range(40):
        text, solutions, _ = program(np.random.default_rng(seed))
        records = {kind: n for kind, n in enumerate(solutions[0]) if n}
        is_found = prove_unique(prover(text), 0, records) is not None
        assert is_found <= (len(solutions) == 1)
        found += is_found
    assert found >= 5


@pytest.mark.parametrize("seed", range(4))
def test_tables_of_a_release(seed: int) -> None:
    """Records that the run reconstructs have the counts, as the checker reads them."""
    published = flagged(seed, 40)
    written = PublishedTables(TOWNS, published, TOWNS.tables)
    plan = make_interval_plan(TOWNS, TOWNS.tables, published.coverage)
    records = reconstruct(TOWNS, published).microdata
    lines = [
        *grain_lines(plan.grain),
        "in all",
        "set s",
        *(written.record_lines(records) or ()),
        "end",
    ]
    lines += ["differ s s 0 0 " + " ".join("*" for _ in TOWNS.features)]
    assert check(written.text, "\n".join(lines)) == [True]
    fewer = list(written.record_lines(records.head(records.height - 20)) or ())
    with pytest.raises(reconcheck.Refused, match="these records have"):
        check(written.text, "\n".join(["in all", "set s", *fewer, "end"]))
    assert (
        written.text.count("\nunit ")
        == published.geounits.filter(pl.col("level") == TOWNS.geography.unit.name).height
    )


def test_runs() -> None:
    assert runs([1, 3, 4, 5, 9]) == "1,3-5,9"


def test_parts_of_a_unit_alone_are_accepted() -> None:
    """Of V the total alone is published, but the area allows no two girls of the first age."""
    read: Any = reconcheck.Tables(TABLES.splitlines())
    atoms = [[1, 2], [1, 2, 4]]
    clique: Any = reconcheck.Clique(read, atoms, range(2))
    scope: Any = reconcheck.Scope(read, [clique], {2})
    found = ScopeProver.of(RowSource(read, [clique]), scope, Budget(10.0))
    found.propagate()
    lines = [line for line in (U_RECORDS + V_RECORDS).splitlines() if line]
    known = RecordSet.of("known", lines, atoms)
    search = PartSearch(found, 2, known, Effort(1, 1.0))
    count = found.scope.count(2, (read.masks(["1", "*"]),))[0]
    others = list(search.differing(count, 1))
    assert others
    for other in others:
        text = "\n".join(["in 2", "part a", *V_RECORDS.split("\n")[:-1], "end", "part b", *other])
        assert check(TABLES, f"{text}\nend\nvary a b 1 2 1 *\n") == [True]
    assert not list(search.differing(count, 3))


def test_two_sets_may_differ_though_neither_is_far_from_the_known() -> None:
    published = flagged(0, 60, below=6)
    plan = make_interval_plan(TOWNS, TOWNS.tables, published.coverage)
    records = reconstruct(TOWNS, published).microdata
    cells = published.counts.filter(pl.col("low") < pl.col("high"))
    options = WitnessOptions(1, 1.0, safety=2)
    others = list(find_witnesses(TOWNS, published, TOWNS.tables, cells, options))
    written = PublishedTables(TOWNS, published, TOWNS.tables)
    prover = RegionProver(
        written,
        plan.grain,
        "all",
        records,
        budget=Budget(10.0),
        effort=Effort(1, 1.0),
    )
    found = [
        RecordSet.of("s", list(written.record_lines(each) or ()), prover.atoms)
        for each in (records, *others)
    ]
    number = {table.name: at for at, table in enumerate(TOWNS.tables)}
    chosen = None
    for geoid, table, cell in cells.select("geoid", "table", "cell").iter_rows():
        units = np.array(sorted(prover.tables.units[written.places[geoid]]), dtype=np.int64)
        predicates = prover.tables.cells[number[table], cell]
        known, *values = (each.count(units, predicates) for each in found)
        if min(values) < known < max(values):
            apart, what = max(values) - min(values), f"{number[table]}.{cell}"
            chosen = Statement("audit", geoid, "", apart=apart, what=what)
    assert chosen is not None
    prover.show([chosen], others)
    assert prover.result([chosen]).statements["status"].to_list() == ["shown"]
    text = prover.result([chosen]).proof
    assert "differ other" in text
    assert "set other1 reconstruction" in text or "set other2 reconstruction" in text
    assert check(written.text, text) == [True]
