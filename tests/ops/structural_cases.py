"""Cases of every structural entry of the table: a function in the language of rules, and the values
that it is called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops import OPS

V = np.array([0.7, -1.3, 2.1, 0.4])
W = np.array([1.5, 0.2, -0.8, 1.1])
A = np.array([[1.0, -2.0, 0.5], [0.3, 1.7, -0.6]])
B = np.array([[0.2, 1.4], [-1.1, 0.8], [0.9, -0.4]])
T = np.random.default_rng(7).uniform(0.4, 1.6, size=(2, 3, 2)) * np.array([1.0, -1.0])
Z = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.5]])  # zeros: products must not divide by them
P = np.abs(V) + 0.5
IDX = np.array([2, 0, 2])
S = np.array([[1.2, -0.4, 0.3], [0.5, 0.9, -0.7], [-0.2, 0.8, 1.5]])
SS = np.stack([S, S.T @ S - 0.3])
IMAGES = np.random.default_rng(8).normal(size=(2, 2, 5, 4))
KERNELS = np.random.default_rng(9).normal(size=(3, 2, 3, 2))
PLACES = np.random.default_rng(10).normal(size=(2, 3, 3, 3))
KNOTS = np.array([-1.0, 0.2, 0.35, 1.4])
R1 = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])  # of rank 2

C = 0.6 - 1.1j


def _parts(m: Any, z: Any) -> Any:
    """The parts of complex numbers, as differences take real results."""
    return m.stack(m.real(z), m.imag(z)) if str(z.dtype).startswith("complex") else z


# op name -> cases of (function of the rule language, values). A structural op with derivatives and
# no case is a failure.
CASES: dict[str, list[tuple[Any, ...]]] = {
    "where": [
        (lambda m, a, b: m.where(W > 0, a, b), V, P),
        (lambda m, a, b: m.where(np.array([[True], [False]]), a * a, b), A[0], 2.0),
    ],
    "conj": [(lambda m, a: m.real(m.conj(a) * (1 + 2j)), V)],
    "sum": [
        (lambda m, x, o=o: m.sum(x * x, **o), T)
        for o in ({}, {"axis": 1}, {"axis": [0, 2]}, {"axis": -1, "keepdims": True})
    ],
    "mean": [
        (lambda m, x, o=o: m.mean(x * x, **o), T)
        for o in ({}, {"axis": 1}, {"axis": [0, 2], "keepdims": True})
    ],
    "var": [
        (lambda m, x, o=o: m.var(x * x, **o), T)
        for o in ({}, {"axis": 1, "ddof": 1}, {"axis": [0, 2], "keepdims": True})
    ],
    "std": [
        (lambda m, x, o=o: m.std(x * x, **o), T)
        for o in ({}, {"axis": 1, "ddof": 1}, {"axis": [0, 2], "keepdims": True})
    ],
    "norm": [
        (lambda m, x, o=o: m.norm(x, **o), T)
        for o in (
            {},
            {"axis": 1},
            {"ord": 1},
            {"ord": 3, "axis": 0},
            {"ord": float("inf"), "axis": [0, 1]},
            {"ord": "fro"},
            {"ord": -float("inf"), "keepdims": True},
            {"ord": 1.5, "axis": -1, "keepdims": True},
        )
    ],
    "min": [
        (lambda m, x, o=o: m.min(x * x, **o), T)
        for o in ({}, {"axis": 1}, {"axis": [0, 2], "keepdims": True})
    ],
    "max": [
        (lambda m, x, o=o: m.max(x * x, **o), T)
        for o in ({}, {"axis": 1}, {"axis": [0, 2], "keepdims": True})
    ],
    "median": [
        (lambda m, x, o=o: m.median(x * x, **o), T)
        for o in ({}, {"axis": 1}, {"axis": [0, 2], "keepdims": True})
    ],
    "prod": [
        *[
            (lambda m, x, o=o: m.prod(x, **o), T)
            for o in ({}, {"axis": 1}, {"axis": [0, 2]}, {"axis": 0, "keepdims": True})
        ],
        *[(lambda m, x, o=o: m.prod(x, **o), Z) for o in ({}, {"axis": 0}, {"axis": 1})],
    ],
    "cumsum": [
        (lambda m, x, o=o: m.cumsum(x * x, **o), T) for o in ({}, {"axis": 1}, {"axis": -1})
    ],
    "cumprod": [
        (lambda m, x, o=o: m.cumprod(x, **o), x)
        for x in (A, Z)
        for o in ({}, {"axis": 0}, {"axis": -1})
    ],
    "shift": [
        (lambda m, x: m.shift(x * x, by=1, fill=2.0), A),
        (lambda m, x: m.shift(x * x, by=-1, fill=2.0), A),
    ],
    "recurrence": [
        (lambda m, a, b: m.recurrence(a, b), V, W),
        (lambda m, a, b: m.recurrence(a, b), Z, A),
    ],
    "reshape": [(lambda m, x: m.reshape(x * x, shape=[3, -1]), T)],
    "ravel": [(lambda m, x: m.ravel(x * x), T)],
    "transpose": [
        (lambda m, x: m.transpose(x * x), T),
        (lambda m, x: m.transpose(x * x, axes=[1, 2, 0]), T),
    ],
    "swapaxes": [(lambda m, x: m.swapaxes(x * x, axis1=0, axis2=-1), T)],
    "moveaxis": [
        (lambda m, x: m.moveaxis(x * x, source=0, destination=-1), T),
        (lambda m, x: m.moveaxis(x * x, source=[0, 1], destination=[2, 0]), T),
    ],
    "expand_dims": [
        (lambda m, x: m.expand_dims(x * x, axis=1), A),
        (lambda m, x: m.expand_dims(x * x, axis=[0, -1]), A),
    ],
    "squeeze": [
        (lambda m, x: m.squeeze(m.reshape(x * x, shape=[1, 3, 1, 2])), A),
        (lambda m, x: m.squeeze(m.reshape(x * x, shape=[1, 3, 1, 2]), axis=2), A),
    ],
    "flip": [(lambda m, x: m.flip(x * x), T), (lambda m, x: m.flip(x * x, axis=[0, 1]), T)],
    "roll": [
        (lambda m, x: m.roll(x * x, shift=2), A),
        (lambda m, x: m.roll(x * x, shift=[1, -1], axis=[0, 1]), A),
    ],
    "broadcast_to": [
        (lambda m, x: m.broadcast_to(x * x, shape=[4, 2, 3]), A),
        (lambda m, x: m.broadcast_to(x * x, shape=[2, 3]), 1.5),
    ],
    "sum_to": [(lambda m, x: m.sum_to(x * x, shape=[1, 2]), T)],
    "concatenate": [(lambda m, a, b: m.concatenate(a * a, b, a, axis=1), A, B.T)],
    "stack": [
        (lambda m, a, b: m.stack(a * a, b, a, axis=-1), A, B.T),
        (lambda m, a, b: m.stack(a * a, b), 1.5, 2.0),
    ],
    "split": [
        (lambda m, x: m.split(x * x, sections=3, axis=1), T),
        (lambda m, x: m.split(x * x, sections=[1, 3]), V),
    ],
    "tile": [
        (lambda m, x: m.tile(x * x, reps=3), A),
        (lambda m, x: m.tile(x * x, reps=[2, 1, 2]), A),
        (lambda m, x: m.tile(x * x, reps=2), 1.5),
    ],
    "repeat": [
        (lambda m, x: m.repeat(x * x, repeats=2), A),
        (lambda m, x: m.repeat(x * x, repeats=[1, 0, 3], axis=1), A),
    ],
    "pad": [
        (lambda m, x: m.pad(x * x, width=2), A),
        (lambda m, x: m.pad(x * x, 3.0, width=[[1, 0], [2, 1]]), A),
        (lambda m, x, v: m.pad(x * x, v * v, width=[1, 2]), A, 1.5),
        *[
            (lambda m, x, mode=mode: m.pad(x * x, width=[2, 1], mode=mode), B)
            for mode in ("edge", "wrap", "symmetric", "reflect")
        ],
    ],
    "diag": [(lambda m, x, k=k: m.diag(x * x, k=k), x) for x in (V, A, B) for k in (0, 1, -1)],
    "tril": [(lambda m, x: m.tril(x * x, k=1), T)],
    "triu": [(lambda m, x: m.triu(x * x), T)],
    "sort": [(lambda m, x, o=o: m.sort(x * x, **o), T) for o in ({}, {"axis": 1}, {"axis": None})],
    "take": [
        (lambda m, x: m.take(x * x, IDX), T),
        (lambda m, x: m.take(x * x, IDX, axis=1), T),
        (lambda m, x: m.take(x * x, np.array([[0, -1], [2, 2]]), axis=1), T),
        (lambda m, x: m.take(x * x, 2), V),
    ],
    "gather": [(lambda m, x: m.gather(x * x, np.array([[2, 0], [1, 1]]), axis=1), A)],
    "scatter_add": [
        (lambda m, x, v: m.scatter_add(x * x, IDX, v * v), V, W[:3]),
        (lambda m, x, v: m.scatter_add(x, IDX, v * v), B, 1.5),
    ],
    "untake": [(lambda m, g: m.untake(g * g, IDX, axis=1, shape=(2, 4)), A)],
    "ungather": [
        (lambda m, g: m.ungather(g * g, np.array([[2, 0, 0], [1, 1, 3]]), axis=1, shape=(2, 4)), A)
    ],
    "softmax": [
        (lambda m, x, o=o: m.softmax(x, **o), A) for o in ({}, {"axis": 0}, {"axis": None})
    ],
    "log_softmax": [(lambda m, x, o=o: m.log_softmax(x, **o), A) for o in ({}, {"axis": 0})],
    "logsumexp": [
        (lambda m, x, o=o: m.logsumexp(x, **o), T)
        for o in ({}, {"axis": [0, 1]}, {"axis": -1, "keepdims": True})
    ],
    "class_errors": [
        (lambda m, x: m.class_errors(x * x, np.array([2, 0])), A),
        (lambda m, x: m.class_errors(x * x, 1), A[0]),
        (lambda m, x: m.class_errors(x, np.array([[1, 0, 1], [1, 1, 0]])), T),
    ],
    "cross_entropy": [
        (lambda m, x: m.cross_entropy(x, np.array([[1, 0, 1], [1, 1, 0]])), T),
        (lambda m, x: m.cross_entropy(x, np.array([2, 0])), A),
        (lambda m, x: m.cross_entropy(x, 1), A[0]),
        (lambda m, x, p: m.cross_entropy(x, p * p), A, B.T),
    ],
    "matmul": [
        (lambda m, a, b: m.matmul(a, b), a, b)
        for a, b in (
            (A, B),
            (V, W),
            (A, V[:3]),
            (V[:2], A),
            (T, B[:2]),
            (B[:2].T, T[0].T),
            (T, T.transpose(0, 2, 1)),
            (V[:3], T),
            (T, V[:2]),
            (A[None], B),
            (A, T),
            (T[:1], A),
        )
    ],
    "dot": [
        (lambda m, a, b: m.dot(a, b), a, b)
        for a, b in ((A, B), (V, W), (2.0, V), (A, 3.0), (A, T), (T, V[:2]), (V[:3], T), (2.0, 3.0))
    ],
    "inner": [
        (lambda m, a, b: m.inner(a, b), a, b)
        for a, b in ((V, W), (A, B.T), (T, B), (A, V[:3]), (2.0, A))
    ],
    "outer": [(lambda m, a, b: m.outer(a, b), a, b) for a, b in ((V, W), (A, V), (2.0, V))],
    "cross": [(lambda m, a, b: m.cross(a, b), a, b) for a, b in ((V[:3], W[:3]), (A, W[:3]))],
    "kron": [(lambda m, a, b: m.kron(a, b), a, b) for a, b in ((A, B), (V, A), (T, V))],
    "trace": [
        (lambda m, x: m.trace(x * x), A),
        (lambda m, x: m.trace(m.matmul(x, x.T), offset=1), A),
        (lambda m, x: m.trace(x * x, offset=-1), T),
    ],
    "einsum": [
        (lambda m, *xs, s=s: m.einsum(*xs, subscripts=s), *xs)
        for s, xs in {
            "ij,jk->ik": (A, B),
            "ij->ji": (A,),
            "ij->": (A,),
            "ii->i": (A[:, :2],),
            "ii": (A[:, :2],),
            "ij,ij->i": (A, B.T),
            "...ij,jk->...ik": (T, B[:2]),
            "...i,...i->...": (T, B),
            "ijk,j->": (T, V[:3]),
            "i,i,i->": (V, W, P),
            "i,j->ij": (V, W),
            "iji->j": (np.random.default_rng(1).normal(size=(2, 3, 2)),),
            "...,...": (T[:, :1], T),
            "ab,bc": (A, B),
            "kij,kj->ik": (
                np.random.default_rng(2).normal(size=(2, 17, 18)),
                np.random.default_rng(3).normal(size=(2, 18)),
            ),
        }.items()
    ],
    "inv": [(lambda m, x: m.inv(x), S), (lambda m, x: m.inv(x), SS)],
    "solve": [
        (lambda m, a, b: m.solve(a, b), a, b)
        for a, b in (
            (S, V[:3]),
            (S, B),
            (SS, V[:3]),
            (SS, B),
            (S, T.transpose(2, 1, 0)[:, :, None] + B),
            (SS, T),
            (SS[:1], T),
        )
    ],
    "solve_triangular": [
        (lambda m, a, b, lower=lower: m.solve_triangular(a, b, lower=lower), a, b)
        for a, b in ((S, V[:3]), (SS, B), (S, T), (SS, T))
        for lower in (False, True)
    ],
    "det": [
        (lambda m, x: m.det(x), x)
        for x in (S, SS, R1, np.diag([1.0, 0.0, 0.0]), A[:, :2], np.array([[3.0]]))
    ],
    "logdet": [(lambda m, x: m.logdet(x), x) for x in (S, SS)],
    "cofactors": [(lambda m, x: m.cofactors(x), S), (lambda m, x: m.cofactors(x * x), SS)],
    "cofactors_along": [
        (lambda m, x, t: m.cofactors_along(x, t), S, S.T @ S),
        (lambda m, x, t: m.cofactors_along(x, t), SS, SS),
    ],
    "cholesky": [(lambda m, x: m.cholesky(x), x) for x in (S @ S.T, SS @ SS.transpose(0, 2, 1))],
    "qr": [(lambda m, x: m.qr(x), x) for x in (S, B, A, SS, T, T.transpose(0, 2, 1))],
    "eigh": [
        *[(lambda m, x: m.eigh(x), x) for x in (S, SS, 1.5 * np.ones((1, 1)))],
        (lambda m, x: m.eigh(x)[0], S @ S.T),
        (lambda m, x: m.eigh(x)[1], S @ S.T),
    ],
    "svd": [
        *[(lambda m, x: m.svd(x), x) for x in (S, A, B, SS, T, T.transpose(0, 2, 1))],
        *[(lambda m, x, k=k: m.svd(x)[k], x) for k in range(3) for x in (A, B)],
    ],
    "over_spectrum": [
        (lambda m, x, s, by=by: m.over_spectrum(x, s, by=by, strict=True), x, s)
        for x, s in ((S, V[:3]), (SS, A))
        for by in ("gaps", "sums", "values")
    ],
    "lstsq": [
        (lambda m, a, b: m.lstsq(a, b), a, b)
        for a, b in (
            (S, V[:3]),
            (B, V[:3]),
            (A, V[:2]),
            (B, S),
            (A, B.T),
            (SS, T),
            (T, V[:3]),
            (T.transpose(0, 2, 1), A),
            (B, T[:, :3]),
        )
    ],
    "lstsq_of_full_rank": [
        (lambda m, a, b: m.lstsq_of_full_rank(a, b), a, b) for a, b in ((B, V[:3]), (A, B.T))
    ],
    "expm": [(lambda m, x: m.expm(x), x) for x in (S, SS, 3.0 * S)],
    "expm_along": [
        (lambda m, x, t: m.expm_along(x, t), S, S.T @ S),
        (lambda m, x, t: m.expm_along(x, t), SS, SS - 0.5),
    ],
    "conv": [
        (lambda m, x, k, o=o: m.conv(x, k, **o), IMAGES, KERNELS)
        for o in ({}, {"stride": 2}, {"padding": 1}, {"stride": [1, 3], "padding": [2, 0]})
    ],
    "conv_image": [
        (lambda m, y, k: m.conv_image(y, k, size=(5, 4), stride=1, padding=0), PLACES, KERNELS),
        (lambda m, y, k: m.conv_image(y, k, size=(5, 5), stride=2, padding=1), PLACES, KERNELS),
    ],
    "conv_kernel": [
        (lambda m, x, y: m.conv_kernel(x, y, size=(3, 2), stride=1, padding=0), IMAGES, PLACES),
        (lambda m, x, y: m.conv_kernel(x, y, size=(2, 2), stride=2, padding=1), IMAGES, PLACES),
    ],
    **{
        name: [
            (lambda m, a, v, name=name, mode=mode: getattr(m, name)(a, v, mode=mode), a, v)
            for a, v in ((V, W[:3]), (W[:2], V), (V, W), (V, W[:1]))
            for mode in ("full", "same", "valid")
        ]
        for name in ("convolve", "correlate")
    },
    **{
        name: [
            (
                lambda m, x, name=name, o=o: _parts(
                    m, getattr(m, name)(m.complex128(x * x) * C, **o)
                ),
                x,
            )
            for x, o in (
                (V, {}),
                (V[:3], {}),
                (V, {"n": 3}),
                (V, {"n": 7, "norm": "ortho"}),
                (T, {"axis": 1, "norm": "forward"}),
            )
        ]
        for name in ("fft", "ifft", "irfft")
    },
    "rfft": [
        (lambda m, x, o=o: _parts(m, m.rfft(x * x, **o)), x)
        for x, o in (
            (V, {}),
            (V[:3], {}),
            (V, {"n": 3}),
            (V, {"n": 7, "norm": "ortho"}),
            (T, {"axis": 1, "norm": "forward"}),
        )
    ],
    "twice_inside": [(lambda m, x, n=n: m.twice_inside(x * x, n=n, axis=1), T) for n in (4, 5)],
    "interp": [
        (lambda m, x, p, f: m.interp(x, p, f), x, KNOTS, W)
        for x in (V, A, 0.25, np.array([-3.0, 0.5, 2.0]))
    ],
    "linspace": [(lambda m, a, b, n=n: m.linspace(a * a, b, num=n), 1.5, -0.5) for n in (1, 4)],
    "full": [(lambda m, x: m.full(x * x, shape=[2, 3]), 1.5)],
    "cast": [(lambda m, x: m.cast(x * x, dtype="float64"), A)],
    "float64": [(lambda m, x: m.float64(x * x), A)],
    "complex128": [(lambda m, x: m.real(m.complex128(x * x) * (1 + 2j)), A)],
    "getitem": [(lambda m, x: m.getitem(x * x, index=(slice(None), 1)), T)],
}
# float32 rounds, so differences can't see its derivative; the weights of a median are steps; the
# engine's own primitives.
APART = {"float32", "median_weights", "setitem", "index_add", "part"} | {
    n for n, op in OPS.items() if op.category == "lanes"
}
IDS = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]
