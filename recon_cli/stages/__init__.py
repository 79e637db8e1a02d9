"""Stages: read, call, publish. One module a stage; each takes a `Run`."""

from recon_cli.pipeline.run import Run, StageOutcome

__all__ = ["Run", "StageOutcome"]
