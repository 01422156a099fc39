"""Elements of rows, read and written by the language: each row has what it has alone, values,
gradients and refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.engine.operations import writing

pytestmark = pytest.mark.filterwarnings("error")

HEAD = """
const X = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [-1.0, 0.5, 2.5, 9.0]]
const M = [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 1.5], [2.5, 3.5]], [[4.5, 5.5], [6.5, 7.5], [8.5, 9.5]]]
const I = [1, 0, -1]
const J = [[0, 2], [1, 1], [-1, 0]]
const V = [0.5, 1.5, 2.5]
const S = [10.0, 20.0, 30.0, 40.0]
"""

# The body of a function of the first of its parameters, which are the rows of what has their name
# in capitals.
READS = """
x,i: x[i] | x,i: x[-i] | x,j: x[j] | x,i: S[i] * x | x,j: S[j] * x[0] | m,i: m[i] | m,i: m[i, :] | m,i: m[..., i] | m: m[:, 0]
m,i: m[i, ...] | m,i: m[i, i] | m,i: m[i, 0] | m,i: m[0, i] | m,i: m[none, i] | m,i: m[i, none] | m,i: m[:, none, i]
m,i: m[1:, i] | m,j: m[j] | m,j: m[j, 0] | m,j: m[1:, j % 2] | m,j: m[j, :1] | m,i,j: m[i, j % 2] | m,i,j: m[j, i]
m,i: m[[0, 2], i] | m,i: m[i, [0, 1]] | m: m[[0, 2]] | m,j: m[[[0], [1]], j % 2] | x: x[1:] | x: x[::-1] | x: x[::2] | x: x[5:]
x,i: sum(x[:i + 2]) | x,i: sum(S[:i + 2]) * x | x: sum(x[x > 2.2]) | x: x[x > -10] | x: sum(S[x > 2.2]) * x[0]
m: sum(m[m > 4]) | m,i: m[i][0] | x,i: [x[0], 2 * x[1], i] | x,i: array([[x[0], 1], [2, x[1]]]) | x,i: max([x[0], 1.5, i])
"""
WRITES = """
x,i,v: a[i] = v | x,i: a[i] = 1 | x,v: a[1] = v | x,i,v: a[i] += v; a[i] *= 2 | x,j,v: a[j] = v | x,j,v: a[j] += v
x,v: a[1:3] = v | x: a[1:3] = x[:2] | x: a[1:3] = [1.0, 2.0] | m,i,v: a[i] = v | m,i: a[i] = [1.0, 2.0] | m,i,j: a[i, j % 2] = 3
m,i: a[:, i] = [1.0, 2.0, 3.0] | m,i,v: a[:, i] += v | m,i,x: a[..., i] = x[:3] | m,j: a[j] = [[1.0, 2.0], [3.0, 4.0]]
x: a[a > 2.2] = 0 | x,v: a[a > 2.2] = v | x,v: a[a > 2.2] += v | m,v: a[m > 4] = v * m[0, 0]
x,v: for k in range(4) { a[k] = x[k] * v + (a[k - 1] if k > 0 else 0.0) } | x,i,v: for k in range(i + 2) { a[k] += v }
x,i,v: b = a; a[i] = v; a = a + 10 * b | x,v: a = zeros(4); a[1] = v; a[2] += x[0]
x,i,v: l = [x, 2 * x, 3 * x]; l[i] = v * x; a = l[1]
"""


def _cases() -> list[tuple[str, str]]:
    reads = [
        case.partition(":")[::2]
        for line in READS.strip().splitlines()
        for case in line.split(" | ")
    ]
    writes = [
        case.partition(":")[::2]
        for line in WRITES.strip().splitlines()
        for case in line.split(" | ")
    ]
    return [(p, f"return {b}") for p, b in reads] + [
        (p, f"a = {p[0]};{b}; return a") for p, b in writes
    ]


def _run(source: str) -> list[Any]:
    return list(
        gradcli.load(source=HEAD + source).with_options(grad=False).run({}).outputs.values()
    )


def _arguments(parameters: str, row: int | None = None) -> str:
    return ", ".join(
        name.upper() + ("" if row is None else f"[{row}]") for name in parameters.split(",")
    )


def _flat(value: Any) -> list[Any]:
    return (
        [part for item in value for part in _flat(item)]
        if isinstance(value, list)
        else [np.asarray(value)]
    )


@pytest.mark.parametrize(("parameters", "body"), _cases(), ids=lambda text: text)
def test_rows_have_what_each_has_alone(parameters: str, body: str) -> None:
    f = f"fn f({parameters}) {{ {body} }}\nfn g({parameters}) {{ y = f({parameters}); return sum(y**2) }}\n"
    f += f"fn h({parameters}) {{ return jvp(grad(g))({parameters[0]}, {parameters}) }}\n"
    shown = ["f", "grad(g)", "h"] if "[x[0], 2" not in body else ["f"]
    for name in shown:
        together = _flat(_run(f"{f}output vmap({name})({_arguments(parameters)})"))
        alone = [_flat(_run(f"{f}output {name}({_arguments(parameters, k)})")) for k in range(3)]
        for i, got in enumerate(together):
            expected = np.stack([row[i] for row in alone])
            assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(got, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("x,i", "return x[i + 4]"),
        ("i", "return S[i + 4]"),
        ("x,i", "a = x; a[i + 4] = 1.0; return a"),
        ("x,i", "return x[i, 0]"),
        ("x", "a = x; a[1:] = [1.0, 2.0]; return a"),
        ("i,v", "a = array([1, 2, 3]); a[i] = v; return a"),
        ("x", 'a = x; a[1] = "s"; return a'),
        ("i", "return 1 // i"),
        ("i", "return 7 % i"),
        ("j", "return 5 // (j - 1)"),
        ("i,j", "return j // i"),
        ("i", "return (i + 5) ** 40"),
        ("i", "return -((i - 2) * 4611686018427387904 - i)"),
        ("i", "return (i + 5) * 4000000000000000000"),
        ("j", "return sum((j + 5) * 1000000000000000000)"),
        ("x,j", "return x + j"),
        ("x,j", "return x @ j"),
        ("x", "return reshape(x, 3)"),
        ("x", "return inv(reshape(x, 4))"),
        ("v", "return inv([[v, v], [v, v]])"),
        ("x", "return softmax(x, axis = 1)"),
        ("m", "return concatenate(m, [1.0], axis = 0)"),
    ],
    ids=lambda text: text,
)
def test_a_refusal_is_that_of_a_row(parameters: str, body: str) -> None:
    def refusal(of: str) -> str:
        with pytest.raises(gradcli.GradcliError) as raised:
            _run(f"fn f({parameters}) {{ {body} }}\noutput  {of}")
        error = raised.value.diagnostics[0]
        message = re.sub(r", in row \d+ of `vmap`", "", error.message)
        return f"{error.code} {message} {error.label} {error.help}"

    together = refusal(f"vmap(f)({_arguments(parameters)})")
    assert together in {
        refusal(f"f({_arguments(parameters, k)})")
        for k in range(3)
        if _refuses(parameters, body, k)
    }


def _refuses(parameters: str, body: str, row: int) -> bool:
    try:
        _run(f"fn f({parameters}) {{ {body} }}\noutput f({_arguments(parameters, row)})")
    except gradcli.GradcliError:
        return True
    return False


VIEWS = [
    "a", "a[::-1]", "a[1:]", "a[0:2]", "flip(a)", "a + 0.0", "reshape(a, [2, 2])",
    "transpose(reshape(a, [2, 2]))", "a[none]",
    "reshape(a, [2, 2])[1]", "swapaxes(a[none], 0, 1)", "[a[::-1]][0]", "moveaxis(a[none], 0, 1)",
    "a if sum(a) > 7 else 2 * a",
]  # fmt: skip


@pytest.mark.parametrize("taken", VIEWS)
def test_what_was_taken_of_an_array_stays_when_that_is_written_to(taken: str) -> None:
    f = f"fn f(x, v) {{ a = x * v; b = {taken}; s = prod(b); a[1:] += v; a[0] = s; return s + sum(a * a) + sum(b) }}\n"
    for shown in ("f", "grad(f)", "jvp(f)", "grad(f, wrt = 1)"):
        arguments = "x, x, v" if "jvp" in shown else "x, v"
        call = f"fn h(x, v) {{ return {shown}({arguments}) }}\n"
        (together,) = _run(f"{f}{call}output vmap(h)(X, V)")
        np.testing.assert_allclose(
            together, [_run(f"{f}{call}output h(X[{k}], V[{k}])")[0] for k in range(3)], rtol=1e-14
        )


def test_an_array_that_nobody_else_holds_is_written_to_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    applied, inplace = writing.apply, []

    def apply(run: Any, site: Any, values: Any, options: Any) -> Any:
        inplace.append(options["inplace"])
        return applied(run, site, values, options)

    monkeypatch.setattr(writing, "apply", apply)
    f = "fn f(x, v) { a = x * v; for k in range(4) { a[k] += v }; b = a[1:]; a[0] = v; a[1] = v; return sum(a * b[0]) }"
    _run(f"{f}\noutput vmap(f)(X, V)")
    assert inplace == [True, True, True, True, False, True]  # `b` is of the array as it was


def test_powers_of_ints_are_ints_or_floats_as_alone() -> None:
    f = "fn f(i) { y = 2 ** i; return y // 1 if i < 0 else y / 1 }\nfn g(i) { return 2 ** (i + 1) }\n"
    np.testing.assert_array_equal(_run(f + "output vmap(f)([-1, 2, 0])")[0], [0.0, 4.0, 1.0])
    assert _run(f + "output vmap(g)(I)")[0].dtype == "int64"


def test_print_shows_the_rows_first() -> None:
    program = "fn f(x) { print x, x[0], [x[1], 2]; return x[0] }\noutput vmap(f)([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])"
    printed = gradcli.load(source=program).with_options(grad=False).run({}).printed
    assert (
        "".join(printed).replace("\n", "") == "[[1. 2.] [3. 4.] [5. 6.]] [1. 3. 5.] [[2. 4. 6.], 2]"
    )


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize(
    "body",
    [
        "return sum(x) * x[0, 0]",
        "return inv(x + 2 * eye(3)) @ x",
        "return softmax(x) * sort(x)[0] + cumsum(x, axis = 0)",
        "return [max(x), argmax(x), x[1:]]",
        "return x[x > -1]",
        "if x[0, 0] > 0 { return 1.0 } else { return sum(x) }",
        "y = 0.0; for k in range(3) { y += x[k, k] }; return y",
        "return reshape(roll(pad(x, 1), 2), 25) @ ones(25)",
        "return einsum('ii->i', x) + trace(x)",
    ],
)
def test_no_rows_and_one(rows: int, body: str) -> None:
    f = f"fn f(x) {{ {body} }}\n".replace("'", '"')
    alone = _flat(_run(f + "output f(0.5 * ones([3, 3]))"))
    for got, one in zip(
        _flat(_run(f"{f}output vmap(f)(0.5 * ones([{rows}, 3, 3]))")), alone, strict=True
    ):
        assert got.shape[0] == rows
        if rows:
            np.testing.assert_allclose(got[0], one, rtol=1e-15)


def test_writes_in_a_loop_copy_nothing() -> None:
    """A loop over the elements of every row takes time in proportion to the elements, not to their
    square: the array of the rows is one and the same."""
    program = """
fn f(x) {
    a = zeros(300) + 0 * x
    for k in range(1, 300) { a[k] = 0.5 * a[k - 1] + x }
    return a[299]
}
output vmap(f)(X)
"""
    import tracemalloc

    x = np.arange(2000.0)
    compiled = gradcli.load(source="const X: float[n]" + program).with_options(grad=False)
    compiled.run({"X": x[:10]})
    tracemalloc.start()
    (y,) = compiled.run({"X": x}).outputs.values()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(y, 2 * x, rtol=1e-15)
    assert peak < 5 * 300 * x.nbytes


def test_a_written_slice_of_the_same_array_in_jacobians() -> None:
    """The share of what was written is no view of the cotangent, in which it is then set to 0."""
    program = "var v = [0.3119, -0.8423, 1.7137]; a = sin(v); a[0:2] = v[1:]; y = sin(a + a)\n"
    back, forward = (
        _run(f'{program}output jacobian(y, v, mode = "{mode}")')[0]
        for mode in ("reverse", "forward")
    )
    np.testing.assert_allclose(back, forward, rtol=1e-12)
    assert back[0, 1]
