"""A first config for files that somebody has: what they are, and the text that says so."""

from recon_cli.scaffold.document import compose
from recon_cli.scaffold.recognition import RecognisedFiles, recognise

__all__ = ["RecognisedFiles", "compose", "recognise"]
