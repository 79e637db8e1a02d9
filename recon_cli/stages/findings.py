"""What a work folder holds → `Findings`. Partitions are read one after the other and summed."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import polars as pl

from recon_cli.config.sections.report import Report
from recon_cli.config.sections.score import Score
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import RISK
from recon_cli.progress import Task, plural
from recon_cli.report.findings import (
    AuditFindings,
    ClaimFindings,
    ConfidenceFindings,
    ContributionFindings,
    Findings,
    LeaveOneOutFindings,
    Missing,
    Place,
    ReconstructionFindings,
    RiskFindings,
    Rule,
    ScoreFindings,
    UniqueFindings,
    VariabilityFindings,
)
from recon_cli.report.proven import (
    Mode,
    add_up_sizes,
    claimed_records,
    placed_records,
    proven_units,
    uniqueness_by_size,
)
from recon_cli.schema import Release
from recon_cli.score.confidence import CALIBRATION, count_tenths
from recon_cli.score.leave_one_out import DIFFERENCE
from recon_cli.score.sizes import Sizes
from recon_cli.stages.contributions import read_contributions
from recon_cli.stages.lineage import made_from, own_source
from recon_cli.stages.reconstructed import release_of_records
from recon_cli.stages.source_labels import file_labels
from recon_cli.store import Folder, Manifest, Stage, open_folder
from recon_cli.store.protection import laws_of
from recon_cli.store.published import place_name, read_names


def gather_findings(run: Run, manifests: tuple[Manifest, ...]) -> Findings:
    """Read everything that a report is about.

    Args:
        run: The run.
        manifests: Those of `reportable`.

    Raises:
        StageError: A folder is damaged, or was made with another schema.
    """
    by_stage = {manifest.stage: manifest for manifest in manifests}
    for manifest in manifests:
        manifest.require_release(run.release)
    microdata = _microdata(run.work, by_stage)
    solvar = _measured(run.work, by_stage, microdata, "solvar")
    mode: Mode | None = None
    if not isinstance(solvar, Missing):
        mode = solvar.manifest.notes["mode"]
    claimed = _measured(run.work, by_stage, microdata, "claims")
    report = run.config.section(Report)
    places: tuple[Place, ...] = ()
    reconstruction: ReconstructionFindings | Missing
    if isinstance(microdata, Missing):
        reconstruction = microdata
    else:
        reconstruction, places = _sum_up(run, microdata, solvar, claimed, mode)
    variability: VariabilityFindings | Missing
    if isinstance(solvar, Missing):
        variability = solvar
    else:
        tables = [
            pl.read_csv(solvar.read_extra(name)) for name in ("percentiles.csv", "by_size.csv")
        ]
        variability = VariabilityFindings(solvar.manifest, solvar.manifest.notes["mode"], *tables)
    scored = by_stage["score"].config.get("compare") if "score" in by_stage else None
    compares = (run.config.section(Score).compare or scored) is not None
    rule = Rule(report.rule, report.tolerated)
    scores = _scores(run, by_stage, microdata, is_study=compares)
    claims = _claims(claimed)
    if (
        isinstance(claims, ClaimFindings)
        and isinstance(reconstruction, ReconstructionFindings)
        and set(claims.columns) <= set(reconstruction.known)  # certain on all is so on some
    ):
        claims = replace(claims, whole=max(claims.whole, reconstruction.whole["certain"]))
    return Findings(
        run.release,
        manifests,
        rule,
        compares,
        _named(places, run, by_stage),
        reconstruction,
        variability,
        _uniques(run.release, variability, scores),
        claims,
        scores,
        confidence=_confidence(run.work, by_stage, microdata),
        leave_one_out=_left_out(run.work, by_stage, microdata),
        contributions=_contributions(run.work, by_stage),
        audit=_audit(run, by_stage),
        risk=_risk(run.work, by_stage),
        laws=laws_of(_open(run.work, by_stage["ingest"], "tables"), run.release)
        if "ingest" in by_stage
        else (),
        assumes_zeros=not isinstance(microdata, Missing)
        and release_of_records(run.release, microdata.manifest).has_assumptions,
    )


def _named(places: tuple[Place, ...], run: Run, by_stage: dict[str, Manifest]) -> tuple[Place, ...]:
    """The places with their names, where the published files said them."""
    if "ingest" not in by_stage:
        return places
    names = read_names(_open(run.work, by_stage["ingest"], "geounits"))
    return tuple(replace(each, name=place_name(each.geoid, names)) for each in places)


def _microdata(work: Path, by_stage: dict[str, Manifest]) -> Folder | Missing:
    commands = ("recon reconstruct",)
    if "reconstruct" not in by_stage:
        return Missing("there is no microdata/ in the work folder", commands)
    folder = _open(work, by_stage["reconstruct"], "microdata")
    if "ingest" in by_stage:
        tables = _open(work, by_stage["ingest"], "tables")
        if not made_from(folder.manifest, tables):
            return Missing("tables/ changed after microdata/ was made from them", commands)
    return folder


def _measured(
    work: Path, by_stage: dict[str, Manifest], microdata: Folder | Missing, name: str
) -> Folder | Missing:
    """The folder of a stage that measures ``microdata/``, called like the stage."""
    commands = (f"recon {name}",)
    if name not in by_stage:
        return Missing(f"there is no {name}/ in the work folder", commands)
    folder = _open(work, by_stage[name], name)
    if isinstance(microdata, Missing) or not made_from(folder.manifest, microdata):
        return Missing(f"{name}/ was made from other microdata/ than those there now", commands)
    return folder


def _claims(folder: Folder | Missing) -> ClaimFindings | Missing:
    if isinstance(folder, Missing):
        return folder
    disclosures = _open(folder.path.parent, folder.manifest, "disclosures")
    columns = len(folder.manifest.notes["columns"])
    whole = 0
    parts, singletons = [], []
    chances = ("p_region", "p_all")
    for name in folder.partitions:
        claims = folder.read(name, columns=("k", "count", "singleton", *chances))
        singletons.append(claims.filter("singleton").select("k", *chances))
        whole += int(claims.filter(pl.col("k") == columns)["count"].sum())
        parts.append(disclosures.read(name).group_by("known").agg(pl.col(pl.Int32).sum()))
    by_known = pl.concat(parts).group_by("known").sum().sort("known")
    by_k = pl.concat(singletons).group_by("k")
    surprise = by_k.agg(pl.len().alias("singletons"), pl.col(chances).median()).sort("k")
    people = folder.manifest.totals["people"]
    return ClaimFindings(folder.manifest, people, whole, by_known, surprise)


def _confidence(
    work: Path, by_stage: dict[str, Manifest], microdata: Folder | Missing
) -> ConfidenceFindings | Missing | None:
    if "confidence" not in by_stage:
        return None
    folder = _measured(work, by_stage, microdata, "confidence")
    if isinstance(folder, Missing):
        return folder
    calibrated = None
    score = by_stage.get("score")
    if score is not None and score.inputs["shared"].get("confidence/") == folder.manifest.key:
        data = _open(work, score, "score").read_extra("confidence.csv")
        calibrated = pl.read_csv(data, schema=CALIBRATION)
    return ConfidenceFindings(
        folder.manifest,
        count_tenths(folder.read(name, columns=("confidence",)) for name in folder.partitions),
        calibrated,
    )


def _risk(work: Path, by_stage: dict[str, Manifest]) -> RiskFindings | None:
    if RISK.name not in by_stage:
        return None
    from recon_cli.stages.risk import SUMMARY  # noqa: PLC0415 - loads scipy's Fourier transforms

    folder = _open(work, by_stage[RISK.name], RISK.folders[0])
    summary = pl.read_parquet(folder.read_extra(f"{SUMMARY}.parquet"))
    return RiskFindings(folder.manifest, summary)


def _left_out(
    work: Path, by_stage: dict[str, Manifest], microdata: Folder | Missing
) -> LeaveOneOutFindings | Missing | None:
    if "leave-one-out" not in by_stage:
        return None
    folder = _open(work, by_stage["leave-one-out"], "leave_one_out")
    if isinstance(microdata, Missing) or not made_from(folder.manifest, microdata):
        why = "leave_one_out/ was made from other microdata/ than those there now"
        return Missing(why, ("recon leave-one-out",))
    differences = pl.read_csv(folder.read_extra("differences.csv"), schema=DIFFERENCE)
    return LeaveOneOutFindings(folder.manifest, differences)


def _contributions(
    work: Path, by_stage: dict[str, Manifest]
) -> ContributionFindings | Missing | None:
    if "contributions" not in by_stage:
        return None
    folder = _open(work, by_stage["contributions"], "contributions")
    if "ingest" in by_stage:
        tables = _open(work, by_stage["ingest"], "tables")
        if folder.manifest.inputs["shared"]["tables"] != tables.manifest.key:
            why = "contributions/ was made from other tables/ than those there now"
            return Missing(why, ("recon contributions",))
    return ContributionFindings(folder.manifest, read_contributions(work))


def _audit(run: Run, by_stage: dict[str, Manifest]) -> AuditFindings | Missing | None:
    if "audit" not in by_stage:
        return None
    folder = _open(run.work, by_stage["audit"], "audit")
    if "ingest" in by_stage and not made_from(
        folder.manifest, _open(run.work, by_stage["ingest"], "tables")
    ):
        return Missing("tables/ changed after audit/ was made from them", ("recon audit",))
    from recon_cli.stages.audit_pieces import read_audit  # noqa: PLC0415 - loads the solver

    return AuditFindings(folder.manifest, read_audit(run.work, run.release))


def _scores(
    run: Run, by_stage: dict[str, Manifest], microdata: Folder | Missing, *, is_study: bool
) -> ScoreFindings | Missing:
    commands = ("recon score",)
    if run.release.attack is None and "score" not in by_stage:
        return Missing(
            "nobody was linked: the release's schema does not say by what",
            ("recon run",),
            change="add `attack:` to the schema, `link:` with records and `score:` to the config",
        )
    if "link" not in by_stage:
        return Missing(
            "nobody was linked: that takes records to link with, `link:` in the config",
            ("recon link", *commands),
        )
    if "score" not in by_stage:
        return Missing("links were not scored: there is no score/ in the work folder", commands)
    folder = _open(run.work, by_stage["score"], "score")
    links = _open(run.work, by_stage["link"], "links")
    if (why := _outdated(folder, links, by_stage.get("solvar"))) is not None:
        return Missing(why, commands)
    rates, gains = (
        pl.read_parquet(io.BytesIO(folder.read_extra(f"{name}.parquet")))
        for name in ("rates", "gains")
    )
    own = None if isinstance(microdata, Missing) else own_source(links.manifest, microdata)
    labels = {} if is_study else file_labels(links.manifest, own)
    names = [pl.col(name).replace(labels) for name in ("source", "against")]
    rates = rates.with_columns(names)
    gains = gains.with_columns(*names, pl.col("guesser").replace(labels))
    return ScoreFindings(
        folder.manifest,
        links.manifest,
        rates,
        gains,
        None if own is None else labels.get(own, own),
        labels,
    )


def _uniques(
    release: Release,
    variability: VariabilityFindings | Missing,
    scores: ScoreFindings | Missing,
) -> UniqueFindings | Missing:
    """In the truth where it is known, else in the reconstruction."""
    if not isinstance(scores, Missing):
        rates = scores.table("table07_uniques")
        named = {"block_size": "size", "of": "population", "count": "unique", "pct": "unique_pct"}
        columns = [*named, *(each for each in ("published_pct",) if each in rates.columns)]
        return UniqueFindings(rates.select(columns).rename(named), is_true=True)
    why = f"unique {plural(release.record)} were not counted: "
    if isinstance(variability, Missing):
        return Missing(why + variability.why, variability.commands)
    if release.attack is None:
        return Missing(
            f"{why}the release's schema does not say by which columns",
            ("recon run",),
            change="add `attack:` to the schema",
        )
    columns = ["size", "population", "unique", "unique_pct"]
    return UniqueFindings(variability.by_size.select(columns), is_true=False)


def _outdated(score: Folder, links: Folder, solvar: Manifest | None) -> str | None:
    """Why ``score/`` does not fit the folders beside it; None if it does."""
    shared = score.manifest.inputs["shared"]
    if shared.get("links") != links.manifest.key:
        return "score/ was made from other links/ than those there now"
    if solvar is not None and shared.get("solvar/", solvar.key) != solvar.key:
        return "solvar/ changed after score/ was made from it"
    if "gains.parquet" not in score.manifest.extras:
        return "score/ was made by an older version (`recon score --force`)"
    return None


def _open(work: Path, manifest: Manifest, name: str) -> Folder:
    """A folder of whichever stage made it; no need to load that stage, and its solver."""
    return open_folder(work, Stage(manifest.stage, manifest.folders), name)


def _sum_up(
    run: Run,
    microdata: Folder,
    solvar: Folder | Missing,
    claimed: Folder | Missing,
    mode: Mode | None,
) -> tuple[ReconstructionFindings, tuple[Place, ...]]:
    """Sum partitions, one after the other: no more than one is in memory."""
    release, sizes = run.release, Sizes(run.config.section(Score).sizes)
    blocks = _open(run.work, microdata.manifest, "blocks")
    totals = microdata.manifest.totals
    parts = []
    worst: list[Place] = []
    report = run.config.section(Report)
    empty = uncounted = 0
    seen: set[str] = set()
    task = Task(
        "report", release.geography.unit.name, totals["units"], totals["people"], release.record
    )
    with run.reporter.bar(task) as bar:
        for name in microdata.partitions:
            units, records = blocks.read(name), microdata.read(name)
            seen |= _seen(release, records)
            variability = None if isinstance(solvar, Missing) else solvar.read(name)
            placed = placed_records(release, records)
            claims = None if isinstance(claimed, Missing) else _claimed(release, claimed, name)
            proven = proven_units(units, placed, variability, claims, mode)
            parts.append(uniqueness_by_size(proven, sizes, mode))
            worst = _worst([*worst, *_given(proven, claimed, name, report)], report.places)
            empty += units.filter(pl.col("population") == 0).height
            uncounted += units["population"].null_count()
            bar.advance(units.height, records.height)
    found = ReconstructionFindings(
        manifest=microdata.manifest,
        people=totals["people"],
        empty=empty,
        uncounted=uncounted,
        known=tuple(column for column in release.histogram if column in seen),
        unknown=tuple(column for column in release.histogram if column not in seen),
        by_size=add_up_sizes(parts, sizes),
    )
    return found, tuple(worst)


def _claimed(release: Release, claims: Folder, partition: str) -> pl.DataFrame:
    return claimed_records(release, claims.manifest.notes["columns"], claims.read(partition))


def _given(
    proven: pl.DataFrame, claims: Folder | Missing, partition: str, report: Report
) -> list[Place]:
    """The units of a partition where people are given away by the rule, or as far as is known."""
    place = proven.columns[0]
    proven = proven.with_columns(pl.coalesce("population", "placed"))
    given = proven.select(place, "population", given=pl.col("certain"))
    if report.rule != "record" and not isinstance(claims, Missing):
        folder = _open(claims.path.parent, claims.manifest, "disclosures")
        most = folder.read(partition).group_by(place).agg(given=pl.col(report.rule).max())
        given = proven.select(place, "population").join(most, on=place)
    return [Place(*row) for row in given.drop_nulls().filter(pl.col("given") > 0).iter_rows()]


def _worst(places: list[Place], most: int) -> list[Place]:
    """Those with most people given away; of equals the smaller, then by geoid."""
    return sorted(places, key=lambda each: (-each.given, each.people, each.geoid))[:most]


def _seen(release: Release, records: pl.DataFrame) -> set[str]:
    """The histogram columns that are known of anybody."""
    found = set()
    for column in release.histogram:
        name = column if column in records.columns else release.column_groups(column).feature
        if records[name].null_count() < records.height:
            found.add(column)
    return found
