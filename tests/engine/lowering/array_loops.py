"""Programs with loops over arrays, and what is at the edges of that."""

from __future__ import annotations

HEAD = """\
var x = 0.7
var v = linspace(0.1, 1.0, 30)
w = linspace(1.0, 0.0, 30)
m = reshape(w, [5, 6])
"""
PROGRAMS = [
    "e = []\nfor k in range(5) { a = zeros([0]); s = sum(a) + x }\noutput s",
    "c = v + 1j * w\nfor k in range(5) { c = c * x }\noutput abs(sum(c))",
    "for k in range(5) { a = v; a = a * 1; a[k] = x; b = a }\noutput a, b, v",
    "for k in range(5) { a = v; b = a * x; c = b; c[0] = 9.0 }\noutput b, c",
    "for k in range(5) { p = v[2]; q = w[k]; v2 = v[k:] }\noutput p, q, v2",
    "for k in range(5) { a = m[k]; a[0] = x; b = m[:, k] }\noutput a, b, m",
    "for k in range(5) { a = m @ v[0:6]; b = v[0:5] @ m; c = m.T @ m; d = dot(v, w) }\noutput a, b, c, d",
    "for k in range(5) { a = m @ v }\noutput a",
    "for k in range(5) { a = m + v }\noutput a",
    "for k in range(5) { a = v[40] }\noutput a",
    "for k in range(5) { a = v ** -0.5; b = (-v) ** 0.5; c = log(w) }\noutput a, sum(b), c",
    "for k in range(5) { a = max(v * 0); b = min([x, x, 3]); c = max(log(w)) }\noutput a, b, c",
    "for k in range(5) { a = softmax(log(w)); b = logsumexp(v - inf) }\noutput a, b",
    "for k in range(5) { a = v / (k - 2); b = int64(w * 9) // 2; c = b % 3; d = b / 2 }\noutput a, b, c, d",
    "for k in range(5) { b = int64(w * 9) // (k - 2) }\noutput b",
    "for k in range(5) { b = int64(w * 9) * 4611686018427387904 }\noutput b",
    "fn f(n) = sum(ones([n]) * x)\ns = 0.0\nfor k in range(12) { s += f(k + 1) }\noutput s",
    "fn f(n, z) { a = zeros([n]); for i in range(n) { a[i] = z * i }; return a }\ns = 0.0\nfor k in range(6) { s += sum(f(20, x)) + sum(f(21, x * k)) }\noutput s, grad(fn(z) = sum(f(20, z)))(x)",
    "fn f(z) = [a * z for a in v]\nfor k in range(4) { q = f(x); r = sum(q) * q[3] + len(q) }\noutput r, q",
    "fn f(z) = [a * z for a in v if a > 0.5]\nfor k in range(4) { q = f(x); r = sum(q) * q[3] + len(q) }\noutput r, q",
    "r = []\nfor k in range(70) { if k == 30 { break }; r = append(r, k * x) }\noutput sum(r), len(r)",
    "r = [1]\nfor k in range(70) { r = append(r, k * x) }\noutput sum(r), len(r), r[0]",
    "r = []\nq = []\nfor k in range(70) { r = append(r, k * x); q = append(q, r[k] + len(r)) }\noutput sum(r), q[60], r[-1]",
    "r = []\nfor k in range(70) { r = append(r, [k, x]) }\noutput r[3][1], len(r)",
    "r = []\nfor k in range(70) { s = r; r = append(r, 1.0 * k) }\noutput len(s), len(r), x",
    "for k in range(4) { t = 0; for i in range(3) { for j in range(i) { t += j * x } }; u = range(4); for i in u { t += i } }\noutput t, len(u)",
    "for k in range(4) { a = transpose(m); b = reshape(m, 30); c = reshape(m, [-1, 10]); d = ravel(m * x) }\noutput a, b, c, d",
    "for k in range(4) { a = sum(m, axis = -1); b = sum(m, axis = 0); c = mean(v, axis = 0); d = sum(m > 0.5) ; e = norm(m * x) }\noutput a, b, c, d, e",
    "for k in range(4) { a = where(v > 0.5, x, 0.0); b = clip(v, 0.2, x); c = v == w; d = minimum(v, w) ; e = sign(w - 0.5) }\noutput a, b, c, d, e",
    "for k in range(4) { a = arange(20) * x; b = arange(3) + k; c = eye(3) * x; d = eye(2, 3) }\noutput a, b, c, d",
    "fn f(a) { a[0] = 5.0; return a }\nfor k in range(4) { b = w * 1; c = f(b); d = f(v) }\noutput b, c, d, v",
    "for k in range(4) { a = v > 0.5; b = a; s = any(a); t = all(a[20:]); n = sum(a[0:9]); a[3] = true }\noutput a, b, s, t, n * x",
    "var u = [1.0, 2.0]\nfor k in range(4) { y = u * x; z = u }\noutput y, z",
    "for k in range(9) { a = zeros([30]); if k > 4 { a[k] = x }; b = a if k % 2 == 0 else w }\noutput a, b",
    "fn f(l) = l[1]\na = [1.0 * k for k in range(70)]\nb = [[1.0, x] if k % 2 == 0 else [3.0] for k in range(70)]\ns = [\"s\" for k in range(70)]\nt = 0\nfor l in [a, b, s, a] { r = f(l); t += len(l) }\noutput r, t * x",
    "r = [1.0]\nfor k in range(70) { r = append(r, \"s\") if k < 0 else append(r, x) }\nq = []\nfor k in range(70) { q = append(q, \"s\") }\noutput sum(r), len(q)",
    f"for k in range(4) {{ s = sum({' + '.join(['v * w'] * 200)}) }}\noutput s * x",
    "for k in range(4) { s = sum(exp(v * x) * reshape(ones([90]), [3, 30]) + m[k, 0]) }\noutput s",
    "for k in range(4) { s = sum(v[1:29]) + mean(w[::2] * 1) + norm(v[5:25]) + sum(m[1:, 1:]) + sum(full([20], x)) }\noutput s",
]  # fmt: skip
