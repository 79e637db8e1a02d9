"""Draft a config for published files: `recon init` as a function, with the same options."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import click

from recon_cli.capabilities.init.command import command
from recon_cli.errors import ConfigError, ReconError

Answer = str | bool | int | Path | Sequence[str | int]


@dataclass(frozen=True, repr=False)
class Draft:
    """A config that was drafted.

    Attributes:
        path: The config, for `run_config`.
        summary: How the files are read, and what could not be found out.
    """

    path: Path
    summary: str

    def __repr__(self) -> str:
        return f"<Draft {self.path}>\n{self.summary}"


def draft(*paths: Path | str, to: Path | str, **answers: Answer) -> Draft:
    r"""Write a commented config for published files, and a schema and a law where they need one.

    Args:
        paths: Files or folders, as `recon init` takes them.
        to: The config to write.
        answers: Options of `recon init`, with ``_`` for ``-``: ``place="ward"``,
            ``total=["All"]``, ``yes=True``.

    Raises:
        ConfigError: An option is unknown, a file exists already, or a question is left open; the
            message names the question and the option that answers it.
        ReconError: A file cannot be read.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon_cli as recon
    >>> folder = Path(tempfile.mkdtemp())
    >>> table = "ward,all,women,men\nNorth,9,4,5\nSouth,7,1,6\nWest,8,5,3\n"
    >>> _ = (folder / "table.csv").write_text(table)
    >>> drafted = recon.draft(folder / "table.csv", to=folder / "recon.yaml", yes=True)
    >>> "sheet, 1 path" in drafted.summary
    True
    """
    words = [*map(str, paths), "--to", str(to), *_options(answers)]
    printed, asked = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(asked):
            command.main(words, prog_name="recon init", standalone_mode=False)
    except click.ClickException as error:
        raise ConfigError(error.format_message()) from error
    except ReconError as error:
        open_ = asked.getvalue().rstrip()
        raise type(error)(f"{open_}\n{error}" if open_ else str(error)) from error
    return Draft(Path(to), printed.getvalue().rstrip())


def _options(answers: dict[str, Answer]) -> Iterator[str]:
    """Yield the words of a command line for options given as keywords."""
    for name, value in answers.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            if value:
                yield flag
            continue
        for each in [value] if isinstance(value, str | int | Path) else value:
            yield from (flag, str(each))
