"""Copies of an office's workbooks and tables, with findings marked or counts suppressed."""

from recon_cli.stage import Command

COMMAND = Command(
    "export",
    __name__,
    "Write copies of published workbooks and tables, with findings marked or counts suppressed.",
)
