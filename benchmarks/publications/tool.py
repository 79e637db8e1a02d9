"""The tool as a user has it: commands, and the files that they write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

import recon_cli as recon

# A command is a fork of a process that has imported the package, so that a thousand files need no
# thousand starts.
_SERVER: Final = """
import json, os, signal, sys, traceback
from recon_cli.cli import main
import polars, pydantic
try:
    main(["init", "--help"], prog_name="recon", standalone_mode=False)
    main(["ingest", "--help"], prog_name="recon", standalone_mode=False)
except SystemExit:
    pass
sys.stdout.flush()
print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(300)
        os.chdir(asked["folder"])
        out = os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            main(asked["args"], prog_name="recon")
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    print(os.waitstatus_to_exitcode(status), seconds, file=sys.stderr, flush=True)
"""


@dataclass(frozen=True)
class Told:
    """What a command said: its exit code, its words, and its processor seconds."""

    code: int
    text: str
    seconds: float

    @property
    def ending(self) -> str:
        """Return ``done``, ``asked`` (a flag answers it), ``refused`` or ``crashed``."""
        if self.code == 0:
            return "done"
        if "Traceback (most recent" in self.text or self.code < 0:
            return "crashed"
        if re.search(r"--[a-z]", self.text):
            return "asked"
        return "refused"


class Recon:
    """A package's command line, from its folder; the default is the one beside this file."""

    def __init__(self, package: Path | None = None) -> None:
        root = package or Path(__file__).parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(root), "NO_COLOR": "1", "COLUMNS": "400"},
        )
        if self._process.stdin is None or self._process.stderr is None:
            raise TypeError
        self._stdin, self._stderr = self._process.stdin, self._process.stderr
        self._answer()
        with tempfile.TemporaryDirectory() as folder:
            said = self(Path(folder), "init", "--help").text
        self.flags = frozenset(re.findall(r"--[a-z-]+", said))

    def __call__(self, folder: Path, *args: str) -> Told:
        """Run a command in a folder."""
        out = folder / "said.txt"
        asked = {"folder": str(folder), "out": str(out), "args": args}
        self._stdin.write(json.dumps(asked) + "\n")
        self._stdin.flush()
        code, seconds = self._answer().split()
        return Told(int(code), out.read_text(errors="replace"), float(seconds))

    def _answer(self) -> str:
        while line := self._stderr.readline():
            if line.strip() == "ready" or re.fullmatch(r"-?\d+ [\d.e-]+", line.strip()):
                return line.strip()
        message = "the command line ended"
        raise RuntimeError(message)

    def close(self) -> None:
        """End the process."""
        self._stdin.close()
        self._process.wait()


Masks = tuple[int, ...]
CellName = tuple[str, int]


@dataclass(frozen=True)
class Count:
    """A count as read: the number printed, none if it is withheld, and what it may be."""

    printed: int | None
    low: int
    high: int | None


@dataclass
class Reading:
    """What the tool took a file for.

    Attributes:
        names: Of each place's geoid what the file calls it.
        counts: By geoid and cell: those that are published; zeros included.
        cells: Of each cell the values of each feature that it counts, as bits.
        sizes: Of each feature the number of its values.
        unlisted: Geoids of which further parts are allowed for.
        labels: Of each cell the values that it counts.
        left_out: What the manifest says was not used.
    """

    names: dict[str, str]
    counts: dict[str, dict[CellName, Count]]
    cells: dict[CellName, Masks]
    labels: dict[CellName, str]
    sizes: tuple[int, ...]
    unlisted: frozenset[str] = frozenset()
    left_out: str = ""


def read(folder: Path, config: str, schema: Any) -> Reading:
    """Return what ``recon ingest`` wrote into the work folder of a config.

    Args:
        folder: Where the commands ran.
        config: The config's name.
        schema: The release, as the package loads it: its schema is what the reading means.
    """
    said = yaml.safe_load((folder / config).read_text(encoding="utf-8"))
    work = folder / said["work"]
    frame = pl.read_parquet(work / "tables/**/*.parquet")
    units = pl.read_parquet(work / "geounits/**/*.parquet")
    coverage = json.loads((work / "tables/_coverage.json").read_text(encoding="utf-8"))
    manifest = json.loads((work / "tables/_manifest.json").read_text(encoding="utf-8"))
    named = work / "geounits/_names.json"
    names = json.loads(named.read_text(encoding="utf-8")) if named.exists() else {}
    for name, geoid in ((said["ingest"].get("mapping") or {}).get("geoids") or {}).items():
        names.setdefault(str(geoid), str(name))
    tables = schema.table_by_name
    cells = {
        (name, cell.number): cell.masks for name, table in tables.items() for cell in table.cells
    }
    features = schema.features
    labels = {
        key: " ".join(
            " ".join(str(value) for bit, value in enumerate(feature.values) if mask >> bit & 1)
            for feature, mask in zip(features, masks, strict=True)
            if mask != (1 << len(feature.values)) - 1
        )
        for key, masks in cells.items()
    }
    has_law = "low" in frame.columns
    rows = {
        (row["geoid"], (row["table"], row["cell"])): Count(
            row["count"],
            row["low"] if has_law else row["count"],
            row["high"] if has_law else row["count"],
        )
        for row in frame.iter_rows(named=True)
    }
    beside = folder / (said["ingest"].get("protection") or "protection.yaml")
    law = recon.load_protection(beside, schema) if has_law and beside.exists() else None
    counts: dict[str, dict[CellName, Count]] = {}
    unlisted: set[str] = set()
    for row in units.iter_rows(named=True):
        geoid = row["geoid"]
        if geoid.endswith("_"):
            unlisted.add(geoid.rstrip("_"))
            continue
        covered: dict[CellName, Count] = {}
        for table, chosen in coverage[row["pattern"]]["tables"].items():
            low, high = law.ends_of_zero(table, row["level"]) if law else (0, 0)
            numbers = [c.number for c in tables[table].cells] if chosen == "all" else chosen
            for number in numbers:
                key = (table, number)
                covered[key] = rows.get((geoid, key), Count(0, low, high))
        counts[geoid] = covered
    return Reading(
        names={geoid: names.get(geoid, geoid) for geoid in counts},
        counts=counts,
        cells=cells,
        labels=labels,
        sizes=tuple(len(feature.values) for feature in features),
        unlisted=frozenset(unlisted),
        left_out=json.dumps(manifest.get("left_out", ""), ensure_ascii=False),
    )
