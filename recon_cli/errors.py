"""Every failure a user can meet, one tree, one exit code each.

ReconError
├── ConfigError            2  the run's YAML or the command line
├── SchemaError            3  the release schema
├── SourceError            4  a published file that cannot be read as what it claims to be
│   └── UnknownValueError  4  a value of a record that the schema does not know
├── StageError             5  a stage folder that is missing, damaged or out of date
│   └── OtherFormatError   5  a stage folder of an older or newer version of the program
├── ContradictionError     6  published counts that no set of records can have
├── VerificationError      7  records that do not reproduce the published counts
├── SolverError            8  a solver that failed, ran out of budget, or was contradicted
│   ├── DisagreementError  8  two engines contradict each other; carries the model
│   └── WorkerError        9  a worker process that died
├── FetchError            10  a download that failed, or a file that is not the one recorded
├── MemoryShortage        11  memory ran out
└── BudgetError           12  a protection that would spend more privacy than its account allows

`recon check` ends with 20 where a rule is broken, 21 where one is undecided: no errors, verdicts.
Exit code 1 is left to defects of the program, 130 to an interrupt, 143 to SIGTERM, 141 to a
reader of stdout that went away, and 134 to a library that ends the process when memory runs out.

Unpublished is no failure: a shard did its share, and there is no result yet to hand back.
"""

from __future__ import annotations

import re

#: Most characters of a value that a message repeats.
_REPEATED = 120
#: A value in the quotes of `repr` (an apostrophe follows a letter), or a word that is longer than a
#: file's name can be.
_VALUE = re.compile(r"""(?<!\w)(['"])(?:\\.|(?!\1)[^\\\n])*\1|\w{256,}""")


def shorten_values(message: str) -> str:
    """Shorten the values that a message repeats.

    >>> label = "9" * 4301
    >>> shorten_values(f"P1: no label {label!r}").replace("9" * 120, "99…")
    "P1: no label '99……' (4,301 characters)"
    """

    def shortened(match: re.Match[str]) -> str:
        quote = match[1] or ""
        value = match[0].removeprefix(quote).removesuffix(quote)
        if len(value) <= _REPEATED:
            return match[0]
        return f"{quote}{value[:_REPEATED]}…{quote} ({len(value):,} characters)"

    return _VALUE.sub(shortened, message)


class ReconError(Exception):
    """Base of every expected failure. ``exit_code`` is what the process returns.

    Further arguments travel between processes with the error; its text is the first one.
    """

    exit_code = 1

    def __str__(self) -> str:
        return shorten_values(str(self.args[0])) if self.args else ""


class ConfigError(ReconError):
    """The run configuration or the command line asks for something that does not exist."""

    exit_code = 2


class SchemaError(ReconError):
    """A release schema is malformed or inconsistent with itself."""

    exit_code = 3


class SourceError(ReconError):
    """Published input is truncated, malformed, or refers to what the schema does not know."""

    exit_code = 4


class UnknownValueError(SourceError):
    """Records have a value that the schema does not know; the message does not repeat it.

    Attributes:
        values: Some of the values, to search for; they must not be shown.
    """

    def __init__(self, message: str, column: str = "", values: tuple[str, ...] = ()) -> None:
        super().__init__(message, column, values)  # so that the error travels between processes
        self.column, self.values = column, values


class StageError(ReconError):
    """A stage folder is missing, damaged, or was made from other inputs."""

    exit_code = 5


class OtherFormatError(StageError):
    """A stage folder's files have the form of another version of the program."""


class ContradictionError(ReconError):
    """No non-negative integer records have the published counts.

    Attributes:
        region: A region without such records; empty where it is not known.
        page: Explanation as Markdown, where there is no proof for the checker; else empty.
    """

    exit_code = 6

    def __init__(self, message: str, region: str = "", page: str = "") -> None:
        super().__init__(message, region, page)  # all, so that the error travels between processes
        self.region, self.page = region, page


class VerificationError(ReconError):
    """Reconstructed records do not reproduce a published count."""

    exit_code = 7


class SolverError(ReconError):
    """A solver failed, ran out of its budget, or two engines disagree."""

    exit_code = 8


class DisagreementError(SolverError):
    """Two engines contradict each other on one model.

    Attributes:
        model: The model as JSON text, for inspection.
    """

    def __init__(self, message: str, model: str = "") -> None:
        super().__init__(message, model)  # both, so that the error travels between processes
        self.model = model


class WorkerError(SolverError):
    """A worker process died while it held a shard."""

    exit_code = 9


class Unpublished(Exception):  # noqa: N818 - not an error
    """A shard's share of a stage is done; the stage is published when all shards are."""


class FetchError(ReconError):
    """A file could not be downloaded, or is not the one whose checksum was recorded."""

    exit_code = 10


class MemoryShortage(ReconError):  # noqa: N818 - no error of ours
    """The process may not have as much memory as it needs."""

    exit_code = 11


class BudgetError(ReconError):
    """A protection would exceed the limit of its account; nothing was drawn."""

    exit_code = 12
