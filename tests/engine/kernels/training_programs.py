"""Programs that ask for gradients of values and update variables: by hand, and at random."""

from __future__ import annotations

from random import Random

HEAD = "var x = 1.25\nvar w = [0.5, -0.75]\nvar b = 0.3\nfrozen n = 3\n"
TRAINING = {
    "a gradient": "y = x**2 * sin(b)\noutput y, grad(y, x), grad(y, [x, b])",
    "a gradient of a gradient": "y = x**3 * b\ng = grad(y, x)\noutput g, grad(g, x), grad(g * b, {x: x, b: b})",
    "a gradient that counts": "g = grad(sin(x) * b, x)\noutput z = g * g + x",
    "by an array": "y = sum(w * w * x) + w[0]\noutput y, grad(y, w), grad(y, [w, x])",
    "with a seed": "y = w * x\noutput grad(y, x, seed = [1.0, 2.0]), grad(y, w, seed = w), grad(x * b, x, seed = 3.0)",
    "through a loop": "s = x\nfor i in range(n) { s = s * b + sin(s) }\noutput s, grad(s, x), grad(s, b)",
    "through a loop with a condition": "s = x\nwhile s < 20.0 { s = s * s + b }\ng = grad(s, x)\noutput g, grad(g, b)",
    "through a branch": "if x > 1.0 { y = x * b } else { y = x + b }\noutput grad(y, x)",
    "in a branch": "y = x * x\nif b > 0.0 { g = grad(y * b, x) } else { g = grad(y, x) + b }\noutput g, y",
    "through a branch that may not count": "y = b\nif x > 1.0 { y = y * x }\noutput grad(y, x)",
    "through a function": "fn f(a) { if a > 1.0 { return a * b }; return a }\noutput grad(f(x), b), grad(f(x), x)",
    "with derivatives of functions": "fn f(a) = sin(a) * b\ny = grad(f)(x)\noutput y, grad(y, b), grad(y, x)",
    "an update": "x := x * 2.0\noutput x, x * b",
    "updates": "y = x * b\nx :+= 1.0\nb :-= y\nx := x * b\noutput x, y, b * x",
    "a state of another type": "x := 2\nn :+= 1\noutput x, n, x / n",
    "an update of an array": "w := w * x\nw :-= [0.5, 1]\noutput w, sum(w * b)",
    "an update of an element": "w[0] := x\nw[1] :+= w[0] * b\noutput w, sum(w * w)",
    "an element that is computed": "for i in range(2) { w[i] :-= 0.1 * i }\noutput w, w[1] * x",
    "another name": "z = x\nx := x * 3.0\nz :+= 1.0\noutput z, x, z * b",
    "a variable in a list": "v = [x, b]\nv[0] := 5.0\nfor a in v { a :+= 2.0 }\noutput x, v, b",
    "a variable in a dict": "d = {a: x, b: w}\nd.a := 2.0\nd.b[1] := 7.0\noutput x, w, d.a * b",
    "a variable that a function is given": "fn step(p, g) { p :-= 0.1 * g }\nstep(x, 2.0)\nstep(b, x)\noutput x, b, x * b",
    "a variable that a function reads": "fn f(a) { x :+= a; return x * a }\ny = f(2.0)\noutput y, f(1.0), x",
    "an update in a branch": "if x > 1.0 { x := x - 1.0 } elif x > 0.5 { b := 0.0 }\noutput x, b * x",
    "an update before a return": "fn f(a) { if a > 1.0 { b := a; return 1.0 }; b := -a; return 2.0 }\nk = f(x)\noutput k, b, b * x",
    "descent": "for k in range(20) { y = (x - 2.0)**2 + b * x; x :-= 0.1 * grad(y, x) }\nz = x * b\noutput x, y, z",
    "descent by two": "for k in range(10) { y = mean((x * w + b - [1.0, 2.0])**2); g = grad(y, {x: x, b: b})\n"
    "  x :-= 0.1 * g.x; b :-= 0.1 * g.b }\noutput y, x * b",
    "descent with a tape": "for k in range(10) { tape t { y = sum((w * x - b)**2) }\n  gw, gb = t.gradient(y, [w, b])\n"
    "  w :-= 0.1 * gw; b :-= 0.1 * gb }\noutput y, w, b, sum(w) * x",
    "descent that stops": "k = 0\nwhile true { y = (x - b)**2; g = grad(y, x); if abs(g) < 0.01 { break }; x :-= 0.2 * g; k += 1 }\n"
    "output k, x * b",
    "descent with momentum": "v = 0.0\nfor k in range(10) { y = x**4 - b * x; v = 0.9 * v - 0.01 * grad(y, x); x :+= v }\noutput x, v",
    "descent in a function": "fn descend(p, rate, steps) { for k in range(steps) { p :-= rate * grad((p - b)**2, p) } }\n"
    "descend(x, 0.1, 5)\ndescend(x, 0.2, n)\noutput x * b",
    "descent in descent": "for k in range(4) { for j in range(3) { x :-= 0.1 * grad((x - b)**2 * w[0], x) }; b :-= 0.1 * grad(b * x, b) }\n"
    "output x, b * w[1]",
    "Newton's method": "for k in range(5) { y = x**3 - b; g = grad(y * y, x); x :-= g / grad(g, x) }\noutput x, x * b",
    "a loop inside each step": "for k in range(5) { s = 0.1; for i in range(4) { s = s * x + sin(s * b) }\n  g = grad(s, [x, b])\n"
    "  x :-= 0.1 * g[0]; b :+= 0.1 * g[1] }\noutput x, b * s",
    "a branch inside each step": "for k in range(6) { if x > 1.1 { y = x * x } else { y = sin(x) * b }; g = grad(y, x)\n"
    "  if g > 1.0 { x :-= 0.1 * g } else { x := x - 0.01 }\n}\noutput x * b",
    "a tape around an update": "tape t { y = x * b; x := 5.0; z = y + x * x }\noutput t.gradient(z, x), z",
    "tapes in tapes": "tape u { tape t { y = x**3 * b }\n  g = t.gradient(y, x) }\noutput g, u.gradient(g, x)",
    "a tape that persists": "tape t (persistent = true) { y = x * x; z = y * b }\noutput t.gradient(y, x), t.gradient(z, [x, b])",
    "what isn't on a tape": "a = b * 2.0\ntape t { y = x * x * a }\noutput t.gradient(y, x)",
    "a watched number": "c = [3.0, 1.0]\ntape t { watch c; y = sum(c * c * x) }\noutput t.gradient(y, c)",
    "a tape that watches one": "tape t (watch_variables = false) { watch x; y = x * b }\noutput t.gradient(y, x)",
    "a Jacobian": "fn f(v) = array([v[0] * v[1] * x, sin(v[0]), v[1]**3])\nJ = jacobian(f)(w)\ny = sum(J * J)\noutput J, y",
    "a Jacobian of a list": "fn f(v) = [v[0] * v[1], sin(v[0]), v[1]**3 * x]\noutput jacobian(f)(w)",
    "Jacobians of numbers": "fn f(a) = a**3 * b\nfn g(v) = sum(v * v) * b\noutput jacobian(f)(x), hessian(f)(x), jacobian(g)(w)",
    "a Hessian": "fn f(v) = sum(v**3) * x + v[0] * v[1]\nH = hessian(f)(w)\ny = sum(H * H)\noutput H, y, hvp(f)(w, [1.0, b])",
    "a Jacobian of many": "c = 0.1 * arange(30)\nfn f(v) = v * v * b + sum(v)\nJ = jacobian(f)(c * x)\noutput sum(J), J[3, 4]",
    "a Jacobian of few by many": "c = 0.1 * arange(30)\nfn f(v) = [v[0] * v[1], sum(v) * v[20]]\noutput jacobian(f)(c * x)",
    "Newton's method on two": "fn f(v) = sum((v - b)**4) + v[0] * v[1]\nfor k in range(4) { H = hessian(f)(w); g = grad(f)(w)\n"
    "  d = H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]\n"
    "  w :-= [(H[1, 1] * g[0] - H[0, 1] * g[1]) / d, (H[0, 0] * g[1] - H[1, 0] * g[0]) / d] }\noutput w",
    "an int that is a state": "frozen count = 0\nfor k in range(5) { if x > 0.5 { count :+= 1; x :-= 0.2 } }\noutput count, x * b",
}  # fmt: skip
# What the interpreter alone can say: of some it warns, others fail.
TOLD = {
    "a gradient that isn't connected": "y = b * b\noutput grad(y, x), y",
    "a gradient that isn't connected on some path": "y = b\nif x > 2.0 { y = y * x }\noutput grad(y, x)",
    "a gradient by a state": "y = n * x\noutput grad(y, n)",
    "a gradient by what was replaced": "x = x * 2.0\ny = x * b\noutput grad(y, x)",
    "a tape asked twice": "tape t { y = x * x }\ng = t.gradient(y, x)\noutput g, t.gradient(y, x)",
    "before the tape": "y = x * x\ntape t { z = y * 2.0 }\noutput t.gradient(z, x)",
    "another shape": "w := [1.0, 2.0, 3.0]\noutput w",
    "another type": "n := 0.5\noutput n",
    "no variable": "y = x\ny = y * 1.0\ny := 2.0\noutput y",
    "an earlier iteration": "s = 0.0\nfor k in range(3) { s = s * x + x; g = grad(s, x) }\noutput g, s",
    "outside the loop": "y = x * x\nfor k in range(3) { g = grad(y * k, x) }\noutput g",
    "an intermediate value": "y = x * x\nz = y * b\noutput grad(z, y)",
}
# Where a gradient is by the state of a variable, whatever came before it.
SIZED = {
    "many elements": "var a: float[40]\nfor k in range(5) { y = sum((a - x)**2) + sum(sin(a) * b); a :-= 0.05 * grad(y, a) }\n"
    "output sum(a * x), a",
    "elements of many": "var a: float[40]\nfor k in range(5) { y = 0.0; for i in range(39) { y += (a[i + 1] - a[i]**2)**2 }\n"
    "  a :-= 0.01 * grad(y, a) }\noutput y, a",
    "an update of one of many": "var a: float[40]\nfor k in range(40) { a[k] := a[k - 1] * 0.5 + x }\noutput a, sum(a * b)",
}  # fmt: skip


class TrainingWriter:
    """Writes one program of steps that ask for gradients and update what they ask by."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def program(self) -> str:
        lines = ["v = 0.0", "y = x * b"]
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.choice(["loop", "loop", "if", "plain"])
            body = self.step()
            if kind == "loop":
                count = self.random.choice(["n", "4", "1", "0"])
                lines += [f"for k in range({count}) {{", *body, "}"]
            elif kind == "if":
                lines += [f"if {self.value()} > 0.2 {{", *body, "} else {", *self.step(), "}"]
            else:
                lines += body
        outputs = self.random.sample(["x", "b", "y", "v", "sum(w)", "x * b", "v * x + y"], 3)
        return HEAD + "\n".join([*lines, f"output {', '.join(outputs)}"]) + "\n"

    def value(self) -> str:
        names = ["x", "b", "w[0]", "w[1]", "n", "0.5", "sum(w * x)", "sum(w)"]
        a, c = self.random.choice(names), self.random.choice(names)
        form = self.random.choice(["{a} * {c}", "sin({a}) + {c}", "{a} - {c} * {c}", "tanh({a})"])
        return form.format(a=a, c=c)

    def target(self) -> list[str]:
        """Statements that compute `y` from all variables."""
        first = f"y = {self.value()} + 0.1 * (x * b + sum(w * w) * x)"
        more = self.random.choice(
            [
                [],
                ["for i in range(3) { y = y * 0.5 + sin(y * x) }"],
                [f"if {self.value()} > 0.0 {{ y = y * x }} else {{ y = y + b * x }}"],
                ["while y * y > 2.0 { y = y * 0.5 }"],
            ]
        )
        return [first, *more]

    def step(self) -> list[str]:
        source, update = self.random.choice(
            [
                ("x", "x :-= 0.05 * g"),
                ("[x, b]", "x :-= 0.05 * g[0]; b :+= 0.1 * g[1]"),
                ("w", "w :-= 0.1 * g"),
                ("{w: w, b: b}", "w[1] :-= 0.1 * g.w[0]; b := b - 0.01 * g.b"),
            ]
        )
        if self.random.random() < 0.5:
            lines = ["tape t {", *self.target(), "}", f"g = t.gradient(y, {source})"]
        else:
            lines = [*self.target(), f"g = grad(y, {source})"]
        if self.random.random() < 0.3 and source == "x":
            lines.append("v = 0.5 * v + g")
        if self.random.random() < 0.3:
            update = f"if {self.value()} > 0.1 {{ {update} }}"
        return [f"  {line}" for line in [*lines, update]]


INNER = (
    "for i in range(3) { y = y*0.5 + sin(y*x) }",
    "for i in range(k % 3) { y = y*0.5 + tanh(y*b)*w[0] }",
    "if {v} > 0.0 { y = y*x } else { for i in range(2) { y = sin(y) + b*x } }",
    "j = 0; while j < 3 and y*y > 0.01 { j += 1; if y > 0.3 { y = y*0.5 } else { y = sin(y)*b } }",
    "for i in range(2) { if y > 0.2 { for j in range(2) { y = sin(y*x) } } else { y = y + w[1] } }",
    "y = y + q(y, 3)",
    "y = y*sum(sin(w*y))",
)
RECURSIVE = (
    "fn q(a, n) { if n == 0 { return a*b }; if a > 0.3 { return sin(q(a*0.7, n - 1))*x }; "
    "return q(a + 0.2, n - 1)*a }"
)


class KeepingWriter(TrainingWriter):
    """Writes one program with a loop whose steps keep much for their gradients, and give what is
    differentiated after it."""

    def value(self) -> str:
        names = ["x", "b", "w[0]", "w[1]", "0.5", "sum(w*x)", "s", "v"]
        a, c = self.random.choice(names), self.random.choice(names)
        form = self.random.choice(
            ["{a}*{c}", "sin({a}) + {c}", "{a} - {c}*{c}", "tanh({a})", "{a}*k*0.1"]
        )
        return form.format(a=a, c=c)

    def inner(self) -> str:
        return self.random.choice(INNER).replace("{v}", self.value())

    def program(self) -> str:
        lines = [f"y = {self.value()} + 0.1*(x*b + sum(w*w)*x)", self.inner(), self.inner()]
        source, update = self.random.choice(
            [
                ("x", "x :-= 0.02*tanh(g)"),
                ("[x, b]", "x :-= 0.02*tanh(g[0]); b :+= 0.01*tanh(g[1])"),
                ("w", "w :-= 0.02*tanh(g)"),
            ]
        )
        if self.random.random() < 0.5:
            lines.append(f"g = grad(y, {source})")
        else:
            taped = f"y = {self.value()} + x*b*0.1 + sum(w)*0.1\n{self.inner()}"
            lines.append(f"tape t {{ {taped} }}\ng = t.gradient(y, {source})")
        lines += [f"v = 0.5*v + 0.3*tanh({self.value()})", "s = 0.6*s + 0.2*tanh(y)*x", update]
        loop = [f"for k in range({self.random.choice(['12', '20'])}) {{", *lines, "}"]
        head = [RECURSIVE, "v = 0.0", "s = 0.1", "y = x*b"]
        return HEAD + "\n".join([*head, *loop, "z = s*x + v", "output z, s, v"]) + "\n"
