"""The page of `recon compare`: error and remaining risk of each protection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import polars as pl

from recon_cli.capabilities.compare.dominance import (
    Choice,
    best_for_some_weight,
    dominated_by,
    undominated,
)
from recon_cli.capabilities.compare.errors import TOTAL
from recon_cli.capabilities.compare.protection_summary import Measure, ProtectionSummary
from recon_cli.capabilities.compare.sweep_page import (
    SweptTables,
    error_axis,
    risk_axis,
    risk_words,
    sweep_sections,
)
from recon_cli.page.charts import BLUE, GREY, Chart, Curve, CurvePanel, CurvePoint, Look, Scale
from recon_cli.page.document import (
    Figure,
    Headline,
    KeyFigure,
    ReportDocument,
    ReportSection,
    ResultTable,
    result_table,
    terms_of,
)
from recon_cli.page.sentences import sentences
from recon_cli.page.sizes import ALL
from recon_cli.page.words import Words, capitalized, size_label, words_of
from recon_cli.schema import Release

#: Measures of risk; the first that was taken leads the text. What is proven on any columns comes
#: before whole records, which can be nobody's beside it.
RISKS: Final[tuple[Measure, ...]] = ("gain", "disclosed", "agreement", "certain")
_NONE: Final = "–"
#: Measures that only some protections have: headings, and decimals.
_FURTHER: Final = {
    "links": ("links", 0),
    "epsilon": ("ε", 2),
    "posterior": ("who knows all others believes, %", 2),
    "all_below": ("wrongly all below", 0),
}


def _say(macro: str, **facts: object) -> tuple[str, ...]:
    return tuple(sentences("page.j2", macro, __package__, **facts))


def compose_comparison(
    release: Release,
    summaries: Sequence[ProtectionSummary],
    errors: Mapping[str, pl.DataFrame],
    scores: pl.DataFrame | None = None,
    *,
    people: int,
    risk: Measure | None = None,
    weights: Mapping[str, float] = MappingProxyType({}),
    missing: Mapping[str, str] = MappingProxyType({}),
    swept: SweptTables | None = None,
    conditions: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> ReportDocument:
    """Compose the page.

    Args:
        errors: Name → columns of `recon_cli.capabilities.compare.errors.ERRORS`.
        scores: Columns of `SCORES` in `protection_summary`; None where nobody was linked.
        people: Number of people in the truth.
        risk: Risk measure that the text weighs against error; default the first that any has.
        weights: Table → how much its errors count.
        missing: Name of a protection without a summary → the reason.
        conditions: Name → the conditions of its ε, in words that follow "ε is".
    """
    words = words_of(release)
    taken = [name for name in RISKS if any(s.measure(name) is not None for s in summaries)]
    by: Measure = risk or taken[0]
    risks = [risk_words(each, words) for each in taken]
    choices = [_choice(each, taken) for each in summaries]
    beaten, best = dominated_by(choices), undominated(choices)
    of = {each.name: each for each in summaries}
    return ReportDocument(
        title=f"What to publish of {release.title}",
        subject=f"{len(summaries)} protections of one truth, each attacked",
        headline=Headline(
            _say(
                "headline",
                missing=missing,
                there=len(summaries),
                best=[of[each.name] for each in best],
                by=by,
                axis=risk_axis(by, words),
                words=words,
            ),
            _say("note", risks=risks, words=words),
        ),
        facts=(
            KeyFigure("protections", str(len(summaries))),
            KeyFigure("on the frontier", str(len(best))),
            KeyFigure(words.people, f"{people:,}"),
        ),
        terms=terms_of(
            _say("terms", is_linked=any(s.agreement is not None for s in summaries), words=words)
        ),
        sections=(
            ReportSection(
                "frontier",
                "Error and risk",
                _say(
                    "frontier",
                    choices=choices,
                    beaten=beaten,
                    best=best,
                    hull=best_for_some_weight(best),
                    weights=weights,
                ),
                figures=(_figure(summaries, choices, _coarse_level(errors), words),),
            ),
            *(() if swept is None else sweep_sections(swept, words)),
            ReportSection(
                "table",
                "The numbers",
                tuple(
                    f"The ε of **{name}** is {', and '.join(said)}; no more is promised."
                    for name, said in conditions.items()
                ),
                sheets=(_sheet(summaries, beaten, words),),
            ),
            *_score_sections(scores, words),
            ReportSection(
                "errors",
                "Errors by level, table and size",
                sheets=tuple(_error_sheets(errors, words)),
            ),
            _commands(),
        ),
    )


def _choice(summary: ProtectionSummary, taken: Sequence[Measure]) -> Choice:
    errors = (summary.unit_error, summary.region_error, summary.total_error)
    return Choice(
        summary.name,
        tuple(error for error in errors if error is not None),
        {name: summary.measure(name) for name in taken},
    )


def _coarse_level(errors: Mapping[str, pl.DataFrame]) -> str:
    """Name the next coarser level with tables; empty if there is none."""
    levels = next(iter(errors.values()))["level"].unique(maintain_order=True)
    return levels[1].replace("_", " ") if len(levels) > 1 else ""


def _figure(
    summaries: Sequence[ProtectionSummary],
    choices: Sequence[Choice],
    coarse: str,
    words: Words,
) -> Figure:
    """Draw a panel for each measure of risk that was taken."""
    accuracy = [("unit_error", error_axis(words))]
    if coarse:
        accuracy.append(("region_error", f"mean error of a {coarse}'s cell, {words.people}"))
    risks = [name for name in RISKS if any(s.measure(name) is not None for s in summaries)]
    looks = _looks(choices)
    panels = tuple(
        _panel(summaries, looks, risk, error, (axis, capitalized(risk_axis(risk, words))))
        for risk in risks
        for error, axis in accuracy
    )
    return Figure(
        name="frontier",
        title="Each protection as a dot: down and to the left is better",
        caption="Errors without their sign. On the frontier, or dominated, by all charts together "
        f"and by {words.people} of a {words.unit}.",
        alt=" ".join(_reading(each, words) for each in summaries),
        chart=Chart(panels, columns=len(accuracy)),
        sheets=(),
    )


def _looks(choices: Sequence[Choice]) -> dict[str, Look]:
    free, grey = Look("on the frontier", BLUE[0], "circle"), Look("dominated", GREY[2], "diamond")
    unplaced = Look("not placed", GREY[1], "square")
    beaten = dominated_by(choices)
    return {
        each.name: grey if each.name in beaten else free if each.is_placed else unplaced
        for each in choices
    }


def _panel(
    summaries: Sequence[ProtectionSummary],
    looks: Mapping[str, Look],
    risk: Measure,
    error: str,
    axes: tuple[str, str],
) -> CurvePanel:
    """Plot a measure of risk over an error; ``axes`` are the names of both."""
    points: dict[Look, list[CurvePoint]] = {look: [] for look in looks.values()}
    for each in summaries:
        x, y = getattr(each, error), each.measure(risk)
        if x is not None and y is not None:
            points[looks[each.name]].append(CurvePoint(x, y, label=each.name))
    every = [point for some in points.values() for point in some]
    low = min((point.y for point in every), default=0.0)
    curves = tuple(Curve(look, tuple(some), is_line=False) for look, some in points.items() if some)
    return CurvePanel(
        axes[1],
        Scale(axes[0], 0.0, max((point.x for point in every), default=1.0) * 1.02 or 1.0),
        Scale("", min(low, 0.0), max((point.y for point in every), default=1.0) * 1.02 or 1.0),
        curves,
    )


def _reading(each: ProtectionSummary, words: Words) -> str:
    said = [f"error {each.unit_error:.2f} {words.people} in a cell of a {words.unit}"]
    said += [
        f"{risk_axis(name, words)} {value:.1f}"
        for name in RISKS
        if (value := each.measure(name)) is not None
    ]
    return f"{each.name}: {'; '.join(said)}."


def _sheet(
    summaries: Sequence[ProtectionSummary], beaten: Mapping[str, str], words: Words
) -> ResultTable:
    further = [n for n in _FURTHER if any(getattr(each, n) is not None for each in summaries)]
    header = (
        "protection", "what it is", "dominated by", f"error in a {words.unit}'s cell",
        "a coarser one's", f"{words.people} of a {words.unit}", "no number, %", "proven record, %",
        "something proven, %", "true records, %", f"unique {words.nonmodal}, %", "guessed, %",
        "gain", *(said for name, (said, _) in _FURTHER.items() if name in further),
    )  # fmt: skip
    rows = [
        (
            each.name,
            each.settings,
            beaten.get(each.name, ""),
            *(_number(value, 2) for value in (each.unit_error, each.region_error)),
            _number(each.total_error, 2),
            *(
                _number(value, 1)
                for value in (
                    each.unpublished,
                    each.certain,
                    each.disclosed,
                    each.agreement,
                    each.precision,
                    each.guessed,
                    each.gain,
                )
            ),
            *(_number(getattr(each, name), _FURTHER[name][1]) for name in further),
        )
        for each in summaries
    ]
    return result_table("Every protection", header, rows, words=3)


def _score_sections(scores: pl.DataFrame | None, words: Words) -> tuple[ReportSection, ...]:
    """Compare reconstructions and links with the truth, for everybody and by size."""
    if scores is None:
        return ()
    names = ("true records, %", "by coarse columns", "links right, %", words.nonmodal, words.modal)

    rows = [
        (name, size_label(size), *(_number(value, 1) for value in values))
        for name, size, *values in scores.iter_rows()
    ]
    whole = [(name, *values) for name, size, *values in rows if size == ALL]
    by_size = [row for row in rows if row[1] != ALL]
    text = (
        "Reconstructed records that the truth has, and links by an attacker who knows the truth's "
        "own linking columns that are right.",
    )
    header = (f"{words.people} in the {words.unit}", *names)
    return (
        ReportSection(
            "scores",
            "Reconstructions beside the truth",
            text,
            sheets=(
                result_table(capitalized(words.everybody), ("protection", *names), whole),
                result_table("By size", ("protection", *header), by_size, words=2),
            ),
        ),
    )


def _error_sheets(errors: Mapping[str, pl.DataFrame], words: Words) -> list[ResultTable]:
    """Tabulate errors by table and by number of people; a column for each protection."""
    names = list(errors)
    joined = pl.concat(
        frame.select("level", "table", "size", "mae", protection=pl.lit(name))
        for name, frame in errors.items()
    ).pivot("protection", index=["level", "table", "size"], values="mae", maintain_order=True)
    called = {ALL: "all tables", TOTAL: words.everybody}

    def sheet(title: str, rows: pl.DataFrame) -> ResultTable:
        cells = [
            (
                f"{level}, {called.get(table, table)}"
                + ("" if size == ALL else f", {size_label(size)}"),
                *(_number(value, 2) for value in values),
            )
            for level, table, size, *values in rows.iter_rows()
        ]
        return result_table(title, ("cells of", *names), cells)

    by_size = joined.filter(pl.col("size") != ALL, pl.col("table").is_in([ALL, TOTAL]))
    return [
        sheet(f"Mean absolute error by table, in {words.people}", joined.filter(size=ALL)),
        sheet(f"By {words.people} in the geounit", by_size),
    ]


def _commands() -> ReportSection:
    return ReportSection(
        "commands",
        "Commands",
        (
            "`recon compare` made this page; the same command resumes after an interruption, and "
            "makes only what a changed config asks for.",
            "Each protection is a run of its own in `WORK/compare/`: look at one with "
            "`recon status --work WORK/compare/NAME`, or with `recon show` and "
            "`recon report` and the same `--work`.",
        ),
    )


def _number(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:,.{digits}f}"
