"""The secret key of a protection: one file, which lies as long as it is needed and no longer.

It is bound to what is protected with it. Noise of one key on corrected records would publish the
exact difference, so what has changed gets another key, and only an interrupted run its own again.
But where the words of a count follow from the very records that it counts, or from the count, what
has changed gets other words by itself, and one key serves corrected data, too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from recon_cli.chance import KEY_BYTES, new_key
from recon_cli.store import files

#: What the file is called.
KEY_FILE = "key.json"


def kept_key(path: Path, bound_to: str) -> bytes:
    """The key in a file; a new one, where there is none for these inputs.

    Args:
        path: The file. Whoever asks holds the lock of its stage.
        bound_to: A digest of what is protected; only its keyed digest is kept.
    """
    with files.disk(path):
        found = _read(path, bound_to)
        if found is None:
            found = new_key()
            content = {"key": found.hex(), "inputs": _keyed(found, bound_to)}
            files.write_bytes(path, files.json_bytes(content))
        return found


def _read(path: Path, bound_to: str) -> bytes | None:
    """The key, if there is a whole one for these inputs."""
    try:
        content = json.loads(path.read_bytes())
        key = bytes.fromhex(content["key"])
        same = hmac.compare_digest(str(content["inputs"]), _keyed(key, bound_to))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return key if same and len(key) == KEY_BYTES else None


def _keyed(key: bytes, bound_to: str) -> str:
    return hmac.new(key, bound_to.encode(), hashlib.sha256).hexdigest()
