"""What a stage says while it works, to people or to programs.

All of it goes to stderr or a log; results go to stdout.
"""

from recon_cli.progress.console import OnConsole
from recon_cli.progress.events import Events
from recon_cli.progress.protocol import (
    NO_STATUSES,
    Bar,
    Finished,
    OnProgress,
    Reporter,
    Silent,
    Task,
    ignore_progress,
    plural,
)

__all__ = [
    "NO_STATUSES",
    "Bar",
    "Events",
    "Finished",
    "OnConsole",
    "OnProgress",
    "Reporter",
    "Silent",
    "Task",
    "ignore_progress",
    "plural",
]
