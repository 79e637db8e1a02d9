"""The verdicts of `recon check`: as lines, JSON and JUnit's XML; counts only where asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from recon_cli.evaluate.check import Judged, Verdict, verdict_of


def rule_in_words(judged: Judged) -> str:
    """A rule as the config has it.

    >>> from recon_cli.config.sections.check import Rule
    >>> from recon_cli.evaluate.check import Finding
    >>> rule = Rule.model_validate({"recovered": {"from": 1, "below": 3}, "most": 0})
    >>> rule_in_words(Judged(rule, Finding()))
    'recovered from 1, below 3, published true: most 0'
    """
    rule = judged.rule
    asked = getattr(rule, rule.name).model_dump(by_alias=True, exclude_none=True, mode="json")
    values = ", ".join(f"{key} {_plain(value)}" for key, value in asked.items())
    limit = f"most {rule.most}" if rule.share is None else f"share {rule.share:g}"
    return f"{' '.join(filter(None, (rule.name, values)))}: {limit}"


def check_document(judged: Sequence[Judged], *, show_counts: bool) -> dict[str, Any]:
    """All verdicts, for `json`."""
    return {
        "verdict": verdict_of(judged),
        "rules": [
            _rule_document(number, each, show_counts=show_counts)
            for number, each in enumerate(judged, 1)
        ],
    }


def check_json(judged: Sequence[Judged], *, show_counts: bool) -> bytes:
    """The same as a file."""
    document = check_document(judged, show_counts=show_counts)
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def check_junit(judged: Sequence[Judged], *, show_counts: bool) -> bytes:
    """A test case a rule: a failure where it is broken, an error where it is undecided."""
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
            lines = reason_lines(each, show_counts=show_counts)
            told = ET.SubElement(case, elements[each.verdict], message=each.verdict)
            told.text = "\n".join(lines)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True)) + b"\n"


def reason_lines(judged: Judged, *, show_counts: bool) -> list[str]:
    """Why a rule is not kept, or with numbers how it stands."""
    found = judged.finding
    lines = []
    if show_counts:
        lines.append(f"proven {found.proven:,}, undecided {found.possible:,}, of {found.of:,}")
        lines += [_example(each) for each in found.examples]
    elif judged.verdict == "broken":
        lines.append("more violations are proven than are allowed")
    if judged.verdict == "undecided":
        lines += found.gaps
        if found.possible and not show_counts:
            lines.append("of some it is not known whether they are violations")
    return lines


def _rule_document(number: int, judged: Judged, *, show_counts: bool) -> dict[str, Any]:
    rule, found = judged.rule, judged.finding
    asked = rule.model_dump(by_alias=True, exclude_none=True, mode="json")
    document = {"rule": number, "verdict": judged.verdict, **asked, "not_asked": list(found.gaps)}
    if show_counts:
        document |= {
            "proven": found.proven,
            "undecided": found.possible,
            "of": found.of,
            "examples": list(found.examples),
        }
    return document


def _example(values: dict[str, Any]) -> str:
    return "  " + ", ".join(f"{key} {_plain(value)}" for key, value in values.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)
