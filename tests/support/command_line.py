"""The command line as its user has it: ``recon("ingest", "-c", config)``."""

from __future__ import annotations

from click.testing import CliRunner, Result

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
