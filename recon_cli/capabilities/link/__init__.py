"""Linking of records with attackers' files, and guessing without links."""

from recon_cli.stage import Stage

#: ``links`` holds one row per link; the others one row per geounit and group, for `recon score`.
LINK = Stage(
    "link",
    reads=("cef", "persons", "hdf", "comrcl", "tables", "geounits", "microdata"),
    folders=("links", "tallies", "targets", "agreement", "truth"),
    section="link",
    package=__name__,
    can_shard=True,
    purpose="Match records with attackers' files, and confirm the matches against the truth.",
)
