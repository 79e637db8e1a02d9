"""Subjects of rules: options that check themselves, and the search for violations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container
from typing import TYPE_CHECKING, ClassVar

from recon_cli.capabilities.check.finding import Finding, difference
from recon_cli.config.model import ConfigModel
from recon_cli.schema import Release
from recon_cli.store import Stage

if TYPE_CHECKING:  # a config has rules, and commands that judge none start fast
    from recon_cli.capabilities.check.evidence import Before, Evidence


class Subject(ConfigModel):
    """Base of the subjects of rules; its fields are its options.

    A violation is a fact about all populations that fit the publication, so that a verdict can be
    checked by enumeration: `benchmarks.soundness.verdicts` has a rule of each subject, and counts
    its violations there. A new subject is a class, and an entry of
    `recon_cli.capabilities.check.options.SUBJECTS`.

    Attributes:
        needs: The stages whose proofs it asks for.
        is_of_people: Whether violations are people, so that the limit may be a share of them.
    """

    needs: ClassVar[tuple[Stage, ...]]
    is_of_people: ClassVar[bool] = False

    def stages(self, sections: Container[str]) -> tuple[Stage, ...]:  # noqa: ARG002
        """Return the stages whose proofs it needs in a run with these sections."""
        return self.needs

    def check(self, release: Release) -> None:
        """Refuse values that the release does not support."""

    def newly(self, now: Evidence, before: Before) -> Finding:
        """Find violations that a candidate adds to other publications."""
        if before.records is None:
            raise ValueError("nothing was proven without the candidate")
        return difference(self.violations(now), self.violations(before.records))

    @abstractmethod
    def violations(self, evidence: Evidence) -> Finding:
        """Find proven violations, possible ones, and gaps."""
