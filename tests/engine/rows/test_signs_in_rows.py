"""The sign of a zero that rows write on different paths: each row has its own, whatever its
neighbours have."""

from __future__ import annotations

import pytest

from gradcli.engine.backends.tiers import NATIVE, WRITTEN, only

from .ways import VALUE, verify_every_way

ROWS = {
    "a name that branches assign": "if u > 15.0 { z = 0.0 } else { z = -0.0 }; return 1.0 / z + u",
    "a name that a branch assigns anew": "z = 0.0; if u > 15.0 { z = -0.0 }; return atan2(z, -1.0) * u",
    "an expression": "return atan2(-0.0 if u > 15 else 0.0, -1.0) * u",
    "what a function returns": "return atan2(zero(u), -1.0) * u",
    "a list": "z = [0.0, 1.0]; if u > 15.0 { z = [-0.0, 1.0] }; return atan2(z[0], -1.0) * u",
    "a list of dicts": "z = [{a: 0.0}]; if u > 15.0 { z = [{a: -0.0}] }; return atan2(z[0].a, -1.0) * u",
    "a complex number": "z = 0.0j; if u > 15.0 { z = -z }; return atan2(imag(z), -1.0) * u + atan2(real(z), -1.0)",
    "a loop that turns it": "z = 0.0; for k in range(3) { if u > 15.0 * k { z = -z } }; return atan2(z, -1.0) * u",
    "a slope of a sum": "s = -0.0 * u; a = grad(fn(b) = sum(b * b * s))(array([4.0, 1.0]) * u); return atan2(a[0], -1.0) * u",
    "a tangent of a sum": "v = array([0.0, 0.0]) * u; return atan2(jvp(fn(b) = sum(-b * u))(array([4.0, 1.0]), v), -1.0)",
    "a loop that rows leave": "z = -0.0; for k in range(3) { if u > 15.0 * k { break }; z = 0.0 }; return atan2(z, -1.0) * u",
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    zero = "fn zero(u) { if u > 15.0 { return -0.0 } else { return 0.0 } }\n"
    # Machine code adds the tangents of a sum, and not a zero first, as NumPy does.
    with only(WRITTEN if name == "a tangent of a sum" else NATIVE):
        verify_every_way(f"{zero}fn row(u, w) {{ {ROWS[name]} }}", asked=VALUE)
