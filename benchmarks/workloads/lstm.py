"""A long short-term memory of two small layers reads a text: a loop of a thousand turns over short
vectors, differentiated backwards.

The model is ADBench's (see `bundle`): its gates have weights element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Task, Workload, ratio

LENGTH, SIZE = 1_024, 14

PROGRAM = """
const text: float[n, h]; const state: float[4, h]
var main: float[4, m]; var extra: float[3, h]
fn layer(weight, bias, input, hidden, cell) {
    h = len(hidden)
    gates = concatenate([input, hidden, input, hidden])*weight + bias
    forget = sigmoid(gates[:h]); write = sigmoid(gates[h:2*h]); read = sigmoid(gates[2*h:3*h])
    cell = cell*forget + write*tanh(gates[3*h:])
    return [read*tanh(cell), cell]
}
turns = len(text) - 1
h1, c1, h2, c2 = state
total = 0.0
for t in range(turns) {
    h1, c1 = layer(main[0], main[1], text[t]*extra[0], h1, c1)
    h2, c2 = layer(main[2], main[3], h1, h2, c2)
    y = h2*extra[1] + extra[2]
    total = total + sum(text[t + 1]*(y - log(sum(exp(y)) + 2.0)))
}
output -total/(turns*len(text[0]))
"""

C = """
#include <math.h>
#include <string.h>

enum { H = 14, TURNS = 1023 };
typedef struct { double x[H], h[H], c[H], forget[H], write[H], read[H], new[H], bent[H]; } kept;

static void forwards(kept *k, const double *w, const double *b, const double *x, double *h, double *c) {
    memcpy(k->x, x, sizeof k->x);
    memcpy(k->h, h, sizeof k->h);
    memcpy(k->c, c, sizeof k->c);
    for (int j = 0; j < H; j++) {
        k->forget[j] = 1.0/(1.0 + exp(-(k->x[j]*w[j] + b[j])));
        k->write[j] = 1.0/(1.0 + exp(-(k->h[j]*w[H + j] + b[H + j])));
        k->read[j] = 1.0/(1.0 + exp(-(k->x[j]*w[2*H + j] + b[2*H + j])));
        k->new[j] = tanh(k->h[j]*w[3*H + j] + b[3*H + j]);
        c[j] = k->c[j]*k->forget[j] + k->write[j]*k->new[j];
        k->bent[j] = tanh(c[j]);
        h[j] = k->read[j]*k->bent[j];
    }
}

static void backwards(const kept *k, const double *w, double *by_w, double *by_b, double *by_x,
                      double *by_h, double *by_c) {
    for (int j = 0; j < H; j++) {
        double c = by_c[j] + by_h[j]*k->read[j]*(1.0 - k->bent[j]*k->bent[j]);
        double forget = c*k->c[j]*k->forget[j]*(1.0 - k->forget[j]);
        double write = c*k->new[j]*k->write[j]*(1.0 - k->write[j]);
        double read = by_h[j]*k->bent[j]*k->read[j]*(1.0 - k->read[j]);
        double new = c*k->write[j]*(1.0 - k->new[j]*k->new[j]);
        by_w[j] += forget*k->x[j];
        by_w[H + j] += write*k->h[j];
        by_w[2*H + j] += read*k->x[j];
        by_w[3*H + j] += new*k->h[j];
        by_b[j] += forget;
        by_b[H + j] += write;
        by_b[2*H + j] += read;
        by_b[3*H + j] += new;
        by_x[j] = forget*w[j] + read*w[2*H + j];
        by_h[j] = write*w[H + j] + new*w[3*H + j];
        by_c[j] = c*k->forget[j];
    }
}

void run(const double *text, const double *state, const double *main, const double *extra, double *loss,
         double *by_main, double *by_extra) {
    static kept first[TURNS], second[TURNS];
    static double exps[TURNS][H], sums[TURNS], last[TURNS][H];
    double s[4][H], by_s[4][H] = {0}, total = 0.0;
    memcpy(s, state, sizeof s);
    for (int t = 0; t < TURNS; t++) {
        const double *wanted = text + (t + 1)*H;
        double x[H], y[H], log_sum;
        for (int j = 0; j < H; j++) x[j] = text[t*H + j]*extra[j];
        forwards(&first[t], main, main + 4*H, x, s[0], s[1]);
        forwards(&second[t], main + 8*H, main + 12*H, s[0], s[2], s[3]);
        sums[t] = 2.0;
        for (int j = 0; j < H; j++) {
            last[t][j] = s[2][j];
            y[j] = s[2][j]*extra[H + j] + extra[2*H + j];
            exps[t][j] = exp(y[j]);
            sums[t] += exps[t][j];
        }
        log_sum = log(sums[t]);
        for (int j = 0; j < H; j++) total += wanted[j]*(y[j] - log_sum);
    }
    *loss = -total/(TURNS*H);
    memset(by_main, 0, 16*H*sizeof(double));
    memset(by_extra, 0, 3*H*sizeof(double));
    for (int t = TURNS - 1; t >= 0; t--) {
        const double *wanted = text + (t + 1)*H;
        double all = 0.0, by_x[H];
        for (int j = 0; j < H; j++) all += wanted[j];
        for (int j = 0; j < H; j++) {
            double by_y = -(wanted[j] - all*exps[t][j]/sums[t])/(TURNS*H);
            by_extra[H + j] += by_y*last[t][j];
            by_extra[2*H + j] += by_y;
            by_s[2][j] += by_y*extra[H + j];
        }
        backwards(&second[t], main + 8*H, by_main + 8*H, by_main + 12*H, by_x, by_s[2], by_s[3]);
        for (int j = 0; j < H; j++) by_s[0][j] += by_x[j];
        backwards(&first[t], main, by_main, by_main + 4*H, by_x, by_s[0], by_s[1]);
        for (int j = 0; j < H; j++) by_extra[j] += by_x[j]*text[t*H + j];
    }
}
"""

RANDOM = np.random.default_rng(0)
GIVEN = {
    "text": np.eye(SIZE)[RANDOM.integers(0, SIZE, LENGTH)],
    "state": RANDOM.normal(size=(4, SIZE)),
    "main": RANDOM.normal(size=(4, 4 * SIZE)),
    "extra": RANDOM.normal(size=(3, SIZE)),
}


def _c() -> Task:
    function, loss = tools.c_function(C), np.empty(1)

    def task() -> list[Any]:
        found = [np.empty_like(GIVEN[name]) for name in ("main", "extra")]
        function(*GIVEN.values(), loss, *found)
        return [loss[0], *found]

    return task


def _jax() -> Task:
    import jax
    import jax.numpy as jnp

    text, state, *by = (jnp.asarray(each) for each in GIVEN.values())

    def layer(weight: Any, bias: Any, x: Any, hidden: Any, cell: Any) -> Any:
        gates = jnp.concatenate((x, hidden, x, hidden)) * weight + bias
        forget, write, read = jax.nn.sigmoid(gates[: 3 * SIZE]).reshape(3, SIZE)
        cell = cell * forget + write * jnp.tanh(gates[3 * SIZE :])
        return read * jnp.tanh(cell), cell

    def loss(main: Any, extra: Any) -> Any:
        def turn(state: Any, signs: Any) -> Any:
            h1, c1, h2, c2 = state
            sign, wanted = signs
            h1, c1 = layer(main[0], main[1], sign * extra[0], h1, c1)
            h2, c2 = layer(main[2], main[3], h1, h2, c2)
            y = h2 * extra[1] + extra[2]
            return (h1, c1, h2, c2), jnp.sum(wanted * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2.0)))

        _, each = jax.lax.scan(turn, tuple(state), (text[:-1], text[1:]))
        return -jnp.sum(each) / ((LENGTH - 1) * SIZE)

    both = jax.jit(jax.value_and_grad(loss, (0, 1)))

    def task() -> list[Any]:
        value, gradients = jax.block_until_ready(both(*by))
        return [value, *gradients]

    return task


WORKLOADS = [
    Workload(
        "lstm",
        f"a long short-term memory of 2 layers of {SIZE}, {LENGTH:,} signs: its loss by its weights",
        [
            tools.contender(PROGRAM, GIVEN, ("main", "extra")),
            Contender(tools.BY_C, _c),
            Contender("jax (jit, scan)", _jax),
            tools.function(PROGRAM, GIVEN),
        ],
        [Goal("gradcli / C", "", 3.0, ratio("gradcli", tools.BY_C)), tools.CHEAP],
    ),
]
