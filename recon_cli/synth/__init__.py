"""A made-up nation: places, households and people whose true values are known."""

from recon_cli.synth.parameters import Nation, load_nation

__all__ = ["Nation", "load_nation"]
