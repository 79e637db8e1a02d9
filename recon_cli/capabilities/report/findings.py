"""Gather `Findings` from a work folder; partitions are read one by one and summed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.asked import coverage_gaps, left_out_gaps
from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    Place,
    ReconstructionFindings,
    Rule,
    ScoreFindings,
    UniqueFindings,
    VariabilityFindings,
)
from recon_cli.capabilities.findings.fresh import WorkFolder, own_source
from recon_cli.capabilities.findings.joint_findings import (
    COUNTED,
    DivisionFindings,
    JointFindings,
    shown_parts,
)
from recon_cli.capabilities.findings.proven import Proofs, add_up_sizes, uniqueness_by_size
from recon_cli.capabilities.joint import JOINT, JOINT_UNITS
from recon_cli.capabilities.link import LINK
from recon_cli.capabilities.link.labels import file_labels
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.reconstruct.reconstructed import release_of_records
from recon_cli.capabilities.report.options import Report
from recon_cli.capabilities.report.protected_places import ProtectedPlaces
from recon_cli.capabilities.score import SCORE
from recon_cli.capabilities.score.options import Score
from recon_cli.capabilities.solvar import SOLVAR
from recon_cli.frames import is_place
from recon_cli.page.missing import Missing
from recon_cli.page.sizes import ALL, Sizes
from recon_cli.pipeline.run import Run
from recon_cli.plurals import plural
from recon_cli.progress import Task
from recon_cli.schema import Release
from recon_cli.stage import undisturbed
from recon_cli.statement import EXACT
from recon_cli.store import INGEST, Folder, Manifest, Stage
from recon_cli.store.protection import laws_of, read_protection
from recon_cli.store.published import place_name, read_coverage, read_left_out, read_names

#: Places that are named for what is certain only together.
_JOINT_PLACES = 10


def gather_findings(run: Run, manifests: tuple[Manifest, ...]) -> Findings:
    """Read what the headline and several sections share.

    Args:
        manifests: Manifests from `reportable`.
    """
    for manifest in manifests:
        manifest.require_release(run.release)
    work, report = WorkFolder(run.work), run.config.section(Report)
    microdata = work.fresh(RECONSTRUCT)
    audit = _audit(run, work)
    recovered = _recovered(audit)
    protected = None if not isinstance(audit, AuditFindings) else ProtectedPlaces(work)
    reconstruction, places = _reconstruction(run, work, microdata, recovered, protected)
    variability = _variability(_measured(work, microdata, SOLVAR))
    scored = next((each.config.get("compare") for each in manifests if each.stage == "score"), None)
    is_study = (run.config.section(Score).compare or scored) is not None
    scores = _scores(run, work, microdata, is_study=is_study)
    claims = _measured(work, microdata, CLAIMS)
    not_asked, reasons = _not_asked(run, work, claims)
    is_read = work.holds(INGEST)
    protection = read_protection(work.open(INGEST), run.release) if is_read else EXACT
    return Findings(
        work,
        run.release,
        manifests,
        Rule(report.rule, report.tolerated),
        is_study,
        lists_places=report.places > 0,
        places=_named(_worst([*places, *_audited(recovered, places)], report.places), work),
        reconstruction=reconstruction,
        variability=variability,
        uniques=_uniques(run.release, variability, scores),
        claims=_claims(work, claims, reconstruction),
        scores=scores,
        audit=audit,
        joint=_joint(run, work, lists_places=report.places > 0),
        laws=laws_of(work.open(INGEST), run.release) if is_read else (),
        kinds_of_law=tuple(dict.fromkeys(each.law.name for each in protection.statements)),
        has_unknown_rule=protection.has_unknown_rule,
        assumes_zeros=not isinstance(microdata, Missing)
        and release_of_records(run.release, microdata.manifest).has_assumptions,
        not_asked=not_asked,
        reasons=reasons,
    )


def _not_asked(
    run: Run, work: WorkFolder, claims: Folder | Missing
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List what was not examined, and numbers left out for a reason given by the officer."""
    if not work.holds(INGEST):
        return (), ()
    tables = work.open(INGEST)
    coverage, left_out = read_coverage(tables, run.release), read_left_out(tables)
    gaps = [*left_out_gaps(left_out), *coverage_gaps(coverage)]
    if isinstance(claims, Folder):
        published = {name for pattern in coverage for name in pattern.cells}
        if unused := sorted(published - set(claims.manifest.notes["tables"])):
            gaps.append(f"tables that are published and not used: {', '.join(unused)}")
        if unasked := claims.manifest.notes["unasked"]:
            named = ", ".join(unasked)
            gaps.append(f"values of {named} that only coarser tables tell apart (`histogram`)")
    reasons = (f"{each.called}: {each.reason}" for each in left_out if each.reason)
    return tuple(gaps), tuple(reasons)


def _measured(work: WorkFolder, microdata: Folder | Missing, stage: Stage) -> Folder | Missing:
    """Return a stage's results about records, unless the records only fit noisy counts."""
    if isinstance(microdata, Folder) and microdata.manifest.notes["is_fitted"]:
        why = "the counts have noise, which bounds none: nothing can be proven"
        return Missing(why, (stage.command,), change="counts without noise")
    return work.fresh(stage)


def _named(places: list[Place], work: WorkFolder) -> tuple[Place, ...]:
    if not places:
        return ()
    names = read_names(work.open(INGEST, "geounits"))
    return tuple(replace(each, name=place_name(each.geoid, names)) for each in places)


def _variability(folder: Folder | Missing) -> VariabilityFindings | Missing:
    if isinstance(folder, Missing):
        return folder
    percentiles, by_size = (
        pl.read_csv(folder.read_extra(name)) for name in ("percentiles.csv", "by_size.csv")
    )
    return VariabilityFindings(folder.manifest, folder.manifest.notes["mode"], percentiles, by_size)


def _claims(
    work: WorkFolder, folder: Folder | Missing, reconstruction: ReconstructionFindings | Missing
) -> ClaimFindings | Missing:
    if isinstance(folder, Missing):
        return folder
    disclosures = work.open(CLAIMS, "disclosures")
    columns = len(folder.manifest.notes["columns"])
    whole = 0
    parts, singletons = [], []
    chances = ("p_region", "p_all")
    for name in folder.partitions:
        claims = folder.read(name, columns=("k", "count", "singleton", *chances))
        singletons.append(claims.filter("singleton").select("k", *chances))
        whole += int(claims.filter(pl.col("k") == columns)["count"].cast(pl.Int64).sum())
        parts.append(
            disclosures.read(name).group_by("known").agg(pl.col(pl.Int32).cast(pl.Int64).sum())
        )
    by_known = pl.concat(parts).group_by("known").sum().sort("known")
    by_k = pl.concat(singletons).group_by("k")
    alone = sum(int(each["k"].eq(columns).sum()) for each in singletons)
    surprise = by_k.agg(pl.len().alias("singletons"), pl.col(chances).median()).sort("k")
    people = folder.manifest.totals["people"]
    if isinstance(reconstruction, ReconstructionFindings):
        known = set(reconstruction.known)
        if known.issuperset(folder.manifest.notes["columns"]):  # certain on all is so on some
            whole = max(whole, reconstruction.whole["certain"])
    return ClaimFindings(folder.manifest, people, whole, alone, by_known, surprise)


def _audit(run: Run, work: WorkFolder) -> AuditFindings | Missing | None:
    if not work.holds(AUDIT):
        return None
    folder = work.fresh(AUDIT)
    if isinstance(folder, Missing):
        return folder
    with undisturbed():
        from recon_cli.capabilities.audit.totals import read_audit

    found = read_audit(run.work, run.release)
    names = read_names(work.open(INGEST, "geounits"))
    return AuditFindings(
        folder.manifest,
        found.by_table,
        found.by_suppression,
        found.recovered,
        names,
    )


def _joint(run: Run, work: WorkFolder, *, lists_places: bool) -> JointFindings | Missing | None:
    if not work.holds(JOINT):
        return None
    folder = work.fresh(JOINT)
    if isinstance(folder, Missing):
        return folder
    units, parts = work.open(JOINT, JOINT_UNITS), shown_parts(folder.manifest)
    rows = pl.concat(units.parts())
    rows = rows.rename({run.release.geoid_column: "geoid"})
    more = pl.sum_horizontal(pl.col(f"{part}_joint") - pl.col(f"{part}_alone") for part in parts)
    worst = rows.with_columns(more=more).filter(pl.col("more") > 0)
    worst = worst.sort("more", "geoid", descending=(True, False))
    by_size = _joint_by_size(rows, parts, Sizes(run.config.section(Score).sizes))
    divisions = DivisionFindings.of(rows) if folder.manifest.notes["compositions"] else None
    shown = worst.head(_JOINT_PLACES * lists_places)
    return JointFindings(folder.manifest, by_size, shown, divisions)


def _joint_by_size(rows: pl.DataFrame, parts: tuple[str, str], sizes: Sizes) -> pl.DataFrame:
    """Sum joint results by the number of the run's own records in a place."""
    own = pl.col(f"{parts[0]}_records")
    columns = [f"{part}_{what}" for part in parts for what in COUNTED]
    sums = [pl.len().alias("places"), *(pl.col(name).cast(pl.Int64).sum() for name in columns)]
    classes = rows.filter(own > 0).group_by(number=sizes.number(own)).agg(sums).sort("number")
    labels = pl.Series("size", sizes.labels(classes["number"].to_list()), dtype=pl.String)
    whole = rows.select(pl.lit(ALL).alias("size"), *sums)
    return pl.concat([whole, classes.select(labels, "places", *columns)])


def _scores(
    run: Run, work: WorkFolder, microdata: Folder | Missing, *, is_study: bool
) -> ScoreFindings | Missing:
    commands = ("recon score",)
    if run.release.attack is None and not work.holds(SCORE):
        return Missing(
            "nobody was linked: the release's schema does not say by what",
            ("recon run",),
            change="add `attack:` to the schema, `link:` with records and `score:` to the config",
        )
    if not work.holds(LINK):
        return Missing(
            "nobody was linked: that takes records to link with, `link:` in the config",
            ("recon link", *commands),
        )
    if not work.holds(SCORE):
        return Missing("links were not scored: there is no score/ in the work folder", commands)
    folder, links = work.open(SCORE), work.open(LINK)
    solvar = work.open(SOLVAR).manifest if work.holds(SOLVAR) else None
    if (why := _outdated(folder, links, solvar)) is not None:
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
    passes = None
    if "passes" in links.manifest.notes:
        read = pl.read_parquet(io.BytesIO(folder.read_extra("passes.parquet")))
        passes = read.with_columns(names)
    return ScoreFindings(
        folder.manifest,
        links.manifest,
        rates,
        gains,
        passes,
        None if own is None else labels.get(own, own),
        labels,
    )


def _uniques(
    release: Release,
    variability: VariabilityFindings | Missing,
    scores: ScoreFindings | Missing,
) -> UniqueFindings | Missing:
    """Count unique people in the truth if known, else in the reconstruction."""
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
    """Explain why ``score/`` does not fit the folders beside it; None if it does."""
    shared = score.manifest.inputs["shared"]
    if shared.get("links") != links.manifest.key:
        return "score/ was made from other links/ than those there now"
    if solvar is not None and shared.get("solvar/", solvar.key) != solvar.key:
        return "solvar/ changed after score/ was made from it"
    return None


def _recovered(audit: AuditFindings | Missing | None) -> dict[str, tuple[int, int]]:
    """Map geoids to the number of recovered counts, and of small ones."""
    if not isinstance(audit, AuditFindings):
        return {}
    by_place = audit.recovered_counts.group_by("geoid").agg(
        pl.len().alias("recovered"), pl.col("is_small").sum()
    )
    return {geoid: (counts, small) for geoid, counts, small in by_place.iter_rows()}


def _audited(recovered: Mapping[str, tuple[int, int]], besides: Sequence[Place]) -> list[Place]:
    """List the places of recovered counts that are not among others."""
    named = {each.geoid for each in besides}
    return [
        Place(geoid, None, 0, *counts) for geoid, counts in recovered.items() if geoid not in named
    ]


def _reconstruction(
    run: Run,
    work: WorkFolder,
    folder: Folder | Missing,
    recovered: Mapping[str, tuple[int, int]],
    protected: ProtectedPlaces | None,
) -> tuple[ReconstructionFindings | Missing, list[Place]]:
    """Sum the results of partitions, one at a time to save memory.

    Also returns the places with most disclosed people; where counts are protected, without those
    whose counts are all published.
    """
    if isinstance(folder, Missing):
        return folder, []
    proofs = Proofs.of(work, run.release)
    release, sizes = run.release, Sizes(run.config.section(Score).sizes)
    microdata, mode = proofs.microdata, proofs.mode
    totals = microdata.manifest.totals
    parts = []
    worst: list[Place] = []
    report = run.config.section(Report)
    empty = uncounted = as_published = certain_as_published = 0
    task = Task(
        "report", release.geography.unit.name, totals["units"], totals["people"], release.record
    )
    with run.reporter.bar(task) as bar:
        for name in microdata.partitions:
            records = microdata.read(name, columns=(release.geoid_column, "certain"))
            proven = proofs.units(name, records)
            parts.append(uniqueness_by_size(proven, sizes, mode))
            given = _given(proven, proofs.claims, name, report, recovered)
            if protected is not None:
                here = protected.places(name)
                as_published += sum(each.given for each in given if each.geoid not in here)
                given = [each for each in given if each.geoid in here]
                others = proven.filter(~pl.col(release.geoid_column).is_in(list(here)))
                certain_as_published += int(others["certain"].sum())
            worst = _worst([*worst, *given], report.places)
            places = proven.filter(is_place(release.geoid_column))
            empty += places.filter(pl.col("population") == 0).height
            uncounted += places["population"].null_count()
            bar.advance(proven.height, records.height)
    found = ReconstructionFindings(
        manifest=microdata.manifest,
        people=totals["people"],
        empty=empty,
        uncounted=uncounted,
        known=proofs.columns,
        unknown=tuple(each for each in release.histogram if each not in proofs.columns),
        by_size=add_up_sizes(parts, sizes),
        as_published=as_published,
        certain_as_published=certain_as_published,
    )
    return found, worst


def _given(
    proven: pl.DataFrame,
    claims: Folder | None,
    partition: str,
    report: Report,
    recovered: Mapping[str, tuple[int, int]],
) -> list[Place]:
    """Count the disclosed people of each unit, by the rule or as far as known."""
    place = proven.columns[0]
    proven = proven.with_columns(pl.coalesce("population", "placed"))
    given = proven.select(place, "population", given=pl.col("certain"))
    if report.rule != "record" and claims is not None:
        folder = WorkFolder(claims.path.parent).open(CLAIMS, "disclosures")
        most = folder.read(partition).group_by(place).agg(given=pl.col(report.rule).max())
        given = proven.select(place, "population").join(most, on=place)
    is_told = (pl.col("given") > 0) | pl.col(place).is_in(list(recovered))
    return [
        Place(geoid, people, count, *recovered.get(geoid, (0, 0)))
        for geoid, people, count in given.drop_nulls().filter(is_told).iter_rows()
    ]


def _worst(places: list[Place], most: int) -> list[Place]:
    """Return the places with most disclosed people, then most small and other recovered counts.

    Ties are sorted by size, then by geoid; places without any are left out.
    """
    found = [each for each in places if each.given or each.recovered]

    def order(place: Place) -> tuple[int, int, int, int, str]:
        return (-place.given, -place.small, -place.recovered, place.people or 0, place.geoid)

    return sorted(found, key=order)[:most]
