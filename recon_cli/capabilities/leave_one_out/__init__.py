"""Leave-one-out: conclusions about a person with and without that person in the counts."""

from recon_cli.stage import Stage

LEAVE_ONE_OUT = Stage(
    "leave-one-out",
    reads=("hdf", "cef", "persons", "tables", "geounits", "microdata", "blocks"),
    folders=("leave_one_out",),
    section="leave_one_out",
    package=__name__,
    can_shard=True,
    purpose="Compare what the counts reveal about a person with and without that person's answers.",
)
