"""Values, shapes, dtypes and refusals as NumPy's, over many shapes, axes and dtypes: empty arrays,
numbers, ints, bools."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradcli.diagnostics import GradcliError
from gradcli.engine.operations.rules import Value

from .sweeps import Session

SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (4,), (2, 3), (0, 3), (3, 0), (2, 3, 4), (1, 2, 1)]
DTYPES = ["float64", "int64", "bool", "float32", "complex128"]
Options = dict[str, Any]


def sample(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Whole numbers, so that ties and zeros occur."""
    random = np.random.default_rng(seed + 7 * sum(shape) + len(shape))
    x = random.integers(-3, 4, shape)
    return np.asarray(
        x + 1j * random.integers(-3, 4, shape) if dtype == "complex128" else x, dtype=dtype
    )


def axes(ndim: int) -> list[Any]:
    return [None, *range(-ndim - 1, ndim + 1), *map(list, itertools.permutations(range(ndim), 2))]


def reductions(ndim: int) -> Iterator[Options]:
    return (
        {"axis": axis, "keepdims": keepdims} for axis in axes(ndim) for keepdims in (False, True)
    )


def along(*more: str, none: bool = True) -> Callable[[int], Iterator[Options]]:
    def options(ndim: int) -> Iterator[Options]:
        for axis in [*([None] if none else []), *range(-ndim - 1, ndim + 1)]:
            yield from ({**extra, "axis": axis} for extra in _extras(more))

    return options


def _extras(names: tuple[str, ...]) -> list[Options]:
    values = {
        "shift": [2, -1],
        "repeats": [0, 2],
        "sections": [1, 2, [1], [-1]],
        "ddof": [0, 1, 2.5],
        "keepdims": [False, True],
    }
    return [
        dict(zip(names, chosen, strict=True))
        for chosen in itertools.product(*(values[name] for name in names))
    ]


def fixed(*choices: Options) -> Callable[[int], Iterator[Options]]:
    return lambda ndim: iter(choices)


def _tuples(options: Options) -> Options:
    return {k: tuple(v) if isinstance(v, list) and k == "axis" else v for k, v in options.items()}


# name: NumPy's function, the options to try for arrays of as many axes, and the dtypes that it
# isn't defined for here
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[int], Iterator[Options]], str]] = {
    **{name: (getattr(np, name), reductions, "") for name in ("sum", "mean", "prod", "any", "all",
        "count_nonzero")},
    **{name: (getattr(np, name), reductions, "complex128") for name in ("min", "max", "argmin",
        "argmax")},
    "var": (np.var, along("ddof", "keepdims"), ""),
    "std": (np.std, along("ddof", "keepdims"), ""),
    "cumsum": (np.cumsum, along(), ""),
    "cumprod": (np.cumprod, along(), ""),
    "sort": (lambda x, axis: np.sort(x, axis=axis, kind="stable"), along(none=False), ""),
    "argsort": (lambda x, axis: np.argsort(x, axis=axis, kind="stable"), along(none=False), ""),
    "flip": (np.flip, along(), ""),
    "roll": (np.roll, along("shift"), ""),
    "repeat": (np.repeat, along("repeats"), ""),
    "squeeze": (np.squeeze, along(), ""),
    "expand_dims": (np.expand_dims, along(none=False), ""),
    "split": (lambda x, sections, axis: np.split(x, sections, axis), along("sections", none=False),
        ""),
    "ravel": (np.ravel, fixed({}), ""),
    "transpose": (np.transpose, fixed({"axes": None}, {"axes": [1, 0]}, {"axes": [-1, 0, 1]}), ""),
    "tile": (np.tile, fixed({"reps": 0}, {"reps": 2}, {"reps": [1, 2, 2]}), ""),
    "diag": (np.diag, fixed(*({"k": k} for k in (-1, 0, 2))), ""),
    "reshape": (np.reshape,
        fixed(*({"shape": shape} for shape in ([-1], [2, -1], [4], [3, 2], [0], []))), ""),
    "broadcast_to": (np.broadcast_to,
        fixed(*({"shape": shape} for shape in ([2, 3], [4], [2, 2, 1], [0, 3]))), ""),
    "pad": (lambda x, **o: np.pad(x, o["width"], o["mode"]),
        fixed(*({"width": w, "mode": mode} for w in (0, 2, 5) for mode in (
        "constant", "edge", "reflect", "symmetric", "wrap"))), ""),
}  # fmt: skip


def language(name: str, operands: list[Any], options: Options) -> Any:
    """What the op gives as an array, or a list of them; None where it refuses."""
    m = Session().m
    values = [Value(x.item() if not x.shape and x.dtype != "float32" else x, m) for x in operands]
    try:
        y = m.call(name, tuple(values), options)
    except GradcliError:
        return None
    return [np.asarray(part.v) for part in y] if type(y) is list else np.asarray(y.v)


def numpys(function: Callable[..., Any], operands: list[Any], options: Options) -> Any:
    """The same by NumPy, with the language's dtypes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y = function(*operands, **_tuples(options))
        except (ValueError, TypeError, IndexError):
            return None
    return list(map(np.asarray, y)) if type(y) is list else np.asarray(y)


def agree(found: Any, expected: Any, what: str) -> None:
    assert (found is None) == (expected is None), f"{what}: {found} for {expected}"
    for a, b in zip(*(y if type(y) is list else [y] for y in (found, expected)), strict=True):
        if a is not None:
            assert (a.shape, a.dtype) == (b.shape, b.dtype), what
            tolerance = 1e-6 if a.dtype == "float32" else 1e-14
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_operand(name: str) -> None:
    function, choices, without = FUNCTIONS[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape, dtype in itertools.product(SHAPES, DTYPES):
            x = sample(shape, dtype)
            for options in choices(len(shape)):
                missing = (
                    not shape and options.get("axis") is not None and name != "expand_dims"
                )  # which NumPy lets pass
                if dtype not in without.split() and not missing:
                    agree(
                        language(name, [x], options),
                        numpys(function, [x], options),
                        f"{name}({dtype}{shape}, {options})",
                    )


PAIRS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()), ((), (3,)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)),
    ((2, 3), (3, 4)), ((4, 2, 3), (3,)),
    ((3,), (4, 3, 2)), ((4, 2, 3), (3, 2)), ((4, 2, 3), (4, 3, 2)), ((1, 2, 3), (4, 3, 1)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0,), (0,)), ((3,), (4,)), ((2, 3), (2, 3)),
    ((2, 2, 3), (3, 3, 2)),
]  # fmt: skip


@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "outer", "kron", "cross"])
def test_products(name: str) -> None:
    function = getattr(np, name)
    for (left, right), a, b in itertools.product(PAIRS, DTYPES, DTYPES):
        if (name == "cross" and {left[-1:], right[-1:]} != {(3,)}) or ((), "bool") in (
            (left, a),
            (right, b),
        ):
            # NumPy has products of two coordinates, too; and a single bool has a dtype of its own
            # there
            continue
        operands = [sample(left, a), sample(right, b, seed=1)]
        numbers = [x.astype("int64") if x.dtype == bool else x for x in operands]  # bools count
        agree(
            language(name, operands, {}),
            numpys(function, numbers, {}),
            f"{name} of {a}{left} and {b}{right}",
        )
