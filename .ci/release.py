"""Make the files of a release in dist/: ``make release``.

A wheel and a source archive, the list of what users install (sbom.json), notes from CHANGELOG.md,
and checksums. Nothing is uploaded or tagged. The same commit gives the same bytes: times in the
archives are the commit's.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = "recon_cli/version.py"


class NotReadyError(Exception):
    """The tree is not what a release can be made of."""


def version_of(text: str) -> str:
    """Return the version that the text of `recon_cli/version.py` states."""
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.MULTILINE)
    if found is None:
        raise NotReadyError(f'{VERSION_FILE}: no line __version__ = "MAJOR.MINOR.PATCH"')
    return found[1]


def notes_of(changelog: str, version: str) -> str:
    """Return the section of a version, from its first line to the next version's.

    Raises:
        NotReadyError: There is none, it has no date, or it is not the newest.
    """
    sections = re.split(r"^(?=## \[)", changelog, flags=re.MULTILINE)[1:]
    headings = [section.partition("\n")[0] for section in sections]
    dated = [re.fullmatch(r"## \[([\d.]+)\] - \d{4}-\d\d-\d\d", heading) for heading in headings]
    newest = next(((at, found[1]) for at, found in enumerate(dated) if found), None)
    if newest is None or newest[1] != version:
        raise NotReadyError(
            f"CHANGELOG.md: the newest version with a date must be {version}, as in {VERSION_FILE}:"
            f" move the entries of [Unreleased] below a line `## [{version}] - YYYY-MM-DD`"
        )
    return f"{sections[newest[0]].strip()}\n"


def require_nothing_unreleased(changelog: str) -> None:
    """Refuse entries of no version: the files would have what the notes do not.

    Raises:
        NotReadyError: There are some.
    """
    head = re.split(r"^## \[\d", changelog, maxsplit=1, flags=re.MULTILINE)[0]
    if re.search(r"^- ", head, re.MULTILINE):
        raise NotReadyError(
            "CHANGELOG.md: [Unreleased] has entries: give them a version, or make the release of "
            "the commit that has none"
        )


def checksums_of(folder: Path) -> str:
    """Return a line for each file of a folder, as ``sha256sum --check`` reads them."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return "".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files)


def make_release(root: Path, dist: Path) -> None:
    """Write all files of a release.

    Args:
        root: The checkout, without changes that are not committed.
        dist: A folder, which is emptied.

    Raises:
        NotReadyError: Something is not committed, or version and changelog do not fit.
    """
    if changed := _output(root, "git", "status", "--porcelain"):
        raise NotReadyError(f"not committed, so not part of any release:\n{changed}")
    version = version_of((root / VERSION_FILE).read_text())
    changelog = (root / "CHANGELOG.md").read_text()
    notes = notes_of(changelog, version)
    require_nothing_unreleased(changelog)
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    times = {**os.environ, "SOURCE_DATE_EPOCH": _output(root, "git", "log", "-1", "--format=%ct")}
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(root)]
    subprocess.run(build, check=True, env=times, stdout=subprocess.DEVNULL)
    bill = [shutil.which("cyclonedx-py", path=str(Path(sys.executable).parent)) or "cyclonedx-py"]
    bill += ["requirements", str(root / "requirements.lock"), "--output-reproducible"]
    subprocess.run([*bill, "--output-file", str(dist / "sbom.json")], check=True)
    (dist / "NOTES.md").write_text(notes)
    (dist / "SHA256SUMS").write_text(checksums_of(dist))


def _output(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    try:
        make_release(ROOT, ROOT / "dist")
    except NotReadyError as error:
        sys.exit(f"release: {error}")
    sys.stdout.write((ROOT / "dist" / "SHA256SUMS").read_text())
