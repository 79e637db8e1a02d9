"""``joint:`` the records that two releases about the same places prove together.

Writes joint/ (a row for each record of this run's release that is in every joint solution: `alone`
if its own tables prove it, `joint` if it takes the tables of both), joint_partner/ (the same for
the partner's records) and joint_units/. With `compositions`, which looks for who lives with whom,
it also writes joint_compositions/ (households that are certain down to every member) and
joint_members/. Each release is ingested by a run of its own; `links` states how their records are
linked. Each place is examined alone, with coarser counts as upper bounds. Both runs need tables/
(`recon ingest`), but no reconstruction.

Example:
  recon joint -c persons.yaml
  recon joint -c persons.yaml --compositions 4000
  recon joint --partner households.yaml --links sf1_2010
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from recon_cli.config.model import ConfigPath, ConfigPaths, Section, place_release


class Joint(Section):
    """The section ``joint``.

    Attributes:
        partner: The config of the run that ingested the other release.
        further: Configs of runs whose releases have further counts of the same records, such as
            people by type of household.
        links: Links between the records of both: ``sf1_2010``, or the path of a .yaml file
            (docs/schema.md).
        assumptions: Use structural zeros that either schema merely assumes.
        unit_seconds: Budget of each place, in seconds of solver work, not of clock time: for both
            releases together, and again for each alone.
        compositions: Maximum number of combinations of a household and its members to list per
            place, to find households that are certain with all their members; 0 for none. 4000
            usually takes under a second.
        seed: Seed of the solver; default the run's seed.
    """

    partner: ConfigPath
    further: ConfigPaths = ()
    links: Annotated[str, BeforeValidator(place_release)]
    assumptions: bool = True
    unit_seconds: Annotated[float, Field(gt=0)] = 10.0
    compositions: Annotated[int, Field(ge=0)] = 0
    seed: Annotated[int, Field(ge=0)] | None = None
