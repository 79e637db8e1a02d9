"""One tract in the study's own formulation, beside ours, in one run: ``python -m benchmarks.peer``.

Ours, HiGHS and CP-SAT each start from the same ingested tables in a process of their own, one
thread each, one after the other. The verifier compares every published cell with each answer,
and each answer's histogram with ours: a wrong answer fails the run, a long time never does.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import (
    REFERENCE,
    RESULTS,
    ROOT,
    Record,
    circumstances,
    keep,
    module,
    recon,
    say,
)
from benchmarks.peer.ratios import compare

#: The real tract of 1,170 people beside the checkout, or a synthetic one of the shipped toy.
REAL = (ROOT.parent / "shared" / "data" / "sf1" / "nd2010.sf1.zip", "38005956500")
TOY = (ROOT / "fixtures" / "toy2010.sf1.zip", "01841000100")
#: Wall seconds after which an engine is stopped.
CAP = 900

Answer = dict[str, Any]


def face(work: Path, tract: str, engines: Mapping[str, int], cap: float) -> Record:
    """Solve with everybody, verify, compare.

    Args:
        work: A work folder with an ingested release.
        tract: One of its tracts.
        engines: ``highs``, ``cpsat`` → threads; 0 is the engine's own default.
        cap: Wall seconds for each.

    Raises:
        SystemExit: A process failed, or an answer is wrong.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder, start = Path(scratch), (work, tract)
        answers: dict[str, Answer] = {}
        for name, threads in engines.items():
            out = folder / f"{name}.json"
            limits = ("--threads", threads, "--seconds", cap)
            module(f"peer.{name}", *start, out, *limits)
            answers[name] = {**json.loads(out.read_text()), "threads": threads}
            report(name, answers[name])
        module("peer.ours", *start, folder / "ours.json")
        ours = json.loads((folder / "ours.json").read_text())
        report("ours", ours)
        solved = [name for name, answer in answers.items() if answer["solved"]]
        verdict = folder / "verdict.json"
        found = [folder / f"{name}.parquet" for name in (*solved, "ours")]
        module("peer.verdict", *start, verdict, *found)
        words = json.loads(verdict.read_text())
    unique = set(ours["blocks"]) == {"unique"}
    for name in solved:
        if unique and not words[name]["histogram_as_ours"]:
            raise SystemExit(f"{name} and ours differ, though ours is proven the only one")
    return {
        "tract": tract,
        "proven_unique": unique,
        "cap_seconds": cap,
        "ours": ours,
        "peers": answers,
        "verified": words,
        "ratios": {name: compare(answer, ours) for name, answer in answers.items()},
    }


def report(name: str, answer: Answer) -> None:
    """Say what a process took."""
    parts = {part: of for part, of in answer["parts"].items() if not part.startswith("again")}
    seconds = sum(part["seconds"] for part in parts.values())
    say(f"{name}: {answer['status']}", seconds, max(part["peak_mb"] for part in parts.values()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print every ratio, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    zip_file, tract = REAL if REAL[0].exists() else TOY
    parser.add_argument("--zip", type=Path, default=zip_file, help="a Summary File 1 zip")
    parser.add_argument("--tract", default=tract)
    parser.add_argument("--cap", type=float, default=CAP, help="wall seconds for each engine")
    parser.add_argument("--engines", nargs="+", default=["highs", "cpsat"])
    parser.add_argument("--threads", type=int, default=1, help="0: what the engine takes itself")
    parser.add_argument("--reference", action="store_true", help="keep the figures in git")
    options = parser.parse_args(arguments)
    facts = circumstances()
    engines = dict.fromkeys(options.engines, options.threads)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work"
        recon(
            *("ingest", "--work", work, "--set", "release=sf1_2010"),
            *("--set", "ingest.source=sf1-legacy"),
            *("--set", f"ingest.paths=[{options.zip.resolve()}]"),
        )
        figures = face(work, options.tract, engines, options.cap)
    ratios: Any = figures["ratios"]
    for name, definitions in ratios.items():
        for what, row in definitions.items():
            sys.stdout.write(
                f"  {name:6} {what:18} wall x {row['time_ratio']:8,.1f}  "
                f"CPU x {row['cpu_ratio']:8,.1f}  memory x {row['memory_ratio']:6,.1f}\n"
            )
    keep("peer", facts, figures, folder=REFERENCE if options.reference else RESULTS)


if __name__ == "__main__":
    main()
