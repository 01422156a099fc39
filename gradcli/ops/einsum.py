"""Sums of products by labels: einsum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, starmap
from math import prod
from typing import Any, NamedTuple

from .linalg import multilinear
from .op import OpError
from .rows import inner_shapes
from .rows_linalg import are_small
from .rules import Shape, conj, fit, reshaped, shown

ROOM = 2**24  # elements of a product on the way
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum_terms(subscripts: Any, shapes: list[Shape]) -> tuple[list[str], str, dict[str, int]]:
    """The labels of each operand and of the result, `...` spelled out in letters, and the size that
    each label has."""
    if not isinstance(subscripts, str):
        raise OpError(
            f'`einsum` needs its subscripts first, such as "ij,jk->ik", not {shown(subscripts)}'
        )
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    for term in [*terms, output]:
        bad = term.replace("...", "", 1).strip(_LETTERS)
        if bad:
            raise OpError(
                f'`einsum` subscripts are letters, `,`, `->` and `...`: "{subscripts}" has '
                f'"{bad[0]}" out of place'
            )
    if len(terms) != len(shapes):
        raise OpError(
            f'`einsum` subscripts "{subscripts}" are for {len(terms)} operands, {len(shapes)} given'
        )
    free = [letter for letter in _LETTERS if letter not in text]
    depth = max(
        (
            len(s) - len(t.replace("...", ""))
            for t, s in zip(terms, shapes, strict=True)
            if "..." in t
        ),
        default=0,
    )
    if depth > len(free):
        raise OpError(f'`einsum` has no letters left for `...` in "{subscripts}"')
    dots = "".join(free[: max(depth, 0)])
    sizes: dict[str, int] = {}
    spelled = []
    for term, shape in zip(terms, shapes, strict=True):
        named = term.replace("...", "")
        if len(shape) < len(named) or (len(shape) > len(named) and "..." not in term):
            raise OpError(
                f'`einsum` subscripts "{term}" are for {len(named)} axes: the operand has shape '
                f"{shape}"
            )
        labels = term.replace("...", dots[len(dots) - (len(shape) - len(named)) :])
        for label, size in zip(labels, shape, strict=True):
            known = sizes.get(label, 1 if label in dots else size)
            if size != known and not (label in dots and 1 in (size, known)):
                raise OpError(f'`einsum` "{subscripts}": `{label}` has size {known} and {size}')
            sizes[label] = max(size, known) if size and known else 0
        spelled.append(labels)
    joined = "".join(spelled)
    if not arrow:
        output = dots + "".join(
            sorted(label for label in set(joined) if label not in dots and joined.count(label) == 1)
        )
    else:
        output = output.replace("...", dots)
        if any(label not in joined for label in output) or len(set(output)) < len(output):
            raise OpError(
                f'`einsum` "{subscripts}": each label of the result stands there once, and in an '
                "operand"
            )
    return spelled, output, sizes


def _einsum(xp: Any, *arrays: Any, subscripts: Any) -> Any:
    arrays = tuple(xp.asarray(a) for a in arrays)
    terms, output, sizes = einsum_terms(subscripts, [a.shape for a in arrays])
    # Axes of size 1 under `...` are spread first: array modules disagree about them.
    arrays = tuple(
        xp.broadcast_to(a, tuple(sizes[label] for label in t))
        for a, t in zip(arrays, terms, strict=True)
    )
    return _summed(xp, arrays, terms, output, sizes)


class Roles(NamedTuple):
    """The labels of a sum of products of two arrays that is one of matrices: those that count the
    pairs, which both have and the result; those of the rows of the left ones, and of the columns of
    the right ones; and those over which is summed."""

    pairs: str
    rows: str
    columns: str
    inner: str

    def sizes(self, of: Mapping[str, int]) -> tuple[int, int, int, int]:
        """How many pairs there are, and the rows, the inner size, and the columns of each."""
        count, m, n, k = [prod([of[label] for label in labels]) for labels in self]
        return count, m, k, n

    @property
    def left(self) -> str:
        """The labels of the left matrices, in their order."""
        return self.pairs + self.rows + self.inner

    @property
    def right(self) -> str:
        return self.pairs + self.inner + self.columns

    @property
    def result(self) -> str:
        return self.pairs + self.rows + self.columns


def roles_of(terms: Sequence[str], output: str) -> Roles | None:
    """What the labels are for; None where this is no product of matrices."""
    if len(terms) != 2 or any(len(set(term)) < len(term) for term in terms):
        return None
    a, b = terms
    both = [label for label in a if label in b]
    alone = [label for label in (*a, *b) if label not in output and label not in both]
    found = Roles(
        "".join([label for label in both if label in output]),
        "".join([label for label in a if label not in b]),
        "".join([label for label in b if label not in a]),
        "".join([label for label in both if label not in output]),
    )
    return None if alone or not found.inner else found


class Step(NamedTuple):
    """The sums of products of two arrays among several: their positions, the later one first, and
    the labels of the result, which comes after the other arrays."""

    places: tuple[int, int]
    labels: str


def steps_of(terms: Sequence[str], output: str, sizes: Mapping[str, int]) -> list[Step] | None:
    """Sums of products of several arrays as sums of products of two at a time, first of those whose
    product needs the least room beyond theirs. None if a product on the way has more than `ROOM`
    elements, and more than every operand and the result."""

    def size(labels: str) -> int:
        return prod([sizes[label] for label in labels])

    labels, steps = [*terms], list[Step]()
    most = max([ROOM, *map(size, (*terms, output))])

    def step(first: int, second: int) -> Step:
        others = [term for k, term in enumerate(labels) if k not in (first, second)]
        needed = {*output, *"".join(others)}
        both = dict.fromkeys(labels[first] + labels[second])
        kept = "".join([label for label in both if label in needed])
        return Step((second, first), kept if others else output)

    def growth(found: Step) -> int:
        return size(found.labels) - sum([size(labels[k]) for k in found.places])

    while len(labels) > 1:
        found = min(starmap(step, combinations(range(len(labels)), 2)), key=growth)
        if size(found.labels) > most:
            return None
        steps.append(found)
        for k in found.places:
            del labels[k]
        labels.append(found.labels)
    return steps


def by_steps(
    steps: Iterable[Step],
    arrays: Sequence[Any],
    terms: Sequence[str],
    product: Callable[[Sequence[Any], Sequence[str], str], Any],
) -> Any:
    """What the steps give of arrays with these labels. `product` gives the sums of products of two
    arrays, from their labels and those of the result."""
    held, labels = [*arrays], [*terms]
    for step in steps:
        pair, own = [held.pop(k) for k in step.places], [labels.pop(k) for k in step.places]
        held.append(product(pair, own, step.labels))
        labels.append(step.labels)
    return held[0]


def _summed(
    xp: Any, arrays: Sequence[Any], terms: Sequence[str], output: str, sizes: dict[str, int]
) -> Any:
    """The sum of the products of arrays with these labels; of two, as a product of matrices if it
    is one and these aren't small; of more, two at a time."""
    if len(arrays) > 2 and (steps := steps_of(terms, output, sizes)):
        return by_steps(
            steps, arrays, terms, lambda pair, own, into: _summed(xp, pair, own, into, sizes)
        )
    roles = roles_of(terms, output) if all(a.dtype.kind in "fc" for a in arrays) else None
    if roles is None or 0 in sizes.values() or are_small(*roles.sizes(sizes)[1:]):
        return xp.einsum(f"{','.join(terms)}->{output}", *arrays)
    count, m, k, n = roles.sizes(sizes)
    left, right = [
        xp.ascontiguousarray(
            xp.transpose(a, [term.index(label) for label in labels]).reshape(shape)
        )
        for a, term, labels, shape in (
            (arrays[0], terms[0], roles.left, (count, m, k)),
            (arrays[1], terms[1], roles.right, (count, k, n)),
        )
    ]
    found = xp.matmul(left, right).reshape([sizes[label] for label in roles.result])
    return xp.transpose(found, [roles.result.index(label) for label in output])


def _of_rows(
    operands: Any, laned: Any, options: Any, n: int
) -> tuple[list[str], str, dict[str, int], str]:
    """The labels of operands with and without rows, which are one more label, the last; that of the
    result; the sizes; and the label of the rows."""
    terms, output, sizes = einsum_terms(options["subscripts"], inner_shapes(operands, laned))
    row = next(letter for letter in _LETTERS if letter not in sizes)
    sizes[row] = n
    return [t + row if own else t for t, own in zip(terms, laned, strict=True)], output, sizes, row


def _einsum_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Computes an einsum for many rows."""
    terms, output, sizes, row = _of_rows(operands, laned, options, n)
    arrays = [
        xp.broadcast_to(a, tuple(sizes[label] for label in t))
        for a, t in zip(operands, terms, strict=True)
    ]
    return _summed(xp, arrays, terms, output + row, sizes)


def _einsum_total(xp: Any, k: int, g: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """The total over rows of the pullback to operand k, which has none: a sum of products over all
    rows, where each label of the operand is one of the others' or of the result's."""
    terms, output, sizes, row = _of_rows(operands, laned, options, n)
    others = [(a, t) for j, (a, t) in enumerate(zip(operands, terms, strict=True)) if j != k]
    arrays, labels = [g, *[a for a, _ in others]], [output + row, *[t for _, t in others]]
    shapes = [tuple([sizes[label] for label in t]) for t in [*labels, terms[k]]]
    plain = all(
        a.shape == shape and a.dtype.kind == "f"
        for a, shape in zip([*arrays, operands[k]], shapes, strict=True)
    )
    if not plain or len(set(terms[k])) < len(terms[k]) or set(terms[k]) - set("".join(labels)):
        return NotImplemented
    return _summed(xp, arrays, labels, terms[k], sizes)


def _einsum_shape(*shapes: Shape, subscripts: Any) -> Shape:
    _, output, sizes = einsum_terms(subscripts, list(shapes))
    return tuple(sizes[label] for label in output)


def _einsum_back(m: Any, g: Any, y: Any, k: int, *arrays: Any, subscripts: Any) -> Any:
    """The pullback to operand k: an einsum in which the cotangent replaces operand k, and operand
    k's labels are the result's."""
    terms, output, sizes = einsum_terms(subscripts, [tuple(a.shape) for a in arrays])
    labels = "".join(
        dict.fromkeys(terms[k])
    )  # each once: "ii" becomes "i", and goes onto the diagonal below
    others = [
        (t, _stretched(m, conj(m, a), [sizes[label] for label in t]))
        for t, a in zip(terms, arrays, strict=True)
    ]
    del others[k]
    reached = "".join(
        label for label in labels if label in output or any(label in term for term, _ in others)
    )
    back = m.einsum(
        g,
        *(a for _, a in others),
        subscripts=f"{','.join([output, *(term for term, _ in others)])}->{reached}",
    )
    spread = tuple(sizes[label] if label in reached else 1 for label in labels)
    back = m.broadcast_to(reshaped(m, back, spread), shape=[sizes[label] for label in labels])
    if len(labels) == len(terms[k]):
        return fit(m, back, arrays[k])
    places = _diagonal_places(terms[k], labels, sizes)
    flat = m.untake(m.reshape(back, shape=[len(places)]), places, axis=0, shape=(arrays[k].size,))
    return m.reshape(flat, shape=arrays[k].shape)


def _stretched(m: Any, a: Any, shape: list[int]) -> Any:
    """Broadcasts the axes of size 1 that `a` has under `...` to their size in the result."""
    return a if list(a.shape) == shape else m.broadcast_to(a, shape=shape)


def _diagonal_places(term: str, labels: str, sizes: dict[str, int]) -> list[int]:
    """The positions in the flat operand of the elements whose repeated labels agree, in the order
    of `labels`."""
    stride, strides = 1, dict.fromkeys(labels, 0)
    for label in reversed(term):
        strides[label] += stride
        stride *= sizes[label]
    places = [0]
    for label in labels:
        places = [place + k * strides[label] for place in places for k in range(sizes[label])]
    return places


OPS = [
    multilinear(
        "einsum",
        "subscripts: *arrays",
        'A sum of products by labels: "ij,jk->ik" is the matrix product.',
        compute=_einsum,
        rows=_einsum_rows,
        rows_total=_einsum_total,
        result_shape=_einsum_shape,
        saves=("arrays",),
        vjp=_einsum_back,
    ),
]
