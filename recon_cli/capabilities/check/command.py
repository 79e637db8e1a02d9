"""``recon check``, and its verdicts as lines, JSON and JUnit XML; counts only on request."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import click

from recon_cli.capabilities.check.options import Judged, Verdict, verdict_of
from recon_cli.capabilities.check.stage import GivenConfig, check
from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.console.options import (
    OUTPUT_FILE,
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    run_options,
)
from recon_cli.page.sentences import sentences
from recon_cli.plurals import plural
from recon_cli.store.files import require_writable, write_named

#: Exit codes of verdicts, apart from those of errors.
BROKEN, UNDECIDED = 20, 21


@click.command(cls=ConfiguredCommand, sections=("check",))
@run_options
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop the stages after this time.")
@click.option(
    "--json",
    "json_file",
    type=GivenPath(dir_okay=False, allow_dash=True),
    help="Write the verdicts as JSON; with -, to stdout, and nothing else there.",
)
@click.option("--junit", "junit_file", type=OUTPUT_FILE, help="Write the verdicts as JUnit XML.")
@click.option("--show-counts", is_flag=True, help="Show examples: places and counts.")
@click.pass_context
def command(
    context: click.Context,
    options: RunOptions,
    *,
    seconds: float | None,
    json_file: Path | None,
    junit_file: Path | None,
    show_counts: bool,
) -> None:
    """Check the published tables against your rules: kept, broken or undecided.

    Runs the stages that the rules need, as `recon run` does. A rule is broken if more violations
    are proven than it allows, and kept if more violations are impossible and nothing was left out;
    anything that was not looked at, or is unfinished after --seconds, leaves rules undecided. Since
    logs may be published, places and counts are only shown with --show-counts.

    Example:
      recon check -c ward.yaml
      recon check --set 'check.rules=[{recovered: {below: 5}, most: 0}]'
      recon check --seconds 600 --json check.json

    \b
    Exit codes: 0 all rules are kept, 20 one is
    broken, 21 none is broken and one is undecided;
    otherwise a stage's, 1 to 12.
    """  # noqa: D301 - click wants the character itself
    started = time.monotonic()

    is_printed = str(json_file) == "-"
    for path in (None if is_printed else json_file, junit_file):
        if path is not None:
            require_writable(path)
    options = options.setting(check__seconds=seconds)
    given = GivenConfig(
        options.config, options.settings, options.work, options.workers, show_counts
    )
    judged = check(given, started)
    if junit_file is not None:
        write_named(junit_file, check_junit(judged, show_counts=show_counts))
    document = check_json(judged, show_counts=show_counts)
    if is_printed:
        click.echo(document, nl=False)
    elif json_file is not None:
        write_named(json_file, document)
    verdict: Verdict = verdict_of(judged)
    if options.verbosity >= 0 and not is_printed:
        click.secho(f"check: {verdict}", bold=True)
        for line in verdict_lines(judged, show_counts=show_counts):
            click.echo(line)
        click.echo(f"Proven by {proven_by(WorkFolder(given.run().work))}.")
        broken = [
            each for each in judged if each.verdict == "broken" and not each.grounds.candidate
        ]
        if any(each.rule.name == "recovered" for each in broken):
            click.echo("`recon plan cure` estimates what would leave no withheld count recovered.")
    context.exit({"kept": 0, "broken": BROKEN, "undecided": UNDECIDED}[verdict])


def rule_in_words(judged: Judged) -> str:
    """Format a rule as in the config.

    >>> from recon_cli.capabilities.check.options import Rule
    >>> from recon_cli.capabilities.check.finding import Finding
    >>> rule = Rule.model_validate({"recovered": {"from": 1, "below": 3}, "most": 0})
    >>> rule_in_words(Judged(rule, Finding()))
    'recovered from 1, below 3, published true: most 0'
    """
    rule = judged.rule
    asked = rule.subject.model_dump(by_alias=True, exclude_none=True, mode="json")
    values = ", ".join(f"{key} {_plain(value)}" for key, value in asked.items())
    limit = f"most {rule.most}" if rule.share is None else f"share {rule.share:g}"
    new = judged.grounds.candidate and f", new with {judged.grounds.candidate}"
    return f"{' '.join(filter(None, (rule.name, values)))}: {limit}{new}"


def check_document(judged: Sequence[Judged], *, show_counts: bool) -> dict[str, Any]:
    """Return all verdicts, for `json`."""
    return {
        "verdict": verdict_of(judged),
        "rules": [
            _rule_document(number, each, show_counts=show_counts)
            for number, each in enumerate(judged, 1)
        ],
    }


def check_json(judged: Sequence[Judged], *, show_counts: bool) -> bytes:
    """Return all verdicts as a JSON file."""
    document = check_document(judged, show_counts=show_counts)
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def check_junit(judged: Sequence[Judged], *, show_counts: bool) -> bytes:
    """Return a test case for each rule: a failure if broken, an error if undecided."""
    tally = [each.verdict for each in judged]
    suite = ET.Element(
        "testsuite",
        name="recon check",
        tests=str(len(tally)),
        failures=str(tally.count("broken")),
        errors=str(tally.count("undecided")),
    )
    elements: dict[Verdict, str] = {"broken": "failure", "undecided": "error"}
    for number, each in enumerate(judged, 1):
        name = f"{number} {rule_in_words(each)}"
        case = ET.SubElement(suite, "testcase", classname="recon.check", name=name)
        if each.verdict in elements:
            told = ET.SubElement(case, elements[each.verdict], message=each.verdict)
            told.text = "\n".join(reason_lines(each, show_counts=show_counts))
        if conditions := condition_lines(each):
            ET.SubElement(case, "system-out").text = "\n".join(conditions)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def verdict_lines(judged: Sequence[Judged], *, show_counts: bool) -> list[str]:
    """Describe each rule with its verdict and reason; last, the tables, and what no rule asks."""
    lines = []
    for each in judged:
        lines.append(f"  {each.verdict:<9}  {rule_in_words(each)}")
        told = [*reason_lines(each, show_counts=show_counts), *condition_lines(each)]
        lines += [f"             {line}" for line in told]
    tables = dict.fromkeys(name for each in judged for name in each.grounds.tables)
    if tables:
        lines.append(f"  judged by  {', '.join(tables)}")
    if not any(each.rule.subject.is_of_people for each in judged):
        nouns = dict.fromkeys(plural(each.grounds.record) for each in judged)
        lines.append(
            f"  not asked  whether {' or '.join(nouns)} are given away: no rule is of them "
            "(`certain_records`, `disclosed`)"
        )
    return lines


def reason_lines(judged: Judged, *, show_counts: bool) -> list[str]:
    """Describe the state of a rule: proven, possible, and not examined violations."""
    found = judged.finding
    noun = plural(judged.grounds.record if judged.rule.subject.is_of_people else "count")
    lines = sentences("verdict.j2", "reasons", __package__, judged=judged, noun=noun)
    if judged.verdict == "undecided":
        lines += found.gaps
    return [*lines, *(_example(each) for each in found.examples if show_counts)]


def condition_lines(judged: Judged) -> list[str]:
    """Describe the conditions of a verdict."""
    if judged.verdict == "undecided":
        return []
    laws = [f"if published by: {law}" for law in judged.grounds.laws]
    assumed = [f"if assumed: {each}" for each in judged.grounds.assumptions]
    return [*laws, *assumed, *(f"without {each}" for each in judged.grounds.left_out)]


def _rule_document(number: int, judged: Judged, *, show_counts: bool) -> dict[str, Any]:
    found = judged.finding
    return {
        "rule": number,
        "verdict": judged.verdict,
        **judged.rule.model_dump(by_alias=True, exclude_none=True, mode="json"),
        "proven": found.proven,
        "undecided": found.possible,
        "of": found.of,
        "by_table": dict(found.tables),
        "not_asked": list(found.gaps),
        "tables": list(judged.grounds.tables),
        "laws": list(judged.grounds.laws),
        "assumptions": list(judged.grounds.assumptions),
        "left_out": list(judged.grounds.left_out),
        **({"new_with": judged.grounds.candidate} if judged.grounds.candidate else {}),
        **({"examples": list(found.examples)} if show_counts else {}),
    }


def _example(values: dict[str, Any]) -> str:
    return "  " + ", ".join(f"{key} {_plain(value)}" for key, value in values.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)
