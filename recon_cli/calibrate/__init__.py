"""A synthetic population beside the published one."""

from recon_cli.calibrate.study import Study, load_study

__all__ = ["Study", "load_study"]
