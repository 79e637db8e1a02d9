"""What was shown, in plain words: proven, at least, or unknown; never more."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recon_cli.report.findings import (
    Findings,
    Missing,
    ReconstructionFindings,
    ScoreFindings,
    VariabilityFindings,
)
from recon_cli.report.words import Words, enumerate_commands, of_units, percent, share
from recon_cli.score.sizes import ALL


@dataclass(frozen=True)
class Headline:
    """The claim; ``**`` marks what is stressed, a backtick what is typed.

    Attributes:
        sentences: What is claimed.
        notes: What a reader should know of it.
    """

    sentences: tuple[str, ...]
    notes: tuple[str, ...]


def make_headline(findings: Findings, words: Words) -> Headline:
    """The claim of a run.

    Args:
        findings: What there is.
        words: The release's words.
    """
    found = findings.reconstruction
    if isinstance(found, Missing):
        return Headline(
            (
                f"**Unknown:** nothing here says how many people live in {words.units} with "
                "exactly one possible reconstruction.",
            ),
            (f"{_sentence(found.why)} Run {enumerate_commands(found.commands)}.",),
        )
    variability = findings.variability
    is_settled = isinstance(variability, VariabilityFindings) and variability.is_settled
    sentences = [_one(found, words, is_settled), _certain(found, words, is_settled)]
    if isinstance(findings.scores, ScoreFindings):
        sentences += _precision(findings.scores, words)
    hedge = _hedge(sentences)
    notes = [] if hedge is None else [_why_hedged(hedge, variability, words)]
    return Headline(tuple(sentences), (*notes, *_gaps(found, words)))


def _one(found: ReconstructionFindings, words: Words, is_settled: bool) -> str:
    whole = found.whole
    people, everybody = whole["one_population"], found.people
    where = f"live in {words.units} with exactly one possible reconstruction"
    if not people:
        proven = "has" if is_settled else "is proven to have"
        return f"**No {words.unit}** {proven} exactly one possible reconstruction."
    if people == everybody:
        return f"**All {people:,} people** {where}."
    return (
        f"{_at_least(is_settled)}**{people:,} of {everybody:,} people** "
        f"({share(people, everybody)}) {where}."
    )


def _certain(found: ReconstructionFindings, words: Words, is_settled: bool) -> str:
    certain, everybody = found.whole["certain"], found.people
    what = words.listed(found.known)
    where = "in every reconstruction that has the published counts"
    if not certain:
        proven = "stands" if is_settled else "is proven to stand"
        return f"**Nobody's record** ({what}) {proven} {where}."
    if certain == everybody:
        return f"**Everybody's record** ({what}) stands {where}."
    noun, verb = ("person's record", "stands") if certain == 1 else ("people's records", "stand")
    return (
        f"{_at_least(is_settled)}**{certain:,} {noun}** ({share(certain, everybody)}; {what}) "
        f"{verb} {where}."
    )


def _at_least(is_settled: bool) -> str:
    return "" if is_settled else "At least "


def _precision(scores: ScoreFindings, words: Words) -> list[str]:
    """The precision of one reconstruction's links to nonmodal people, beside the guessers'."""
    source = scores.reconstruction
    if source is None or not scores.attackers:
        return []
    attacker = scores.attackers[0]
    rows = scores.rates.filter(
        table="table13_nonmodal", against=attacker, block_size=ALL, rate="precision"
    ).filter(pl.col("pct").is_not_null())
    found = {row["source"]: row for row in rows.iter_rows(named=True)}
    guesses = [found[name] for name in scores.usual_guessers if name in found]
    if source not in found or not guesses:
        return []
    mine, best = found[source], max(guesses, key=lambda row: row["pct"])
    gains = words.listed(scores.links.config["gains"])
    return [
        f"Of the links between the file {attacker} and the reconstruction {source} that concern "
        f"people unlike most of their {words.unit}, **{percent(mine['pct'])}%** give the true "
        f"{gains}; of the best guesser's, {best['source']}, **{percent(best['pct'])}%**."
    ]


def _hedge(sentences: list[str]) -> str | None:
    """The words that say that there may be more; None where nothing is left open."""
    for words, said in (("At least", "At least"), ("is proven to", "Proven")):
        if any(words in sentence for sentence in sentences):
            return said
    return None


def _gaps(found: ReconstructionFindings, words: Words) -> list[str]:
    """What the records do not tell."""
    notes = []
    if found.unknown:
        notes.append(
            f"The tables in use say nothing of {words.listed(found.unknown)}: that stays unknown."
        )
    if found.unbounded:
        notes.append(
            f"How many people live in {of_units(found.unbounded, words)} the tables in use do not "
            "tell; nothing is claimed of them."
        )
    if not found.manifest.notes["verified"]:
        notes.append("The records were not compared with the published counts: `recon verify`.")
    return notes


def _why_hedged(hedge: str, variability: VariabilityFindings | Missing, words: Words) -> str:
    if isinstance(variability, Missing):
        return (
            f"“{hedge}”, because these are the proofs of arithmetic alone: {variability.why}. "
            f"{enumerate_commands(variability.commands)} looks for all of them."
        )
    if variability.mode == "relaxed":
        return (
            f"“{hedge}”: each {words.unit} was examined alone (`mode: relaxed`), and its "
            "neighbours' counts may settle more. `recon solvar --mode exact` counts them too."
        )
    open_units = variability.manifest.totals["units"] - variability.manifest.statuses.get(
        "proven", 0
    )
    return (
        f"“{hedge}”, because {of_units(open_units, words)} were not settled within the budget of "
        "`recon solvar` (`solvar.unit_seconds`)."
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
