"""Proofs of tiny random releases: ``python -m benchmarks.soundness.proofs --releases 500``.

Runs ``recon prove`` on this many right releases after the stages that it proves, each asked in a
random way, and gives every proof to ``reconcheck.py`` in a process of Python alone. Some have a
feature that no table sees, of which a structural zero speaks. Ends with 1 if a proof is not
written, or the checker does not accept all of it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import yaml
from click.testing import CliRunner

from benchmarks.soundness.releases import TinyRelease, make_release
from recon_cli.cli import main as recon
from recon_cli.schema import Release, bits

#: What is proven, in the order in which it is found.
_BEFORE: Final = ("ingest", "reconstruct", "solvar", "audit", "claims")
#: A refusal that says so: nothing bounds counts under noise, and nothing is proven of them.
_NOISE: Final = "nothing can be proven"


def main() -> None:
    """Count outcomes, and print what went wrong.

    Raises:
        SystemExit: A proof is missing, or not accepted.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=500, help="with a proof")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first release")
    options = parser.parse_args()
    number, found, wrong = options.first, Counter[str](), list[str]()
    while found["releases"] < options.releases:
        outcome = prove_release(options.seed, number)
        found += outcome
        if outcome["wrong"]:
            wrong.append(f"release {number}")
        number += 1
    for name, often in sorted(found.items()):
        sys.stdout.write(f"{name:28}{often:8,}\n")
    for line in wrong:
        sys.stdout.write(f"WRONG {line}\n")
    sys.exit(1 if wrong else 0)


def prove_release(seed: int, number: int) -> Counter[str]:
    """What comes of one release; empty where it is wrong, or proves nothing by its nature."""
    tiny = make_release(seed, number)
    if tiny is None or not tiny.is_right:
        return Counter()
    with tempfile.TemporaryDirectory() as name:
        return outcome_of(tiny, Path(name), np.random.default_rng([seed, number, 1]))


def outcome_of(tiny: TinyRelease, folder: Path, rng: np.random.Generator) -> Counter[str]:
    """Statements by status, and the files of the proof that the checker does not accept."""
    for name, data in tiny.files.items():
        (folder / name).write_bytes(data)
    if rng.random() < 0.4:
        _add_unseen(tiny.release, folder / "tiny.yaml", rng)
    config = folder / "run.yaml"
    config.write_text(yaml.safe_dump(_asked(config, tiny.release, rng)))
    for stage in _BEFORE:
        status, _ = _run(stage, config)
        if status and stage in {"ingest", "reconstruct"}:
            return Counter()
    status, said = _run("prove", config)
    if status:
        if _NOISE in said:
            return Counter()
        sys.stdout.write(said)
        return Counter({"releases": 1, "wrong": 1})
    rows = pl.read_parquet(folder / "work/proofs/**/*.parquet", hive_partitioning=False)
    found = Counter[str](dict(rows["status"].value_counts().iter_rows()))
    refused = list(_refused(folder / "work/proofs"))
    for each in refused:
        sys.stdout.write(f"{each}\n")
    return found + Counter({"releases": 1, "wrong": len(refused)})


def _run(stage: str, config: Path) -> tuple[int, str]:
    done = CliRunner().invoke(recon, [stage, "-c", str(config), "-q"])
    return done.exit_code, f"{done.output}\n{done.exception!r}\n"


def _add_unseen(release: Release, path: Path, rng: np.random.Generator) -> None:
    """Add a feature that no table sees; people with its first value lack some of another."""
    schema = yaml.safe_load(path.read_text())
    schema["features"]["unseen"] = {"categories": ["u", "v", "w"]}
    known = next(iter(schema["features"]))
    at = release.feature_index[known]
    size = len(release.features[at].values)
    kept = list(bits(int(rng.integers(1, 1 << size))))
    values = [release.features[at].values[place] for place in kept]
    if "multiselect" in schema["features"][known]:
        values = [place + 1 for place in kept]
    only = {known: values}
    rule = {"when": {"unseen": "u"}, "only": only, "definition": False, "why": "made up"}
    schema["structural_zeros"] = [*schema.get("structural_zeros", []), rule]
    for columns in ("microdata", "histogram"):
        schema[columns].insert(int(rng.integers(len(schema[columns]) + 1)), "unseen")
    path.write_text(yaml.safe_dump(schema, sort_keys=False))


def _asked(config: Path, release: Release, rng: np.random.Generator) -> dict[str, Any]:
    """The config with sections for all stages."""
    levels = [level.name for level in release.geography.levels]
    asked = [level for level in levels if rng.random() < 0.3]
    run: dict[str, Any] = yaml.safe_load(config.read_text())
    return run | {
        "reconstruct": None,
        "solvar": {"mode": str(rng.choice(["exact", "relaxed"])), "unit_seconds": 5.0},
        "audit": {"ask": asked} if asked else None,
        "claims": {name: bool(rng.random() < 0.5) for name in ("absent", "at_most")},
        "prove": None,
    }


def _refused(folder: Path) -> Iterator[str]:
    """What the checker says of the texts that it does not accept."""
    for proof in sorted(folder.glob("*.proof")):
        names = ["reconcheck.py", f"{proof.stem}.tables", proof.name]
        command = [sys.executable, "-I", "-S", *names]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode and "0 of 0 proven" not in done.stdout:
            yield f"{proof.name}: {(done.stderr or done.stdout).strip().splitlines()[-1]}"


if __name__ == "__main__":
    main()
