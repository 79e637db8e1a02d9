"""``leave_one_out:`` whose answers to leave out of the counts, and how hard to try.

Writes leave_one_out/: the attack's conclusions about each person with his or her answers in the
counts, and without. The difference is what publishing these answers revealed; the rest follows
from the answers of others. Needs the records that were tabulated.

Example:
  recon leave-one-out -c nation.yaml --people 1000
  recon leave-one-out --within 01841
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from recon_cli.config.model import ConfigPath, Names, Section
from recon_cli.errors import ConfigError
from recon_cli.schema import Release


class LeaveOneOut(Section):
    """The section ``leave_one_out``.

    Attributes:
        records: The records that were tabulated; default ``hdf/``, ``cef/`` or ``persons/`` in
            the work folder, the first that exists.
        gains: Columns that an attacker wants to learn; default the schema's.
        people: Approximate number of people to sample; default all.
        within: Only people in geounits whose geoids begin with this.
        solutions: Number of solutions to sample, with each person and without.
        seconds: Budget for each person, in seconds of solver work, not of clock time.
        seed: Seed of sampled people and solutions; default the run's seed.
    """

    records: ConfigPath | None = None
    gains: Names | None = None
    people: Annotated[int, Field(ge=1)] | None = None
    within: str = ""
    solutions: Annotated[int, Field(ge=1)] = 5
    seconds: Annotated[float, Field(gt=0)] = 1.0
    seed: Annotated[int, Field(ge=0)] | None = None

    def gained(self, release: Release) -> tuple[str, ...]:
        """Return the columns that an attacker wants to learn.

        Raises:
            ConfigError: Neither the section nor the release says which.
        """
        if self.gains is not None:
            return self.gains
        if release.attack is None:
            raise ConfigError(
                f"leave_one_out.gains: release {release.name!r} does not say what an attacker "
                "gains; name the columns"
            )
        return release.attack.gains

    def share(self, people: int) -> float:
        """Return the chance of each of some people to be left out."""
        return 1.0 if self.people is None else min(1.0, self.people / max(people, 1))

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        return () if self.records is None else (self.records,)
