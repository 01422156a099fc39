"""Sums of products by labels: einsum."""

from __future__ import annotations

from typing import Any

from .linalg import multilinear
from .op import OpError
from .rows import inner_shapes
from .rules import Shape, conj, fit, reshaped

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _einsum_terms(subscripts: Any, shapes: list[Shape]) -> tuple[list[str], str, dict[str, int]]:
    """The labels of each operand and of the result, `...` spelled out in letters, and the size that
    each label has."""
    if not isinstance(subscripts, str):
        raise OpError(
            f'`einsum` needs its subscripts first, such as "ij,jk->ik", not {subscripts!r}'
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
    terms, output, sizes = _einsum_terms(subscripts, [a.shape for a in arrays])
    # Axes of size 1 under `...` are spread first: array modules disagree about them.
    arrays = tuple(
        xp.broadcast_to(a, tuple(sizes[label] for label in t))
        for a, t in zip(arrays, terms, strict=True)
    )
    return xp.einsum(f"{','.join(terms)}->{output}", *arrays, optimize=len(arrays) > 1)


def _einsum_rows(xp: Any, compute: Any, operands: Any, laned: Any, options: Any, n: int) -> Any:
    """Computes an einsum for many rows, which are one more label, the last."""
    terms, output, sizes = _einsum_terms(options["subscripts"], inner_shapes(operands, laned))
    row = next(letter for letter in _LETTERS if letter not in sizes)
    terms = [term + row if own else term for term, own in zip(terms, laned, strict=True)]
    sizes[row] = n
    arrays = [
        xp.broadcast_to(a, tuple(sizes[label] for label in t))
        for a, t in zip(operands, terms, strict=True)
    ]
    return xp.einsum(f"{','.join(terms)}->{output}{row}", *arrays, optimize=len(arrays) > 2)


def _einsum_shape(*shapes: Shape, subscripts: Any) -> Shape:
    _, output, sizes = _einsum_terms(subscripts, list(shapes))
    return tuple(sizes[label] for label in output)


def _einsum_back(m: Any, g: Any, y: Any, k: int, *arrays: Any, subscripts: Any) -> Any:
    """The pullback to operand k: an einsum in which the cotangent replaces operand k, and operand
    k's labels are the result's."""
    terms, output, sizes = _einsum_terms(subscripts, [tuple(a.shape) for a in arrays])
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
        result_shape=_einsum_shape,
        saves=("arrays",),
        vjp=_einsum_back,
    ),
]
