"""A synthetic population: places, households and persons whose true values are known."""

from recon_cli.capabilities.synth.parameters import Nation, load_nation

__all__ = ["Nation", "load_nation"]
