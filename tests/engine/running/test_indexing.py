"""Every kind of index means what it means in NumPy, for reading and writing, gradients included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ..programs import evaluate, failure, outputs, value

SHAPES = [(5,), (3, 4), (2, 3, 4)]


@st.composite
def slices(draw: Any, size: int) -> tuple[str, slice]:
    start, stop = (draw(st.none() | st.integers(-size - 2, size + 2)) for _ in range(2))
    step = draw(st.none() | st.sampled_from([1, 2, 3, -1, -2]))
    text = ":".join("" if part is None else str(part) for part in (start, stop, step))
    return text, slice(start, stop, step)


@st.composite
def indices(draw: Any) -> tuple[tuple[int, ...], str, Any]:
    """A shape, and an index into it as text and as NumPy takes it."""
    shape = draw(st.sampled_from(SHAPES))
    kind = draw(st.sampled_from(["items", "items", "items", "mask", "arrays"]))
    if kind == "mask":
        mask = np.array(draw(st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])))
        return shape, str(mask.tolist()).lower(), mask
    if kind == "arrays":  # one int array, or as many as there are axes, of shapes that broadcast
        n = draw(st.integers(1, len(shape)))
        length = draw(st.integers(1, 4))
        arrays = [
            draw(st.lists(st.integers(-size, size - 1), min_size=length, max_size=length))
            for size in shape[:n]
        ]
        return shape, ", ".join(map(str, arrays)), tuple(map(np.array, arrays))
    texts, items, axis = [], [], 0
    n = draw(st.integers(1, len(shape)))
    dots = draw(st.booleans())
    for k in range(n):
        if draw(st.integers(0, 4)) == 0:
            texts.append("none")
            items.append(None)
        if dots and k == n - 1:
            texts.append("...")
            items.append(Ellipsis)
            axis = len(shape) - 1
        if draw(st.booleans()):
            i = draw(st.integers(-shape[axis], shape[axis] - 1))
            texts.append(str(i))
            items.append(i)
        else:
            text, item = draw(slices(shape[axis]))
            texts.append(text)
            items.append(item)
        axis += 1
    return shape, ", ".join(texts), tuple(items)


RELAXED = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@settings(RELAXED)
@given(indices())
def test_reading(index: tuple[tuple[int, ...], str, Any]) -> None:
    shape, text, item = index
    x = np.arange(np.prod(shape), dtype=float).reshape(shape) + 1.0
    source = f"var x: float[...]\ny = x[{text}]\ng = grad(sum(y**3), x)\nh = grad(sum(g * x), x)\noutput y, g, h"
    found = outputs(source, {"x": x})
    expected = x[item]
    np.testing.assert_array_equal(found["y"], expected)
    assert np.shape(found["y"]) == expected.shape
    cotangent = np.zeros_like(x)
    np.add.at(cotangent, item, 3 * expected**2)
    np.testing.assert_allclose(found["g"], cotangent, rtol=1e-12)
    np.testing.assert_allclose(
        found["h"], 3 * cotangent, rtol=1e-12
    )  # d(3x**2 * x) = 9x**2 for each time it was taken


@settings(RELAXED)
@given(indices(), st.booleans(), st.booleans())
def test_writing(index: tuple[tuple[int, ...], str, Any], scalar: bool, add: bool) -> None:
    shape, text, item = index
    if isinstance(item, tuple) and isinstance(item[0], np.ndarray):
        rows = np.stack(np.broadcast_arrays(*item))
        rows = np.array([np.arange(n)[i] for n, i in zip(shape, rows, strict=False)])
        if len({tuple(r) for r in rows.T}) < rows.shape[1]:
            return  # an element named twice: the last one wins, in no order that NumPy promises
    x = np.arange(np.prod(shape), dtype=float).reshape(shape) + 1.0
    target = x[item].shape
    v = np.array(0.5) if scalar else np.linspace(-1.0, 1.0, int(np.prod(target))).reshape(target)
    sign = "+=" if add else "="
    found = outputs(
        f"""
        var x: float[...]
        var v: float[...]
        a = x * 2.0
        b = a
        a[{text}] {sign} v**2
        g = grad(sum(a**2), [x, v], unconnected = "zero")
        output a, b, g
        """,
        {"x": x, "v": v if v.shape else float(v)},
    )
    expected = x * 2.0
    expected[item] = expected[item] + v**2 if add else v**2
    np.testing.assert_allclose(found["a"], expected, rtol=1e-12)
    np.testing.assert_array_equal(found["b"], x * 2.0)
    cotangent = 2 * expected
    by_v = cotangent[item] * 2 * v
    if not add:
        cotangent[item] = 0.0
    np.testing.assert_allclose(found["g"][0], cotangent * 2.0, rtol=1e-12)
    np.testing.assert_allclose(
        found["g"][1], by_v.sum() if scalar else by_v, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("a = arange(6.0).reshape([2, 3]); y = a[1][2]", 5.0),
        ("a = arange(6.0).reshape([2, 3]); i = 1; y = a[i, i + 1]", 5.0),
        ("a = arange(6.0); y = a[a > 2.5]", [3.0, 4.0, 5.0]),
        ("a = arange(6.0); y = a[[]]", []),
        ("a = arange(6.0); y = a[int64([0.0, 5.0])]", [0.0, 5.0]),
        ("a = arange(6.0); y = a[argmax(a)]", 5.0),
        ("a = eye(2); y = a[:, none].shape", [2, 1, 2]),
        ("a = eye(3); y = a.T[0, 1:].sum()", 0.0),
        ("a = [1, 2, 3]; y = [a[0], a[1:], a[-1]]", [1, [2, 3], 3]),
        ("a = zeros(4); for i in range(4) { a[i] += i * i }; y = a", [0.0, 1.0, 4.0, 9.0]),
        ("a = zeros([2, 2]); a[0] = [1.0, 2.0]; a[:, 1] = 5.0; y = a", [[1.0, 5.0], [0.0, 5.0]]),
        ("a = array([1, 2, 3]); a[0] = true; a[1] = 7; y = a", [1, 7, 3]),
    ],
)
def test_forms(program: str, expected: object) -> None:
    found = outputs(program + "\noutput y")["y"]
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == expected


def test_elements_written_in_a_loop_carry_gradients_to_second_order() -> None:
    evaluate("""
        var x = [0.5, 1.5, -0.3]
        a = zeros(4)
        a[0] = 1.0
        for i in range(3) { a[i + 1] = a[i] * sin(x[i]) + a[i]**2 }
        b = [1.0]
        c = 1.0
        for i in range(3) { c = c * sin(x[i]) + c**2; b = append(b, c) }
        expect a ~= b
        expect grad(a, x) ~= grad(b, x)
        expect hessian(a[3], x) ~= hessian(b[3], x)
        expect jacobian(a, x) ~= jacobian(array(b), x)
        """)


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("3", "index 3 is out of range"),
        ("-4", "index -4 is out of range"),
        ("0, 4", "axis 1 of size 4"),
        ("0, 0, 0", "too many"),
        ("[0, 3]", "out of range"),
        ("0.5", "int"),
        ("[0.5]", "int"),
        ('"a"', "a"),
        ("0.0:1", "int"),
        ("[true, false]", "mask"),
        ("..., 7", "axis 1"),
    ],
)
@pytest.mark.parametrize("form", ["a[{}]", "a[{}] = 1.0", "a[{}] += 1.0"])
def test_what_is_no_index(form: str, index: str, says: str) -> None:
    error = failure("a = ones([3, 4])\n" + form.format(index))
    assert error.code == ("E309" if "+=" in form and index == '"a"' else "E303")
    assert says in f"{error.message} {error.label} {error.help}"


@pytest.mark.parametrize(
    ("outer", "expected"),
    [
        ("jvp(fn(a) = grad(fn(b) = f(a, b))({v}))(3.0, 1.0)", [2.0, 0.0]),
        ("grad(fn(a) = sum(grad(fn(b) = f(a, b))({v})))(3.0)", 2.0),
        ("grad(fn(b) = jvp(fn(a) = f(a, b))(3.0, 1.0))({v})", [2.0, 0.0]),
        ("jvp(fn(a) = jvp(fn(b) = f(a, b))({v}, [1.0, 1.0]))(3.0, 1.0)", 2.0),
    ],
)
@pytest.mark.parametrize("v", ["v", "2.0 * v", "[1.0, 2.0] * 1.0"])
def test_elements_are_written_at_any_level(outer: str, v: str, expected: Any) -> None:
    program = "var v = [1.0, 2.0]; fn f(a, b) { w = b * 1.0; w[0] += a; return sum(w**2) }"
    np.testing.assert_allclose(outputs(f"{program}; r = {outer.format(v=v)}")["r"], expected)


@pytest.mark.parametrize("index", ["0", "0:1", "[0]", "-3", "..., 0", "[true, false, false]"])
def test_on_the_way_back_a_write_changes_no_cotangent_that_others_hold(index: str) -> None:
    evaluation = evaluate(f"""
        var w = [1.0, 2.0, 3.0]
        var u = [4.0, 5.0, 6.0]
        a = w * 1.0
        c = u * 1.0
        b = a
        b[{index}] = 0.6
        p = sum(b * b) + sum(b * 2.0)
        y = p + sum((a + c) * 3.0)
        z = sin(p + sum((a + c) * b))
        g = grad(y, [w, u])
        h = hessian(z, w)
        k = jacobian(grad(z, u), w)
        l = jacobian(grad(z, w), u)
        output y, g, h, k, l
        """)
    found = evaluation.outputs
    for gradients in (found["g"], list(evaluation.gradients["y"].values())):
        np.testing.assert_allclose(gradients, [[3.0, 9.0, 11.0], [3.0, 3.0, 3.0]])
    np.testing.assert_allclose(found["h"], found["h"].T)
    np.testing.assert_allclose(found["k"], found["l"].T)


# ---- derivatives of derivatives through writes ---------------------------------------------------

WRITES = {  # a body that makes `y` of `x = [1, 2]`, and the Hessian of sum(y * x)
    "once": ("y = x * 1.0; y[0] = y[0] * y[1]", [[4, 2], [2, 2]]),
    "the same element twice": ("y = x + 1.0; for i in range(2) { y[1] = y[0] * y[1] }",
        [[14, 20], [20, 8]]),
    "both in turn": ("y = x + 1.0; for i in range(2) { y[0] = y[0] * 2.0; y[1] = y[0] }",
        [[8, 4], [4, 0]]),
    "a product that grows": (
        "y = x + 1.0; for i in range(3) { y[0] = y[0] * 2.0; y[1] = y[0] * y[1] }",
        [[4624, 3840], [3840, 1024]],
    ),
    "a sum of all": ("y = x * 1.0; y[0] = dot(x, y); y[1] = dot(y, y)", [[62, 56], [56, 198]]),
    "slices": ("y = x * 1.0; y[:] = y[::-1] * y[0]; y[:1] = y[1:] * y[:1]", [[28, 6], [6, 0]]),
}  # fmt: skip
WAYS = [
    "hessian(f)(x)", 'hessian(f, mode = "forward")(x)', "jacobian(grad(f))(x)",
    'jacobian(grad(f), mode = "forward")(x)',
    "stack([hvp(f)(x, [1.0, 0.0]), hvp(f)(x, [0.0, 1.0])])",
    "stack([grad(fn(x) = jvp(f)(x, [1.0, 0.0]))(x), grad(fn(x) = jvp(f)(x, [0.0, 1.0]))(x)])",
    "stack([jvp(grad(f))(x, [1.0, 0.0]), jvp(grad(f))(x, [0.0, 1.0])])",
    "jacobian(fn(x) = [jvp(f)(x, [1.0, 0.0]), jvp(f)(x, [0.0, 1.0])], mode = \"forward\")(x)",
    "hessian(z, x)", 'hessian(z, x, mode = "forward")',
    "stack([hvp(z, x, [1.0, 0.0]), hvp(z, x, [0.0, 1.0])])",
    "stack([grad(grad(z, x)[0], x), grad(grad(z, x)[1], x)])",
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives_through_writes(
    body: str, expected: list[list[float]], way: str
) -> None:
    """A sweep hands buffers on in place; a sweep over that sweep has buffers of its own."""
    source = f"var x = [1.0, 2.0]\nfn f(x) {{ {body}; return sum(y * x) }}\nz = f(x)\nh = {way}\noutput h"
    np.testing.assert_allclose(value(source), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "way", ["grad(fn(x) = sum(hvp(f)(x, u)))(x)", "jvp(fn(x) = hvp(f)(x, u))(x, ones(2))"]
)
def test_third_derivatives_through_writes(way: str) -> None:
    """f = 8 a x0 + 64 a**3 b x1 with a = x0 + 1 and b = x1 + 1."""
    source = f"""
fn f(x) {{ y = x + 1.0; for i in range(3) {{ y[0] = y[0] * 2.0; y[1] = y[0] * y[1] }}; return sum(y * x) }}
x = array([1.0, 2.0])
u = [1.0, 0.0]
t = {way}
output t
"""
    by_x0 = np.array([[2304, 3840], [3840, 1536]])  # the third derivatives of which one is by x0
    np.testing.assert_allclose(value(source), by_x0.sum(axis=0), rtol=1e-12)
