"""How many times more the peer takes: every definition that somebody may mean."""

from __future__ import annotations

from statistics import median
from typing import Any

Parts = dict[str, dict[str, float]]

#: What a definition counts of the peer and of ours; ``again`` is the median of the repetitions.
DEFINITIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # with interpreter, imports and reading
    "whole process": (
        ("start", "read", "formulate", "pass", "solve", "records"),
        ("start", "read", "plan", "solve", "records"),
    ),
    # published counts in memory to records in a file
    "counts to records": (
        ("formulate", "pass", "solve", "records"),
        ("plan", "solve", "records"),
    ),
    # the plan depends on the tables, not on the tract: a run makes it once
    "plan made before": (
        ("formulate", "pass", "solve", "records"),
        ("solve", "records"),
    ),
    # as for each further tract of a run
    "a further tract": (("formulate", "pass", "solve"), ("again",)),
    # the peer's engine alone, against all that we do
    "engine alone": (("solve",), ("again",)),
}


def compare(peer: dict[str, Any], ours: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Seconds, CPU seconds and memory of both by every definition, and how many times more.

    Memory is the highest peak of the counted parts. Where the start counts it is all that was
    resident, else what was above the start: without interpreter and imports.
    """
    found = {}
    for name, (theirs, own) in DEFINITIONS.items():
        one, other = _cost(peer["parts"], theirs), _cost(_with_again(ours["parts"]), own)
        found[name] = {
            **{f"peer_{key}": round(value, 4) for key, value in one.items()},
            **{f"our_{key}": round(value, 4) for key, value in other.items()},
            "time_ratio": round(one["seconds"] / other["seconds"], 1),
            "cpu_ratio": round(one["cpu_seconds"] / other["cpu_seconds"], 1),
            "memory_ratio": round(one["memory_mb"] / max(other["memory_mb"], 0.1), 1),
        }
    return found


def _cost(parts: Parts, counted: tuple[str, ...]) -> dict[str, float]:
    here = [parts[name] for name in counted if name in parts]  # no records without a solution
    before = 0.0 if "start" in counted else parts["start"]["left_mb"]
    return {
        "seconds": sum(part["seconds"] for part in here),
        "cpu_seconds": sum(part["cpu_seconds"] for part in here),
        "memory_mb": max(part["peak_mb"] for part in here) - before,
    }


def _with_again(parts: Parts) -> Parts:
    """With the median of the repetitions in place of them."""
    again = [part for name, part in parts.items() if name.startswith("again")]
    once = {name: part for name, part in parts.items() if not name.startswith("again")}
    once["again"] = {key: median(part[key] for part in again) for key in again[0]}
    return once
