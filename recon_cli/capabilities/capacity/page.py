"""The page of `recon plan capacity`: capacity of the tables, and noise that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from recon_cli.capabilities.capacity.assessment import ReleaseCapacity
from recon_cli.capabilities.capacity.noise_needed import (
    ALL_LEVELS,
    ANY_ATTACKER,
    DECODER,
    ENTROPY,
    ZEROS_KNOWN,
    DecoderTrial,
)
from recon_cli.page.charts import Chart, Curve, CurvePanel, CurvePoint, Scale, curve_looks
from recon_cli.page.document import (
    Figure,
    Headline,
    KeyFigure,
    ReportDocument,
    ReportSection,
    Term,
    result_table,
)
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, capitalized, percentage, words_of
from recon_cli.plurals import counted
from recon_cli.schema import Release, Table

_BITS, _DECODER, _NO_TABLES = "bits that get through, at most", "our decoder", "no tables"
#: Meaning of each figure, always printed with it.
WORDINGS: Mapping[str, str] = {
    ANY_ATTACKER: "whatever else the attacker knows, he tells two records of one unit apart no "
    "more often than this: a guarantee",
    ZEROS_KNOWN: "the same if published zeros stay exact, so that only records they leave can be "
    "meant: holds for this release alone",
    ENTROPY: "no more than this share of the records' bits gets through: a bound for an attacker "
    "without other knowledge",
    DECODER: "our own decoder finds less than this much more than without tables, on simulated "
    "units: not a guarantee",
}


def compose_capacity(
    release: Release,
    tables: Sequence[Table],
    capacity: ReleaseCapacity,
    equations: pl.DataFrame,
    *,
    noise: pl.DataFrame,
    trial: DecoderTrial,
) -> ReportDocument:
    """Compose the page.

    Args:
        equations: After zeros, see `recon_cli.capabilities.capacity.publish.sum_equations`.
        noise: From `recon_cli.capabilities.capacity.noise_needed.noise_needed`.
    """
    finest, words = capacity.levels[0], words_of(release)
    return ReportDocument(
        title=f"What {release.title} carries",
        subject=f"{counted(len(tables), 'table')}, before any attack",
        headline=Headline(
            _sentences(release, tables, capacity, equations, noise),
            (
                "Bounded noise, such as rounding, gets none of these sentences: audit it with "
                "`recon reconstruct` on protected counts.",
            ),
        ),
        facts=(
            KeyFigure(f"cells of a {finest.level}", f"{finest.cells:,}"),
            KeyFigure("independent", f"{finest.rank.value:,}"),
            KeyFigure(words.people, f"{finest.people:,}"),
            KeyFigure("bits in a record", f"{finest.record_bits / max(finest.people, 1):.1f}"),
        ),
        terms=(
            Term(
                "independent",
                "cells that no others determine, whatever the counts: the exact rank of the "
                "matrix of cells and histogram cells",
            ),
            Term(
                "nullity",
                "unknowns less rank: the dimensions in which records could still differ if "
                f"numbers of {words.people} were not whole and not bounded; 0 means one solution "
                "of these unknowns",
            ),
            Term(
                "bits of records",
                "the entropy of the unordered records of each unit, drawn from what the sums "
                "over the whole release say",
            ),
        ),
        sections=(
            _equations_section(release, capacity, equations),
            _entropy_section(capacity, trial, words),
            _noise_section(noise),
        ),
    )


def _sentences(
    release: Release,
    tables: Sequence[Table],
    capacity: ReleaseCapacity,
    equations: pl.DataFrame,
    noise: pl.DataFrame,
) -> tuple[str, ...]:
    guarantee = noise.filter(pl.col("figure") == ANY_ATTACKER, pl.col("counts") == ALL_LEVELS)
    nearest = guarantee.sort((pl.col("parameter") - 0.6).abs()).row(0, named=True)
    said = sentences(
        "page.j2",
        "headline",
        __package__,
        tables=len(tables),
        finest=capacity.levels[0],
        last=equations.row(-1, named=True),
        guarantee=nearest,
        words=words_of(release),
    )
    return tuple(said)


def _equations_section(
    release: Release, capacity: ReleaseCapacity, equations: pl.DataFrame
) -> ReportSection:
    people = words_of(release).people
    levels = result_table(
        "Published cells",
        ["level", "geounits", people, "cells of one", "independent", "beyond finer levels"],
        [
            [
                level.level,
                f"{level.geounits:,}",
                f"{level.people:,}",
                f"{level.cells:,}",
                f"{'' if level.rank.is_exact else '≥ '}{level.rank.value:,}",
                f"{level.adds:,}",
            ]
            for level in capacity.levels
        ],
    )
    after = result_table(
        "Equations after zeros",
        ["tables", "unknowns before", "rows", "unknowns", "rank", "nullity", people],
        [
            [
                row["tables"],
                *(f"{row[name]:,}" for name in ("before_zeros", "rows", "unknowns")),
                f"{'' if row['exact'] else '≥ '}{row['rank']:,}",
                f"{'' if row['exact'] else '≤ '}{row['nullity']:,}",
                f"{row['people']:,}",
            ]
            for row in equations.iter_rows(named=True)
        ],
    )
    unit = release.geography.unit.name
    text = (
        f"All tables together tell {capacity.histogram:,} histogram cells of a {unit} apart. The "
        "equations use the coarsest cells that lose nothing: detail of coarser levels that can be "
        "put back later is left out. Rows are margins that no others add up to. Ranks are proven "
        "from both sides; one that is proven from below alone is marked ≥."
    )
    return ReportSection("equations", "Equations", (text,), sheets=(levels, after))


def _entropy_section(capacity: ReleaseCapacity, trial: DecoderTrial, words: Words) -> ReportSection:
    bits = result_table(
        "Bits",
        ["level", "of records", "carried by exact counts, at most", "share"],
        [
            [
                level.level,
                f"{level.record_bits:,.0f}",
                f"{level.exact_bits:,.0f}",
                percentage(level.exact_bits, level.record_bits),
            ]
            for level in capacity.levels
        ],
    )
    tried = result_table(
        f"{capitalized(words.people)} found by our decoder",
        ["sd", "found"],
        [
            *(
                [f"{sd:g}", f"{100 * right:.1f}%"]
                for sd, right in zip(trial.sd, trial.right, strict=True)
            ),
            ["no tables", f"{100 * trial.baseline:.1f}%"],
        ],
    )
    figure = Figure(
        name="through",
        title="What gets through noise",
        caption=(
            f"The decoder tried {trial.people:,} simulated {words.people} of one level's counts."
        ),
        alt=(
            "Share of the records' bits that gets through noise at most, falling with the noise, "
            f"and share of {words.people} that our decoder finds."
        ),
        chart=Chart((_through(capacity, trial),), 1),
        sheets=(tried,),
    )
    return ReportSection("entropy", "Entropy", (), (figure,), (bits,))


def _through(capacity: ReleaseCapacity, trial: DecoderTrial) -> CurvePanel:
    """Plot what noisy counts reveal: the bound, our decoder, and no tables at all."""
    grid = np.geomspace(min(trial.sd), max(trial.sd), 60).tolist()
    series = {
        _BITS: [CurvePoint(sd, 100 * capacity.share_through(sd)) for sd in grid],
        _NO_TABLES: [CurvePoint(sd, 100 * trial.baseline) for sd in grid],
        _DECODER: [
            CurvePoint(sd, 100 * right) for sd, right in zip(trial.sd, trial.right, strict=True)
        ],
    }
    return CurvePanel(
        "What gets through noise",
        Scale("standard deviation of the noise of a count", grid[0], grid[-1], is_log=True),
        Scale("%", 0, 100),
        tuple(
            Curve(look, tuple(series[look.name]), is_line=look.name != _DECODER)
            for look in curve_looks(list(series), measured=[_DECODER])
        ),
    )


def _noise_section(noise: pl.DataFrame) -> ReportSection:
    rows = [
        [
            row["figure"],
            row["counts"],
            f"{100 * row['parameter']:g}%",
            WORDINGS[row["figure"]],
            "more than was tried" if row["sd"] is None else f"{row['sd']:.1f}",
        ]
        for row in noise.iter_rows(named=True)
    ]
    header = ["against", "counts", "at most", "meaning", "sd of each count"]
    return ReportSection(
        "noise", "Noise needed", sheets=(result_table("Noise needed", header, rows, 4),)
    )
