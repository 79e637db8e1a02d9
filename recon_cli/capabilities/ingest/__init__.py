"""Read published files into the work folder."""

from recon_cli.stage import INGEST

__all__ = ["INGEST"]
