"""Every way that an elementwise function is computed, for the same operands: value, and derivatives
in both modes.

The ways differ in which of the engine's readings of the table they take: a number alone, hot scalar
code, a loop that is compiled, arrays that are small, large, or fused to one pass, with numbers
among them, and rows of `vmap` and `batch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradcli import load
from gradcli.ops.op import Op

from ..tasks.batch.one_by_one import parsed, together

LARGE = 70_000  # elements: beyond what goes through memory in one piece, and hot at once
NAMES = "abcde"


class Found(NamedTuple):
    """What a way gives: the value, and the derivative by each operand in reverse and in forward
    mode, a number a point each."""

    values: np.ndarray
    reverse: tuple[np.ndarray, ...]
    forward: tuple[np.ndarray, ...]


def call_of(op: Op, *operands: str) -> str:
    """A call of the op in the language."""
    if op.infix:
        sign = op.infix.removeprefix("unary ")
        return (
            f"({sign}{operands[0]})"
            if len(operands) == 1
            else f"({operands[0]} {sign} {operands[1]})"
        )
    return f"{op.name}({', '.join(operands)})"


def _function(call: str, names: str, fused: bool = False) -> str:
    """`f`, which makes the call; `fused`: as one of several operations, of which the others change
    nothing."""
    return f"fn f({names}) = {f'-(-{call})' if fused else call}\n"


def alone(call: str, points: np.ndarray) -> Found:
    """A program for each point, of numbers."""
    n = points.shape[1]
    program = load(source="".join(f"var {name}\n" for name in NAMES[:n]) + f"y = {call}")
    runs = {mode: program.with_options(mode=mode) for mode in ("reverse", "forward")}
    values, slopes = [], {mode: [] for mode in runs}
    for point in points.tolist():
        for mode, run in runs.items():
            evaluation = run.run(dict(zip(NAMES, point, strict=False)))
            slopes[mode].append([evaluation.gradients["y"][name] for name in NAMES[:n]])
        values.append(evaluation.outputs["y"])
    found = {mode: tuple(np.array(columns, dtype=float).T) for mode, columns in slopes.items()}
    return Found(np.array(values, dtype=float), found["reverse"], found["forward"])


def _asked(source: str, points: np.ndarray, *requests: str) -> list[np.ndarray]:
    """What a program answers whose inputs are the columns."""
    n = points.shape[1]
    text = "".join(f"frozen {name.upper()}\n" for name in NAMES[:n]) + source
    text += "".join(f"output r{k} = {request}\n" for k, request in enumerate(requests))
    found = (
        load(source=text)
        .with_options(grad=False)
        .run({NAMES[k].upper(): points[:, k].copy() for k in range(n)})
    )
    return [np.asarray(found.outputs[f"r{k}"], dtype=float) for k in range(len(requests))]


def _requests(n: int) -> list[str]:
    """What is asked of `f` at the operands: the value, the gradients, and the tangents along each
    operand."""
    names = ", ".join(NAMES[:n])
    wrt = f"wrt = {list(range(n))}"
    return [
        f"f({names})",
        f"grad(f, {wrt})({names})",
        *(f"jvp(fn({NAMES[k]}) = f({names}))({NAMES[k]}, ones_like({NAMES[k]}))" for k in range(n)),
    ]


def _of(n: int, found: list[np.ndarray]) -> Found:
    return Found(
        found[0],
        tuple(found[1].reshape(n, -1) if n > 1 else found[1].reshape(1, -1)),
        tuple(found[2:]),
    )


def _looped(call: str, points: np.ndarray, function: str) -> Found:
    """One point after the other, by functions that are called often."""
    n = points.shape[1]
    lines, names = function, ", ".join(NAMES[:n])
    at = ", ".join(f"{name.upper()}[i]" for name in NAMES[:n])
    lists = [f"r{k}" for k in range(1 + 2 * n)]
    lines += "".join(f"r{k} = []\n" for k in range(1 + 2 * n)) + "z0 = 0.0\n"
    lines += f"fn s({names}) = grad(f, wrt = {list(range(n))})({names})\n"
    for k in range(n):
        lines += f"fn t{k}({names}) = jvp(fn({NAMES[k]}) = f({names}))({NAMES[k]}, 1.0)\n"
    lines += f"for i in range(len(A)) {{\n r0 = append(r0, f({at}))\n g = s({at})\n"
    lines += "".join(
        f" r{1 + k} = append(r{1 + k}, g[{k}])\n r{1 + n + k} = append(r{1 + n + k}, t{k}({at}))\n"
        for k in range(n)
    )
    lines += "}\n"
    found = _asked(lines, points, *(f"array({name})" for name in lists))
    return Found(found[0], tuple(found[1 : 1 + n]), tuple(found[1 + n :]))


def hot(call: str, points: np.ndarray) -> Found:
    return _looped(call, points, _function(call, ", ".join(NAMES[: points.shape[1]])))


def hot_fused(call: str, points: np.ndarray) -> Found:
    return _looped(call, points, _function(call, ", ".join(NAMES[: points.shape[1]]), fused=True))


def hot_loop(call: str, points: np.ndarray) -> Found:
    """A loop inside of the function, which ends by a condition."""
    names = ", ".join(NAMES[: points.shape[1]])
    body = f"n = 0.0\n y = {NAMES[0]}\n while n < 2.0 {{\n y = {call}\n n = n + 1.0\n }}\n return y"
    return _looped(call, points, f"fn f({names}) {{\n {body}\n}}\n")


def _on_arrays(call: str, points: np.ndarray, fused: bool = False) -> Found:
    n = points.shape[1]
    source = _function(call, ", ".join(NAMES[:n]), fused)
    for k in range(n):
        source += f"{NAMES[k]} = {NAMES[k].upper()}\n"
    found = _asked(source, points, *_requests(n))
    found[1] = found[1].reshape(n, -1)
    return _of(n, found)


def _tiled(points: np.ndarray, of: Callable[[np.ndarray], Found]) -> Found:
    """The same for so many points that the arrays are large: once all of them in turns, the rest
    left away."""
    size = len(points)
    found = of(np.tile(points, (LARGE // size + 1, 1)))
    parts = [found.values, *found.reverse, *found.forward]
    cut = [part[-size:] for part in parts]
    n = len(found.reverse)
    return Found(cut[0], tuple(cut[1 : 1 + n]), tuple(cut[1 + n :]))


def small_array(call: str, points: np.ndarray) -> Found:
    return _on_arrays(call, points)


def hot_small_array(call: str, points: np.ndarray) -> Found:
    """Small arrays as often as it takes for an expression on them to become one operation."""
    n = points.shape[1]
    names, given = ", ".join(NAMES[:n]), ", ".join(NAMES[:n].upper())
    requests = [f"f({given})", f"grad(f, wrt = {list(range(n))})({given})"]
    for k in range(n):
        others = [NAMES[j] if j == k else NAMES[j].upper() for j in range(n)]
        at = NAMES[k].upper()
        requests.append(f"jvp(fn({NAMES[k]}) = f({', '.join(others)}))({at}, ones_like({at}))")
    body = "; ".join(f"q{k} = {request}" for k, request in enumerate(requests))
    source = f"{_function(call, names, fused=True)}for i in range(40) {{ {body} }}\n"
    return _of(n, _asked(source, points, *(f"q{k}" for k in range(len(requests)))))


def large_array(call: str, points: np.ndarray) -> Found:
    return _tiled(points, lambda p: _on_arrays(call, p))


def large_fused(call: str, points: np.ndarray) -> Found:
    return _tiled(points, lambda p: _on_arrays(call, p, fused=True))


def _vmapped(call: str, points: np.ndarray, fused: bool = False) -> Found:
    n = points.shape[1]
    names, given = ", ".join(NAMES[:n]), ", ".join(NAMES[:n].upper())
    source = (
        _function(call, names, fused)
        + f"fn s({names}) = grad(f, wrt = {list(range(n))})({names})\n"
    )
    for k in range(n):
        source += f"fn t{k}({names}) = jvp(fn({NAMES[k]}) = f({names}))({NAMES[k]}, 1.0)\n"
    found = _asked(
        source,
        points,
        f"vmap(f)({given.replace(' ', '')})"
        if n == 1
        else f"vmap(f)({', '.join(NAMES[:n].upper())})",
        *(f"vmap(fn({names}) = s({names})[{k}])({', '.join(NAMES[:n].upper())})" for k in range(n)),
        *(f"vmap(t{k})({', '.join(NAMES[:n].upper())})" for k in range(n)),
    )
    return Found(found[0], tuple(found[1 : 1 + n]), tuple(found[1 + n :]))


def rows(call: str, points: np.ndarray) -> Found:
    return _vmapped(call, points)


def many_rows(call: str, points: np.ndarray) -> Found:
    return _tiled(points, lambda p: _vmapped(call, p, fused=True))


def batch(call: str, points: np.ndarray) -> Found:
    """The rows of a batch: the gradients back, and the tangents as a value of the program."""
    n = points.shape[1]
    names = NAMES[:n]
    lines = (
        "".join(f"var {name}: float\n" for name in names)
        + _function(call, ", ".join(names))
        + f"output y = f({', '.join(names)})\n"
    )
    lines += "".join(
        f"output t{k} = jvp(fn({name}) = f({', '.join(names)}))({name}, 1.0)\n"
        for k, name in enumerate(names)
    )
    outcome = together(parsed(lines), {name: points[:, k].copy() for k, name in enumerate(names)})
    assert not outcome.rejects, outcome.rejects[0]
    columns = {column.name: np.asarray(column.values, dtype=float) for column in outcome.columns}
    by = tuple(columns[f"dy/d{name}"] for name in names)
    return Found(columns["y"], by, tuple(columns[f"t{k}"] for k in range(n)))


WAYS: dict[str, Callable[[str, np.ndarray], Found]] = {
    "hot": hot,
    "hot_fused": hot_fused,
    "hot_loop": hot_loop,
    "small_array": small_array,
    "hot_small_array": hot_small_array,
    "large_array": large_array,
    "large_fused": large_fused,
    "rows": rows,
    "many_rows": many_rows,
    "batch": batch,
}
