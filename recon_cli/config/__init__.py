"""The configuration of a run: one YAML file, validated before anything is read or written."""

from recon_cli.config.load import DEFAULT_FILE, load_config
from recon_cli.config.model import RunConfig, Section
from recon_cli.config.sections import SECTIONS

__all__ = [
    "DEFAULT_FILE",
    "SECTIONS",
    "RunConfig",
    "Section",
    "load_config",
]
