"""The stages of a run, each declared once: what it reads, what it makes, and who runs it.

A new stage is a declaration here, a module in `recon_cli.stages`, a config section and a function
that prints its summary. Its command follows; all of a protection, from `recon_cli.protections`.
The order of a run follows from ``reads`` and ``folders``; see `recon_cli.pipeline.order`.
"""

from __future__ import annotations

from typing import Final

from recon_cli.protections import PROTECTIONS
from recon_cli.stage import INGEST, Stage, private_folder

SYNTH = Stage(
    "data synth",
    folders=("persons", "households", "places"),
    section="synth",
    function="recon_cli.capabilities.synth.stage:synth",
    purpose="Generate a synthetic population like that of the 2010 Census.",
)
ATTACKER = Stage(
    "data attacker",
    reads=("persons", "places"),
    folders=("comrcl", "cef_atkr"),
    section="synth",
    function="recon_cli.capabilities.attacker.stage:attacker",
    purpose="Make the files that attackers hold of a synthetic population.",
)
#: The stages of the protections, in their order.
PROTECT = tuple(
    Stage(
        f"protect {name}",
        reads=each.reads,
        folders=(*each.folders, *(f"{private_folder(name)}/{kept}" for kept in each.private)),
        section=name,
        function=each.stage,
        options=each.options,
        purpose=each.purpose,
        public=each.folders,
    )
    for name, each in PROTECTIONS.items()
)
#: It reads and writes what its section names.
TABULATE = Stage(
    "data tabulate",
    folders=("tabulated",),
    public=("tabulated",),
    section="tabulate",
    function="recon_cli.capabilities.tabulate.stage:tabulate",
    purpose="Count records in every published cell.",
)
CAPACITY = Stage(
    "plan capacity",
    reads=("tables", "geounits"),
    folders=("capacity", "capacity_sums"),
    section="capacity",
    function="recon_cli.capabilities.capacity.stage:capacity",
    purpose="State what the tables carry, and how much noise they would need, before any attack.",
)
#: It needs no reconstruction: it asks about all of them.
AUDIT = Stage(
    "audit",
    reads=("tables", "geounits"),
    folders=("audit",),
    section="audit",
    function="recon_cli.capabilities.audit.stage:audit",
    can_shard=True,
    purpose="Find what the published counts give away of each suppressed, rounded or left out one.",
)
SLIVERS = Stage(
    "slivers",
    reads=("tables", "geounits"),
    folders=("slivers", "sliver_counts"),
    section="slivers",
    function="recon_cli.capabilities.slivers.stage:slivers",
    purpose="Find the small groups of people that areas give away where they overlap.",
)
#: It reads the release's schema alone.
FRONTIER = Stage(
    "plan frontier",
    folders=("frontier",),
    section="frontier",
    function="recon_cli.capabilities.frontier.stage:frontier",
    purpose="State what noise would cost the users of each table, against the privacy loss.",
)
RECONSTRUCT = Stage(
    "reconstruct",
    reads=("tables", "geounits"),
    folders=("microdata", "blocks"),
    section="reconstruct",
    function="recon_cli.capabilities.reconstruct.stage:reconstruct",
    can_shard=True,
    options=("tables",),
    purpose="Reconstruct the person records that the tables imply.",
)
ESTIMATE = Stage(
    "estimate",
    reads=("tables", "geounits"),
    folders=("estimates",),
    section="estimate",
    function="recon_cli.capabilities.estimate.stage:estimate",
    purpose="Estimate noisy counts from all levels together, with intervals.",
)
SOLVAR = Stage(
    "solvar",
    reads=("tables", "geounits", "microdata", "blocks"),
    folders=("solvar", "intervals", "certainty", "regions"),
    section="solvar",
    function="recon_cli.capabilities.solvar.stage:solvar",
    can_shard=True,
    options=("mode",),
    purpose="Measure how far any other solution could differ, and who is in all of them.",
)
CLAIMS = Stage(
    "claims",
    reads=("tables", "geounits", "microdata", "blocks"),
    folders=("claims", "claim_units", "disclosures"),
    section="claims",
    function="recon_cli.capabilities.claims.stage:claims",
    can_shard=True,
    purpose="Find what is true of people in every solution, on any of their columns.",
)
#: Its partner is a run of its own.
JOINT = Stage(
    "joint",
    reads=("tables", "geounits"),
    folders=("joint", "joint_partner", "joint_units", "joint_compositions", "joint_members"),
    section="joint",
    function="recon_cli.capabilities.joint.stage:joint",
    can_shard=True,
    purpose="Find who is in every solution of two releases together, of people and of households.",
)
#: ``proofs`` has a row a statement, and beside it the texts that anybody can check.
PROVE = Stage(
    "prove",
    reads=(
        *("tables", "geounits", "microdata", "blocks"),
        *("audit", "solvar", "intervals", "claims"),
    ),
    folders=("proofs", "proof_texts"),
    section="prove",
    function="recon_cli.capabilities.prove.stage:prove",
    can_shard=True,
    purpose="Write proofs of what was found that anybody can check with Python alone.",
)
#: It attacks anew what is left of the tables.
CONTRIBUTIONS = Stage(
    "contributions",
    reads=("tables", "geounits"),
    folders=("contributions",),
    section="contributions",
    function="recon_cli.capabilities.contributions.stage:contributions",
    options=("parts", "orders"),
    purpose="Leave each table, level or feature's detail out of the publication, and attack the "
    "rest.",
)
CONFIDENCE = Stage(
    "confidence",
    reads=("tables", "geounits", "microdata", "blocks"),
    folders=("confidence",),
    section="confidence",
    function="recon_cli.capabilities.confidence.stage:confidence",
    can_shard=True,
    purpose="See how often each record that is not certain appears among sampled solutions.",
)
LEAVE_ONE_OUT = Stage(
    "leave-one-out",
    reads=("hdf", "cef", "persons", "tables", "geounits", "microdata", "blocks"),
    folders=("leave_one_out",),
    section="leave_one_out",
    function="recon_cli.capabilities.leave_one_out.stage:leave_one_out",
    can_shard=True,
    options=("people", "within"),
    purpose="Leave each of some people out of the counts, and compare what is then concluded "
    "about them.",
)
#: ``links`` holds one row per link; the others one row per geounit and group, for `recon score`.
LINK = Stage(
    "link",
    reads=("cef", "persons", "hdf", "comrcl", "tables", "geounits", "microdata"),
    folders=("links", "tallies", "targets", "agreement", "truth"),
    section="link",
    function="recon_cli.capabilities.link.stage:link",
    can_shard=True,
    options=("draws",),
    purpose="Match sources with attacker files, and confirm on the truth.",
)
#: People whom somebody knows are nobody else's business: all that it makes is private.
ATTRIBUTE = Stage(
    "attribute",
    reads=("tables", "geounits", "microdata", "blocks", "solvar", "intervals"),
    folders=(f"{private_folder('attribute')}/attributed",),
    section="attribute",
    function="recon_cli.capabilities.attribute.stage:attribute",
    purpose="Find what the tables prove of people whom somebody knows.",
)
#: It reads what its section names.
RISK = Stage(
    "plan risk release",
    folders=("risk", "risk_sums"),
    section="risk",
    function="recon_cli.capabilities.risk.stage:risk",
    called="risk",
)
SCORE = Stage(
    "score",
    reads=("links", "tallies", "targets", "agreement", "truth", "solvar", "blocks", "confidence"),
    folders=("score",),
    section="score",
    function="recon_cli.capabilities.score.stage:score",
    purpose="Make the result tables: who is re-identified, against guessing.",
)
#: Its protections have work folders of their own, in ``compare/``.
COMPARE = Stage(
    "compare",
    reads=("persons", "households"),
    folders=("comparison",),
    section="compare",
    function="recon_cli.capabilities.compare.stage:compare",
    purpose="Protect one truth in several ways, attack each, and show error and risk on one page.",
)
#: It shows every folder that there is, so it comes last.
REPORT = Stage(
    "report",
    reads=(
        *("persons", "comrcl", "hdf", "tabulated", "tables", "microdata"),
        *("audit", "solvar", "claims", "joint", "proofs", "contributions", "confidence"),
        *("leave_one_out", "risk"),
        *("links", "score"),
    ),
    folders=("report",),
    public=("report",),
    section="report",
    function="recon_cli.capabilities.report.stage:report",
    options=("title", "to"),
    purpose="Write the results as one page that reads offline.",
)

STAGES = (
    SYNTH,
    ATTACKER,
    *PROTECT,
    TABULATE,
    INGEST,
    CAPACITY,
    AUDIT,
    SLIVERS,
    FRONTIER,
    RECONSTRUCT,
    ESTIMATE,
    SOLVAR,
    CLAIMS,
    JOINT,
    PROVE,
    CONTRIBUTIONS,
    CONFIDENCE,
    LEAVE_ONE_OUT,
    ATTRIBUTE,
    LINK,
    RISK,
    SCORE,
    COMPARE,
    REPORT,
)


def _of_published() -> frozenset[str]:
    names, folders = {INGEST.name}, set(INGEST.folders)
    for stage in STAGES:
        if stage.reads and folders.issuperset(stage.reads) and stage is not ATTRIBUTE:
            names.add(stage.name)
            folders.update(stage.folders)
    return frozenset(names)


#: Names of the stages that read what is published, and what was made of it, alone. Digests of what
#: others read may be of records.
OF_PUBLISHED: Final = _of_published()


def stage_named(short_name: str) -> Stage:
    """The stage that ``--only`` calls so.

    Raises:
        KeyError: There is none.
    """
    return {stage.short_name: stage for stage in STAGES}[short_name]
