"""``joint:`` what two releases about the same places prove together of the records of both.

Writes joint/ (a row for each record of the run's own kind that is in every joint solution, and
whether its own tables prove it `alone` or only `joint` with the others), joint_partner/ (the
same of the partner's records), joint_units/, and, if `compositions` are listed to ask who lives
with whom, joint_compositions/ (households that are certain with every member) and joint_members/.
Both releases are ingested by runs of their own; how their records are linked, `links` says. Each
place is taken alone, with coarser counts as upper ends. Both runs need tables/ (`recon ingest`), no
reconstruction.

Example:
  recon joint -c persons.yaml
  recon joint -c persons.yaml --set joint.compositions=4000
  recon joint --set joint.partner=households.yaml --set joint.links=sf1_2010
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from recon_cli.config.model import ConfigPath, ConfigPaths, Section, place_release


class Joint(Section):
    """The section ``joint``.

    Attributes:
        partner: The config of the run that ingested the other release.
        further: Configs of runs whose releases only say more of these records: people by what is
            known of their households.
        links: How the records of both are linked: ``sf1_2010``, or the path of a .yaml file
            (docs/schema.md).
        assumptions: Whether structural zeros that are assumptions count, of both.
        unit_seconds: Budget of each place, in deterministic seconds, for both together and again
            for each by itself.
        compositions: How many households with all their members are listed of a place at most, to
            find those that are certain with every member; 0: not asked. 4000 keep a place within a
            second, mostly.
        seed: For the solver's own choices; default the run's seed.
    """

    partner: ConfigPath
    further: ConfigPaths = ()
    links: Annotated[str, BeforeValidator(place_release)]
    assumptions: bool = True
    unit_seconds: Annotated[float, Field(gt=0)] = 10.0
    compositions: Annotated[int, Field(ge=0)] = 0
    seed: Annotated[int, Field(ge=0)] | None = None
