"""A synthetic population: places, households and persons whose true values are known."""

from recon_cli.stage import Stage

SYNTH = Stage(
    "data synth",
    folders=("persons", "households", "places"),
    section="synth",
    package=__name__,
    purpose="Generate a synthetic population like that of the 2010 Census.",
)
