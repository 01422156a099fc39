"""Programs that compute with small arrays in a function that is called more than once."""

from __future__ import annotations

HEAD = (
    "var x = linspace(0.3, 1.7, 4); var w = linspace(-1.0, 2.0, 4); var s = 0.7\n"
    "var m = reshape(linspace(0.1, 3.0, 12), [3, 4]); u = linspace(1.0, 2.0, 4); k = 2\n"
)
PROGRAMS = [
    "y = (3 - 2*x)*x - w/x + 1",
    "y = 100*(w - x**2)**2 + (1 - x)**2",
    "y = x + w - s + (x + w)",
    "y = exp(-0.5*((x - s)/1.2)**2)/s",
    "y = softplus(sin(x)*exp(-x**2) + x*s)",
    "y = relu(m*s + w) * 2 - m",
    "y = m*x + x*w - s*m + u",
    "y = sum(sin(x)*w + s*x*x) * x*x*s + u",
    "y = (x[1:] - x[:-1]**2)**2 * 2 + x[1:]",
    "y = sigmoid((m @ x)*s + m[:, 0]) - m[:, 1]*3",
    "y = abs(w)*x + maximum(x, w)*w - minimum(x, s)",
    "y = where(w > 0, x*x*s, sin(w) - s) + w*w*x",
    "y = x*s*k + x**k - k",
    "fn f(a, b) = a*b + sin(a) - b\ny = f(x, w)*s + f(w, s)",
    "fn f(a) { b = a*a - s; return b*a + w }\ny = f(f(x))",
    "y = x; for i in range(3) { y = y*w + sin(y) - s }",
    "a = x*1.0 + w*s - u; a[1] = w[0]; y = a*a*s + x",
    "pause { v = u*x*x + 1.0 }; y = v*x*w + s",
    "v = detach(x*w + s); y = v*x*x + v",
    "tape t { t.watch(u); v = u*u*x - w*s }; y = t.gradient(v, u)*x*w + s",
    "tape t(persistent = true) { v = x*x*w + s; z = v*v*x - w }; y = t.gradient(z, v)*s + t.gradient(v, x)*w*2",
    "y = grad(fn(z) = sum(z*z*w + sin(z) - s))(x) * s + x*w",
    "y = grad(fn(z) = sum(grad(fn(r) = sum(r*r*z*z - r*w))(z)*z - s*z))(x)",
    "fn f(a, b) = a*a + sin(a)\ny = f(s, x)*x + f(w, s)*s + f(s, w)",
    "fn f(a, b) = a*b*a + sin(a)\ny = grad(f, wrt = 1)(x, s) + x*grad(f)(s, w)",
    "fn f(a, b) = a*b*a + sin(a)\ng = grad(f, wrt = [0, 1])(x, s); y = g[0]*g[1] + value_and_grad(f)(w, x)[1]",
    "fn f(a) = a*a*s + sin(a)\ny = sum(jacobian(f)(x) @ hessian(f)(w), axis = [0, 1])*x + grad(grad(f))(x)",
    "y = jvp(fn(z) = z*z*w - sin(z) + s)(x, w)*x + w",
    "y = grad(fn(z) = sum(jvp(fn(r) = r*r*w*s - sin(r))(z, w)*z + z*s))(x)",
    "y = hvp(fn(z) = sum(z*z*z*w - s*z))(x, w)",
    "y = vmap(fn(r) = r*r*x - w*s)(m)*2*m - s",
    "y = log(x - x)*0.0*x + w*(x - x)/(x - x)",
    "y = sqrt(w*w*0.0)*s + x*x",
    "y = where(x > 1.0, log(x - 1.0)*x + s, x*x - w)",
    "y = x*w*nan + x/0.0 - s*inf",
    # What a result says all of, and what may be written over the product that was computed for it
    # alone.
    "p = m * w; y = relu(p @ m.T + s)",
    "y = relu(m @ m.T - 1.0) + m @ m.T",
    "y = tanh(m @ m.T * 0.1 + m[:, 0]) * s",
    "y = exp(-(m @ m.T))",
    "y = sigmoid((m @ m.T) * 2.0 - (m @ m.T))",
    "y = relu(x/w + s) + x/w",
    "a = x/w; y = tanh(a + s) * a",
    "y = abs(m @ x - s)",
    "y = relu((m @ m.T)[:, 1] - 2.0*s)",
    "y = relu(m @ x - 5.0) * s",
    "fn f(r) = sum(relu(m @ r + s)**2)\ny = grad(f)(x) + jvp(grad(f))(x, w)",
    "fn f(a) = exp(-a)\ny = f(x) + grad(fn(z) = sum(f(z)*z))(w)",
    "y = vmap(fn(r) = relu(r*2.0 + s))(m)*2",
    "y = x*x*int64([1, 2, 3, 4]) + s",
    "y = x*(1 + 2j)*s - w; y = real(y)*imag(y) + x",
    "y = float32(x)*float32(w)*2 + float32(s)",
    "y = reshape(x, [4, 1])*x + s*w",
    "y = reshape(x, [4, 1])*s - w*2",
    "z = zeros([0]); y = z*z*s + z; y = x*x*s + sum(y)",
    "y = x*s - m[:, :3]*2",
    'y = x*w*s + "a"',
]


def in_function(source: str) -> str:
    """The program with what it computes in a function, which is called more than once."""
    return (
        f"{HEAD}fn computed(x, w, s, m, u) {{ {source}; return y }}\n"
        "for i in range(3) { y = computed(x, w, s, m, u) }\noutput y"
    )
