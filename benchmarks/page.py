"""``docs/performance.md`` from ``benchmarks/reference/*.json``: ``python -m benchmarks.page``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.machine import REFERENCE, ROOT
from benchmarks.nation import AUDIT, EXACT, MAKING
from benchmarks.peer.ratios import DEFINITIONS
from benchmarks.projection import BLOCKS, PEOPLE, project

PAGE = ROOT / "docs" / "performance.md"
Result = Mapping[str, Any]

#: Core-hours that the nation may take.
_TARGETS = {"reconstruct": 3, "solvar relaxed": 10, "solvar exact": 120, "link + score": 6}
_ENGINES = {"highs": "HiGHS", "cpsat": "CP-SAT"}

_HEAD = """# What it costs

Made by `python -m benchmarks.page` from `benchmarks/reference/*.json`; do not edit. `make bench`
measures again into `benchmarks/results/`; every benchmark takes `--reference` to keep its figures
here. Times are of whole commands seen from outside, start-up and worker processes included.
*Core-seconds* are wall time × workers, idle or not, or CPU time where that is more; *MB* is the
largest resident memory of any one process.
"""


def render(results: Mapping[str, Result]) -> str:
    """The page; a section for each benchmark that there is a result of."""
    growth = sorted(
        (result for name, result in results.items() if name.startswith("growth-")),
        key=lambda result: int(result["people"]),
    )
    parts = [_HEAD]
    if growth:
        parts += [_growth(growth), _projection(growth)]
    for name, section in (("peer", _peer), ("workers", _workers), ("hard", _hard)):
        if name in results:
            parts.append(section(results[name]))
    return "\n".join(parts)


def _growth(runs: Sequence[Result]) -> str:
    stages = [step.name for step in (*MAKING, *AUDIT)]
    rows = []
    for stage in (*stages, EXACT.name):
        cells = [stage]
        for run in runs:
            measured = run["stages"][stage]
            people = run["sample"]["blocks"]["people"] if stage == EXACT.name else run["people"]
            rate = people / measured["core_seconds"]
            cells.append(
                f"{measured['wall_seconds']:,.1f} s, {rate:,.0f}/s, {measured['peak_mb']:,.0f} MB"
            )
        rows.append([*cells, _exponent(project(runs, stage).exponent)])
    header = ["stage", *(f"{run['people']:,} people" for run in runs), "growth"]
    sample = max(runs, key=lambda run: int(run["people"]))["sample"]["blocks"]
    return "\n".join(
        [
            "## Growth\n",
            "Synthetic populations (`recon synth`, `protect swap`, `tabulate`), then the audit: "
            "wall time, people per core-second, memory. The first four stages make the nation. "
            f"Workers: {runs[-1]['workers']}. `solvar` has its intervals by propagation; exact "
            f"solvar is of a sample of tracts ({sample['people']:,} people in "
            f"{sample['units']:,} blocks in the last column). *Growth* is the exponent of "
            "core-seconds over people, fitted from 10^5 people up (1 = in proportion).\n",
            _table(header, rows),
            "",
            *_circumstances(runs),
        ]
    )


def _projection(runs: Sequence[Result]) -> str:
    rows = []
    for name, target in _TARGETS.items():
        found = [project(runs, stage) for stage in name.split(" + ")]
        hours = sum(each.core_hours for each in found)
        rows.append(
            [
                name,
                f"{found[0].from_people:,}",
                f"{sum(each.core_seconds for each in found):,.0f}",
                f"{sum(each.by_people for each in found):,.2f}",
                f"{sum(each.by_blocks for each in found):,.2f}",
                f"**{hours:,.2f}**",
                f"{target:,}",
                f"{max(each.peak_mb for each in found):,.0f}",
            ]
        )
    header = [
        "stage",
        "measured on",
        "core-seconds",
        "by people",
        "by blocks",
        "core-hours",
        "target",
        "MB",
    ]
    return "\n".join(
        [
            f"## The nation: {PEOPLE:,} people, {BLOCKS:,} inhabited blocks\n",
            "Core-hours in proportion to people, in proportion to inhabited blocks, and the larger "
            "of the two times what a growth exponent above 1 adds on the way to the nation. "
            "Assumed: blocks are distributed like the synthetic ones (which follow Table 7 of the "
            "study), nothing is done twice, files are on a local disk.\n",
            _table(header, rows),
            "",
        ]
    )


def _peer(result: Result) -> str:
    rows = []
    for name, ratios in result["ratios"].items():
        rows += [
            [
                _ENGINES[name],
                definition,
                f"{ratios[definition]['peer_seconds']:,.1f}",
                f"{ratios[definition]['our_seconds']:,.3f}",
                f"**{ratios[definition]['time_ratio']:,.0f}**",
                f"{ratios[definition]['cpu_ratio']:,.0f}",
                f"{ratios[definition]['peer_memory_mb']:,.0f}",
                f"{ratios[definition]['our_memory_mb']:,.0f}",
                f"**{ratios[definition]['memory_ratio']:,.0f}**",
            ]
            for definition in DEFINITIONS
        ]
    first = next(iter(result["peers"].values()))
    verified = result["verified"]["ours"]
    outcomes = "; ".join(
        f"{_ENGINES[name]}: {answer['status']}, threads {answer['threads'] or 'its own default'}"
        for name, answer in result["peers"].items()
    )
    header = [
        "engine",
        "counted",
        "peer s",
        "our s",
        "times",
        "times CPU",
        "peer MB",
        "our MB",
        "times",
    ]
    return "\n".join(
        [
            "## The study's own formulation\n",
            f"Tract {result['tract']} ({verified['people']:,} people), all 34 tables, in one run: "
            "one binary for every potential person (for each person that P12 counts in a block, "
            f"each age of the group, race and ethnicity: {first['binaries']:,}), a row for every "
            f"published cell that concerns one ({first['rows']:,}; {first['nonzeros']:,} "
            f"non-zeros). Outcome: {outcomes}. The verifier found all "
            f"{verified['cells_equal']:,} cells equal in every answer, and every histogram the "
            "same as ours.\n",
            _table(header, rows),
            "",
            "*whole process*: interpreter, imports, reading, building, solving; memory is all that "
            "was resident. *counts to records*: without start-up and reading; memory, "
            "from here on, is what came on top of the imports. *plan made before*: without closing "
            "the tables under subtraction, which depends on the tables alone and is done once. "
            "*a further tract*: median of repetitions in the same process. *engine alone*: the "
            "peer's solving only, against all that we do for a further tract.\n",
            *_circumstances([result]),
        ]
    )


def _workers(result: Result) -> str:
    rows = []
    for stage, costs in result["stages"].items():
        one, two = costs["1"], costs["2"]
        rows.append(
            [
                stage,
                f"{one['wall_seconds']:,.1f}",
                f"{two['wall_seconds']:,.1f}",
                f"**{costs['times_as_fast']:.2f}**",
                *(f"{each['cpu_seconds']:,.1f}" for each in (one, two)),
                *(f"{each['peak_mb']:,.0f}" for each in (one, two)),
            ]
        )
    header = [
        "stage",
        "1 worker, s",
        "2 workers, s",
        "times as fast",
        "CPU s (1)",
        "CPU s (2)",
        "MB (1)",
        "MB (2)",
    ]
    return "\n".join(
        [
            f"## Two workers\n\n{result['people']:,} people, each the fastest of "
            f"{result['rounds']} runs; every worker has one thread. All three together: "
            f"**{result['times_as_fast']:.2f}** times as fast. Two processes that only add numbers "
            f"do {result['machine_gives']:.2f} times what one does on this machine, on that day. "
            "Where two workers take more CPU seconds for the same work than one, the cores slow "
            "each other down.\n",
            _table(header, rows),
            "",
            *_circumstances([result]),
        ]
    )


def _hard(result: Result) -> str:
    rows = []
    for name, case in result["cases"].items():
        for stage in ("reconstruct", "solvar relaxed", "solvar exact"):
            if stage in case:
                of = case[stage]
                rows.append(
                    [
                        name if stage == "reconstruct" else "",
                        stage,
                        f"{of['wall_seconds']:,.1f}",
                        f"{of['peak_mb']:,.0f}",
                        _outcome(stage, of["found"]),
                    ]
                )
    return "\n".join(
        [
            "## Hard tracts\n",
            "Very mixed people: everybody's sex, age, race and ethnicity are drawn by themselves, "
            "alike in all blocks (`benchmarks/mixed.py`). One worker, the usual budgets.\n",
            _table(["tract", "stage", "s", "MB", "blocks"], rows),
            "",
            *_circumstances([result]),
        ]
    )


def _outcome(stage: str, found: Mapping[str, int] | str) -> str:
    if isinstance(found, str):
        return "no solution and no proof within the budget"
    names = ("unique", "solved") if stage == "reconstruct" else ("proven", "bounded", "open")
    words = {"unique": "proven unique", "solved": "solved, not unique or not proven"}
    return ", ".join(
        f"{found[name]:,} {words.get(name, name)}" for name in names if found.get(name)
    )


def _exponent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _circumstances(results: Iterable[Result]) -> list[str]:
    """A line for each machine, day and set of versions."""
    lines: dict[str, None] = {}
    for result in results:
        machine, versions = result["machine"], result["versions"]
        packages = ", ".join(f"{name} {number}" for name, number in versions.items())
        lines[
            f"{result['date']}, {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_gb']:.0f} GB, {machine['system']}; {packages}; load before "
            f"{result['load_before']}."
        ] = None
    return [*lines, ""]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read_reference() -> dict[str, Result]:
    """Every kept result, by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(REFERENCE.glob("*.json"))}


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(read_reference()))


if __name__ == "__main__":
    main()
