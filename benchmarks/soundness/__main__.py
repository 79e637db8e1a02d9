"""Words of the attack against enumeration: ``python -m benchmarks.soundness --releases 2000``.

Makes this many tiny random releases, under every law, with units that are not in the files, with
and without a list of them, with counts left out, tables that are not there, coarse tables alone and
nobody at all. Reconstruction, variability, claims and audit are run on each, and all that they say
is compared with every population that has the published counts. Ends with 1 if a word is false.

With ``--verdicts`` those of `recon check` by many rules instead, of releases that are changed
besides: columns that nobody reads, counts that contradict each other.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter, defaultdict

from benchmarks.soundness.releases import NAMES, make_release
from benchmarks.soundness.verdicts import change, verdict_words
from benchmarks.soundness.words import Word, words_of


def main() -> None:
    """Print a table by law, a table by word, and what is false.

    Raises:
        SystemExit: A word is false.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first release")
    parser.add_argument("--verdicts", action="store_true", help="verdicts of recon check")
    options = parser.parse_args()
    by_law: dict[str, Counter[str]] = defaultdict(Counter)
    by_word: dict[str, Counter[str]] = defaultdict(Counter)
    false = []
    for number in range(options.first, options.first + options.releases):
        law = NAMES[number % len(NAMES)]
        by_law[law]["releases"] += 1
        for word in _words(options.seed, number, verdicts=options.verdicts):
            state = {True: "true", False: "false", None: "undecided"}[word.is_true]
            by_law[law][state] += 1
            by_word[word.kind][state] += 1
            if word.is_true is False:
                false.append(f"release {number} ({law}): {word.kind}: {word.what}")
    _print("law", by_law, NAMES)
    _print("word", by_word, sorted(by_word))
    for line in false:
        sys.stdout.write(f"FALSE {line}\n")
    sys.exit(1 if false else 0)


def _words(seed: int, number: int, *, verdicts: bool) -> list[Word]:
    """What is said of a release; what ends in an error that no user should see is false."""
    try:
        tiny = make_release(seed, number)
        if tiny is None:
            return []
        return list(verdict_words(change(tiny, number)) if verdicts else words_of(tiny))
    except Exception:  # noqa: BLE001 - it is what is looked for
        return [Word("traceback", is_true=False, what=traceback.format_exc(limit=-3))]


def _print(
    title: str, tallies: dict[str, Counter[str]], names: tuple[str, ...] | list[str]
) -> None:
    columns = [
        c for c in ("releases", "true", "false", "undecided") if title == "law" or c != "releases"
    ]
    heads = {"true": "checked"}
    lines = [[title, *(heads.get(column, column) for column in columns)]]
    total: Counter[str] = Counter()
    for name in names:
        tally = tallies[name]
        tally["true"] += tally["false"]
        total += tally
        lines.append([name, *(f"{tally[column]:,}" for column in columns)])
    lines.append(["together", *(f"{total[column]:,}" for column in columns)])
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    for line in lines:
        first, *rest = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        sys.stdout.write("  ".join([first, *rest]).rstrip() + "\n")
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
