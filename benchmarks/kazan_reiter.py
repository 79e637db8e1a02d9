"""Tables and figures of Kazan & Reiter: ``python -m benchmarks.kazan_reiter --page FILE``."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.kazan_reiter_figures import shown_figures, write_figures
from benchmarks.kazan_reiter_settings import PRIORS, SHARES, rho_of
from recon_cli.markdown import markdown_table
from recon_cli.noise.density import discrete_gaussian
from recon_cli.risk.expectation import expected
from recon_cli.risk.one_level import log_odds, posterior
from recon_cli.risk.published_sampler import published_log_odds, published_upper_law
from recon_cli.risk.two_levels import TwoLevels, two_level

HEADER = """# Risk beside the study

Tables and figures of Kazan and Reiter, made by
`python -m benchmarks.kazan_reiter --page docs/kazan_reiter.md`; the equations are in
[risk](risk.md). Rows 1 and 2 of Table 4 and 1 to 3 of Table 5 agree with the printed ones to every
decimal, as the tests check; we do not have the other rows as printed.
"""
COUNTS = """
Noisy counts 2 (block), 1 (block group) and −1 (the 27 siblings together), prior 1/2, nobody else in
the cell. *As published* is the limit of the published sampler, *exact* the posterior under a flat
prior on the siblings' count.
"""
SAMPLER = """
The same counts. Printed for 4 to 7, of 10,000 draws: 4.6, 0.7, 0.08 and 0.01%. The
limit at 4 is lower; what is printed is nearer to the law if the target is in (4.56, 0.79, 0.08 and
0.01%), and we cannot tell which of the two was meant.
"""


FIGURES = """*As published* is the limit of the published sampler, *exact* the posterior under a
flat prior on the siblings' count. The sampler ignores that a block's count is at most the one
above. It is right more often where the target is alone in the block group, as in Figures 4 to 6,
because a flat prior expects others there.
"""


def budgets() -> str:
    """Table 2."""
    rows = [[name, *SHARES[name], f"{rho_of(name):.4f}"] for name in SHARES]
    return markdown_table(["level", "share of ρ", "share of the level", "ρ"], rows, 1)


def one_level() -> str:
    """Table 4."""
    rho, rows = rho_of("block"), []
    noise = discrete_gaussian(rho)
    for count in range(1, 6):
        q = [float(posterior(log_odds(count, rho, float(Fraction(p))))) for p in PRIORS]
        ratios = [f"{each / float(Fraction(p)):.2f}" for each, p in zip(q, PRIORS, strict=True)]
        masses = [f"{float(noise.p[each - noise.low]):.3f}" for each in (count, count - 1)]
        rows.append([str(count), *masses, *(f"{each:.3f}" for each in q[:4]), *ratios])
    header = [
        "count",
        "P(count), target out",
        "target in",
        *PRIORS[:4],
        *(f"ratio {p}" for p in PRIORS),
    ]
    return markdown_table(header, rows, 0)


def siblings_noise() -> str:
    """Figures 8 and 9: how much less 27 discrete draws vary together than normal ones."""
    rows = []
    for rho in (rho_of("block"), 1.0, 2.0):
        noise = discrete_gaussian(rho)
        offsets = noise.low + np.arange(len(noise.p))
        rows.append([f"{rho:.3f}", f"{float(noise.p @ offsets**2) * 2 * rho:.4f}"])
    return markdown_table(["ρ", "variance of 27 draws over 27/2ρ"], rows, 0)


def expectations() -> str:
    """Table 5."""
    rows = []
    for p in PRIORS:
        risk = expected(rho_of("block"), float(Fraction(p)))
        rows.append([p, f"{risk.posterior:.4f}", f"{risk.ratio:.2f}"])
    return markdown_table(["prior", "expected posterior", "expected ratio"], rows, 1)


def upper_law() -> str:
    """Table 8: the law of the block group's count."""
    levels = TwoLevels(rho_of("block"), rho_of("block group"), 27)
    _, sampler = published_upper_law(2, 1, -1, levels, 1 / 2)
    counts = np.arange(len(sampler))
    joint = np.zeros(len(sampler))
    for c in (0, 1):
        siblings = counts - c
        weight = levels.rho1 * (2 - c) ** 2 + levels.rho2 * (1 - counts) ** 2
        joint += np.exp(-weight - levels.rho_s * (-1 - siblings) ** 2) * (siblings >= 0)
    exact_law = joint / joint.sum()
    rows = [[str(n), f"{100 * sampler[n]:.2f}", f"{100 * exact_law[n]:.2f}"] for n in range(8)]
    return markdown_table(["count above", "as published, %", "exact, %"], rows, 0)


def target() -> str:
    """Table 7: the posterior of the target."""
    levels = TwoLevels(rho_of("block"), rho_of("block group"), 27)
    d1, d2, s = (np.asarray(each) for each in (2, 1, -1))
    adversaries = {
        "one level": log_odds(2, levels.rho1, 1 / 2),
        "two levels, as published": published_log_odds(d1, d2, s, levels, 1 / 2),
        "two levels, exact": two_level(d1, d2, s, levels, 1 / 2),
    }
    rows = [
        [name, f"{float(posterior(odds)):.4f}", f"{2 * float(posterior(odds)):.3f}"]
        for name, odds in adversaries.items()
    ]
    return markdown_table(["adversary", "posterior", "ratio"], rows, 1)


def page() -> str:
    """The page."""
    return "\n".join(
        [
            HEADER,
            f"## Table 2: budgets\n\n{budgets()}",
            f"## Table 4: one noisy block count\n\n{one_level()}",
            f"## Table 5: expected over the noise\n\nThe target is in.\n\n{expectations()}",
            f"## Table 7: the target\n{COUNTS}\n{target()}",
            f"## Table 8: the count above\n{SAMPLER}\n{upper_law()}",
            f"## Figures 8 and 9: noise of the siblings\n\n{siblings_noise()}",
            f"## Figures\n\n{FIGURES}\n{shown_figures()}",
        ]
    )


def main() -> None:
    """Write the page, and the figures into the folder ``images`` beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    path: Path = parser.parse_args().page
    path.write_text(page())
    write_figures(path.parent / "images")


if __name__ == "__main__":
    main()
