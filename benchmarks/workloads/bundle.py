"""Bundle adjustment: by what cameras, points and weights move the residuals of 31,843 observations.

The model is that of ADBench (Šrajer, Kukelova, Fitzgibbon, "A benchmark of selected algorithmic
differentiation tools on some problems in computer vision and machine learning"): a rotation by
Rodrigues' formula, a projection with radial distortion, and a weight for each observation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradcli

from ..workload import Contender, Goal, Task, Workload, ratio

CAMERAS, POINTS, SEEN = 49, 7_776, 31_843
PROGRAM = """
frozen camera: int64[n]; frozen point: int64[n]; frozen seen: float[n, 2]
var cameras: float[c, 11]; var points: float[m, 3]; var weights: float[n]
fn cross(a, b) = [a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]]
fn rotated(r, x) {
    angle = sqrt(r[0]**2 + r[1]**2 + r[2]**2)
    axis = [r[k]/angle for k in range(3)]
    across = cross(axis, x)
    along = (axis[0]*x[0] + axis[1]*x[1] + axis[2]*x[2])*(1.0 - cos(angle))
    return [x[k]*cos(angle) + across[k]*sin(angle) + axis[k]*along for k in range(3)]
}
# of a camera: its rotation, centre, focal length, principal point and distortion
fn residual(c, x, w, seen) {
    p = rotated(c[:3], [x[k] - c[3 + k] for k in range(3)])
    u = p[0]/p[2]; v = p[1]/p[2]
    r2 = u*u + v*v
    bent = 1.0 + c[9]*r2 + c[10]*r2*r2
    return array([w*(u*bent*c[6] + c[7] - seen[0]), w*(v*bent*c[6] + c[8] - seen[1])])
}
"""
BLOCKS = "output vmap(jacobian(residual, wrt = [0, 1, 2]))(cameras[camera], points[point], weights, seen)"
ENTRIES = "r = vmap(residual)(cameras[camera], points[point], weights, seen)\noutput r"


def _given() -> dict[str, Any]:
    random = np.random.default_rng(0)
    cameras = 0.1 * random.normal(size=(CAMERAS, 11))
    cameras[:, 5] -= 5.0
    cameras[:, 6] = 500.0
    cameras[:, 9:] *= 0.1
    return {
        "cameras": cameras,
        "points": random.normal(size=(POINTS, 3)),
        "weights": random.uniform(0.5, 1.0, SEEN),
        "camera": random.integers(0, CAMERAS, SEEN),
        "point": random.integers(0, POINTS, SEEN),
        "seen": 10.0 * random.normal(size=(SEEN, 2)),
    }


GIVEN = _given()


def _blocks() -> Task:
    program = gradcli.load(source=PROGRAM + BLOCKS).with_options(grad=False)

    def task() -> list[Any]:
        (blocks,) = program.run(GIVEN).outputs.values()
        return [0.0, *blocks]

    return task


def _entries() -> Task:
    program = gradcli.load(source=PROGRAM + ENTRIES)
    program = program.with_options(grad=False, jacobian=True, sparse=True)

    def task() -> list[Any]:
        (row,) = program.run(GIVEN).jacobians.values()
        return [0.0, *[_summed(row[name]) for name in ("cameras", "points", "weights")]]

    return task


def _summed(found: dict[str, Any]) -> Any:
    """The entries of a residual added up, with weights by which places differ."""
    weights = 1.0 + found["cols"] % 11
    return np.bincount(found["rows"], found["values"] * weights, 2 * SEEN)


def _columns() -> Task:
    """What an observation has, a column each; and its derivatives by complex steps."""
    columns = [
        *GIVEN["cameras"][GIVEN["camera"]].T,
        *GIVEN["points"][GIVEN["point"]].T,
        GIVEN["weights"],
    ]
    step = 1e-30

    def task() -> list[Any]:
        found = np.empty((len(columns), SEEN, 2))
        for k, column in enumerate(columns):
            moved = [*columns[:k], column + 1j * step, *columns[k + 1 :]]
            for j, part in enumerate(_residual(*moved)):
                found[k, :, j] = part.imag / step
        blocks = found.transpose(1, 2, 0)
        return [0.0, blocks[..., :11], blocks[..., 11:14], blocks[..., 14]]

    return task


def _residual(*columns: Any) -> list[Any]:
    """The residuals of all observations by NumPy."""
    c, x, w = columns[:11], columns[11:14], columns[14]
    x = [x[k] - c[3 + k] for k in range(3)]
    angle = np.sqrt(c[0] ** 2 + c[1] ** 2 + c[2] ** 2)
    a, cos, sin = [c[k] / angle for k in range(3)], np.cos(angle), np.sin(angle)
    along = (a[0] * x[0] + a[1] * x[1] + a[2] * x[2]) * (1.0 - cos)
    p = [
        x[k] * cos + (a[k - 2] * x[k - 1] - a[k - 1] * x[k - 2]) * sin + a[k] * along
        for k in range(3)
    ]
    u, v = p[0] / p[2], p[1] / p[2]
    r2 = u * u + v * v
    bent, seen = 1.0 + c[9] * r2 + c[10] * r2 * r2, GIVEN["seen"]
    return [
        w * (u * bent * c[6] + c[7] - seen[:, 0]) + 0j,
        w * (v * bent * c[6] + c[8] - seen[:, 1]) + 0j,
    ]


def _listed() -> list[Any]:
    """The complex steps' derivatives as `_summed` has them."""
    _, of_cameras, of_points, of_weights = _columns()()
    places = {
        "cameras": GIVEN["camera"][:, None] * 11 + np.arange(11),
        "points": GIVEN["point"][:, None] * 3 + np.arange(3),
    }
    return [
        0.0,
        ((1.0 + places["cameras"] % 11)[:, None] * of_cameras).sum(axis=2).ravel(),
        ((1.0 + places["points"] % 11)[:, None] * of_points).sum(axis=2).ravel(),
        ((1.0 + np.arange(SEEN) % 11)[:, None] * of_weights).ravel(),
    ]


WORKLOADS = [
    Workload(
        "bundle",
        f"bundle adjustment: the derivatives of {2 * SEEN:,} residuals by 15 numbers each",
        [
            Contender("gradcli, blocks of each observation", _blocks),
            Contender("gradcli, --jacobian --sparse", _entries, expected=_listed),
            Contender("NumPy, complex steps", _columns),
        ],
        [
            Goal(
                "blocks against complex steps",
                "×",
                1.0,
                ratio("gradcli, blocks of each observation", "NumPy, complex steps"),
            ),
            Goal(
                "entries against complex steps",
                "×",
                4.0,
                ratio("gradcli, --jacobian --sparse", "NumPy, complex steps"),
            ),
        ],
    )
]
