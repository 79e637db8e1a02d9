"""The sections of the report, a module each, in the order of the page."""

from typing import Any, Final

from recon_cli.capabilities.audit import section as audit
from recon_cli.capabilities.claims import section as disclosure
from recon_cli.capabilities.confidence import section as confidence
from recon_cli.capabilities.contributions import section as contributions
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.joint import section as joint
from recon_cli.capabilities.leave_one_out import section as leave_one_out
from recon_cli.capabilities.report import places, provenance
from recon_cli.capabilities.risk import section as risk
from recon_cli.capabilities.score import section as attack
from recon_cli.capabilities.slivers import section as slivers
from recon_cli.capabilities.solvar import certain_section as certain
from recon_cli.capabilities.solvar import section as variability
from recon_cli.capabilities.solvar import uniqueness_section as uniqueness

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
