"""The sections of a config as types: the options of each stage, each declared once.

Keys, defaults and meanings are those of docs/config.md; a wrong one is refused when the object is
made.

>>> import recon_cli as recon
>>> recon.options.Round(base=5)
Round(base=5)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recon_cli.config.sections import SECTIONS

if TYPE_CHECKING:
    from recon_cli.capabilities.account.options import Account as Account
    from recon_cli.capabilities.attribute.options import Attribute as Attribute
    from recon_cli.capabilities.audit.options import Audit as Audit
    from recon_cli.capabilities.calibrate.options import Calibrate as Calibrate
    from recon_cli.capabilities.capacity.options import Capacity as Capacity
    from recon_cli.capabilities.cellkey.options import Cellkey as Cellkey
    from recon_cli.capabilities.census1980.options import Census1980 as Census1980
    from recon_cli.capabilities.check.options import Check as Check
    from recon_cli.capabilities.claims.options import Claims as Claims
    from recon_cli.capabilities.compare.options import Compare as Compare
    from recon_cli.capabilities.confidence.options import Confidence as Confidence
    from recon_cli.capabilities.contributions.options import Contributions as Contributions
    from recon_cli.capabilities.estimate.options import Estimate as Estimate
    from recon_cli.capabilities.fetch.options import Fetch as Fetch
    from recon_cli.capabilities.frontier.options import Frontier as Frontier
    from recon_cli.capabilities.ingest.options import Ingest as Ingest
    from recon_cli.capabilities.joint.options import Joint as Joint
    from recon_cli.capabilities.leave_one_out.options import LeaveOneOut as LeaveOneOut
    from recon_cli.capabilities.link.options import Link as Link
    from recon_cli.capabilities.noise.options import Noise as Noise
    from recon_cli.capabilities.prove.options import Prove as Prove
    from recon_cli.capabilities.randomize.options import Randomize as Randomize
    from recon_cli.capabilities.reconstruct.options import Reconstruct as Reconstruct
    from recon_cli.capabilities.report.options import Report as Report
    from recon_cli.capabilities.risk.options import Risk as Risk
    from recon_cli.capabilities.round.options import Round as Round
    from recon_cli.capabilities.score.options import Score as Score
    from recon_cli.capabilities.slivers.options import Slivers as Slivers
    from recon_cli.capabilities.solvar.options import Solvar as Solvar
    from recon_cli.capabilities.suppress.options import Suppress as Suppress
    from recon_cli.capabilities.swap.options import Swap as Swap
    from recon_cli.capabilities.synth.options import Synth as Synth
    from recon_cli.capabilities.tabulate.options import Tabulate as Tabulate
    from recon_cli.capabilities.topdown.options import Topdown as Topdown


def __getattr__(name: str) -> object:
    """Import a section when it is first used (PEP 562)."""
    if name not in _sections():
        raise AttributeError(f"no section {name!r} (sections: {', '.join(_sections())})")
    return SECTIONS[_sections()[name]]


def __dir__() -> list[str]:
    return list(_sections())


def _sections() -> dict[str, str]:
    """Map the name of each type to that of its section: ``LeaveOneOut`` to ``leave_one_out``."""
    return {"".join(part.capitalize() for part in name.split("_")): name for name in SECTIONS}
