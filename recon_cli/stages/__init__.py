"""Stages: read, call, publish. One module a stage; each takes a `Run`."""

from recon_cli.stages.run import Outcome, Run

__all__ = ["Outcome", "Run"]
