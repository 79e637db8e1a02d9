"""Proof texts as files, beside the checker, which is run on them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from recon_cli import reconcheck
from recon_cli.errors import VerificationError
from recon_cli.store import Staging
from recon_cli.store.files import digest

#: The checker's copy.
CHECKER: Final = "reconcheck.py"
_TOTAL: Final = re.compile(r"^([\d,]+) of ([\d,]+) proven", re.MULTILINE)


def write_texts(staging: Staging, partitions: Sequence[str]) -> Mapping[str, Any]:
    """Write ``REGION.tables`` and ``REGION.proof`` and run the checker on each pair.

    Returns:
        The checker's digest, and how many lines it proved.

    Raises:
        VerificationError: The checker did not prove all lines.
    """
    source = Path(reconcheck.__file__).read_bytes()
    staging.write_extra("proofs", CHECKER, source)
    home, proven, size = staging.new / "proofs", 0, 0
    for region, tables, proof in _texts(staging, partitions):
        for name, text in (("tables", tables), ("proof", proof)):
            staging.write_extra("proofs", f"{region}.{name}", text.encode())
            size += len(text.encode())
        proven += _check(home, region)
    return {"checker": digest(source), "proven": proven, "text_bytes": size}


def _texts(staging: Staging, partitions: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for part in staging.parts("proof_texts", partitions):
        yield from part.iter_rows()


def _check(home: Path, region: str) -> int:
    """Return how many lines of a region's proof a separate Python process accepts.

    Raises:
        VerificationError: The process does not accept all lines.
    """
    names = [CHECKER, f"{region}.tables", f"{region}.proof"]
    command = [sys.executable, "-I", "-S", *(str(home / name) for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    total = _TOTAL.search(done.stdout)
    if total is None or total[1] != total[2]:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise VerificationError(
            f"proof of {region}: {CHECKER} does not accept it ({said[-1] if said else 'no word'}); "
            "this is an error of the program: please report it"
        )
    return int(total[1].replace(",", ""))
