"""Pages that are run: their console blocks, their files, their Python.

``python -m tests.support.pages docs/tutorial.md`` runs a page and writes into it
what the commands say.

A block after a line that ends in ```name``:`` is a file. In a ``console`` block a line after ``$ ``
is a command (``> `` goes on with it) and the rest is what it prints; a line ``…`` stands for any
lines. Of the time, date, size or rate on a line only that it is there is compared.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from recon_cli.cli import main
from tests.support.paths import ROOT

#: Commands that need a network, are about the environment, or take long for what they print.
_PASSED_OVER = ("git ", "make ", "source ", "recon fetch")
#: Where ``recon`` is, whether or not the environment is activated.
_PROGRAMS = sysconfig.get_path("scripts")
_ENV = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
_FILES = ("yaml", "csv", "json")
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
    words = shlex.split(command, comments=True)
    if words[0] == "recon" and not set("|<>;&").intersection(command):
        with contextlib.chdir(folder):
            said = CliRunner(env=_ENV).invoke(main, words[1:])
        return _lines(said.stdout + (said.stderr if said.exit_code else ""))
    done = subprocess.run(
        ["bash", "-c", command],  # noqa: S607 - the page is for a shell
        cwd=folder,
        env={**os.environ, **_ENV, "PATH": f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return _lines(done.stdout + (done.stderr if done.returncode else ""))


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def plain(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, name in _VARIES:
        text = pattern.sub(name, text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def agrees(expected: str, found: str) -> bool:
    """Whether a command printed what the page says."""
    lines = plain(found).splitlines()
    groups: list[list[str]] = [[]]
    for line in plain(expected).splitlines():
        if line == "…":
            groups.append([])
        else:
            groups[-1].append(line)
    first, *others = groups
    if lines[: len(first)] != first:
        return False
    at = len(first)
    for group in others:
        starts = range(at, len(lines) - len(group) + 1)
        start = next((i for i in starts if lines[i : i + len(group)] == group), None)
        if start is None:
            return False
        at = start + len(group)
    return at == len(lines) or (len(groups) > 1 and not groups[-1])


def walk(page: str, folder: Path) -> Iterator[tuple[Block, list[tuple[Command, str]]]]:
    """Make the files of a page and run its commands, in order; yields what each one printed."""
    python = _Python(folder)
    for block in blocks(page):
        if block.file is not None and block.language in _FILES:
            (folder / block.file).write_text(block.text)
        elif block.language == "console":
            yield block, [(each, _said(each, folder)) for each in commands(block.text)]
        elif block.language == "pycon":
            yield block, python.run_block(block.text)


def _said(command: Command, folder: Path) -> str:
    if command.text.startswith(_PASSED_OVER):
        return command.expected
    return run(command.text, folder)


class _Python(doctest.DocTestRunner):
    """Runs the Python of a page, one block after the other, and keeps what it prints."""

    def __init__(self, folder: Path) -> None:
        super().__init__(verbose=False)
        self.folder = folder
        self.names: dict[str, object] = {}
        self.said: list[tuple[Command, str]] = []

    def run_block(self, text: str) -> list[tuple[Command, str]]:
        """Run one block."""
        self.said = []
        found = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
        found.globs = self.names
        with contextlib.chdir(self.folder):
            self.run(found, out=lambda _text: None, clear_globs=False)
        return self.said

    def _keep(self, example: doctest.Example, got: str) -> None:
        self.said.append((Command(example.source.rstrip(), example.want.rstrip()), got.rstrip()))

    def report_success(
        self, _out: object, _test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        self._keep(example, got)

    def report_failure(
        self, _out: object, _test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        self._keep(example, got)


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
                f"--- it printed\n{found}\n"
                f"(`python -m tests.support.pages {path}` writes it into the page)"
            )


def prepare(folder: Path) -> None:
    """What a newcomer's folder has."""
    for name in ("configs", "fixtures"):
        shutil.copytree(ROOT / name, folder / name)


def refresh(path: Path) -> None:
    """Write what the commands print into the page; blocks with a line ``…`` stay as they are."""
    page = path.read_text()
    parts, at = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for block, said in walk(page, folder):
            first, more = ("$ ", "> ") if block.language == "console" else (">>> ", "... ")
            lines = []
            for command, found in said:
                lines.append(first + command.text.replace("\n", f"\n{more}"))
                is_elided = "…" in command.expected.splitlines()
                lines.append(command.expected if is_elided else found)
            parts += [page[at : block.span[0]], "\n".join(filter(None, lines)) + "\n"]
            at = block.span[1]
    path.write_text("".join(parts) + page[at:])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        refresh(Path(argument))
