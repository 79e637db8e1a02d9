"""The command line as its user has it: ``recon("ingest", "-c", config)``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import pytest
from click.testing import CliRunner, Result

from benchmarks import machine
from benchmarks.machine import Cost
from recon_cli.cli import main


def recon(*arguments: object, code: int = 0, width: int = 100) -> Result:
    """Run a command in this process, in a terminal so many columns wide, and check its exit code.

    ``stdout`` and ``stderr`` of the result are apart, ``output`` has both as they were written.
    """
    words = [str(argument) for argument in arguments]
    runner = CliRunner(env={"COLUMNS": str(width)})
    result = runner.invoke(main, words, terminal_width=width)
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def audit_drafted(*arguments: object) -> None:
    """Audit the counts of a config that was drafted; nothing else that it asks for is run."""
    for stage in ("ingest", "audit"):
        recon(stage, "-q", *arguments)


def measure_here(patch: pytest.MonkeyPatch, *benchmarks: str) -> None:
    """Let benchmarks run their commands in this process: a start of Python each is most of them.

    Args:
        benchmarks: Modules that have ``measure`` under a name of their own.
    """

    def run(command: Sequence[object], *, accept: Sequence[int] = (0,)) -> Cost:
        words = [str(word) for word in command]
        name, *arguments = words[words.index("-m") + 1 :]
        if name == "recon_cli":
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code in accept, result.output + repr(result.exception)
            return Cost(0.0, 0.0, 0.0, result.exit_code)
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(sys, "argv", [name, *arguments])
            importlib.import_module(name).main()
        return Cost(0.0, 0.0, 0.0)

    patch.chdir(machine.ROOT)
    for module in (machine, *map(importlib.import_module, benchmarks)):
        patch.setattr(module, "measure", run)
