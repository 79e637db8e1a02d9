"""The secret key of a protection: a file that is kept only as long as it is needed.

The key is bound to the protected data. Noise of one key on corrected records would publish the
exact difference, so changed data get a new key, and only an interrupted run reuses its own. Where
the noise of a count is itself derived from the counted records, as with cell keys, changed data
change the noise anyway, and one key serves corrected data too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from recon_cli.chance import KEY_BYTES, new_key
from recon_cli.store import files

#: Name of the file.
KEY_FILE = "key.json"


def kept_key(path: Path, bound_to: str) -> bytes:
    """Return the key in a file, or a new one if the file has none for these inputs.

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
    """Return the key in a file, or None unless it is complete and for these inputs."""
    try:
        content = json.loads(path.read_bytes())
        key = bytes.fromhex(content["key"])
        same = hmac.compare_digest(str(content["inputs"]), _keyed(key, bound_to))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return key if same and len(key) == KEY_BYTES else None


def _keyed(key: bytes, bound_to: str) -> str:
    return hmac.new(key, bound_to.encode(), hashlib.sha256).hexdigest()
