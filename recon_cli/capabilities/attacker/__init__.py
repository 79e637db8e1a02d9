"""Make attackers' files about a synthetic population."""

from recon_cli.stage import Stage

ATTACKER = Stage(
    "data attacker",
    reads=("persons", "places"),
    folders=("comrcl", "cef_atkr"),
    section="synth",
    package=__name__,
    purpose="Make attackers' files about a synthetic population.",
)
