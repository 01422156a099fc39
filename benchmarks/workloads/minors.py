"""The determinant of a small matrix by its minors, a function that calls itself for each, and its
gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tools
from ..workload import Contender, Goal, Workload, milliseconds, ratio

N = 8
A = np.random.default_rng(0).normal(size=(N, N))

PROGRAM = """
var a: float[n, n]
fn determinant(a) {
    n = len(a)
    if n == 1 { return a[0, 0] }
    total = 0.0; sign = 1.0
    for k in range(n) {
        total = total + sign*a[0, k]*determinant(concatenate([a[1:, :k], a[1:, k + 1:]], axis = 1))
        sign = -sign
    }
    return total
}
output determinant(a)
"""
LISTS = """
var a: float[n, n]
fn determinant(a) {
    if len(a) == 1 { return a[0][0] }
    total = 0.0; sign = 1.0
    for k in range(len(a)) {
        minor = [[row[j] for j in range(len(row)) if j != k] for row in a[1:]]
        total = total + sign*a[0][k]*determinant(minor)
        sign = -sign
    }
    return total
}
output determinant([[a[i, j] for j in range(8)] for i in range(8)])
"""

C = """
#include <string.h>

enum { N = 8 };
static double found[110000];  // the minors, in the order in which they are computed
static long count;

static double determinant(int n, const int *columns, const double *a) {
    if (n == 0) return 1.0;
    const double *row = a + (N - n)*N;
    double total = 0.0, sign = 1.0;
    for (int k = 0; k < n; k++, sign = -sign) {
        int rest[N];
        for (int j = 0; j < n - 1; j++) rest[j] = columns[j + (j >= k)];
        double minor = determinant(n - 1, rest, a);
        found[count++] = minor;
        total += sign*row[columns[k]]*minor;
    }
    return total;
}

static void back(int n, const int *columns, const double *a, double seed, double *gradient) {
    if (n == 0) return;
    const double *row = a + (N - n)*N;
    double *by_row = gradient + (N - n)*N, sign = n%2 ? 1.0 : -1.0;
    for (int k = n - 1; k >= 0; k--, sign = -sign) {
        int rest[N];
        for (int j = 0; j < n - 1; j++) rest[j] = columns[j + (j >= k)];
        by_row[columns[k]] += seed*sign*found[--count];
        back(n - 1, rest, a, seed*sign*row[columns[k]], gradient);
    }
}

void run(const double *a, double *value, double *gradient) {
    int columns[N];
    for (int k = 0; k < N; k++) columns[k] = k;
    memset(gradient, 0, N*N*sizeof(double));
    count = 0;
    *value = determinant(N, columns, a);
    back(N, columns, a, 1.0, gradient);
}
"""


def _c() -> Any:
    function, value = tools.c_function(C), np.empty(1)

    def task() -> list[Any]:
        gradient = np.empty((N, N))
        function(A, value, gradient)
        return [value[0], gradient]

    return task


def _expected() -> list[Any]:
    value = np.linalg.det(A)
    return [value, value * np.linalg.inv(A).T]


WORKLOADS = [
    Workload(
        "minors",
        f"the determinant of {N} x {N} numbers by its minors, and its gradient",
        [
            tools.contender(PROGRAM, {"a": A}, ("a",), expected=_expected),
            tools.contender(LISTS, {"a": A}, ("a",), "gradcli, of lists", expected=_expected),
            Contender("C by hand", _c, expected=_expected),
        ],
        [
            Goal("gradcli / C", "", 4.0, ratio("gradcli", "C by hand")),
            Goal("gradcli, of lists / C", "", 4.0, ratio("gradcli, of lists", "C by hand")),
            Goal("value and gradient", "ms", 1.0, milliseconds("gradcli")),
        ],
    ),
]
