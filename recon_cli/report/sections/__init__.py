"""The sections of the report, a module each, in the order of the page."""

from typing import Any, Final

from recon_cli.report.section import Section
from recon_cli.report.sections import (
    attack,
    audit,
    certain,
    confidence,
    contributions,
    disclosure,
    joint,
    leave_one_out,
    places,
    provenance,
    risk,
    slivers,
    uniqueness,
    variability,
)

SECTIONS: Final[tuple[Section[Any], ...]] = (
    places.SECTION,
    audit.SECTION,
    disclosure.SECTION,
    uniqueness.SECTION,
    variability.SECTION,
    certain.SECTION,
    joint.SECTION,
    contributions.SECTION,
    slivers.SECTION,
    confidence.SECTION,
    attack.SECTION,
    leave_one_out.SECTION,
    risk.SECTION,
    provenance.PROOFS,
    provenance.SECTION,
)
