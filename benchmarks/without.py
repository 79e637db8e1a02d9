"""Test what is left without some capabilities: ``python -m benchmarks.without NAME,… [TESTS …]``.

Copies the tracked files to a temporary folder, deletes the capabilities' folders, their words in
the registry and their rows in two pages, and runs the tests that do not concern them there: those
whose files, and the support files that they import, name none. TESTS are files or folders, default
all but the pages of the docs. Exits like pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from benchmarks.machine import ROOT
from recon_cli.capabilities import CAPABILITIES

#: Tests of the pages, which describe all capabilities.
PAGES = "tests/docs"
#: What holds of the remaining folders, too.
ARCHITECTURE = "tests/docs/test_architecture.py"


def copy_without(names: Collection[str], place: Path) -> None:
    """Copy the tracked files, without some capabilities."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - the git that is on the path
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    gone = [f"{home}/capabilities/{name}/" for name in names for home in ("recon_cli", "tests")]
    for path in filter(None, listed.split("\0")):
        if not path.startswith(tuple(gone)) and (ROOT / path).is_file():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, place / path)
    either = "|".join(names)
    replace_in(place / "recon_cli/capabilities/__init__.py", rf'^ +"({either})",\n')
    replace_in(place / "docs/architecture.md", rf"^\| `({either})` \|.*\n")
    replace_in(place / "docs/glossary.md", rf"^\|.*`recon_cli\.capabilities\.({either})\..*\n")


def replace_in(path: Path, pattern: str) -> None:
    """Delete what matches a pattern in a file."""
    path.write_text(re.sub(pattern, "", path.read_text(), flags=re.MULTILINE))


def unconcerned(names: Collection[str], place: Path, chosen: Sequence[str]) -> Iterator[str]:
    """Yield the test files in chosen places that name none of the capabilities."""
    either = "|".join(re.escape(name).replace("_", "[-_ ]") for name in names)
    named = re.compile(rf"\b({either})\b")
    support = {
        f"{path.parent.name}.{path.stem}"
        for path in (*place.glob("tests/support/*.py"), *place.glob("benchmarks/*.py"))
        if named.search(path.read_text())
    }
    for each in chosen:
        found = (
            [place / each] if each.endswith(".py") else sorted((place / each).rglob("test_*.py"))
        )
        for path in found:
            text, file = path.read_text(), path.relative_to(place).as_posix()
            imported = re.findall(
                r"^from (?:tests\.)?(support|benchmarks)\.(\w+)", text, re.MULTILINE
            )
            imported += re.findall(
                r"^from (?:tests\.)?(support|benchmarks) import (\w+)", text, re.MULTILINE
            )
            if named.search(text) or support & {".".join(module) for module in imported}:
                continue
            if not file.startswith(PAGES) or file == ARCHITECTURE:
                yield file


def main() -> None:
    """Run the remaining tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", help="capabilities, separated by commas")
    parser.add_argument("tests", nargs="*", default=["tests"])
    parser.add_argument("-n", "--processes", type=int, default=2)
    options = parser.parse_args()
    names = options.names.split(",")
    if unknown := [name for name in names if name not in CAPABILITIES]:
        parser.error(f"no capability {unknown[0]!r} (known: {', '.join(CAPABILITIES)})")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_without(names, place)
        tests = list(unconcerned(names, place, options.tests))
        sys.stdout.write(f"{len(tests)} files of tests without {', '.join(names)}\n")
        sys.stdout.flush()
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(options.processes), *tests]
        environment = {**os.environ, "PYTHONPATH": str(place)}
        sys.exit(subprocess.run(command, cwd=place, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
