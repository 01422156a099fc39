"""Inverses, determinants, systems and factorisations against 60 digits, to second order in every
mode; what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from gradcli.engine.operations.rules import Value
from gradcli.engine.values.boxes import primal

from ..engine.programs import failure, value
from .structural_cases import R1, SS, S
from .sweeps import Session, tangent

MP = mpmath.mp.clone()
MP.dps = 60
HILBERT = 1 / (np.arange(4)[:, None] + np.arange(4) + 1.0)  # of condition 1.6e4
SPD = S @ S.T
B = np.array([[0.2, 1.4], [-1.1, 0.8], [0.9, -0.4]])


def _qr(x: Any) -> list[Any]:
    """By Gram and Schmidt, with NumPy's signs; of a wide matrix, the left part."""
    signs = np.sign(np.diag(np.linalg.qr(np.array(x.tolist(), dtype=float))[1]))
    columns: list[Any] = []
    for k in range(min(x.rows, x.cols)):
        left = x[:, k]
        for q in columns:
            left = left - q * (q.T * x[:, k])[0]
        columns.append(left / MP.norm(left) * int(signs[k]))
    q = MP.matrix([[c[i] for c in columns] for i in range(x.rows)])
    return [q, q.T * x]


def _eigh(x: Any) -> list[Any]:
    """With NumPy's signs."""
    values, vectors = MP.eigsy((x + x.T) / 2)
    return [
        values,
        _with_signs_of(vectors, np.linalg.eigh(np.array(((x + x.T) / 2).tolist(), dtype=float))[1]),
    ]


def _svd(x: Any) -> list[Any]:
    u, s, vt = MP.svd_r(x)
    signs = np.linalg.svd(np.array(x.tolist(), dtype=float), full_matrices=False)
    return [_with_signs_of(u, signs[0]), s, _with_signs_of(vt.T, signs[2].T).T]


def _with_signs_of(columns: Any, like: Any) -> Any:
    columns = columns.copy()
    for k in range(columns.cols):
        if sum(float(columns[i, k]) * like[i, k] for i in range(columns.rows)) < 0:
            columns[:, k] = -columns[:, k]
    return columns


def _lower(x: Any) -> Any:
    return MP.matrix([[x[i, j] if j <= i else 0 for j in range(x.cols)] for i in range(x.rows)])


# name, options, operands, and the function on mpmath's matrices, which gives a number, a matrix or
# a list of them
CASES: list[tuple[str, dict[str, Any], list[Any], Callable[..., Any]]] = [
    ("inv", {}, [S], lambda x: x**-1),
    ("inv", {}, [HILBERT], lambda x: x**-1),
    ("solve", {}, [S, B], lambda a, b: (a**-1) * b),
    ("solve", {}, [HILBERT, HILBERT[:, :1]], lambda a, b: (a**-1) * b),
    ("solve_triangular", {"lower": False}, [S, B], lambda a, b: (_lower(a.T).T ** -1) * b),
    ("solve_triangular", {"lower": True}, [S, B], lambda a, b: (_lower(a) ** -1) * b),
    ("det", {}, [S], MP.det),
    ("det", {}, [HILBERT], MP.det),
    ("det", {}, [R1], MP.det),
    ("det", {}, [np.diag([2.0, 0.0, 0.0, 3.0])], MP.det),
    ("logdet", {}, [S], lambda x: MP.log(abs(MP.det(x)))),
    ("logdet", {}, [-HILBERT], lambda x: MP.log(abs(MP.det(x)))),
    ("cholesky", {}, [SPD], lambda x: MP.cholesky((x + x.T) / 2)),
    ("cholesky", {}, [HILBERT], lambda x: MP.cholesky((x + x.T) / 2)),
    ("qr", {}, [S], _qr),
    ("qr", {}, [B], _qr),
    ("qr", {}, [B.T], _qr),
    ("qr", {}, [HILBERT], _qr),
    ("eigh", {}, [SPD], _eigh),
    ("eigh", {}, [S], _eigh),
    ("svd", {}, [S], _svd),
    ("svd", {}, [B], _svd),
    ("svd", {}, [B.T], _svd),
    ("lstsq", {}, [B, SPD], lambda a, b: (a.T * a) ** -1 * a.T * b),
    ("lstsq", {}, [B.T, S[:2]], lambda a, b: a.T * (a * a.T) ** -1 * b),
    ("lstsq", {}, [HILBERT, HILBERT[:, :1]], lambda a, b: (a**-1) * b),
    ("expm", {}, [S], MP.expm),
    ("expm", {}, [7.0 * S], MP.expm),
    ("expm", {}, [np.triu(1e3 * SPD, 1)], MP.expm),
]


def flat(result: Any) -> Any:
    """Every number of a result, as a vector of mpmath's."""
    if isinstance(result, list):
        return np.concatenate([flat(part) for part in result])
    return np.array(
        result.tolist() if hasattr(result, "tolist") else [[result]], dtype=object
    ).ravel()


def matrices(operands: list[Any]) -> list[Any]:
    return [MP.matrix(x.tolist()) for x in operands]


def exact(
    function: Callable[..., Any], operands: list[Any], v: list[Any], w: list[Any]
) -> list[Any]:
    """The value, the derivative along v, and the second along v and w."""
    x, v, w = (matrices(list_) for list_ in (operands, v, w))
    h, k = MP.mpf(10) ** -20, MP.mpf(10) ** -12

    def at(a: Any, b: Any) -> Any:
        return flat(function(*[p + a * q + b * r for p, q, r in zip(x, v, w, strict=True)]))

    first = (at(h, 0) - at(-h, 0)) / (2 * h)
    second = (at(k, k) - at(k, -k) - at(-k, k) + at(-k, -k)) / (4 * k * k)
    return [np.array([float(n) for n in found]) for found in (at(0, 0), first, second)]


def _distance(x: Any) -> float:
    """How many times closer than the largest two singular values are to each other, or one to 0."""
    s = np.linalg.svd(x)[1]
    return float(s[0] / np.min(np.abs(np.diff([*s, 0.0]))))


def vector(results: Any) -> Any:
    return np.concatenate(
        [np.ravel(primal(y)) for y in (results if type(results) is list else [results])]
    )


@pytest.mark.parametrize(
    ("name", "options", "operands", "function"),
    CASES,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_against_60_digits(
    name: str, options: dict[str, Any], operands: list[Any], function: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(3)
    v, w = ([rng.normal(size=x.shape) for x in operands] for _ in range(2))
    expected = exact(function, operands, v, w)
    # The derivatives of `det` don't divide, so they are as good for any matrix: errors are relative
    # to its columns.
    x = operands[0]
    loss = (
        1.0
        if name == "det"
        else _distance(x)
        if name in ("eigh", "svd")
        else float(np.linalg.cond(x))
    )
    floor = float(np.linalg.norm(x)) ** len(x) if name == "det" else np.max(np.abs(expected[0]))
    bounds = [
        2e-15 * loss ** (k + 1) * max(np.max(np.abs(found)), floor)
        for k, found in enumerate(expected)
    ]

    def agree(order: int, found: Any) -> None:
        np.testing.assert_allclose(found, expected[order], rtol=0, atol=bounds[order])

    def parts(y: Any) -> list[Any]:
        return y if type(y) is list else [y]

    # forward over forward
    session = Session()
    duals = [
        session.dual(session.dual(x, s).v, t, level=2)
        for x, s, t in zip(operands, w, v, strict=True)
    ]
    y = parts(session.m.call(name, tuple(duals), options))
    agree(0, vector([p.v for p in y]))
    agree(1, vector([tangent(p) for p in y]))
    agree(2, vector([tangent(tangent(p)) for p in y]))

    # reverse over reverse, and reverse over forward, for a weighed sum of the result
    u = rng.normal(size=len(expected[0]))
    gradients = []
    for mode in ("reverse", "forward"):
        session = Session(*operands)
        m = session.m
        xs = (
            session.operands
            if mode == "reverse"
            else [session.dual(x, s) for x, s in zip(session.leaves, v, strict=True)]
        )
        y, total, start = parts(m.call(name, tuple(xs), options)), Value(0.0, m), 0
        for p in y:
            part = p if mode == "reverse" else Value(tangent(p), m)
            weights = u[start : start + p.size].reshape(p.shape)
            total, start = (
                total + m.sum(part * (weights if p.shape else float(weights))),
                start + p.size,
            )
        if mode == "reverse":
            first = session.gradients(total, recorded=True)
            along = sum(float(np.sum(primal(g) * s)) for g, s in zip(first, v, strict=True))
            assert along == pytest.approx(u @ expected[1], rel=0, abs=10 * bounds[1])
            plain = session.gradients(total)
            np.testing.assert_array_equal(vector(plain), vector(first))
            total = sum(
                (m.sum(Value(g, m) * s) for g, s in zip(first, v, strict=True)), Value(0.0, m)
            )
        gradients.append(vector(session.gradients(total)))
    assert gradients[0] @ vector(w) == pytest.approx(u @ expected[2], rel=0, abs=20 * bounds[2])
    np.testing.assert_allclose(
        gradients[1],
        gradients[0],
        rtol=0,
        atol=20 * bounds[2] + 1e-14 * np.max(np.abs(gradients[0])),
    )


# ---- what programs see ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message", "label"),
    [
        ("inv([[1.0, 2.0], [2.0, 4.0]])", "`inv` needs an invertible matrix: this one is singular",
            "it is [[1.0, 2.0], [2.0"),
        ("inv(ones([2, 3]))", "`inv` needs a square matrix: the shape is (2, 3)", ""),
        ("inv(3.0)", "`inv` needs a square matrix: the shape is ()", ""),
        ("inv(stack([eye(2), zeros([2, 2])]))", "number [1] is singular",
            "it is [[0.0, 0.0], [0.0, 0.0]]"),
        ("inv(zeros([5, 5]))", "this one is singular", "its shape is (5, 5)"),
        ("solve([[1, 1], [1, 1]], [1.0, 2.0])", "`solve` needs an invertible matrix: this one",
            "it is [[1.0, 1.0], [1.0, 1.0]]"),
        ("solve(zeros([1, 2, 2, 2]) + eye(2) * array([[[1.0]], [[0.0]]]), ones([2, 3]))",
            "number [0, 1] is singular", ""),
        ("solve(eye(2), ones(3))", "`solve` needs as many rows on both sides",
            "left is (2, 2), right is (3,)"),
        ("solve(eye(2), 1.0)", "`solve` needs as many rows on both sides",
            "left is (2, 2), right is ()"),
        ("solve_triangular([[1.0, 2.0], [3.0, 0.0]], [1.0, 2.0])", "this one is singular",
            "it is [[1.0, 2.0], [0.0, 0.0]]"),
        ("cholesky([[1.0, 2.0], [2.0, 1.0]])", "`cholesky` needs a positive definite matrix: this",
            "its smallest eigenvalue"),
        ("cholesky(stack([eye(2), eye(2), -eye(2)]))", "number [2] is not",
            "its smallest eigenvalue is -1.0"),
        ("cholesky([[1.0, inf], [inf, 1.0]])", "this one is not", "it isn't finite"),
        ("qr(ones(3))", "`qr` needs a matrix: the shape is (3,)", ""),
        ("det(ones(3))", "`det` needs a square matrix", ""),
        ("grad(fn(x) = logdet(x))([[1.0, 1.0], [1.0, 1.0]])",
            "is singular, in the derivative of `logdet`", "it is [[1.0, 1.0]"),
        ("jvp(fn(x) = logdet(x))(ones([2, 2]), eye(2))",
            "is singular, in the derivative of `logdet`", ""),
        ("hvp(fn(x) = logdet(x))(ones([2, 2]), eye(2))",
            "is singular, in the derivative of `logdet`", ""),
        ("grad(fn(x) = sum(qr(x)[0]))([[1.0, 0.0], [1.0, 0.0]])",
            "is singular, in the derivative of `qr`", ""),
        ("eigh(ones([2, 3]))", "`eigh` needs a square matrix", ""),
        ("eigh([[1.0, nan], [nan, 1.0]])",
            "`eigh` needs a matrix of finite numbers: this one has others", "the shape is (2, 2)"),
        ("svd(stack([eye(2), inf * ones([2, 2])]))",
            "`svd` needs a matrix of finite numbers: number [1] has others", ""),
        ("svd(ones(3))", "`svd` needs a matrix: the shape is (3,)", ""),
        ("grad(fn(x) = sum(eigh(x)[1]))(eye(2))",
            "1.0 and 1.0 are equal, so their vectors have no derivative, in the", ""),
        ("grad(fn(x) = sum(svd(x)[0]))(3 * eye(2))",
            "3.0 and 3.0 are equal, so their vectors have no derivative, in the", ""),
        ("grad(fn(x) = sum(svd(x)[2]))(stack([2 * eye(2), [[1.0, 0.0], [0.0, 3.0]]]))",
            "values 2.0 and 2.0 are equal", ""),
        ("grad(fn(x) = sum(svd(x)[0]))([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])",
            "a singular value is 0.0, so its vectors", ""),
        ("hessian(fn(x) = sum(eigh(x)[0]**2))(eye(2))", "values 1.0 and 1.0 are equal", ""),
        ("lstsq(ones(3), ones(3))", "`lstsq` needs a matrix on the left side: the shape is (3,)",
            ""),
        ("lstsq(ones([3, 2]), ones(2))", "`lstsq` needs as many rows on both sides",
            "left is (3, 2), right is (2,)"),
        ("lstsq([[1.0, nan]], ones(1))",
            "`lstsq` needs a matrix of finite numbers: this one has others", ""),
        ("grad(fn(a) = sum(lstsq(a, ones(3))))(ones([3, 2]))",
            "has a derivative for matrices of full rank only", "… "),
        ("jvp(fn(a) = lstsq(a, ones(3)))(ones([3, 2]), ones([3, 2]))",
            "has a derivative for matrices of full rank only", "… "),
        ("expm(ones([2, 3]))", "`expm` needs a square matrix: the shape is (2, 3)", ""),
    ],
)  # fmt: skip
def test_refusal(source: str, message: str, label: str) -> None:
    diagnostic = failure(f"y = {source}")
    assert diagnostic.code == "E304"
    assert message in diagnostic.message
    assert label in diagnostic.label


def test_a_gradient_asked_for_at_the_end_is_refused_at_its_place() -> None:
    diagnostic = failure("var x = [[1.0, 1.0], [1.0, 1.0]]; y = logdet(x)")
    assert diagnostic.code == "E304"
    assert diagnostic.span is not None
    assert diagnostic.span.text == "logdet(x)"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("det(zeros([0, 0]))", 1.0),
        ("det([[2, 1], [1, 3]])", 5.0),
        ("logdet([[1.0, 1.0], [1.0, 1.0]])", -np.inf),
        ("logdet(1e200 * eye(3))", 600 * np.log(10.0)),
        ("inv([[2, 0], [0, 4]])", [[0.5, 0.0], [0.0, 0.25]]),
        ("solve([[2, 0], [0, 4]], [1, 1])", [0.5, 0.25]),
        ("inv(zeros([0, 2, 2])).shape", [0, 2, 2]),
        ("cholesky([[4.0, 9.0], [-9.0, 1.0]])", [[2.0, 0.0], [0.0, 1.0]]),
        ("grad(fn(x) = det(x))([[0.0, 0.0], [0.0, 5.0]])", [[5.0, 0.0], [0.0, 0.0]]),
        ("hessian(fn(x) = det(x))([[0.0, 0.0], [0.0, 0.0]])[0, 0]", [[0.0, 0.0], [0.0, 1.0]]),
        ("grad(fn(x) = det(x))([[nan, 0.0], [0.0, 5.0]])", [[np.nan] * 2] * 2),
        ("eigh([[2, 0], [0, 1]])[0]", [1.0, 2.0]),
        ("eigh([[0.0, 6.0], [0.0, 0.0]])[0]", [-3.0, 3.0]),
        ("eigh([[0.0, 1j], [-1j, 0.0]])[0]", [-1.0, 1.0]),
        ("eigh(zeros([0, 0]))[0].shape", [0]),
        ("grad(fn(x) = sum(eigh(x)[0]**2))(3 * eye(2))", [[6.0, 0.0], [0.0, 6.0]]),
        ("jvp(fn(x) = eigh(x)[0])(eye(2), [[1.0, 0.0], [0.0, 2.0]])", [1.0, 2.0]),
        (
            "jvp(fn(x) = eigh(x)[1][:, 0])(array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), ones([3, 3]))",
            [0.0, -1, -1],
        ),
        ("jvp(fn(x) = eigh(x)[1][:, 1])(eye(2), ones([2, 2]))", [np.nan, np.nan]),
        ("svd([[0, 2], [1, 0], [0, 0]])[1]", [2.0, 1.0]),
        ("svd(zeros([0, 3]))[1].shape", [0]),
        ("lstsq([[1, 0], [0, 2], [0, 0]], [1, 2, 3])", [1.0, 1.0]),
        ("lstsq([[1.0, 1.0], [1.0, 1.0]], [2.0, 4.0])", [1.5, 1.5]),
        ("lstsq([[3.0, 4.0]], [25.0])", [3.0, 4.0]),
        ("lstsq(zeros([3, 0]), ones([3, 2])).shape", [0, 2]),
        ("expm(zeros([0, 0])).shape", [0, 0]),
        ("expm(zeros([2, 2]))", [[1.0, 0.0], [0.0, 1.0]]),
        ("expm([[0, 1], [0, 0]])", [[1.0, 1.0], [0.0, 1.0]]),
        ("expm([[-1e40]])", [[0.0]]),
        ("expm([[1.0, 1e6], [0.0, -1.0]])", [[np.e, 1e6 * np.sinh(1.0)], [0.0, 1 / np.e]]),
        ("expm([[0.0, -pi], [pi, 0.0]])", [[-1.0, 0.0], [0.0, -1.0]]),
        ("expm([[nan, 0.0], [0.0, 1.0]])", [[np.nan] * 2] * 2),
        ("expm([[1000.0]])", [[np.inf]]),
        ("grad(fn(x) = sum(expm(x)))(zeros([2, 2]))", [[1.0, 1.0], [1.0, 1.0]]),
        ("jvp(fn(x) = expm(x))([[1.0]], [[1e300]])", [[np.e * 1e300]]),
        ("grad(fn(x) = sum(svd(x)[1]))(zeros([2, 3])).shape", [2, 3]),
        ("grad(fn(x) = svd(x)[1][0])([[3.0, 0.0], [0.0, 1.0]])", [[1.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_value(expression: str, expected: Any) -> None:
    found = value(f"y = {expression}")
    np.testing.assert_allclose(getattr(found, "items", found), expected, rtol=1e-15, atol=1e-15)


def test_a_right_side_in_a_batch_is_as_each_alone() -> None:
    m = Session().m
    for a, b in ((S, SS), (SS, S), (SS, SS), (SS[:1], SS), (SS, S[0])):
        found = m.solve(Value(a, m), Value(b, m))
        np.testing.assert_allclose(found.v, np.linalg.solve(a, b), rtol=1e-13)
