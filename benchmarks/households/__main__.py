"""The study of verified claims beside ours: ``python -m benchmarks.households``.

Measures, writes ``benchmarks/reference/households.json`` with ``--reference``, and the page
``docs/households.md`` from it with ``--page``.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.households.figures import write_figures
from benchmarks.households.page import render
from benchmarks.households.reference import Amount, measure_others, measure_samples
from benchmarks.machine import REFERENCE, ROOT
from recon_cli.execute.children import single_threaded

RESULT = REFERENCE / "households.json"
PAGE = ROOT / "docs" / "households.md"


def main() -> None:
    """Measure, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=250)
    parser.add_argument("--ablated", type=int, default=50)
    parser.add_argument("--one-hot", type=int, default=6)
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--reference", action="store_true", help="measure, and keep the result")
    parser.add_argument("--page", action="store_true", help="write docs/households.md")
    parser.add_argument("--samples", action="store_true", help="the same, of the samples alone")
    options = parser.parse_args()
    if not (options.reference or options.samples or options.page):
        parser.error("nothing to do: --reference, --samples or --page")
    least = min(options.blocks, options.ablated, options.one_hot, options.questions)
    if least < 1:
        parser.error("a sample of none measures nothing: at least one of each")
    if options.reference or options.samples:
        amount = Amount(options.blocks, options.ablated, options.one_hot, options.questions)
        # In a process of its own: libraries read how many threads they may have when imported.
        with single_threaded(), ProcessPoolExecutor(1, get_context("spawn")) as pool:
            result = pool.submit(measure_samples, options.blocks).result()
            if options.reference:
                others = pool.submit(measure_others, amount).result()
            else:
                others = {
                    k: v for k, v in json.loads(RESULT.read_text()).items() if k not in result
                }
        RESULT.write_text(json.dumps(result | others, indent=1) + "\n")
    if options.page:
        result = json.loads(RESULT.read_text())
        PAGE.write_text(render(result))
        write_figures(result, PAGE.parent / "images")


if __name__ == "__main__":
    main()
