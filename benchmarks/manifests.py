"""What the stages of a work folder found, from their manifests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import Record

FOLDERS = ("tables", "blocks", "solvar", "truth")


def counts_of(work: Path, folders: Sequence[str] = FOLDERS) -> Record:
    """For each folder that there is: its partitions, totals and statuses."""
    found: Record = {}
    for folder in folders:
        path = work / folder / "_manifest.json"
        if path.exists():
            manifest = json.loads(path.read_text())
            found[folder] = {
                "partitions": len(manifest["partitions"]),
                **manifest["totals"],
                **manifest["statuses"],
            }
    return found
