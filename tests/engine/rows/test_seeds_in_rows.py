"""Cotangents and tangents that a program gives to a derivative, where rows have parted: those of a
row are its own."""

from __future__ import annotations

import pytest

from .ways import verify_every_way

# Derivatives along a direction that differs between rows.
ASKED = {
    "hvp": "hvp(fn(q) = q * q)(3.0, u)",
    "hvp_captures": "hvp(fn(q) = q * q * w)(3.0, u * w)",
    "hvp_array": "sum(hvp(fn(q) = sum(q**3) * w)([3.0, 1.0], [u, 2.0]))",
    "hvp_value": "hvp(w**3, w, u * w)",
    "vjp": "vjp(fn(q) = q * q)(3.0, u)",
    "vjp_passes_on": "vjp(fn(q) = q)(3.0, u * w)",
    "vjp_captures": "vjp(fn(q) = q * q * u)(3.0, u)",
    "vjp_array": "sum(vjp(fn(q) = q**3 * w)([3.0, 1.0], [u * w, 2.0]))",
    "vjp_value": "vjp(w**3, w, u)",
    "jvp": "jvp(fn(q) = q * q)(3.0, u * w)",
    "jvp_value": "jvp(w**3, w, u)",
    "grad_shared": "grad(w * w, w, seed = u * w)",
    "grad_own": "grad(u * w, w, seed = u)",
    "nested": "grad(fn(q) = vjp(fn(p) = p**3)(q, u * w))(2.0)",
}
TAPED = "tape t { t.watch(w); z = w**3 }; return t.gradient(z, w, seed = u)"

# The ways in which rows part. Each has `EXPR` where some rows are without the others.
WAYS = {
    "all rows": "return EXPR",
    "a branch": "if u > 15.0 { return EXPR }; return 0.5",
    "a choice": "return EXPR if u > 15.0 else 0.5 * u",
    "branches in branches": "if u > 15.0 { if u < 30.0 { return 0.25 }; s = EXPR } else { s = EXPR * 2 }; return s",
    "an index": "v = [1.0, [2.0]]; k = sum(array([v[int64(u > 15.0)]])); return EXPR * k",
    "a mask": "v = array([u, 15.0]); k = sum(v[v > 14.0]); return EXPR * k",
    "a shape": "k = sum(ones(1 + int64(u > 15.0))); return EXPR * k",
    "a while loop": "s = 0.0; n = abs(u); while n > 8.0 { s = s + EXPR; n = n * 0.5 }; return s",
    "a range": "s = 0.0; for i in range(int64(abs(u)) // 8) { s = s + EXPR * (1.0 + i) }; return s",
    "a break": "s = 0.0; for i in range(4) { if i * 12.0 > u { break }; s = s + EXPR }; return s",
    "rows in rows": "return sum(vmap(fn(k) = EXPR * k if k * 12 < u else 1.5)([1.0, 2.0, 3.0]))",
}


@pytest.mark.parametrize("way", WAYS)
def test_seeds(way: str) -> None:
    """Values, and derivatives of them."""
    rows = {name: WAYS[way].replace("EXPR", text) for name, text in ASKED.items()}
    if way == "a branch":
        rows["taped"] = f"if u > 15.0 {{ {TAPED} }}; return 0.5"
    functions = "\n".join(f"fn of_{name}(u, w) {{ {body} }}" for name, body in rows.items())
    asked = {name: f"of_{name}(u, w)" for name in rows}
    asked |= {f"d_{name}": f"grad(of_{name})(u, w)" for name in rows if "value" not in name}
    verify_every_way(functions, asked=asked)
