"""SHA-256 of downloaded files, in the format that ``sha256sum -c`` reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.errors import FetchError
from recon_cli.store.files import write_bytes

FILE: Final = "sha256sums.txt"

#: A digest, a blank, a blank or ``*``, a file name.
_LINE: Final = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")


@dataclass(frozen=True)
class Checksums:
    """The recorded checksums of a folder.

    Attributes:
        path: The file.
        lines: Its lines; those that we do not write ourselves stay as they are.
    """

    path: Path
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Checksums:
        """What is recorded in ``folder``; nothing if there is no such file.

        Raises:
            FetchError: The file cannot be read, or a line is no checksum.
        """
        path = folder / FILE
        try:
            lines = tuple(path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError) as error:
            raise FetchError(f"{path}: cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line and not line.startswith("#") and not _LINE.fullmatch(line):
                raise FetchError(
                    f"{path}:{number}: expected 64 hexadecimal digits, two blanks and a file "
                    f"name, found {line[:80]!r}; correct or remove the line"
                )
        return cls(path, lines)

    def of(self, name: str) -> str | None:
        """The recorded SHA-256 of a file, None if there is none."""
        return next(
            (m[1].lower() for m in map(_LINE.fullmatch, self.lines) if m and m[2] == name), None
        )

    def record(self, name: str, digest: str) -> None:
        """Write the file with the checksum of ``name`` in it.

        Raises:
            StageError: It cannot be written.
        """
        others = [
            line for line in self.lines if not ((m := _LINE.fullmatch(line)) and m[2] == name)
        ]
        text = "\n".join([*others, f"{digest}  {name}"])
        write_bytes(self.path, f"{text}\n".encode())
