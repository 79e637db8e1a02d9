"""Pages that are run: their console blocks, their files, their Python.

``python -m tests.pages docs/tutorial.md`` runs a page and writes what the commands say into it.

A block after a line that ends in ```name``:`` is a file. In a ``console`` block a line after ``$ ``
is a command (``> `` goes on with it) and the rest is what it prints; a line ``…`` stands for any
lines. Of the time, date, size or rate on a line only that it is there is compared.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Commands that need a network, or that make what is there already.
_PASSED_OVER = ("git ", "make ", "source ", "recon fetch")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w./-]+)`:\s*$")
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?( UTC)?)?"), "<date>"),
    (re.compile(r"\d[\d,.]* (k|M|G)?B\b"), "<size>"),
    (re.compile(r"(?<=\s)\d[\d,.]* s\b"), "<time>"),
    (re.compile(r"(seconds\s+).*"), r"\1<time>"),
    (re.compile(r"version \S+"), "version <version>"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, where the text is, and the file that it is."""

    language: str
    text: str
    span: tuple[int, int]
    file: str | None


@dataclass(frozen=True)
class Command:
    """A command and what the page says that it prints."""

    text: str
    expected: str


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for found in _FENCE.finditer(page):
        before = page[: found.start()].rstrip().rpartition("\n")[2]
        named = _FILE.search(before)
        yield Block(found[1], found[2], found.span(2), named[1] if named else None)


def commands(text: str) -> list[Command]:
    """The commands of a console block."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line.removeprefix('> ')}", [])
        else:
            found[-1][1].append(line)
    return [Command(command, "\n".join(lines)) for command, lines in found]


def run(command: str, folder: Path) -> str:
    """What a command prints; when it fails, its message too."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    result = subprocess.run(
        ["bash", "-c", command],  # noqa: S607 - the page is for a shell
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    said = result.stdout + (result.stderr if result.returncode else "")
    return "\n".join(line.rstrip() for line in said.splitlines())


def plain(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, name in _VARIES:
        text = pattern.sub(name, text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def agrees(expected: str, found: str) -> bool:
    """Whether a command printed what the page says."""
    parts = [re.escape(plain(part)) for part in re.split(r"^ *…$", expected, flags=re.MULTILINE)]
    return re.fullmatch(r"\s*(?:.*\n)*?\s*".join(parts), plain(found)) is not None


def walk(page: str, folder: Path) -> Iterator[tuple[Block, list[tuple[Command, str]]]]:
    """Make the files of a page and run its commands, in order; yields what each one printed."""
    for block in blocks(page):
        if block.file is not None:
            (folder / block.file).write_text(block.text)
        if block.language == "console":
            said = [(each, _said(each, folder)) for each in commands(block.text)]
            yield block, said
        if block.language == "pycon":
            _doctest(block.text, folder)


def _said(command: Command, folder: Path) -> str:
    if command.text.startswith(_PASSED_OVER):
        return command.expected
    return run(command.text, folder)


def _doctest(text: str, folder: Path) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
    said: list[str] = []
    here = Path.cwd()
    os.chdir(folder)
    try:
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    finally:
        os.chdir(here)
    assert not said, "".join(said)


def check(path: Path, folder: Path) -> None:
    """Run a page of the repository in ``folder``, and compare.

    Raises:
        AssertionError: A command printed something else.
    """
    prepare(folder)
    for _, said in walk(path.read_text(), folder):
        for command, found in said:
            assert agrees(command.expected, found), (
                f"{path.name}: $ {command.text}\n--- the page says\n{command.expected}\n"
                f"--- it printed\n{found}\n(`python -m tests.pages {path}` writes it into the page)"
            )


def prepare(folder: Path) -> None:
    """What a newcomer's folder has."""
    for name in ("configs", "fixtures"):
        shutil.copytree(ROOT / name, folder / name)


def refresh(path: Path) -> None:
    """Write what the commands print into the page; blocks with ``…`` stay as they are."""
    page = path.read_text()
    parts, at = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for block, said in walk(page, folder):
            lines = []
            for command, found in said:
                lines.append("$ " + command.text.replace("\n", "\n> "))
                lines.append(command.expected if "…" in command.expected else found)
            parts += [page[at : block.span[0]], "\n".join(filter(None, lines)) + "\n"]
            at = block.span[1]
    path.write_text("".join(parts) + page[at:])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        refresh(Path(argument))
