"""What a rule is about: options that check themselves, and how violations are found."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container
from typing import ClassVar

from recon_cli.capabilities.check.evidence import Before, Evidence
from recon_cli.capabilities.check.finding import Finding, difference
from recon_cli.config.model import ConfigModel
from recon_cli.schema import Release
from recon_cli.store import Stage


class Subject(ConfigModel):
    """Base of what a rule can be about; its fields are its options.

    Attributes:
        needs: The stages whose proofs it asks for.
        is_of_people: Whether violations are people, so that the limit may be a share of them.
    """

    needs: ClassVar[tuple[Stage, ...]]
    is_of_people: ClassVar[bool] = False

    def stages(self, sections: Container[str]) -> tuple[Stage, ...]:  # noqa: ARG002
        """The stages whose proofs it asks for in a run with these sections."""
        return self.needs

    def check(self, release: Release) -> None:
        """Refuse what the release does not have.

        Raises:
            ConfigError: Something is unknown; the message begins with its key.
        """

    def newly(self, now: Evidence, before: Before) -> Finding:
        """The same of what a candidate adds to the publications beside it."""
        if before.records is None:
            raise ValueError("nothing was proven without the candidate")
        return difference(self.violations(now), self.violations(before.records))

    @abstractmethod
    def violations(self, evidence: Evidence) -> Finding:
        """What is proven of violations, what may be one, and what nobody can tell.

        Raises:
            StageError: A folder is damaged.
        """
