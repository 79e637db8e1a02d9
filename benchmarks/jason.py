"""JASON's claims and figures beside ours: ``python -m benchmarks.jason --page docs/jason.md``."""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, isotonic_regression
from scipy.special import ndtri

from recon_cli.capabilities.dinur_nissim.closed_form import (
    noisy_share,
    normal_queries,
    sum_accuracy,
    sum_entropy,
    unique_probability,
)
from recon_cli.capabilities.dinur_nissim.subset_sums import AnswerNoise, information, m_sequence
from recon_cli.capabilities.frontier.bounded_count import (
    fair,
    fair_rows,
    rightest,
    truncated_geometric,
)
from recon_cli.capabilities.frontier.matrix_mechanism import (
    STRATEGIES,
    hierarchy_variances,
    level_variances,
    strategy_error,
)
from recon_cli.markdown import markdown_table
from recon_cli.seeding import generator
from tests.support.few_queries import (
    cell_budget,
    gaussian_entropy,
    lindstroem_queries,
    pair_entropy,
    sums_of_three_bits,
)

HEADER = """# JASON's report beside ours

Claims of *Formal privacy methods for the 2020 census* (JSR-19-2F), each with what shows it or why
nothing here does, and its figures as they follow from its own numbers. This page is made by
`python -m benchmarks.jason --page docs/jason.md`. The printed numbers are those that were noted
down from the report; its text is not part of this project.
"""

CLAIMS = """| where | claim | shown by |
| --- | --- | --- |
| 4.1 | Published tables give back records | `make demo`; [results](results.md), on real tracts too |
| 4.1 | 46% exact, 71% with age to a year, 17% confirmed by name | not to be had: it takes confidential records and commercial lists. The same measures of synthetic people, agreement with the age off by one year among them: [scores](scores.md) |
| 4.2 | Sums of random subsets give back nearly all bits (Dinur and Nissim) | `recon lab dinur-nissim --figure 4-1`, [bits](dinur_nissim.md) |
| 4.3 | Half as many exact sums as bits are enough | `recon lab dinur-nissim --figure 4-3` |
| 4.3 | A full cross table has almost 20 counts a bit | the arithmetic below; real tables are not random subsets, `recon plan capacity` tells what they carry, [capacity](capacity.md) |
| 4.4 | Noise of √n·ln(n)/2 takes more sums, no more | `recon lab dinur-nissim --figure 4-4` |
| 4.5, A.5 | 2n/log₂n exact sums of one's own choice determine n bits | `recon lab dinur-nissim --bits 127 --design m-sequence --queries 36,64,90`: by information; Lindström's matrix by decoding too, Table A-7 below |
| 4.5 | 16σ² sums fix the bits under noise | not so, below |
| 5.1 | Randomised answers: privacy loss and error | `recon plan frontier`, *One count* |
| 5.2 | Joins raise the sensitivity | `recon account`: of k records k²ρ, [noise](noise.md); nothing here joins |
| 5.2.1 | Noisy ordered counts may be made monotone | below: it helps, the histogram beneath helps more; no command |
| 5.2.3 | Small counts need mechanisms of their own | `recon plan frontier --set frontier.at_most=10`, [frontier](frontier.md) |
| 5.2.4 | Medians by smooth sensitivity | nothing: what is published here are counts |
| 5.5 | A large count keeps its accuracy | `recon lab dinur-nissim --figure 5-6` |
| 5.6 | Enough noisy answers give bits back, for each ε of an answer | `recon lab dinur-nissim --figure 5-7 --trials 1` |
| 5.7 | Top-down errs less for large areas than bottom-up | `recon plan frontier --set 'frontier.branching=[51, 62, 23, 3, 29]'`; `recon compare` with `topdown: {levels: [block]}` |
| 6.1 | Figures 6-1, 6-2: accuracy by level against ε | `recon run -c configs/sweep.yaml`, a sweep of `topdown.scale`, [compare](compare.md#measured-over-ε), of synthetic people; those of New Mexico are not public |
| 6.2 | Figures 6-3, 6-4: distributions of errors; 6-5 to 6-8: errors by unit, 1940 | the same sweep: boxes, and small multiples; the records of 1940 are not part of this project |
"""  # noqa: E501 - rows of a table

ADVICE = """Two of its recommendations are about what a program can tell; the others are not in our
notes of the report.

| advice | here |
| --- | --- |
| One account for all products about the same people | `recon account`, with a limit that refuses, [noise](noise.md) |
| Forgo counts of blocks | `no-blocks` of `recon run -c configs/alternatives.yaml`, [compare](compare.md#alternatives-at-the-same-budgets); an even split errs 17% less elsewhere, [frontier](frontier.md) |
"""  # noqa: E501 - rows of a table

ORDERED = """One hundred sums, each of ten people more than the one before, ε = 1 in all, Laplace
noise: root mean squared error of a sum, exact but for the monotone ones, of 400 simulations.
"""

THREE = """Table A-4: the databases of three bits, and two sums of each.

{table}
Table A-5: the law of both sums together, 2.75 bits.

{law}"""

Row = tuple[str, str, str, str]


def arithmetic() -> list[Row]:
    """What is said of the census, from its own parts."""
    people, bits, cells = 310e6, 3 + 5 + 1 + 6 + 24, 8 * 20 * 2 * 63 * 1.1e7
    return [
        ("1", "re-identified: 45% matched, 38% confirmed", "17%", f"{45 * 0.38:.1f}%"),
        ("4.1", "the same with the 39% that are printed there", "17%", f"{45 * 0.39:.1f}%"),
        ("1", "the same, people", "52 million", f"{0.45 * 0.38 * people / 1e6:.0f} million"),
        ("4.1", "counts of all products", "155 billion", f"{3.6 + 22 + 4.5 + 50 + 75:.0f} billion"),
        ("4.1", "PL 94-171, counts a person", "about 10", f"{3.6e9 / people:.1f}"),
        ("4.3", "bits a person", "39", str(bits)),
        ("4.3", "bits of 3 · 10⁸ people", "1.2 · 10¹⁰", f"{bits * 3e8 / 1e10:.2f} · 10¹⁰"),
        ("4.3", "cells of the full cross table", "2.2 · 10¹¹", f"{cells / 1e11:.2f} · 10¹¹"),
        ("4.3", "cells a bit", "almost 20", f"{cells / (bits * 3e8):.2f}"),
        *(
            ("Table 6-3", f"ε of a share of {share}; scale", printed, budget_words(share))
            for share, printed in (
                (0.675, "0.042; 47.4"),
                (0.225, "0.014; 142"),
                (0.1, "0.006; 320"),
            )
        ),
    ]


def budget_words(share: float) -> str:
    """ε and scale of a table, as in Table 6-3."""
    epsilon, scale = cell_budget(0.25, 4, share)
    return f"{epsilon:.3f}; {scale:.3g}"


def random_sums() -> list[Row]:
    """Sections 4 and 5.5."""
    half = next(m for m in range(1000) if unique_probability(1000, m) > 0.5)
    sd = 1000.0
    share = noisy_share(1000, round(16 * sd**2), sd)
    hundred = sum_accuracy(100, 2.0)
    lost = brentq(lambda epsilon: sum_accuracy(100, epsilon) - 0.85, 0.05, 1.0)
    return [
        ("4.3", "exact sums a bit, 1,000 bits", "½", f"{half / 1000:.2f}"),
        ("4.5", "right with 16σ² sums, many more than bits", "all", f"{100 * share:.0f}%"),
        ("4.5", "sums for 99% right", "16σ²", f"{(4 * ndtri(0.99)) ** 2:.0f}σ²"),
        ("5.5", "lost of a sum of 100 bits at ε = 2", "15%", f"{100 - 100 * hundred:.1f}%"),
        ("5.5", "ε at which 15% is lost", "2", f"{lost:.2f}"),
    ]


def carried() -> list[Row]:
    """Appendix A."""
    places = [each for size in range(4) for each in itertools.combinations(range(3), size)]
    pairs = list(itertools.combinations(places, 2))
    choices = sums_of_three_bits()
    open_ = sum(count for count in choices.values() if count > 1)
    covariance = np.array([[0.5, 0.25], [0.25, 0.5]])
    normal = math.log2(2 * math.pi * math.e) + math.log2(np.linalg.det(covariance)) / 2
    shifts = spectrum(127)
    printed = {8: 6, 9: 6, 10: 7, 11: 8, 12: 9, 13: 9, 14: 9, 15: 9, 16: 10}
    printed |= {17: 11, 18: 13, 19: 13, 20: 14, 21: 14}
    fewer = [n for n, queries in printed.items() if lindstroem_queries(n) < queries]
    return [
        ("A.1", "sums a bit: pairs, then single bits of half of them", "0.75", f"{(1 + 0.5) / 2}"),
        ("A.2", "pairs of queries", "28", str(len(pairs))),
        ("A.2", "bits of the best pair", "2.75", f"{max(pair_entropy(*each) for each in pairs)}"),
        ("A.2", "queries on average", "2.25", f"{2 + open_ / 8}"),
        ("A.2", "normal approximation", "2.88667", f"{normal:.5f}"),
        ("A.3", "½log₂(πe/2)", "1.047096", f"{gaussian_entropy(1):.6f}"),
        ("A.4", "log₂(πe/8)", "0.094", f"{math.log2(math.pi * math.e / 8):.3f}"),
        *(
            ("Table A-6", f"bits of a sum of {m}; normal", printed_, entropies(m))
            for m, printed_ in (
                (2, "1.5; 1.547096"),
                (16, "3.04655; 3.047096"),
                (128, "4.547088; 4.547096"),
            )
        ),
        (
            "Table A-7",
            f"queries for {', '.join(map(str, fewer))} bits",
            ", ".join(str(printed[n]) for n in fewer),
            ", ".join(str(lindstroem_queries(n)) for n in fewer),
        ),
        (
            "A.5",
            "2n/log₂n, 127 bits; least by normal bits",
            "2n/log₂n",
            f"{254 / math.log2(127):.1f}; {normal_queries(127)}",
        ),
        ("A.9", "sd of a sum of 127 bits, unasked, after 120", "–", f"{shifts[120]:.2f}"),
        (
            "A.6, (A-15)",
            "variance above which n sums carry less than n bits",
            "n/48",
            f"n/{1 / saturating():.0f}",
        ),
    ]


def three_bits() -> list[tuple[int, ...]]:
    """Table A-4: each database of three bits, and its sums of the first and of the last two."""
    return [(a, b, c, a + b, b + c) for a, b, c in itertools.product((0, 1), repeat=3)]


def joint_law() -> list[tuple[int, int, str]]:
    """Table A-5: the probability of each pair of sums."""
    counted = Counter(row[3:] for row in three_bits())
    pairs = itertools.product(range(3), repeat=2)
    return [(left, right, f"{counted[left, right]}/8") for left, right in pairs]


def entropies(bits: int) -> str:
    """Exact and normal, of a sum."""
    return f"{sum_entropy(bits):.7g}; {gaussian_entropy(bits):.6f}"


def saturating(bits: int = 1_000_000) -> float:
    """The variance, over n, at which n noisy sums of n bits carry n bits by Eq. (A-15)."""

    def left(share: float) -> float:
        noise = AnswerNoise("gaussian", math.sqrt(share * bits))
        return information(bits, bits, noise) - bits * (1 - 1e-9)

    return brentq(left, 1 / 200, 1 / 10)


def spectrum(bits: int) -> dict[int, float]:
    """Queries → standard deviation of one more shift of an m-sequence, given their exact sums."""
    sequence = m_sequence(bits)
    at = (np.arange(bits)[:, None] + np.arange(bits)) % bits
    pivots = np.diag(np.linalg.cholesky(sequence[at] @ sequence[at].T / 4))
    return dict(enumerate(pivots.tolist()))


def monotone() -> str:
    """Section 5.2.1: 100 ordered sums."""
    points, trials, epsilon = 100, 400, 1.0
    Q = np.tril(np.ones((points, points)))
    names = ("itself", "tree", "haar", "identity", "optimised")
    errors = {name: strategy_error(Q, STRATEGIES[name](Q)) for name in names}
    rows = [
        (name, float(np.sqrt(error.laplace_variance(epsilon).mean())))
        for name, error in errors.items()
    ]
    rng = generator(0, "jason", "monotone")
    truth = np.cumsum(np.full(points, 10.0))
    noisy = truth + rng.laplace(scale=points / epsilon, size=(trials, points))
    fitted = np.array([isotonic_regression(each).x for each in noisy])
    rows.insert(1, ("itself, then monotone", float(np.sqrt(((fitted - truth) ** 2).mean()))))
    return markdown_table(["what is asked", "rmse"], [[n, f"{e:.1f}"] for n, e in rows], 1)


def misprints() -> list[tuple[str, str, str, str]]:
    """Place, printed, what it should be, and a figure that shows it."""
    alpha = math.exp(-0.5)
    offsets = np.abs(np.arange(-400, 401))
    law = (1 - alpha) / (1 + alpha) * alpha**offsets
    wrong = (1 - alpha) ** offsets / (1 + alpha)
    even = (1 - alpha) / (1 + alpha - 2 * alpha ** (3 / 2 + 1))
    three = float(fair(3, 0.5)[0, 0])
    small, large = (truncated_geometric(2, e)[:, 1] for e in (0.5, 1.0))
    n, r = 127, 36
    exact = determinant_factor(n, r)
    county = hierarchy_variances(level_variances(1.0, (0, 1)), [100])[0]
    return [
        (
            "5.2.3",
            "(1−α)^|δ|/(1+α)",
            "(1−α)α^|δ|/(1+α)",
            f"at ε = ½ they add up to {wrong.sum():.3f} and {law.sum():.3f}",
        ),
        (
            "5.2.3",
            "at n = 2 the answer 1 is least likely if it is true",
            "only if ε < ln 2",
            f"of 1, P(0) and P(1) are {small[0]:.3f}, {small[1]:.3f} at ε = ½, {large[0]:.3f}, "
            f"{large[1]:.3f} at 1",
        ),
        (
            "5.2.3",
            "the scale y of the fair mechanism, all n",
            "even n; odd: (1−α)/((1+α)(1−α^((n+1)/2)))",
            f"n = 3, ε = ½: printed {even:.4f}, columns add up to 1 with {three:.4f}, "
            f"linear program {rightest(3, 0.5, [fair_rows(3)]):.4f}",
        ),
        ("4.5", "16σ² queries fix the bits", "84% of them", "above"),
        ("5.5", "15% lost at 100 bits, ε = 2", "1%", "above"),
        (
            "5.7",
            "bottom-up: the error of a county is in proportion to its blocks",
            "its variance is",
            f"100 blocks, ε 1: sd {math.sqrt(county):.1f}, of one {math.sqrt(2):.1f}",
        ),
        ("A.2", "Q_R = B₁ + B₂", "B₂ + B₃", "Table A-4 is that of the second"),
        ("(A-18)", "x_r − μ_(n−r)", "x_r − μ_r", "algebra: lengths differ"),
        (
            "after (A-19)",
            "(2r+1)/(r+1)²",
            "(n+1)/((r+1)(n−r+1)); equal for n = 2r",
            f"n = 127, r = 36: {(2 * r + 1) / (r + 1) ** 2:.5f} and "
            f"{(n + 1) / ((r + 1) * (n - r + 1)):.5f}; by the matrix {exact:.5f}",
        ),
        (
            "Table A-7",
            "8: r_min 6, of which 98.4% unique",
            "contradict each other",
            f"{lindstroem_queries(8)} queries determine all bits",
        ),
        (
            "A.6",
            "r/n may tend to a constant",
            "it tends to 0",
            f"r/n of Lindström's queries: {lindstroem_queries(20) / 20:.2f} at 20 bits, "
            f"{lindstroem_queries(2000) / 2000:.3f} at 2,000",
        ),
        ("6.1", "TVD", "an accuracy, 1 − L¹/2N: 1 is best", "definition"),
    ]


def determinant_factor(bits: int, asked: int) -> float:
    """Det of the covariance of the other shifts given those asked, over that of them alone."""
    sequence = m_sequence(bits)
    at = (np.arange(bits)[:, None] + np.arange(bits)) % bits
    C = sequence[at] @ sequence[at].T / 4
    logs = [np.linalg.slogdet(part)[1] for part in (C, C[:asked, :asked], C[asked:, asked:])]
    return math.exp(logs[0] - logs[1] - logs[2])


def page() -> str:
    """The page."""
    figures = [list(row) for row in (*arithmetic(), *random_sums(), *carried())]
    wrong = [list(row) for row in misprints()]
    parts = {
        "Claims": CLAIMS,
        "Recommendations": ADVICE,
        "Figures": markdown_table(["where", "what", "printed", "derived"], figures, 2),
        "Three bits": THREE.format(
            table=markdown_table(["b₁", "b₂", "b₃", "b₁ + b₂", "b₂ + b₃"], _texts(three_bits()), 0),
            law=markdown_table(["b₁ + b₂", "b₂ + b₃", "probability"], _texts(joint_law()), 0),
        ),
        "Ordered counts": f"{ORDERED}\n{monotone()}",
        "Misprints": markdown_table(["where", "printed", "should be", "shown by"], wrong, 4),
    }
    return "\n".join([HEADER, *(f"## {name}\n\n{text}" for name, text in parts.items())])


def _texts(rows: Iterable[tuple[object, ...]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    parser.parse_args().page.write_text(page())


if __name__ == "__main__":
    main()
