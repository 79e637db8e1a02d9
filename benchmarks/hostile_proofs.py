"""Texts that were written to take the checker long: ``python -m benchmarks.hostile_proofs``.

Each is checked by a process of Python alone, and prints how it ended, processor seconds and MB. The
exit status is 1 if one took more than 300 s or 1 GB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recon_cli import reconcheck

_SECONDS: Final = 300.0
_MEGABYTES: Final = 1024.0
#: A process without this one's memory, which asks the checker: CPU seconds and MB.
_ASK: Final = """import resource, subprocess, sys
done = subprocess.run([sys.executable, "-I", "-S", *sys.argv[1:]], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
print((done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:80])
"""
_ONE: Final = "feature k 8\ntable T\ncell 0 0 *\npattern 0.0\n"
#: One cell, and 199,809 kinds of records.
_WIDE: Final = "feature k 447\nfeature l 447\ntable T\ncell 0 0 * *\npattern 0.0\n"


def cells(number: int, size: int = 8) -> str:
    """Tables with this many cells, which all count everybody."""
    lines = "".join(f"cell 0 {n} *\n" for n in range(number))
    return f"feature k {size}\ntable T\n{lines}pattern 0.0-{number - 1}\n"


def units(number: int, areas: str = "") -> str:
    """Units with the first pattern."""
    return "".join(f"unit U{n} 0{areas}\n" for n in range(number))


def counts(places: int, numbers: int, ends: str) -> str:
    """Counts of the first places and cells."""
    return "".join(f"count {p} 0 {n} {ends}\n" for p in range(places) for n in range(numbers))


def texts() -> Iterator[tuple[str, str, str]]:
    """Name, tables and proof of each."""
    some, one = "0 inf", counts(1, 1, "0 inf")
    people = "in all\npart s\n" + "r 0 1 0\n" * 50_000 + "end\n"
    yield "records x cells", cells(20_000) + units(1) + counts(1, 20_000, some), people
    yield "units x cells", cells(3_000) + units(20_000), "in all\n"
    yield "patterns", cells(50_000) + "pattern 0.0-49999\n" * 30_000, ""
    yield "parts of a pattern", cells(50_000) + "pattern " + "0.0-49999 " * 50_000, ""
    yield "terms", cells(50_000) + units(1), "in 0\n" + "p 0:0.0-49999\n" * 30_000
    yield "wide units", _WIDE + units(30_000), "in all\n"
    area = _WIDE + "area A 0\n" + units(2_000, " 0") + counts(2_001, 1, "5")
    yield (
        "wide bounds",
        area,
        "in all\n" + "".join(f"least 0 0 {n:x} *\n" for n in range(1, 60_000)),
    )
    yield "one solution", _WIDE + units(1) + one, "in all\n" + "unique 0\n" * 100_000
    yield "scopes", _WIDE + units(1), "in all\n" * 100_000
    values = "".join(f"r 0 1 {n % 7}\n" for n in range(100_000))
    yield "zeros", _ONE + units(1) + one + "zero 80\n" * 100_000, f"in all\npart s\n{values}end\n"
    yield "sets", _ONE + units(30_000), "in all\nset a\nend\n" + "set b a\nend\n" * 50_000
    many = "feature k 8\ntable T\n" + "cell 0 0 1\n" * 30_000 + "pattern 0.0\n" + units(1) + one
    differ = "in all\nset a\n" + "r 0 0 1\n" * 20_000 + "end\n" + "differ a a 0 0 0.0\n" * 30_000
    yield "sets that differ", many, differ
    yield "cliques", _WIDE + units(1), "clique 0 1\n" * 100_000 + "in 0\n"
    yield "cases", _ONE + units(1) + one, "in 0\nleast 9 0 *\n" + "if 1 0 *\n" * 100_000
    large = f"p {'9' * 30}*0:0.0\n"
    yield "digits", _ONE + units(1) + counts(1, 1, "5"), "in 0\n" + large * 50_000
    apart = "".join(f"cell 0 {n} {n + 1:x} *\n" for n in range(1, 50_000))
    wide = _WIDE.replace("pattern", apart + "pattern").replace("0.0\n", "0.0-49999\n")
    yield "wide cells", wide + units(1), "in 0\n"
    alike = "".join(f"cell 0 {n} * *\n" for n in range(1, 50_000))
    wide = _WIDE.replace("pattern", alike + "pattern").replace("0.0\n", "0.0-49999\n")
    yield "wide cells, alike", wide + units(1), "in 0\n"
    places = cells(2_000, 400) + units(300) + counts(300, 50, "5")
    terms = " ".join(f"{p}:0.{n}" for p in range(300) for n in range(50))
    yield "a long change", places, "in all\n" + f"change 2 {terms}\n" * 5
    yield "changes", cells(20, 400) + units(1), "in all\n" + "change 2 0:0.0\n" * 60_000


def main() -> int:
    """Check them all, a line each."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    is_bounded = True
    with tempfile.TemporaryDirectory() as folder:
        tables, proof = Path(folder, "tables"), Path(folder, "proof")
        for name, published, proven in texts():
            tables.write_text(published)
            proof.write_text(proven)
            names = (reconcheck.__file__, str(tables), str(proof))
            command = [sys.executable, "-S", "-c", _ASK, *names]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            used, words = said.splitlines()
            seconds, megabytes = map(float, used.split())
            is_bounded &= seconds <= _SECONDS and megabytes <= _MEGABYTES
            sys.stdout.write(f"{name:20}{seconds:7.1f} s{megabytes:6.0f} MB  {words}\n")
            sys.stdout.flush()
    return int(not is_bounded)


if __name__ == "__main__":
    sys.exit(main())
