"""Statements on values of all kinds, step by step: each step is one of its texts, in which `{v}` is
a fresh name, `{f}` a float, `{i}` an int and `{c}` a condition."""

from __future__ import annotations

INTS = (
    ("{v} = array([{i}, {i}, 3])",),
    (
        "if {c} { {v} = {v} * {f} }",
        "if {c} { {v} = {v} + 1 }",
        "if {c} { {v} = {v} // 2 }",
        "if {c} { {v} = {v} / 2 }",
    ),
    ("{v}[0] = {f}", "{v}[abs(k) % 3] += {i}", "{v} = {v} * 2", "{v}[1:] = {i}"),
    ("s = s + sum({v}) * 0.125", "t = {v}[0] * x", "a = a + {v}", "s = s * 0.5 + max({v} % 3)"),
)
MIXED = (
    ("{v} = {i}",),
    ("if {c} { {v} = {f} }",),
    (
        "s = s + {v} // 2",
        "t = {v} % 3",
        "s = {v}**2",
        "t = max([{v}, 1])",
        "t = {v} if {v} == 2 else -{v}",
        "t = grad(fn(z) = z * {v} * z)(s)",
        "{v} += 1; t = {v} * 0.5",
        "s = s + sum(array([{v}, 2]) * 3)",
    ),
)
DICTS = (
    ("{v} = {p: {f}, r: [{f}, {i}]}",),
    ("if {c} { {v}.p = {f}; {v}.r[1] = {i} }",),
    (
        "s = {v}.p + {v}.r[1]",
        't = {v}.r[0] * {v}["p"]',
        "t = t + grad(fn(m) = m.p * m.r[0])({v}).p",
    ),
)
LISTS = (
    ("{v} = [{f}, {i}, {f}]",),
    ("for g in {v}[:2] { s = s * 0.5 + g }",),
    ("{v}[abs(k) % 3] = {f}", "{v} = {v}[1:]", "{v} = append({v}, {f})", "t = {v}[-1] * t"),
    ("t = t + sum({v}) * 0.25",),
)
MATRICES = (
    ("{v} = array([[{f}, {f}], [{f}, 2.0 + {f}]])",),
    (
        "s = sum({v} @ a[:2]) * 0.1",
        "t = det({v})",
        "t = trace({v} @ {v})",
        "s = s + sum(tanh({v}) * [[1.0, x], [u, 0.5]])",
        "a[1:] = {v}[0] * s",
        's = sum(einsum("ij,j->i", {v}, a[1:]))',
        "t = norm({v})",
        "s = s + sum(logsumexp({v}, axis = 1)) * 0.1",
        "t = sum(cumsum({v}, axis = 0)[1])",
    ),
)
COMPLEX = (
    ("{v} = {f} + {f} * 1j",),
    (
        "s = real({v} * {v}) * 0.1",
        "t = abs({v} + 1)",
        "t = imag(exp({v} * 0.1))",
        "a = a + real(fft(a)) * 0.1",
    ),
)
FUNCTIONS = (
    (
        "fn {v}(z, c = 0.5) { if z > c { return z * {f} }; y = z; "
        "for j in range(abs(n) % 3) { y = y * 0.5 + j }; return y }",
    ),
    (
        "s = {v}({f})",
        "t = {v}({f}, c = {f})",
        "t = grad({v})({f})",
        "a = vmap({v})(a)",
        "s = s + sum(vmap({v}, in_axes = [0, none])(a, {f})) * 0.1",
        "t = jvp({v})(s, {f})",
        "t = grad({v}, wrt = 1)({f}, {f})",
    ),
)
ARRAYS = (
    (
        "a = take(a, [k % 3, 0, 1])",
        "a = roll(a, k)",
        "s = s + sum(a[a > {f}])",
        "t = a[argmax(a)]",
        "s = median(a)",
        "a = a.reshape(3, 1).ravel()",
        "a = softmax(a) * 2",
        "a = scatter_add(a, [k % 3], [{f}])",
        "t = interp({f}, [0.0, 1.0, 2.0], a)",
        "a = tile(a[:1], 3) + [0, 1, 2]",
        "s = sum(sort(a)[:2])",
    ),
)
VALUES = (INTS, MIXED, DICTS, LISTS, MATRICES, COMPLEX, FUNCTIONS, ARRAYS)
