"""Progress and messages of a stage, for people or programs.

All of it goes to stderr or a log; results go to stdout.
"""

from recon_cli.progress.console import ConsoleReporter
from recon_cli.progress.protocol import (
    NO_STATUSES,
    Bar,
    FinishedPartition,
    OnProgress,
    ProgressSoFar,
    Reporter,
    SilentReporter,
    Task,
    ignore_progress,
)

__all__ = [
    "NO_STATUSES",
    "Bar",
    "ConsoleReporter",
    "FinishedPartition",
    "OnProgress",
    "ProgressSoFar",
    "Reporter",
    "SilentReporter",
    "Task",
    "ignore_progress",
]
