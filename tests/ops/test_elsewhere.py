"""Formulas for functions of other languages: each gives what the function does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import gradcli
from gradcli.ops.elsewhere import FORMULAS, suggestion

A, B = np.array([0.2, 0.9, 0.4, 2.0, 0.7]), np.array([0.3, 0.8, 0.5, 2.5, 0.7])
MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
P, Q = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.4, 0.2])
T = np.array([0.0, 1.0, 1.0])

COUNTERPARTS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "factorial": (special.factorial, {"n": 5.0}),
    "comb": (special.comb, {"n": 7.0, "k": 3.0}),
    "heaviside": (lambda x: np.heaviside(x, 1.0), {"x": A - 0.5}),
    "reciprocal": (np.reciprocal, {"x": A}),
    "lerp": (lambda a, b, t: a + (b - a) * t, {"a": A, "b": B, "t": 0.3}),
    "cdf": (stats.norm.cdf, {"x": A}),
    "pdf": (stats.norm.pdf, {"x": A}),
    "rel_entr": (special.rel_entr, {"p": P, "q": Q}),
    "kl_div": (lambda p, q: np.sum(special.rel_entr(p, q)), {"p": P, "q": Q}),
    "entropy": (stats.entropy, {"p": P}),
    "bce": (lambda t, p: -np.mean(np.log(np.where(t == 1, p, 1 - p))), {"t": T, "p": P}),
    "mse": (lambda y, t: np.mean((y - t) ** 2), {"y": P, "t": T}),
    "diff": (np.diff, {"x": A}),
    "trapezoid": (lambda y, x: np.trapezoid(y, x), {"y": B, "x": np.sort(A)}),
    "ptp": (np.ptp, {"x": A}),
    "quantile": (lambda x, q: np.quantile(x, q), {"x": A, "q": 0.3}),
    "percentile": (lambda x, q: np.percentile(x, q), {"x": A, "q": 30.0}),
    "geomspace": (lambda a, b, n: np.geomspace(a, b, n), {"a": 0.5, "b": 20.0, "n": 4}),
    "fftshift": (np.fft.fftshift, {"x": A}),
    "masked_fill": (lambda x, mask, v: np.where(mask, v, x), {"x": A, "mask": A > 0.5, "v": 9.0}),
    "compress": (lambda x, mask: x[mask], {"x": A, "mask": A > 0.5}),
    "reversed": (lambda x: x[::-1], {"x": A}),
    "isclose": (np.isclose, {"a": A, "b": B}),
    "allclose": (np.allclose, {"a": A, "b": B}),
    "array_equal": (np.array_equal, {"a": A, "b": B}),
    "column_stack": (lambda a, b: np.column_stack([a, b]), {"a": A, "b": B}),
    "mm": (np.matmul, {"a": MATRIX, "b": MATRIX}),
    "eigvalsh": (np.linalg.eigvalsh, {"a": MATRIX}),
    "svdvals": (np.linalg.svdvals, {"a": MATRIX}),
    "log_sigmoid": (lambda x: np.log(special.expit(x)), {"x": A}),
    "hardtanh": (lambda x: np.clip(x, -1, 1), {"x": A}),
    "softsign": (lambda x: x / (1 + np.abs(x)), {"x": -A}),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), {"x": A}),
    "sech": (lambda x: 1 / np.cosh(x), {"x": A}),
    "sec": (lambda x: 1 / np.cos(x), {"x": A}),
    "csc": (lambda x: 1 / np.sin(x), {"x": A}),
    "cot": (lambda x: 1 / np.tan(x), {"x": A}),
}


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_a_formula_is_what_is_meant(name: str) -> None:
    function, given = COUNTERPARTS[name]
    declared = "".join(f"const {each}\n" for each in given if each != "n")
    counted = f"const n = {given['n']}\n" if "n" in given else ""
    source = f"{declared}{counted}output y = {FORMULAS[name]}"
    found = gradcli.load(source=source).run({k: v for k, v in given.items() if k != "n"})
    np.testing.assert_allclose(found.outputs["y"], function(*given.values()), rtol=1e-12)


def test_each_formula_has_a_counterpart() -> None:
    assert {FORMULAS[name] for name in COUNTERPARTS} == set(FORMULAS.values())


def test_a_formula_is_the_help() -> None:
    assert suggestion("factorial", [], called=True) == "write `gamma(n + 1)`"
    with pytest.raises(gradcli.GradcliError, match=re.escape("write `x[1:] - x[:-1]`")):
        gradcli.load(source="x = [1.0, 2.0]\ny = diff(x)")
    assert suggestion("diff", []) == ""  # of a name that isn't called
