"""What `import recon_cli as recon` gives: the stages as functions over frames."""

from recon_cli.api.linkage import Linkage, agreement, baselines, link, score_links
from recon_cli.api.reconstruction import (
    audit_counts,
    find_claims,
    measure_variability,
    publish,
    read_published,
    reconstruct,
    verify,
)
from recon_cli.attack.claims.partition import VerifiedClaims
from recon_cli.attack.linkage.specification import Guesser
from recon_cli.attack.reconstruction.partition import Reconstruction
from recon_cli.attack.variability.partition import Measurement, flag_certain
from recon_cli.errors import ReconError
from recon_cli.protect.accuracy import count_accuracy
from recon_cli.protect.counts import protect_counts
from recon_cli.publication import Publication
from recon_cli.schema import AttackKeys, Release, load_release, packaged_releases, parse_release
from recon_cli.statement import Protection, Statement, load_protection, parse_law
from recon_cli.tabulation import tabulate
from recon_cli.verification import Verification

__all__ = [
    "AttackKeys",
    "Guesser",
    "Linkage",
    "Measurement",
    "Protection",
    "Publication",
    "ReconError",
    "Reconstruction",
    "Release",
    "Statement",
    "Verification",
    "VerifiedClaims",
    "agreement",
    "audit_counts",
    "baselines",
    "count_accuracy",
    "find_claims",
    "flag_certain",
    "link",
    "load_protection",
    "load_release",
    "measure_variability",
    "packaged_releases",
    "parse_law",
    "parse_release",
    "protect_counts",
    "publish",
    "read_published",
    "reconstruct",
    "score_links",
    "tabulate",
    "verify",
]
