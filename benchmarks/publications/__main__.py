"""Draw files after real publications, and judge what ``recon`` reads in them.

``python -m benchmarks.publications draw --n 1000 --seed 1 --to FOLDER`` writes them;
``python -m benchmarks.publications judge --n 1000 --seed 1`` reads each with ``recon init`` and
``recon ingest``, answers what is asked with what is right, and compares every count with the truth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import recon_cli as recon

from .archetypes import ARCHETYPES
from .drawing import Drawn, draw
from .judging import VERDICTS, Verdict, judge
from .tool import Recon, Told, read

_ENDINGS = (*VERDICTS, "refused", "crashed", "asked on")


@dataclass
class Outcome:
    """What came of a file: a verdict or an ending, and whether questions were asked before."""

    verdict: Verdict
    asked: int = 0
    rows: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


def drawn(number: int, seed: int) -> list[Drawn]:
    """Return this many files, the archetypes in turn, each with a seed of its own."""
    names = list(ARCHETYPES)
    return [
        draw(ARCHETYPES[names[at % len(names)]], seed + at // len(names)) for at in range(number)
    ]


def _init(tool: Recon, folder: Path, file: Drawn) -> tuple[Told, int]:
    """Run ``recon init``, and again with the answers that it asks for; return the questions.

    A flag that a message names is given what is right; where it names none that has an answer, or
    the named ones do not do, all are given.
    """
    answers = {flag: said for flag, said in file.truth.answers.items() if f"--{flag}" in tool.flags}
    given: set[str] = set()
    told, asked = tool(folder, "init", file.file), 0
    while told.ending in ("asked", "refused") and given != set(answers):
        if told.ending == "refused" and not asked:
            break
        asked += 1
        named = {flag for flag in answers if f"--{flag}" in told.text} - given
        given |= named or set(answers)
        said = [
            arg for flag in sorted(given) for word in answers[flag] for arg in (f"--{flag}", word)
        ]
        told = tool(folder, "init", file.file, *said, "--force")
    return told, asked


def read_and_judge(tool: Recon, file: Drawn) -> Outcome:
    """Return what comes of a file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / file.file).write_bytes(file.data)
        told, asked = _init(tool, folder, file)
        rows = len({(cell.sheet, cell.row) for cell in file.truth.cells})
        outcome = Outcome(Verdict("right"), asked, rows, {"init": told.seconds})
        if told.code:
            ending = "asked on" if told.ending == "asked" else told.ending
            outcome.verdict = Verdict(
                ending, (told.text.strip().splitlines() or ["said nothing"])[-1][:300]
            )
            return outcome
        ingested = tool(folder, "ingest")
        outcome.seconds["ingest"] = ingested.seconds
        if ingested.code:
            ending = "crashed" if ingested.ending == "crashed" else "refused"
            about = "ingest: " + ingested.text.strip().splitlines()[-1][:300]
            outcome.verdict = Verdict(ending, about)
            return outcome
        config = (folder / "recon.yaml").read_text(encoding="utf-8")
        release = next(
            line.split(":", 1)[1].strip()
            for line in config.splitlines()
            if line.startswith("release:")
        )
        path = folder / release
        schema = recon.load_release(str(path) if path.exists() else release)
        reading = read(folder, "recon.yaml", schema)
        outcome.verdict = judge(file.truth, reading, told.text + ingested.text)
        return outcome


def _report(outcomes: dict[str, list[Outcome]]) -> str:
    width = max(len(name) for name in outcomes)
    heads = ["files", "asked", *_ENDINGS]
    lines = [" " * width + "".join(f"{head:>10}" for head in heads)]
    total: Counter[str] = Counter()
    for name, found in outcomes.items():
        counts = Counter(outcome.verdict.name for outcome in found)
        counts["files"], counts["asked"] = len(found), sum(o.asked > 0 for o in found)
        total += counts
        lines.append(f"{name:{width}}" + "".join(f"{counts[head] or '':>10}" for head in heads))
    lines.append(f"{'all':{width}}" + "".join(f"{total[head] or '':>10}" for head in heads))
    for command in ("init", "ingest"):
        all_of = [o for found in outcomes.values() for o in found if command in o.seconds]
        seconds = sum(outcome.seconds[command] for outcome in all_of)
        rows = sum(outcome.rows for outcome in all_of)
        lines.append(f"{command}: {rows / max(seconds, 1e-9):,.0f} rows a second of processor time")
    return "\n".join(lines) + "\n"


def _judge(tool: Recon, files: list[Drawn]) -> dict[str, list[Outcome]]:
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for file in files:
        outcome = read_and_judge(tool, file)
        outcomes[file.archetype.name].append(outcome)
        if outcome.verdict.name != "right":
            sys.stdout.write(
                f"{file.archetype.name} {file.seed}: {outcome.verdict.name}"
                f"{' after a question' * bool(outcome.asked)}: {outcome.verdict.about}\n"
            )
            sys.stdout.flush()
    return outcomes


def main() -> int:
    """Do what the command line says; 1 if a file was silently read wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.publications", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("draw", "judge"):
        command = commands.add_parser(name)
        command.add_argument("--n", type=int, default=1000)
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--only", help="the archetypes with this in their name")
        if name == "draw":
            command.add_argument("--to", type=Path, required=True)
        else:
            command.add_argument("--beside", type=Path, help="a folder with another recon_cli")
    given = parser.parse_args()
    files = drawn(given.n, given.seed)
    files = [file for file in files if (given.only or "") in file.archetype.name]
    if given.command == "draw":
        for file in files:
            folder = given.to / f"{file.seed}-{Path(file.file).stem}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / file.file).write_bytes(file.data)
        sys.stdout.write(f"{len(files)} files of {len(ARCHETYPES)} archetypes in {given.to}\n")
        return 0
    wrong = False
    for package in (None, given.beside) if given.beside else (None,):
        tool = Recon(package)
        outcomes = _judge(tool, files)
        tool.close()
        sys.stdout.write(f"{package or 'this version'}\n{_report(outcomes)}")
        wrong |= package is None and any(
            outcome.verdict.name == "wrong" for found in outcomes.values() for outcome in found
        )
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
