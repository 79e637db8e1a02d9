"""Hold what is published against golden digests: ``python -m benchmarks.same_content``.

Runs the toy county, the clinic, the hospital (exact, and with stars and rounded to threes, both in
a zip), an office's workbook from `recon init` on, two real tracts where ``../shared`` is there, a
synthetic population that is swapped, linked and scored, and five small runs that have every stage
there is. Each published folder has a digest of the rows of its tables, whatever their order, and
of its texts but for times. ``golden.json`` keeps the digests; ``--write`` makes them anew after a
change that means to change them. The exit code says whether all is the same.

``--beside FOLDER`` runs another version as well (FOLDER is what ``git archive COMMIT recon_cli |
tar x -C FOLDER`` leaves) and prints which columns differ, and in how many rows. Digests are of the
libraries in the lock file: another scipy or ortools finds other solutions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from benchmarks.machine import ROOT
from recon_cli.schema import Release, load_release
from recon_cli.version import __version__
from tests.support.all_stages import RUNS, write_inputs

GOLDEN: Final = ROOT / "benchmarks" / "golden.json"
FIXTURES: Final = ROOT / "fixtures"
HOSPITAL: Final = FIXTURES / "hospital"
SHARED: Final = ROOT.parent / "shared" / "data" / "sf1"
#: Of the synthetic population.
PEOPLE: Final = 10_000
ROUNDED: Final = "release: stays\nstatements:\n  - law: {rounded: {base: 3, how: nearest}}\n"
#: What pages name as their maker, whatever its version.
MAKER: Final = "recon-cli 0.2.0"
#: Endings of texts that are published.
TEXTS: Final = frozenset({".csv", ".html", ".md", ".proof", ".tables", ".txt", ".yaml", ".json"})
#: Times and durations in published texts; a line that has a date is left out.
VOLATILE: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[\w.:+-]*|\b[\d.,]+ (ms|s|seconds|minutes|MB)\b"
    r"|\"(seconds|started|finished|made|version|peak_mb)\": [^,}\n]+"
)


@dataclass(frozen=True)
class Case:
    """Commands over files that are the same for every version.

    Attributes:
        config: Content of ``recon.yaml``; its work folder is ``work`` beside it.
        before: Words of commands that run first, in the folder of ``recon.yaml``. Where they write
            it, `config` is added to what they wrote.
        files: Writes further files into that folder.
    """

    config: Mapping[str, Any]
    before: Sequence[Sequence[str]] = ()
    files: Callable[[Path], None] = lambda _: None


def cases(inputs: Path) -> dict[str, Case]:
    """Make the files of every case in ``inputs``, and name the cases."""
    inputs.mkdir()
    toy = {
        "release": "sf1_2010",
        "ingest": {"source": "sf1-legacy", "paths": [str(FIXTURES / "toy2010.sf1.zip")]},
        "reconstruct": {"tables": "block+tract"},
        **dict.fromkeys(("solvar", "claims", "prove", "report")),
    }
    clinic = {
        "release": "clinic_visits",
        "ingest": {"source": "tidy", "paths": [str(FIXTURES / "clinic_visits.csv")]},
        "reconstruct": {"tables": "clinic+district"},
        "solvar": {"intervals": "propagation"},
        "claims": None,
    }
    stays = {
        "release": str(HOSPITAL / "stays.yaml"),
        "ingest": {"source": "tidy", "paths": [str(HOSPITAL / "tables.csv")]},
        "reconstruct": None,
        "solvar": None,
        "claims": {"unit_seconds": 0.5},
    }
    release = load_release(str(HOSPITAL / "stays.yaml"))
    stars = pl.read_csv(
        HOSPITAL / "suppressed" / "tables.csv", schema_overrides={"count": pl.String}
    )
    threes = pl.read_csv(HOSPITAL / "tables.csv").with_columns(
        ((pl.col("count") + 1) // 3 * 3).cast(pl.String)
    )
    law = (HOSPITAL / "suppressed" / "protection.yaml").read_text()
    school = Case(
        {"claims": {"unit_seconds": 0.2}, "report": None},
        [["init", str(FIXTURES / "offices" / "schools.xlsx"), "--to", "recon.yaml"]],
    )
    real = {
        f"tract {state}": Case(
            {
                **toy,
                "ingest": {"source": "sf1-legacy", "paths": [str(SHARED / f"{state}2010.sf1.zip")]},
            }
        )
        for state in ("al", "tx")
        if SHARED.is_dir()
    }
    return {
        "toy": Case(toy),
        "clinic": Case(clinic),
        "hospital": Case(stays),
        "suppressed zip": Case(zipped(release, stars, inputs / "stars", law)),
        "rounded zip": Case(zipped(release, threes, inputs / "threes", ROUNDED)),
        "schools": school,
        **real,
        "nation": nation(inputs),
        **{
            name: Case(seeded(yaml.safe_load(text)), files=write_inputs)
            for name, text in RUNS.items()
        },
    }


def zipped(
    release: Release, counts: pl.DataFrame, folder: Path, protection: str
) -> Mapping[str, Any]:
    """Write a row per place and a column per cell into a zip, and the protection beside it."""
    folder.mkdir()
    codes = {
        f"{table.name} {cell}": code
        for table in release.tables
        for cell, code in enumerate(table.codes, start=1)
    }
    wide = counts.with_columns(header=pl.format("{} {}", "table", "cell")).pivot(
        "header", index="geoid", values="count"
    )
    text = wide.with_columns(pl.exclude("geoid").fill_null("0")).write_csv()
    with zipfile.ZipFile(folder / "tables.zip", "w") as archive:
        archive.writestr("tables.csv", text)
    (folder / "protection.yaml").write_text(protection)
    columns = {header: codes[header] for header in wide.columns[1:]}
    return {
        "release": str(HOSPITAL / "stays.yaml"),
        "ingest": {
            "source": "sheet",
            "paths": [str(folder / "tables.zip")],
            "protection": str(folder / "protection.yaml"),
            "mapping": {"place": "geoid", "columns": columns},
        },
        "reconstruct": None,
        "claims": {"unit_seconds": 0.5},
        "audit": None,
    }


def nation(inputs: Path) -> Case:
    """Make a synthetic population, swap it and tabulate it; then attack, link and score it."""
    home = inputs / "made"
    published = home / "nation.study.parquet"
    made = {
        "release": "sf1_2010",
        "synth": {"people": PEOPLE},
        "swap": {"setting": "targeted", "study_seed": 1},
        "tabulate": {"records": str(home / "work" / "hdf"), "to": str(published)},
    }
    run(ROOT, Case(made), home)
    attack = {
        "release": "sf1_2010",
        "ingest": {"source": "tidy", "paths": [str(published)]},
        "reconstruct": {"tables": "block+tract"},
        "solvar": {"intervals": "propagation"},
        "link": {
            "cef": str(home / "work" / "persons"),
            "hdf": str(home / "work" / "hdf"),
            "attackers": {"COMRCL": str(home / "work" / "comrcl")},
        },
        "score": None,
        "report": None,
    }
    return Case(attack)


def seeded(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace the secret chance of protections by a seed."""
    chance = ("round", "cellkey", "noise", "topdown", "randomize")
    return {
        name: {**section, "study_seed": 1} if name in chance else section
        for name, section in config.items()
    }


def run(version: Path, case: Case, home: Path) -> None:
    """Run the commands of a case by one version, in ``home``."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(version)}

    def recon(*words: str) -> None:
        command = [sys.executable, "-m", "recon_cli", *words]
        subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)

    case.files(home)
    for words in case.before:
        recon(*words)
    path = home / "recon.yaml"
    drafted = yaml.safe_load(path.read_text()) if path.exists() else {}
    config = {**drafted, **case.config, "work": "work", "seed": 1}
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    recon("run", "-q", "-c", "recon.yaml")


def tables(work: Path) -> dict[str, pl.DataFrame]:
    """Read the rows of all Parquet files of each published folder."""
    folders = sorted(
        {str(path.relative_to(work).parts[0]) for path in work.glob("[!.]*/**/*.parquet")}
    )
    return {
        name: pl.concat(
            [pl.read_parquet(path, hive_partitioning=False) for path in files],
            how="diagonal_relaxed",
        )
        for name in folders
        for files in [sorted((work / name).glob("**/*.parquet"))]
    }


def digests(work: Path) -> dict[str, str]:
    """Digest the rows of each folder's tables, and its texts without their times."""
    found = {f"{name}/": digest(content(frame)) for name, frame in tables(work).items()}
    texts: dict[str, list[str]] = {}
    for path in sorted(work.glob("[!.]*/**/*")):
        is_manifest = path.name.startswith("_") or path.parent.name == "manifests"
        if path.is_file() and path.suffix in TEXTS and not is_manifest:
            inside = path.relative_to(work)
            lines = (line for line in path.read_text().splitlines() if "UTC" not in line)
            text = VOLATILE.sub("", "\n".join([str(inside), *lines]))
            text = text.replace(f"recon-cli {__version__}", MAKER)
            texts.setdefault(f"{inside.parts[0]}/ texts", []).append(text)
    return found | {name: digest("\n".join(each)) for name, each in texts.items()}


def content(frame: pl.DataFrame) -> str:
    """Write the rows as sorted lines, below the names and types of the columns."""
    rows = sorted(frame.select(sorted(frame.columns)).write_ndjson().splitlines())
    return "\n".join([str(sorted(frame.schema.items())), *rows])


def digest(text: str) -> str:
    """Return the first half of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def difference(before: pl.DataFrame, now: pl.DataFrame) -> str:
    """Say which columns that both have differ, and in how many rows."""
    both = [column for column in before.columns if column in now.columns]
    gone = [column for column in before.columns if column not in now.columns]
    told = f"; no longer there: {', '.join(gone)}" if gone else ""
    old, new = (frame.select(both).sort(both) for frame in (before, now))
    if old.equals(new):
        return f"same: {old.height:,} rows, {len(both)} columns{told}"
    if old.height != new.height:
        lost = old.join(new, on=both, how="anti", nulls_equal=True).height
        return (
            f"DIFFERS: {old.height:,} rows before, {new.height:,} now, "
            f"{lost:,} of the former not among them{told}"
        )
    other = before.select(both).hstack(now.select(pl.col(both).name.suffix(" now")))
    rows = {
        column: other.filter(pl.col(column).ne_missing(pl.col(f"{column} now"))).height
        for column in both
    }
    listed = ", ".join(f"{column} {found:,}" for column, found in rows.items() if found)
    return f"DIFFERS: of {old.height:,} rows, row by row: {listed or 'their order'}{told}"


def compare_versions(case: str, before: Path, now: Path) -> bool:
    """Print how the tables of two versions differ, and return whether they do."""
    old, new = tables(before), tables(now)
    differs = False
    for folder, frame in old.items():
        found = difference(frame, new[folder]) if folder in new else "GONE"
        differs |= not found.startswith("same")
        say(f"{case}: {folder}: {found}")
    return differs


def compare_digests(golden: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Print which folders and texts are not as they were, and return whether any is not."""
    names = sorted({*golden, *now})
    changed = [name for name in names if golden.get(name) != now.get(name)]
    for name in changed:
        what = "changed" if name in golden and name in now else "new" if name in now else "GONE"
        say(f"{what}: {name}")
    say(f"{len(names) - len(changed)} of {len(names)} folders and texts are as they were")
    return bool(changed)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run every case, and hold it against the digests or another version."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="make the golden digests anew")
    parser.add_argument("--beside", type=Path, help="another version to run as well")
    parser.add_argument("--only", action="append", help="this case; may be repeated")
    parser.add_argument("--keep", type=Path, help="keep the work folders here")
    options = parser.parse_args()
    is_anew = options.write and not options.only
    golden: dict[str, dict[str, str]] = {} if is_anew else json.loads(GOLDEN.read_text())
    differs = False
    with tempfile.TemporaryDirectory() as name:
        home = (options.keep or Path(name)).resolve()
        home.mkdir(parents=True, exist_ok=True)
        for case, commands in cases(home / "inputs").items():
            if options.only and case not in options.only:
                continue
            place = case.replace(" ", "_")
            run(ROOT, commands, home / "now" / place)
            now = digests(home / "now" / place / "work")
            say(f"{case}:")
            if options.write:
                golden[case] = now
                say(f"{len(now)} digests")
            elif options.beside:
                run(options.beside.resolve(), commands, home / "before" / place)
                before = home / "before" / place / "work"
                differs |= compare_versions(case, before, home / "now" / place / "work")
            else:
                differs |= compare_digests(golden.get(case, {}), now)
    if options.write:
        GOLDEN.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
    sys.exit(differs)


if __name__ == "__main__":
    main()
