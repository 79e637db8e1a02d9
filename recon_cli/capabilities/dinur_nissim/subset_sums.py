"""Simulated attacks: random subset sums of secret bits, noise, a decoder, the share right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.linalg import blas

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.budget import best_guess
from recon_cli.capabilities.dinur_nissim import closed_form
from recon_cli.capabilities.dinur_nissim.decoders import (
    box_least_squares,
    exact_solution,
    least_absolute,
    round_bits,
    within,
)
from recon_cli.seeding import generator

Kind = Literal["none", "gaussian", "laplace", "bounded"]
Decoder = Literal["auto", "least-squares", "least-absolute", "feasible"]
Design = Literal["random", "m-sequence"]
#: Queries whose subsets are in memory at a time.
_CHUNK = 2000
#: Limits of noise parameters: beyond these an answer says everything or nothing.
_LEAST, _MOST = 1e-6, 1_000_000
#: Entries of a linear program that is still worth its time.
_LARGE = 400_000
#: Digits of a shift register.
_LONGEST = 12


@dataclass(frozen=True)
class AnswerNoise:
    """Noise of each answer.

    Attributes:
        kind: ``none``; ``gaussian``, ``parameter`` its standard deviation; ``laplace``, ε of an
            answer; ``bounded``, uniform between −parameter and parameter.
        parameter: From a millionth to a million; 0 for ``none``.

    Raises:
        ValueError: The parameter is out of range.
    """

    kind: Kind
    parameter: float = 0.0

    def __post_init__(self) -> None:
        if self.kind == "none":
            if self.parameter != 0:
                raise ValueError("noise none: it has no parameter")
        elif not _LEAST <= self.parameter <= _MOST:
            raise ValueError(
                f"noise {self.kind}: a parameter from {_LEAST:g} to {_MOST:,} is expected, "
                f"found {self.parameter:g}"
            )

    @property
    def sd(self) -> float:
        match self.kind:
            case "laplace":
                return math.sqrt(2) / self.parameter
            case "bounded":
                return self.parameter / math.sqrt(3)
        return self.parameter

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw (size,) values; for study, not for a release."""
        match self.kind:
            case "none":
                return np.zeros(size)
            case "gaussian":
                return rng.normal(scale=self.parameter, size=size)
            case "laplace":
                return rng.laplace(scale=1 / self.parameter, size=size)
            case "bounded":
                return rng.uniform(-self.parameter, self.parameter, size=size)


def attack(
    bits: int,
    queries: int,
    noises: Sequence[AnswerNoise],
    *,
    decoder: Decoder = "auto",
    design: Design = "random",
    trials: int,
    seed: int,
) -> list[FloatArray]:
    """Compute the (trials,) shares of bits that are right, for each noise.

    The bits are fixed; each trial has new subsets and noise. All noises of a trial share its
    subsets, so that their Gram matrix is computed once.

    Args:
        decoder: ``auto`` takes `least_absolute` for Laplace and `within` for bounded noise if the
            problem is small, else box least squares.
        design: ``random`` subsets, each of a fair half; ``m-sequence``: different shifts of an
            `m_sequence`.

    Raises:
        ValueError: There is no m-sequence of this many bits, or it has fewer shifts than queries.
    """
    check_design(design, bits, queries)
    truth = generator(seed, "bits", str(bits)).integers(0, 2, bits)
    shares = [np.empty(trials) for _ in noises]
    for trial in range(trials):
        rng = generator(seed, "queries", str(bits), str(queries), str(trial))
        chosen = [_decoder(decoder, noise, bits * queries) for noise in noises]
        if set(chosen) == {"least-squares"}:
            found = _by_squares(truth, queries, noises, rng, design=design)
        else:
            found = _by_programs(truth, queries, noises, chosen, rng, design=design)
        for share, x in zip(shares, found, strict=True):
            share[trial] = (round_bits(x) == truth).mean()
    return shares


def _decoder(decoder: Decoder, noise: AnswerNoise, entries: int) -> Decoder:
    if decoder != "auto":
        return decoder
    if entries > _LARGE:
        return "least-squares"
    special: dict[Kind, Decoder] = {"laplace": "least-absolute", "bounded": "feasible"}
    return special.get(noise.kind, "least-squares")


def _by_squares(
    truth: IntArray,
    queries: int,
    noises: Sequence[AnswerNoise],
    rng: np.random.Generator,
    *,
    design: Design,
) -> list[FloatArray]:
    """Decode by box least squares, with a chunk of the queries in memory at a time."""
    bits = len(truth)
    # whole numbers below 2^24, so exact in single precision; only the upper half is added up
    gram = np.zeros((bits, bits), dtype=np.float32, order="F")
    moments = np.zeros((bits, len(noises)))
    for Q in _subsets(design, rng, queries, bits):
        gram = blas.ssyrk(1.0, Q.T, beta=1.0, c=gram, overwrite_c=1)
        drawn = np.column_stack([noise.draw(rng, len(Q)) for noise in noises])
        moments += Q.T @ drawn
    upper = np.triu(gram, 1)
    full = (gram - np.tril(gram, -1) + upper.T).astype(np.float64)
    del gram, upper
    moments += (full @ truth)[:, None]
    exact = np.array([noise.kind == "none" for noise in noises])
    found = np.empty(moments.shape)
    if exact.any():
        found[:, exact] = exact_solution(full, moments[:, exact], queries)
    if not exact.all():
        found[:, ~exact] = box_least_squares(full, moments[:, ~exact], queries)
    return list(found.T)


def _by_programs(
    truth: IntArray,
    queries: int,
    noises: Sequence[AnswerNoise],
    chosen: Sequence[Decoder],
    rng: np.random.Generator,
    *,
    design: Design,
) -> list[FloatArray]:
    Q = np.vstack(list(_subsets(design, rng, queries, len(truth)))).astype(np.float64)
    found = []
    for noise, decoder in zip(noises, chosen, strict=True):
        answers = Q @ truth + noise.draw(rng, queries)
        if decoder == "least-absolute":
            found.append(least_absolute(Q, answers))
            continue
        x = within(Q, answers, noise.parameter) if decoder == "feasible" else None
        if x is None:  # asked for, or the noise is not within any bound
            x = box_least_squares(Q.T @ Q, (Q.T @ answers)[:, None], queries)[:, 0]
        found.append(x)
    return found


def _subsets(
    design: Design, rng: np.random.Generator, queries: int, bits: int
) -> Iterator[npt.NDArray[np.float32]]:
    """Yield (queries × bits) zeros and ones, a chunk of queries at a time."""
    if design == "m-sequence":
        sequence = m_sequence(bits)
        shifts = rng.permutation(bits)[:queries]
        yield sequence[(shifts[:, None] + np.arange(bits)) % bits].astype(np.float32)
        return
    for first in range(0, queries, _CHUNK):
        rows = min(_CHUNK, queries - first)
        packed = rng.integers(0, 256, (rows, -(-bits // 8)), dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=bits).astype(np.float32)


def check_design(design: Design, bits: int, queries: int) -> None:
    """Refuse an impossible design.

    Raises:
        ValueError: There is no m-sequence of this many bits, or it has fewer shifts than queries.
    """
    if design == "m-sequence" and queries > len(m_sequence(bits)):
        raise ValueError(f"an m-sequence of {bits:,} bits has no {queries:,} different shifts")


def m_sequence(bits: int) -> IntArray:
    """Return a (bits,) maximal sequence: any two shifts have (bits + 1)/4 ones in common.

    It is the output of the first shift register with feedback that visits all nonzero states.

    Source: Golomb, Shift register sequences (1967); JASON (JSR-19-2F), A.5.

    Args:
        bits: 3, 7, 15, … to 4,095: one less than a power of two.

    Raises:
        ValueError: ``bits`` is another number.

    >>> m_sequence(7).tolist()
    [1, 1, 1, 0, 1, 0, 0]
    """
    size = bits.bit_length()
    if bits & (bits + 1) or not 2 <= size <= _LONGEST:
        raise ValueError(f"an m-sequence has 3, 7, 15, … or 4,095 bits, not {bits:,}")
    found: list[int] = []
    for taps in range(1 << (size - 1), 1 << size):
        state, found = 1, []
        while len(found) < bits:
            found.append(state & 1)
            state = state >> 1 ^ (taps if state & 1 else 0)
            if state == 1:
                break
        if len(found) == bits:
            break
    return np.array(found, dtype=np.int64)


#: Columns of `describe`.
RESULTS = (
    *("bits", "queries", "design", "noise", "parameter", "sd", "decoder", "trials"),
    *("low", "middle", "mean", "high", "closed_form"),
    *("p_unique", "entropy_bound", "any_attacker", "epsilon_total"),
)


def describe(
    bits: int,
    queries: int,
    noise: AnswerNoise,
    shares: FloatArray,
    decoder: Decoder = "auto",
    *,
    design: Design = "random",
) -> dict[str, float | int | str | None]:
    """Describe one setting by simulation, closed form and bounds, with the columns `RESULTS`.

    ``low``, ``middle`` and ``high`` are the 10%, 50% and 90% quantiles. Values that do not apply to
    the noise, or the design, are None. The sums of an m-sequence vary like those of random subsets
    of one bit more.
    """
    is_random = design == "random"
    likely = information(bits if is_random else bits + 1, queries, noise)
    is_told = is_random and noise.kind == "none"
    low, middle, high = np.quantile(shares, [0.1, 0.5, 0.9]).tolist()
    total = queries * noise.parameter if noise.kind == "laplace" else None
    return {
        "bits": bits,
        "queries": queries,
        "design": design,
        "noise": noise.kind,
        "parameter": noise.parameter,
        "sd": noise.sd,
        "decoder": _decoder(decoder, noise, bits * queries),
        "trials": len(shares),
        "low": low,
        "middle": middle,
        "mean": float(shares.mean()),
        "high": high,
        "closed_form": expected_share(bits, queries, noise) if is_random else None,
        "p_unique": closed_form.unique_probability(bits, queries) if is_told else None,
        "entropy_bound": closed_form.fano_share(bits, likely),
        "any_attacker": _any_attacker(queries, noise, total),
        "epsilon_total": total,
    }


def expected_share(bits: int, queries: int, noise: AnswerNoise) -> float | None:
    """Return the limit of box least squares for many bits; None if no equation is known."""
    if noise.kind == "none":
        return closed_form.exact_share(bits, queries) if bits > 2 else None
    if 2 * queries <= bits:
        return None
    return closed_form.noisy_share(bits, queries, noise.sd)


def information(bits: int, queries: int, noise: AnswerNoise) -> float:
    """Bound the information in all answers, in bits, at most the number of bits.

    It is Eq. (A-15), with n and m exchanged if m > n; without noise, the sum of the entropies of m
    sums. For bounded noise no better bound is known.
    """
    if noise.kind == "bounded":
        return float(bits)
    if noise.kind == "none":
        return min(bits, queries * closed_form.sum_entropy(bits))
    small, large = sorted((bits, queries))
    ratio = large / (16 * noise.sd**2)
    spread = (small - 1) / 2 * math.log2(1 + ratio) + math.log2(1 + ratio * (small + 1)) / 2
    if noise.kind == "laplace":
        spread += queries * closed_form.LAPLACE_BITS
    return min(float(bits), spread)


def _any_attacker(queries: int, noise: AnswerNoise, total: float | None) -> float | None:
    if noise.kind == "gaussian":
        return closed_form.any_attacker_gaussian(queries, noise.sd)
    return None if total is None else best_guess(total)


def results_frame(rows: Sequence[dict[str, float | int | str | None]]) -> pl.DataFrame:
    """Return rows of `describe` as a frame."""
    return pl.DataFrame(rows, schema=RESULTS, orient="row", infer_schema_length=None)
