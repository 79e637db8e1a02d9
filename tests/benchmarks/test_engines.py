"""What the pages say of the engines is what was measured, and nothing proven depends on them."""

from __future__ import annotations

from benchmarks.engines.__main__ import WAYS, _proven
from benchmarks.engines.tables import PAGES, TITLE, agreement_section, read_result, with_section


def test_the_section_is_that_of_the_measurements() -> None:
    section = agreement_section(read_result())
    for path in PAGES:
        text = path.read_text()
        assert with_section(text, section) == text, f"python -m benchmarks.engines.tables: {path}"
        assert text.count(TITLE) == 1


def test_every_engine_solved_and_proved_the_same() -> None:
    result = read_result()
    assert {case["kind"] for case in result["cases"].values()} == {"toy", "real", "tract", "nation"}
    for case in result["cases"].values():
        for source in ("rHDF_bt", "rHDF_b"):
            ways = case[source]
            assert {"auto", "CP-SAT", "HiGHS", "SCIP"} <= set(ways) <= set(WAYS)
            assert all(found["solved"] for found in ways.values())
            first = _proven(ways["auto"])
            assert first["cells_compared"] > 5_000
            assert all(_proven(found) == first for found in ways.values())
