"""Links between two kinds of records as rows over the candidates of all parts.

See *joint release* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.joint.release import Link, LinkKind
from recon_cli.model.candidates import Candidates
from recon_cli.model.plan import Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.program import LinearConstraints
from recon_cli.schema import Release


@dataclass(frozen=True)
class LinkedPart:
    """The candidates of one kind of records.

    Attributes:
        plan: Its grain resolves `link_masks`.
        unit: For each candidate its place, in the numbering that both parts share.
        upper: For each candidate its upper bound.
    """

    plan: Plan
    candidates: Candidates
    unit: IntArray
    upper: IntArray


@dataclass(frozen=True)
class LinkRows:
    """Rows of links over the columns of all parts, one part after the other.

    Attributes:
        rows: Rows with finite bounds.
        unit: For each row its place.
        link: For each row the number of its link.
        label: (rows × pairs of groups) the label's place among those of the pair's first side; −1
            beyond the last pair of the link.
    """

    rows: LinearConstraints
    unit: IntArray
    link: IntArray
    label: IntArray


def link_masks(links: Sequence[Link], release: Release, part: int) -> list[Masks]:
    """Return predicates that a plan must distinguish for the links.

    Args:
        part: The number of the part whose release it is.
    """
    full = release.full
    masks: dict[Masks, None] = {}
    sides = [(link, side) for link in links for side in (0, 1) if link.parts[side] == part]
    for link, side in sides:
        masks[link.predicates[side]] = None
        for pair in link.by:
            f = release.feature_index[pair[side].feature]
            for group in pair[side].masks:
                masks[(*full[:f], group, *full[f + 1 :])] = None
        if side and link.size is not None:
            f = link.size
            for value in range(len(release.features[f].values)):
                masks[(*full[:f], 1 << value, *full[f + 1 :])] = None
    return list(masks)


@dataclass(frozen=True)
class LinkCodes:
    """The candidates that each link counts, all parts one after the other.

    Attributes:
        code: (links × candidates) the combination of groups that a candidate is counted in, −1
            where the link does not count it.
        size: (links × candidates) what a candidate adds where sizes are added up, else 0.
    """

    code: IntArray
    size: IntArray


def link_codes(links: Sequence[Link], parts: Sequence[LinkedPart]) -> LinkCodes:
    """Find the group of each candidate under each link, regardless of other candidates."""
    start = np.cumsum([0, *(len(part.unit) for part in parts)])
    code = np.full((len(links), int(start[-1])), -1, dtype=np.int64)
    size = np.zeros_like(code)
    for number, link in enumerate(links):
        labels = [len(pair[0].labels) for pair in link.by]
        for side, at in enumerate(link.parts):
            columns = slice(start[at], start[at + 1])
            code[number, columns] = _codes(link, parts[at], side, labels)
            if side and link.size is not None:
                size[number, columns] = _sizes(link.size, parts[at])
    return LinkCodes(code, size)


def link_rows(links: Sequence[Link], parts: Sequence[LinkedPart]) -> LinkRows:
    """Build the rows of all links in all places: Eq. (link) of docs/method.md."""
    start = np.cumsum([0, *(len(part.unit) for part in parts)])
    upper = np.concatenate([part.upper for part in parts])
    made = [
        _Rows.of(number, link, (parts[link.parts[0]], parts[link.parts[1]]), row, start)
        for number, link in enumerate(links)
        for row in _rows_of(link, parts[link.parts[1]])
    ]
    matrices = [sparse.csr_array((0, len(upper)), dtype=np.int64)]
    matrices += [each.matrix for each in made]
    A = sparse.csr_array(sparse.vstack(matrices))
    A.eliminate_zeros()  # nobody of a household may be among those counted
    highest = sparse.csr_array((np.maximum(A.data, 0), A.indices, A.indptr), shape=A.shape) @ upper
    none = np.empty(0, dtype=np.int64)
    is_equal = np.concatenate([none.astype(bool), *(each.is_equal for each in made)])
    depth = max((len(link.by) for link in links), default=0)
    labels = [np.empty((0, depth), dtype=np.int64)]
    for each in made:
        beyond = ((0, 0), (0, depth - each.label.shape[1]))
        labels.append(np.pad(each.label, beyond, constant_values=-1))
    return LinkRows(
        LinearConstraints(A, np.zeros(A.shape[0], dtype=np.int64), np.where(is_equal, 0, highest)),
        np.concatenate([none, *(each.unit for each in made)]),
        np.concatenate([none, *(np.full(len(each.unit), each.number) for each in made)]),
        np.concatenate(labels),
    )


@dataclass(frozen=True)
class _Row:
    """One inequality of a link: the ``weights`` of both parts sum to at least 0.

    Attributes:
        weights: Weight of the first part, and of each candidate of the second.
        is_equal: Whether the row is an equation unless some candidate stands for larger sizes.
        is_void: Whether the row is dropped if some candidate stands for larger sizes.
    """

    weights: tuple[int, IntArray]
    is_equal: bool
    is_void: bool


def _rows_of(link: Link, second: LinkedPart) -> Iterator[_Row]:
    one = np.ones(len(second.unit), dtype=np.int64)
    if link.kind is LinkKind.EQUAL or link.size is None:
        yield _Row((1, -one), is_equal=True, is_void=False)
        return
    size = _sizes(link.size, second)
    if link.kind is LinkKind.SUM:
        yield _Row((1, -size), is_equal=True, is_void=False)
        return
    yield _Row((1, -one), is_equal=False, is_void=False)
    yield _Row((-1, np.maximum(size - link.without, 0)), is_equal=False, is_void=True)


def _sizes(feature: int, part: LinkedPart) -> IntArray:
    values = part.plan.release.features[feature].values
    of_atom = np.array([int(values[v]) for v in part.plan.grain.lowest[feature]], dtype=np.int64)
    sizes: IntArray = of_atom[part.candidates.atoms[:, feature]]
    return sizes


@dataclass(frozen=True)
class _Rows:
    """One inequality of a link in all places and groups."""

    number: int
    matrix: sparse.csr_array
    unit: IntArray
    label: IntArray
    is_equal: BoolArray

    @classmethod
    def of(
        cls,
        number: int,
        link: Link,
        parts: tuple[LinkedPart, LinkedPart],
        row: _Row,
        start: IntArray,
    ) -> _Rows:
        sizes = [len(pair[0].labels) for pair in link.by]
        codes = [_codes(link, part, side, sizes) for side, part in enumerate(parts)]
        inside = [np.flatnonzero(code >= 0) for code in codes]
        first_columns = start[list(link.parts)]
        cell = np.concatenate([mine + at for mine, at in zip(inside, first_columns, strict=True)])
        first, second = row.weights
        weight = np.concatenate([np.full(len(inside[0]), first), second[inside[1]]])
        radix = int(np.prod(sizes, dtype=np.int64))
        key = np.concatenate(
            [
                part.unit[mine] * radix + code[mine]
                for part, mine, code in zip(parts, inside, codes, strict=True)
            ]
        )
        keys, at = np.unique(key, return_inverse=True)
        is_open = np.zeros(len(keys), dtype=bool)
        is_open[at[len(inside[0]) :][_is_open(link, parts[1])[inside[1]]]] = True
        said = np.flatnonzero(~is_open) if row.is_void else np.arange(len(keys))
        matrix = sparse.csr_array((weight, (at, cell)), shape=(len(keys), int(start[-1])))
        unit, code = np.divmod(keys[said], max(radix, 1))
        label = np.stack(np.unravel_index(code, sizes), axis=1) if sizes else code[:, None][:, :0]
        return cls(
            number,
            sparse.csr_array(matrix[said]),
            unit,
            label.astype(np.int64),
            ~is_open[said] & row.is_equal,
        )


def _is_open(link: Link, part: LinkedPart) -> BoolArray:
    """Test which candidates of the second part stand for larger ones, too, and may be present."""
    if link.top is None or link.size is None:
        return np.zeros(len(part.unit), dtype=bool)
    is_top: BoolArray = (_sizes(link.size, part) == link.top) & (part.upper > 0)
    return is_top


def _codes(link: Link, part: LinkedPart, side: int, sizes: Sequence[int]) -> IntArray:
    """Return for each candidate the combination of groups that counts it, −1 for none."""
    grain, atoms = part.plan.grain, part.candidates.atoms
    release = part.plan.release
    counted = np.ones(len(part.unit), dtype=bool)
    for f, mask in enumerate(link.predicates[side]):
        if mask != release.full[f]:
            within = np.zeros(grain.sizes[f], dtype=bool)
            within[grain.within(f, mask)] = True
            counted &= within[atoms[:, f]]
    code = np.zeros(len(part.unit), dtype=np.int64)
    for pair, size in zip(link.by, sizes, strict=True):
        groups = pair[side]
        f = release.feature_index[groups.feature]
        label = np.full(grain.sizes[f], -1, dtype=np.int64)
        for name, mask in zip(groups.labels, groups.masks, strict=True):
            if name in pair[0].labels and name in pair[1].labels:
                label[grain.within(f, mask)] = pair[0].labels.index(name)
        of_cell = label[atoms[:, f]]
        counted &= of_cell >= 0
        code = code * size + of_cell
    return np.where(counted & (part.unit >= 0), code, -1)
