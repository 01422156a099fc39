"""What only some rows overwrite afterwards: in these its derivative is 0 or none, as it is alone,
however it was computed."""

from __future__ import annotations

import pytest

from .ways import verify_every_way

RULE = "fn h(a) { return a * a } backward (dy) { return 3.0 * dy * a }\n"
PLAIN = "fn h(a) { return a * a * a }\n"
ROWS = {
    "vmap": "r = vmap(h)([u * u, 2.0 * u])[0]; if u > 15.0 { r = 3.0 }; return r",
    "vmap of a derivative": "r = sum(vmap(grad(h))([u * u, 2.0 * u])); if u > 15.0 { r = 3.0 }; return r",
    "with what rows share": "r = sum(vmap(grad(fn(q) = h(q) * w))([u, 2.0])); if u > 15.0 { r = 3.0 }; return r",
    "in a loop": "r = 0.0; for k in range(2) { r = vmap(grad(h))([u, 2.0 * u])[k]; if u > 15.0 * k { r = w } }; return r",
    "by parts": "r = [0.0, 0.0]; for k in range(2) { r[k] = vmap(grad(h))([u, w])[k] }; if u > 15.0 { r[0] = 1.0 }; return r[0]",
    "inside":
        "return vmap(grad(fn(q) { s = h(q * u); if q > 300 { s = 2.0 }; return s }))([u * u, 2.0 * u])[0]",
    "of no inner row": "return sum(vmap(fn(q) { s = h(q * u); if q > 30 { s = 2.0 }; return s })([u, 2.0 * u]))",
    "vmap in vmap":
        "r = sum(vmap(fn(p) = sum(vmap(grad(h))([p * u, p])))([u, 2.0])); if u > 15.0 { r = w }; return r",
}  # fmt: skip
ASKED = {"by_row": "grad(row)(u, w)", "by_shared": "grad(row, wrt = 1)(u, w)"}


@pytest.mark.parametrize("functions", [RULE, PLAIN], ids=["a rule", "no rule"])
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, functions: str) -> None:
    verify_every_way(f"{functions}fn row(u, w) {{ {ROWS[name]} }}", asked=ASKED)
