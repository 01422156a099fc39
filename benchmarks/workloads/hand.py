"""The pose of a hand: 300 residuals by 26 parameters, through a chain of small matrices.

The model is ADBench's (see `bundle`), with made-up bones and vertices: a rotation and a translation
of the whole, and 20 angles of fingers. Each vertex follows all bones, with weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, milliseconds, ratio

BONES, VERTICES, SEEN, SIZE = 22, 544, 100, 26

PROGRAM = """
const parents: int64[b]; const base: float[b, 4, 4]; const inverse: float[b, 4, 4]
const vertices: float[4, v]; const weights: float[b, v]; const seen: int64[s]; const points: float[3, s]
frozen pose: float[p]
fn about_axis(r) {
    angle = sqrt(sum(r**2))
    x, y, z = r / angle
    s = sin(angle); c = cos(angle); d = 1.0 - c
    return [
        [x*x*d + c, x*y*d - z*s, x*z*d + y*s],
        [x*y*d + z*s, y*y*d + c, y*z*d - x*s],
        [x*z*d - y*s, y*z*d + x*s, z*z*d + c],
    ]
}
fn about_x(a) = [[1.0, 0.0, 0.0, 0.0], [0.0, cos(a), -sin(a), 0.0], [0.0, sin(a), cos(a), 0.0], [0.0, 0.0, 0.0, 1.0]]
fn about_z(a) = [[cos(a), -sin(a), 0.0, 0.0], [sin(a), cos(a), 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
fn residuals(pose) {
    bones = [base[k] for k in range(len(parents))]
    for f in range(5) {
        finger = pose[6 + 4*f : 10 + 4*f]; k = 2 + 4*f
        bones[k] = base[k] @ about_z(finger[1]) @ about_x(finger[0])
        for j in range(1, 3) { bones[k + j] = base[k + j] @ about_x(finger[1 + j]) }
    }
    for k in range(1, len(parents)) { bones[k] = bones[parents[k]] @ bones[k] }
    moved = zeros([3, len(vertices[0])])
    for k in range(len(parents)) { moved = moved + weights[k]*((bones[k] @ inverse[k])[:3] @ vertices) }
    return ravel((points - about_axis(pose[:3]) @ moved[:, seen] - expand_dims(pose[3:6], 1)).T)
}
output residuals(pose), jacobian(residuals, mode = "forward")(pose)
"""

C = """
#include <math.h>
#include <string.h>

enum { P = 26, LANES = 32, BONES = 22, VERTICES = 544, SEEN = 100 };
typedef struct { double v, d[LANES]; } dual;

static void plus(dual *r, double scale, const dual *a) {
    r->v += scale*a->v;
    for (int i = 0; i < LANES; i++) r->d[i] += scale*a->d[i];
}

static void plus_product(dual *r, const dual *a, const dual *b) {
    r->v += a->v*b->v;
    for (int i = 0; i < LANES; i++) r->d[i] += a->d[i]*b->v + a->v*b->d[i];
}

// `bone` turned: two of its columns change.
static void turn(dual bone[3][4], double angle, int lane, int first, int second) {
    double c = cos(angle), s = sin(angle);
    for (int i = 0; i < 3; i++) {
        dual a = bone[i][first], b = bone[i][second];
        memset(&bone[i][first], 0, sizeof(dual));
        memset(&bone[i][second], 0, sizeof(dual));
        plus(&bone[i][first], c, &a);
        plus(&bone[i][first], s, &b);
        plus(&bone[i][second], c, &b);
        plus(&bone[i][second], -s, &a);
        bone[i][first].d[lane] += c*b.v - s*a.v;
        bone[i][second].d[lane] -= s*b.v + c*a.v;
    }
}

static void about_axis(dual matrix[3][3], const double *r) {
    double n = sqrt(r[0]*r[0] + r[1]*r[1] + r[2]*r[2]), s = sin(n), c = cos(n), a[3], da[3][3];
    memset(matrix, 0, 9*sizeof(dual));
    for (int i = 0; i < 3; i++) a[i] = r[i]/n;
    for (int i = 0; i < 3; i++)
        for (int l = 0; l < 3; l++) da[i][l] = ((i == l) - a[i]*a[l])/n;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int k = 3 - i - j, sign = (j - i + 3)%3 == 1 ? -1 : 1;
            dual *m = &matrix[i][j];
            m->v = a[i]*a[j]*(1.0 - c) + (i == j ? c : sign*a[k]*s);
            for (int l = 0; l < 3; l++)
                m->d[l] = (da[i][l]*a[j] + a[i]*da[j][l])*(1.0 - c) + a[i]*a[j]*s*a[l]
                    + (i == j ? -s*a[l] : sign*(da[k][l]*s + a[k]*c*a[l]));
        }
}

void run(const long *parents, const double *base, const double *inverse, const double *vertices,
         const double *weights, const long *seen, const double *points, const double *pose,
         double *residuals, double *jacobian) {
    static dual bones[BONES][3][4], moved[VERTICES][3], whole[3][3];
    memset(bones, 0, sizeof bones);
    memset(moved, 0, sizeof moved);
    for (int k = 0; k < BONES; k++)
        for (int i = 0; i < 12; i++) (&bones[k][0][0])[i].v = base[16*k + i];
    for (int f = 0; f < 5; f++) {
        int k = 2 + 4*f, p = 6 + 4*f;
        turn(bones[k], pose[p + 1], p + 1, 0, 1);
        turn(bones[k], pose[p], p, 1, 2);
        for (int j = 1; j < 3; j++) turn(bones[k + j], pose[p + 1 + j], p + 1 + j, 1, 2);
    }
    for (int k = 1; k < BONES; k++) {
        dual local[3][4];
        memcpy(local, bones[k], sizeof local);
        memset(bones[k], 0, sizeof local);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) {
                for (int l = 0; l < 3; l++) plus_product(&bones[k][i][j], &bones[parents[k]][i][l], &local[l][j]);
                if (j == 3) plus(&bones[k][i][j], 1.0, &bones[parents[k]][i][3]);
            }
    }
    for (int k = 0; k < BONES; k++) {
        dual m[3][4] = {0};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++)
                for (int l = 0; l < 4; l++) plus(&m[i][j], inverse[16*k + 4*l + j], &bones[k][i][l]);
        for (int v = 0; v < VERTICES; v++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++) plus(&moved[v][i], weights[k*VERTICES + v]*vertices[j*VERTICES + v], &m[i][j]);
    }
    about_axis(whole, pose);
    for (int s = 0; s < SEEN; s++)
        for (int i = 0; i < 3; i++) {
            dual r = {0};
            for (int l = 0; l < 3; l++) plus_product(&r, &whole[i][l], &moved[seen[s]][l]);
            r.d[3 + i] += 1.0;
            residuals[3*s + i] = points[i*SEEN + s] - r.v - pose[3 + i];
            for (int p = 0; p < P; p++) jacobian[(3*s + i)*P + p] = -r.d[p];
        }
}
"""


def _given() -> dict[str, Any]:
    random = np.random.default_rng(0)
    base = np.tile(np.eye(4), (BONES, 1, 1))
    base[:, :3, 3] = random.normal(size=(BONES, 3))
    base[:, :3, :3], _ = np.linalg.qr(random.normal(size=(BONES, 3, 3)))
    parents = np.array([0, 0] + [1 if k % 4 == 2 else k - 1 for k in range(2, BONES)])
    weights = random.uniform(size=(BONES, VERTICES)) ** 4
    return {
        "parents": parents,
        "base": base,
        "inverse": np.linalg.inv(base),
        "vertices": np.vstack([random.normal(size=(3, VERTICES)), np.ones(VERTICES)]),
        "weights": weights / weights.sum(axis=0),
        "seen": random.choice(VERTICES, SEEN, replace=False),
        "points": random.normal(size=(3, SEEN)),
        "pose": 0.3 * random.normal(size=SIZE),
    }


GIVEN = _given()


def _gradcli() -> Task:
    import gradcli

    program = gradcli.load(source=PROGRAM).with_options(grad=False)
    return lambda: list(program.run(GIVEN).outputs.values())


def _c() -> Task:
    function = tools.c_function(C)

    def task() -> list[Any]:
        residuals, jacobian = np.empty(3 * SEEN), np.empty((3 * SEEN, SIZE))
        function(*GIVEN.values(), residuals, jacobian)
        return [residuals, jacobian]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    parents, seen, pose = GIVEN["parents"], GIVEN["seen"], jnp.asarray(GIVEN["pose"])
    base, inverse, vertices, weights, points = (
        jnp.asarray(GIVEN[name]) for name in ("base", "inverse", "vertices", "weights", "points")
    )

    def about_axis(r: Any) -> Any:
        angle = jnp.sqrt(jnp.sum(r**2))
        a = r / angle
        across = jnp.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
        return (
            jnp.outer(a, a) * (1 - jnp.cos(angle))
            + jnp.sin(angle) * across
            + jnp.cos(angle) * jnp.eye(3)
        )

    def about(angle: Any, i: int, j: int) -> Any:
        c, s = jnp.cos(angle), jnp.sin(angle)
        return jnp.eye(4).at[(i, i, j, j), (i, j, i, j)].set(jnp.stack([c, -s, s, c]))

    def residuals(pose: Any) -> Any:
        bones = list(base)
        for f in range(5):
            finger, k = pose[6 + 4 * f : 10 + 4 * f], 2 + 4 * f
            bones[k] = bones[k] @ about(finger[1], 0, 1) @ about(finger[0], 1, 2)
            for j in range(1, 3):
                bones[k + j] = bones[k + j] @ about(finger[1 + j], 1, 2)
        for k in range(1, BONES):
            bones[k] = bones[parents[k]] @ bones[k]
        each = (jnp.stack(bones) @ inverse)[:, :3] @ vertices
        moved = jnp.sum(weights[:, None] * each, axis=0)
        return (points - about_axis(pose[:3]) @ moved[:, seen] - pose[3:6, None]).T.ravel()

    both = jax.jit(lambda pose: (residuals(pose), jax.jacfwd(residuals)(pose)))
    return lambda: list(jax.block_until_ready(both(pose)))


WORKLOADS = [
    Workload(
        "hand",
        f"the pose of a hand: {3 * SEEN} residuals by {SIZE} parameters, forwards",
        [
            Contender("gradcli", _gradcli),
            Contender(tools.BY_C, _c),
            Contender("jax (jit, jacfwd)", _jax),
        ],
        [
            Goal("gradcli / C", "", 5.0, ratio("gradcli", tools.BY_C)),
            Goal("residuals and Jacobian", "ms", 3.0, milliseconds("gradcli")),
        ],
    ),
]
