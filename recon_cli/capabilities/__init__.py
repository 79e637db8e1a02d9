"""Capabilities: a folder for each thing that a person gets by typing a command.

A folder has the following files, as far as the capability needs them:

``__init__.py``
    Declares its `recon_cli.stage.Stage`, or its `recon_cli.protections.ProtectionMethod`; light.
``options.py``
    Its section of the config; the module's docstring is the help of the command.
``stage.py``
    Opens its inputs, states its recipe, and publishes: ``open_stage(run)``.
``question.py``
    Its one `recon_cli.ask.question.Question`, which is asked of every piece.
``command.py``
    Its command, if the command that follows from the declaration is not enough.
``summary.py``
    The summary lines of its finished stage: ``summary(run, outcome)``.
``section.py``
    Its section of the report.

The kernel imports no capability; a capability imports another only if it needs its results. A new
capability is a folder and a word here: config, command, help, ``recon run``, ``recon status`` and
``make`` follow. Tests then ask for a row in README.md and in docs, and for a run of it in
``tests/support/all_stages.py``; `recon_cli.api.options` shows its section to type checkers.
"""

from typing import Final

#: Folders, those of stages in the order of a run.
CAPABILITIES: Final = (
    "synth",
    "attacker",
    "swap",
    "round",
    "cellkey",
    "suppress",
    "census1980",
    "noise",
    "topdown",
    "randomize",
    "tabulate",
    "ingest",
    "capacity",
    "audit",
    "slivers",
    "frontier",
    "reconstruct",
    "estimate",
    "solvar",
    "claims",
    "joint",
    "prove",
    "contributions",
    "confidence",
    "leave_one_out",
    "attribute",
    "link",
    "risk",
    "score",
    "compare",
    "report",
    "account",
    "check",
    "export",
    "cure",
    "fetch",
    "init",
    "run",
    "status",
    "purge",
    "calibrate",
    "dinur_nissim",
    "noisy_file",
    "protect",
    "show",
    "verify",
    "measurements",
    "records",
    "findings",
)
