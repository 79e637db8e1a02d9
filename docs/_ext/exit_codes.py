"""The table of exit codes, from the exceptions themselves."""

from __future__ import annotations

from collections.abc import Iterator

from mdtext import first_line, table

from recon_cli.capabilities.check import command as check
from recon_cli.console import signals
from recon_cli.errors import ReconError

#: 128 and SIGABRT, as shells count.
_ABORTED = 134


def describe_exit_codes() -> str:
    """Code, name and meaning, rising."""
    meanings = {
        0: ("–", "Done."),
        1: ("–", "A defect of the program; please report it."),
        check.BROKEN: ("–", "`recon check`: a rule is broken."),
        check.UNDECIDED: ("–", "`recon check`: no rule is broken, and one is undecided."),
        signals.INTERRUPTED: ("–", "Interrupted; the same command continues from there."),
        _ABORTED: (
            "–",
            "A library ended the process because memory ran out; the same command continues.",
        ),
        signals.NO_READER: ("–", "Whoever read the output went away."),
        signals.TERMINATED: ("–", "Terminated; the same command continues from there."),
    }
    for error in _tree(ReconError):
        name, text = f"`{error.__name__}`", first_line(error.__doc__ or "")
        if error.exit_code in meanings and meanings[error.exit_code][0] != "–":
            name = f"{meanings[error.exit_code][0]}, {name}"
            text = meanings[error.exit_code][1]
        meanings[error.exit_code] = (name, text)
    rows = [(str(code), name, text) for code, (name, text) in sorted(meanings.items())]
    return table(("code", "exception", "meaning"), rows)


def _tree(error: type[ReconError]) -> Iterator[type[ReconError]]:
    for kind in error.__subclasses__():
        yield kind
        yield from _tree(kind)
