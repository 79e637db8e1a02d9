"""What of a run is certified, and what that costs: ``python -m benchmarks.certificates CASE…``.

Each case is run as a user does, then `recon prove` alone, then the checker on every region. Zips of
counties are given as paths: ``python -m benchmarks.certificates toy some/nd2010.sf1.zip``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import polars as pl

from benchmarks.machine import ROOT, Record, circumstances, keep, recon
from benchmarks.office.publication import BASE, ROUNDED, SCHOOLS, WARDS, write

HOSPITAL = ROOT / "fixtures" / "hospital"
_SF1 = """\
release: sf1_2010
work: work
seed: 1
ingest: {{source: sf1-legacy, paths: [{path}]}}
reconstruct: {{tables: block+tract}}
solvar:
claims:
prove:
"""
_HOSPITAL = f"""\
release: {HOSPITAL}/stays.yaml
work: work
seed: 1
ingest: {{{{source: tidy, paths: {{path}}}}}}
reconstruct:
audit:
claims:
prove:
"""
_CLINIC = f"""\
release: clinic_visits
work: work
seed: 1
ingest: {{source: tidy, paths: [{ROOT}/fixtures/clinic_visits.csv]}}
reconstruct: {{tables: clinic+district}}
solvar: {{intervals: propagation}}
claims:
prove:
"""
_OFFICES = {"schools": SCHOOLS, "schools-rounded": ROUNDED, "wards-rounded": WARDS}
CASES = ("toy", "clinic", "hospital", "hospital-stars", "hospital-rounded", *_OFFICES)


def prepare(case: str, folder: Path) -> Path:
    """Write the config of a case."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "recon.yaml"
    if case in _OFFICES:
        write(_OFFICES[case], folder)
        stages = "reconstruct:\nclaims:\nprove:\n"
        config.write_text(config.read_text() + stages)
    elif case == "clinic":
        config.write_text(_CLINIC)
    elif case == "hospital-rounded":
        write_rounded(folder)
        config.write_text(_HOSPITAL.format(path="[tables.csv], protection: protection.yaml"))
    elif case.startswith("hospital"):
        inner = "suppressed/" if case.endswith("stars") else ""
        config.write_text(_HOSPITAL.format(path=f"[{HOSPITAL}/{inner}tables.csv]"))
    else:
        path = ROOT / "fixtures" / "toy2010.sf1.zip" if case == "toy" else Path(case).resolve()
        config.write_text(_SF1.format(path=path))
    return config


def write_rounded(folder: Path) -> None:
    """The hospital's counts, each rounded to base 3 by itself, without bias."""
    chance = Random(1)  # noqa: S311 - no secret
    lines = (HOSPITAL / "tables.csv").read_text().splitlines()
    rows = [lines[0]]
    for line in lines[1:]:
        where, _, count = line.rpartition(",")
        rest = int(count) % BASE
        up = BASE * (chance.random() * BASE < rest)
        rows.append(f"{where},{int(count) - rest + up}")
    (folder / "tables.csv").write_text("\n".join(rows) + "\n")
    law = f"statements:\n  - law: {{rounded: {{base: {BASE}}}}}\n"
    (folder / "protection.yaml").write_text(law)


#: A process without this one's memory, which asks the checker: CPU seconds and MB.
_ASK = """import os, resource, subprocess, sys
done = subprocess.run([sys.executable, "-I", "-S", *sys.argv[1:]], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def check(proofs: Path) -> tuple[float, float]:
    """CPU seconds of the checker for all regions, and most MB.

    Raises:
        SystemExit: It does not prove all.
    """
    seconds, most = 0.0, 0.0
    for tables in sorted(proofs.glob("*.tables")):
        names = [proofs / "reconcheck.py", tables, tables.with_suffix(".proof")]
        command = [sys.executable, "-S", "-c", _ASK, *map(str, names)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        code, used, peak = map(float, said.split())
        if code:
            raise SystemExit(f"{tables.stem}: the checker does not prove all")
        seconds, most = seconds + used, max(most, peak)
    return seconds, most


def run(case: str, folder: Path) -> Record:
    """Figures of a case."""
    config = prepare(case, folder)
    whole = config.read_text()
    config.write_text(whole.replace("prove:\n", ""))
    before = recon("run", "-c", config, "--workers", "1")
    config.write_text(whole)
    proving = recon("prove", "-c", config, "--workers", "1")
    proofs = folder / "work" / "proofs"
    rows = pl.read_parquet(proofs / "**" / "*.parquet", hive_partitioning=False)
    check_seconds, check_mb = check(proofs)
    found = dict(rows["status"].value_counts().iter_rows())
    sizes = {
        f"{kind}_kb": round(sum(p.stat().st_size for p in proofs.glob(f"*.{kind}")) / 1024)
        for kind in ("tables", "proof")
    }
    return {
        "statements": rows.height,
        **{name: found.get(name, 0) for name in ("certified", "shown", "confirmed", "open")},
        **sizes,
        "run_seconds": round(before.cpu_seconds, 1),
        "prove_seconds": round(proving.cpu_seconds, 1),
        "check_seconds": round(check_seconds, 1),
        "check_mb": round(check_mb),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a row a case, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", default=list(CASES))
    parser.add_argument("--folder", type=Path, help="where runs are left")
    options = parser.parse_args(arguments)
    facts = circumstances()
    figures: Record = {}
    with tempfile.TemporaryDirectory() as scratch:
        for case in options.cases:
            name = Path(case).name.partition(".")[0]
            figures[name] = found = run(case, (options.folder or Path(scratch)) / name)
            words = " ".join(f"{key} {value}" for key, value in found.items())
            sys.stdout.write(f"{name}: {words}\n")
            sys.stdout.flush()
    keep("certificates", facts, figures)


if __name__ == "__main__":
    main()
