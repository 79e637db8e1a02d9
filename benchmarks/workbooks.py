"""Judge how published workbooks are read, by a list that a person made of what they say.

``python -m benchmarks.workbooks ZIP…`` runs ``recon init`` on every workbook of zips (or folders),
then with the answers of ``workbooks.yaml`` where it asks, and ``recon ingest``; a count of the list
has to be among what was read, under its words; a percentage, a rate or money must not. What
``--yes`` alone, in place of the answers, reads otherwise is printed beside.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field

from benchmarks.publications.tool import Reading, Recon, read
from recon_cli.schema import load_release

LIST: Final = Path(__file__).with_suffix(".yaml")
#: Words of labels that say no more than that all are counted, and what sheets print beside them.
_SILENT: Final = frozenset(["total", "all", "agencies", "and", "of", "the", "number", "over"])


#: Row, column and number as they are printed, and what a draft calls it where that is otherwise.
Cell = tuple[str | int, str | int, int] | tuple[str | int, str | int, int, str | int]


class Workbook(BaseModel):
    """Hold what a person read in a workbook.

    Attributes:
        of: What its counts count; ``none`` if it has none.
        unit: What one is, if it is not one of them: thousands.
        cells: Row, column and number of counts as they are printed.
        others: Numbers that stand once on the sheet, and are no such counts.
        answers: The flags that answer what only the office knows.
    """

    model_config = ConfigDict(extra="ignore")

    of: str
    unit: str = Field("ones", alias="in")
    cells: tuple[Cell, ...] = ()
    others: tuple[int, ...] = Field((), alias="not")
    answers: str = ""

    def faults(self, found: Reading) -> list[str]:
        """Return what was read otherwise than it is printed."""
        texts: dict[int, list[str]] = {}
        for geoid, counts in found.counts.items():
            for cell, count in counts.items():
                if count.printed is not None:
                    text = f"{found.names.get(geoid, geoid)} {found.labels[cell]}"
                    texts.setdefault(count.printed, []).append(text)
        faults = [f"{number} is read as a count" for number in self.others if number in texts]
        for row, column, number, *called in self.cells:
            words = str(called[0]) if called else f"{row} {column}"
            if number not in texts:
                faults.append(f"{row}, {column}: {number} is not read")
            elif not any(_has_words(text, words) for text in texts[number]):
                faults.append(f"{row}, {column}: {number} is {texts[number][0]!r}")
        return faults


def _has_words(text: str, words: str) -> bool:
    have = re.sub(r"[^a-z0-9]+", " ", text.casefold())
    want = re.sub(r"[^a-z0-9]+", " ", words.casefold()).split()
    return all(word in have for word in want if word not in _SILENT)


def files_of(paths: Sequence[Path], folder: Path) -> Iterator[Path]:
    """Yield the workbooks of zips and folders."""
    for number, path in enumerate(paths):
        own = path
        if not path.is_dir():
            own = folder / f"zip {number}"
            with zipfile.ZipFile(path) as archive:
                archive.extractall(own)
        yield from sorted(each for each in own.rglob("*") if each.is_file())


def judge(tool: Recon, file: Path, folder: Path, said: Workbook) -> tuple[str, str]:
    """Return how a workbook was read, and a word on it."""
    ending, faults, line = _run(tool, file, folder / "plain", said, "")
    has_counts = said.of != "none" and bool(said.cells)
    if ending == "done":
        if not has_counts or said.unit != "ones":
            faults = ["read without a question", *faults]
        return ("wrong" if faults else "right"), "; ".join(faults)
    if ending != "asked" or not has_counts:
        return (ending if has_counts else f"{ending}, and has no counts"), line
    ending, faults, line = _run(tool, file, folder / "answered", said, said.answers)
    if ending != "done":
        return f"asked, answered, {ending}", line
    if faults:
        return "asked, answered, wrong", "; ".join(faults)
    yes, faults, _ = _run(tool, file, folder / "yes", said, "--yes")
    if yes == "crashed":
        return "crashed with --yes", ""
    others = [each for each in faults if "is not read" not in each]
    return "asked, answered, right", f"with --yes {'; '.join(others)}" if others else ""


def _run(
    tool: Recon, file: Path, folder: Path, said: Workbook, flags: str
) -> tuple[str, list[str], str]:
    """Return how ``recon init`` and ``recon ingest`` end, what is at fault, and a line."""
    folder.mkdir(parents=True)
    told = tool(folder, "init", str(file), *shlex.split(flags))
    if told.ending == "done":
        told = tool(folder, "ingest")
    lines = told.text.strip().splitlines() or [""]
    line = next((each for each in lines if each[:1] == "?"), lines[-1])
    if told.ending != "done":
        return told.ending, [], line
    config = yaml.safe_load((folder / "recon.yaml").read_text(encoding="utf-8"))
    schema = load_release(str(folder / config["release"]))
    return "done", said.faults(read(folder, "recon.yaml", schema)), line


def main() -> int:
    """Print how each workbook was read; fail if one was read wrong, or a command crashed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workbooks", description=__doc__)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="Part of a workbook's name.")
    args = parser.parse_args()
    known = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    endings: Counter[str] = Counter()
    tool = Recon()
    with tempfile.TemporaryDirectory() as name:
        for number, file in enumerate(files_of(args.paths, Path(name))):
            if args.only not in file.name:
                continue
            said = Workbook.model_validate(known[file.name])
            ending, line = judge(tool, file, Path(name) / f"run {number}", said)
            endings[ending] += 1
            sys.stdout.write(f"{file.name}: {ending}: {line.replace(name, '')[:300]}\n")
            sys.stdout.flush()
    tool.close()
    sys.stdout.write(", ".join(f"{ending} {n}" for ending, n in endings.most_common()) + "\n")
    return int(any("wrong" in ending or "crashed" in ending for ending in endings))


if __name__ == "__main__":
    sys.exit(main())
