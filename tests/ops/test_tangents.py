"""Every forward rule of the table: against the reverse rule, differences, and itself differentiated
again.

The rules are called as they are, on the operands that the cases of structural_cases.py give their
op.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.engine.ad.reverse import sweep
from gradcli.engine.backends.backend import CPU
from gradcli.engine.operations.rules import Language, Value, array_language
from gradcli.engine.trace.recording import Blank
from gradcli.engine.values.boxes import primal
from gradcli.ops import OPS
from gradcli.ops.op import Op
from gradcli.ops.tangent import push

from ..engine.programs import failure
from .structural_calls import (
    CALLS,
    EXTRA,
    STRUCTURAL,
    Call,
    directions,
    every_call,
    inner,
    movable,
    parts,
    product,
    random_like,
    subsets,
)
from .structural_cases import APART, V, W
from .sweeps import Session, tangent

ARRAYS = array_language(CPU, "float64")


def on_arrays(call: Call, t: list[Any]) -> tuple[Any, Any]:
    """The result and its tangent, by the rule on plain arrays."""
    op, operands, options = call
    values = [CPU.operand(x) for x in operands]
    y = getattr(ARRAYS, op.name)(*values, **options)
    return y, push(
        ARRAYS, op, [None if s is None else CPU.operand(s) for s in t], y, values, options
    )


def through_apply(m: Language, call: Call, t: list[Any], operands: list[Any]) -> tuple[Any, Any]:
    """The same as operations of the language, on values of it."""
    op, _, options = call
    y = m.call(op.name, tuple(operands), options)
    return y, push(m, op, t, y, operands, options)


def close(a: Any, b: Any, rtol: float, scale: float = 1.0) -> None:
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


# ---- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("op", STRUCTURAL, ids=lambda op: op.name)
def test_one_forward_rule_each(op: Op) -> None:
    assert [op.linear, op.multilinear, op.jvp is not None].count(True) == 1


def test_no_forward_rule_elsewhere() -> None:
    assert not [
        op.name
        for op in OPS.values()
        if op not in STRUCTURAL and (op.linear or op.multilinear or op.jvp)
    ]


def test_every_forward_rule_is_called_here() -> None:
    lanes = {
        op for op in STRUCTURAL if op.category == "lanes"
    }  # which have values of their own: tests/engine/rows/test_lanes.py
    assert {op for op, _, _ in CALLS} == set(STRUCTURAL) - lanes - {OPS["part"]}
    assert {name for name, _, _ in EXTRA} == APART - {op.name for op in lanes} - {"part"}


# ---- against the other derivatives ---------------------------------------------------------------


def cotangents(call: Call, moving: list[int], u: Any) -> list[Any]:
    op, operands, options = call
    session = Session(*[operands[k] for k in moving])
    values = [Value(x, session.m) for x in operands]
    for k, leaf in zip(moving, session.operands, strict=True):
        values[k] = leaf
    y = session.m.call(op.name, tuple(values), options)
    seeds = [
        (part.v, c) for part, c in zip(parts(y), parts(u), strict=True) if type(part.v) is tuple
    ]
    found = sweep(session.run, seeds, {leaf[1] for leaf in session.leaves}, recorded=False)
    return [found.get(leaf[1], 0.0) for leaf in session.leaves]


@every_call
def test_it_is_the_transpose_of_the_reverse_rule(call: Call) -> None:
    op, operands, _ = call
    for moving in subsets(op, operands):
        v = directions(operands, moving)
        y, along = on_arrays(call, v)
        assert [np.shape(a) for a in parts(along)] == [np.shape(p) for p in parts(y)]
        u = random_like(y, 77)
        back = cotangents(call, moving, u)
        scale = sum(
            inner(np.abs(p), np.abs(q)) for p, q in zip(parts(u), parts(along), strict=True)
        )
        close(
            inner(u, along),
            sum(inner(g, v[k]) for g, k in zip(back, moving, strict=True)),
            1e-6 if op.name == "float32" else 1e-10,
            scale,
        )


@every_call
def test_it_agrees_with_differences(call: Call) -> None:
    op, operands, options = call
    if op.name in ("median_weights", "float32"):
        return  # steps, and roundings
    for moving in subsets(op, operands):
        v = directions(operands, moving)
        _, along = on_arrays(call, v)

        def at(h: float, v: list[Any] = v) -> list[Any]:
            moved = [x if s is None else x + h * s for x, s in zip(operands, v, strict=True)]
            return [
                np.asarray(p)
                for p in parts(getattr(ARRAYS, op.name)(*map(CPU.operand, moved), **options))
            ]

        def slope(h: float, at: Any = at) -> list[Any]:
            return [(a - b) / (2 * h) for a, b in zip(at(h), at(-h), strict=True)]

        for got, fine, rough in zip(parts(along), slope(5e-4), slope(1e-3), strict=True):
            close(got, (4 * fine - rough) / 3, 1e-8)


# ---- the rule itself differentiated --------------------------------------------------------------


@every_call
def test_reverse_over_forward_is_reverse_over_reverse(call: Call) -> None:
    """<u, jvp(v)> and <vjp(u), v> are one function of the operands and of v, and have one
    gradient."""
    op, operands, options = call
    for moving in subsets(op, operands):
        u = None
        gradients = []
        for mode in ("forward", "reverse"):
            session = Session(
                *operands, *[s for s in directions(operands, moving) if s is not None]
            )
            m, values = session.m, [Value(x, session.m) for x in operands]
            for k in movable(op, operands):
                values[k] = session.operands[k]
            t: list[Any] = [None] * len(operands)
            for k, leaf in zip(moving, session.operands[len(operands) :], strict=True):
                t[k] = leaf
            y = m.call(op.name, tuple(values), options)
            u = u or [random_like(primal(p.v), 77 + 10 * k) for k, p in enumerate(parts(y))]
            if mode == "forward":
                along = parts(push(m, op, t, y, values, options))
                total = sum(
                    (product(m, a, Value(c, m)) for a, c in zip(along, u, strict=True)),
                    Value(0.0, m),
                )
            else:
                seeds = [
                    (part.v, c)
                    for part, c in zip(parts(y), u, strict=True)
                    if type(part.v) is tuple
                ]
                found = sweep(session.run, seeds, {values[k].v[1] for k in moving}, recorded=True)
                back = [
                    (Value(found[values[k].v[1]], m), t[k])
                    for k in moving
                    if values[k].v[1] in found
                ]
                total = sum((product(m, g, s) for g, s in back), Value(0.0, m))
            gradients.append([primal(g) for g in session.gradients(total)])
        for got, want in zip(*gradients, strict=True):
            close(got, want, 1e-5 if op.name == "float32" else 1e-9)


def leaves(session: Session, call: Call) -> list[Any]:
    """The operands, traced where they move."""
    op, operands, _ = call
    movers = movable(op, operands)
    return [
        session.operands[k] if k in movers else Value(x, session.m) for k, x in enumerate(operands)
    ]


@every_call
def test_forward_over_forward_and_over_reverse(call: Call) -> None:
    """The second derivative along v and w: by the rule pushed along w, by the reverse rule pushed
    along w, and swept."""
    op, operands, options = call
    moving = movable(op, operands)
    v, w = directions(operands, moving), directions(operands, moving, seed=50)
    session = Session(*operands)
    m, values = session.m, leaves(session, call)
    y, along = through_apply(m, call, [None if s is None else Value(s, m) for s in v], values)
    u = [random_like(primal(p.v), 77 + 10 * k) for k, p in enumerate(parts(y))]
    total = sum(
        (product(m, a, Value(c, m)) for a, c in zip(parts(along), u, strict=True)), Value(0.0, m)
    )
    swept = session.gradients(total)
    expected = sum(inner(primal(swept[k]), w[k]) for k in moving)
    rtol = 1e-5 if op.name == "float32" else 1e-9

    session = Session()
    m, values = (
        session.m,
        [
            Value(x, session.m) if s is None else session.dual(x, s)
            for x, s in zip(operands, w, strict=True)
        ],
    )
    y, along = through_apply(m, call, [None if s is None else Value(s, m) for s in v], values)
    twice = zip(u, map(tangent, parts(along)), strict=True)
    close(sum(inner(c, np.broadcast_to(a, np.shape(c))) for c, a in twice), expected, rtol)

    if op.vjp is not None and not callable(op.vjp) and type(y) is not list:
        back = [
            (tangent(op.vjp[k](m, Value(u[0], m), y, *values, **options)), v[k]) for k in moving
        ]
        close(sum(inner(np.broadcast_to(g, np.shape(s)), s) for g, s in back), expected, rtol)


# ---- how the rules are read ----------------------------------------------------------------------


@every_call
def test_both_readings_agree(call: Call) -> None:
    op, operands, _ = call
    for moving in subsets(op, operands):
        v = directions(operands, moving)
        session = Session()
        m = session.m
        _, along = through_apply(
            m,
            call,
            [None if s is None else Value(s, m) for s in v],
            [Value(x, m) for x in operands],
        )
        for a, b in zip(parts(along), parts(on_arrays(call, v)[1]), strict=True):
            np.testing.assert_array_equal(primal(a.v), b)


@every_call
def test_it_reads_what_is_saved_and_no_more(call: Call) -> None:
    op, operands, options = call
    names = [p.name for p in op.signature.operands] or [op.signature.variadic] * len(operands)

    def blank(x: Any, name: str) -> Any:
        return x if name in op.saves or not np.shape(x) else Blank(x.shape, x.dtype)

    for moving in subsets(op, operands):
        v = directions(operands, moving)
        y, along = on_arrays(call, v)
        values = [blank(CPU.operand(x), name) for x, name in zip(operands, names, strict=True)]
        result = [blank(p, "result") for p in y] if type(y) is list else blank(y, "result")
        found = push(
            ARRAYS, op, [None if s is None else CPU.operand(s) for s in v], result, values, options
        )
        for a, b in zip(parts(found), parts(along), strict=True):
            np.testing.assert_array_equal(a, b)


@every_call
def test_float32_stays_float32(call: Call) -> None:
    op, operands, options = call
    if op.name in ("cast", "float64", "complex128", "fft", "ifft", "rfft", "irfft", "linspace"):
        return  # complex numbers have 128 bits, and what makes arrays makes floats of the run

    def narrow(x: Any) -> Any:
        if type(x) is int:
            return x
        x = np.asarray(x)
        return x.astype("float32")[()] if x.dtype == "float64" else x[()]

    operands = [narrow(x) for x in operands]
    for moving in subsets(op, operands):
        v = directions(operands, moving)
        y, along = on_arrays((op, operands, options), v)
        assert [a.dtype for a in parts(along)] == [p.dtype for p in parts(y)]
        m = Session().m
        t = [None if s is None else Value(s, m) for s in v]
        y, along = through_apply(m, (op, operands, options), t, [Value(x, m) for x in operands])
        assert {p.dtype for p in (*parts(y), *parts(along))} == {"float32"}


# ---- the special ones ----------------------------------------------------------------------------


def test_a_part_takes_its_part_of_the_tangent() -> None:
    along = push(ARRAYS, OPS["split"], [V], [V[:2], V[2:]], [W], {"sections": 2, "axis": 0})
    np.testing.assert_array_equal(
        push(ARRAYS, OPS["part"], [along], W[2:], [2], {"index": 1}), V[2:]
    )


def test_a_tangent_is_not_written_to_in_place() -> None:
    t = V.copy()
    along = push(
        ARRAYS,
        OPS["index_add"],
        [t, W],
        V,
        [W.copy(), W],
        {"index": (slice(None),), "inplace": True},
    )
    np.testing.assert_array_equal(along, V + W)
    np.testing.assert_array_equal(t, V)


@pytest.mark.parametrize("source", ["jvp(f)(0.5, 1.0)", "grad(f)(0.5)", "hvp(f)(0.5, 1.0)"])
def test_an_operand_without_a_rule(source: str) -> None:
    diagnostic = failure(f"fn f(x) = where(x, x, 2.0); y = {source}")
    assert (diagnostic.code, diagnostic.message) == ("E317", "`where` has no gradient registered")


@pytest.mark.parametrize(
    ("name", "x", "t", "options", "expected"),
    [
        ("prod", [np.inf, 2.0], [0.0, 1.0], {"axis": None, "keepdims": False}, np.inf),
        ("prod", [2.0, np.inf], [0.0, 1.0], {"axis": None, "keepdims": False}, 2.0),
        ("norm", [np.inf, 2.0], [0.0, 1.0], {"ord": 2, "axis": None, "keepdims": False}, 0.0),
        ("softmax", [np.nan, 2.0], [0.0, 0.0], {"axis": -1}, [0.0, 0.0]),
        ("logsumexp", [np.nan, 2.0], [0.0, 0.0], {"axis": None, "keepdims": False}, 0.0),
        ("cumprod", [np.inf, 0.0, 2.0], [0.0, 0.0, 0.0], {"axis": None}, [0.0, 0.0, 0.0]),
        ("max", [3.0, 2.0], [1.0, np.inf], {"axis": None, "keepdims": False}, 1.0),
    ],
)  # fmt: skip
def test_strict_zero(
    name: str, x: list[float], t: list[float], options: dict[str, Any], expected: Any
) -> None:
    with np.errstate(all="ignore"):
        _, along = on_arrays((OPS[name], [np.array(x)], options), [np.array(t)])
    np.testing.assert_array_equal(along, expected)
