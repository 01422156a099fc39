"""Writes small programs of the whole language, whose names have kinds.

A program is a handful of statements, and each kind of statement is about as likely as any other:
loops in loops, branches with loops on both sides, functions that call themselves, derivatives in
loops, updates of variables, tapes, prints, expectations. Some go wrong on purpose.
"""

from __future__ import annotations

from random import Random

HARD = ("0.0", "-0.0", "inf", "-inf", "nan", "1e308", "5e-324", "-1e-9")
USUAL = ("1.5", "-0.75", "0.3", "2.0", "-1.0", "0.5", "4.25")
INTS = ("0", "1", "2", "3", "-1", "5", "-4")
UNARY = ("sin", "exp", "tanh", "abs", "floor", "sqrt", "log", "square", "sign", "relu", "cos")
BINARY = ("+", "-", "*", "/", "+", "-", "*", "**", "%", "//")
CALLS = ("maximum", "minimum", "atan2", "hypot")
INT_BINARY = ("+", "-", "*", "//", "%")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
OF_VECTORS = ("sum", "max", "mean", "norm", "prod", "min")
# What a function of one number can be asked for.
SLOPES = (
    "grad({g})({f})", "jvp({g})({f}, {f})", "vjp({g})({f}, {f})", "value_and_grad({g})({f})[1]",
    "grad(grad({g}))({f})", "jvp(grad({g}))({f}, {f})", "hvp({g})({f}, {f})",
    "grad(fn(z) = {g}(z) * z)({f})", "sum(grad(fn(v) = {g}(v[0]) * sum(v))({v}))",
    "grad(fn(z) = jvp({g})(z, {f}))({f})", "sum(vmap({g})({v}))",
)  # fmt: skip
FLOAT, INT, BOOL, VECTOR, MATRIX, LIST, DICT, FUNCTION = "FIBVMLDG"  # kinds of names
SIMPLE = (
    ["float"] * 4
    + ["augment"] * 2
    + ["int", "bool", "vector", "matrix", "list", "dict", "closure", "choice", "swap", "update"]
    + ["element", "entry", "member", "slope", "print", "expect", "tape", "mixed", "none", "value"]
)
NESTED = ["if", "loops", "for", "while", "each", "data"]
WRONG = (
    "{i} = {i} * 9223372036854775807 * 2",
    "{i} = 7 // ({i} - {i})",
    "{x} = [1.0, 2.0][{i} + 9]",
    "{x} = {x} + never",
    "{x} = sum([1.0, 2.0] + [1.0, 2.0, 3.0])",
    "{x} = none * {x}",
    "for k in range(70) { {i} = {i} * 3 + 1 }",
    "{x} = {b: 1.0}.a",
    "if [1.0, 2.0] > 0 { {x} = 1.0 }",
)


class SmallWriter:
    """Writes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random, self.more = Random(seed), Random(f"more {seed}")
        self.count = 0
        self.names: dict[str, list[str]] = {kind: [] for kind in "FIBVMLDG"}
        self.in_function = self.in_loop = False

    def program(self) -> str:
        pick = self.random.choice
        states = [pick(HARD) if self.random.random() < 0.06 else pick(USUAL) for _ in range(3)]
        names = ("var x", "var w", "frozen c")
        lines = [f"{name} = {state}" for name, state in zip(names, states, strict=True)]
        lines.append(f"frozen n: int64 = {pick(('0', '1', '3', '4', '-2'))}")
        self.names[FLOAT] += ["x", "w", "x", "w", "c"]
        self.names[INT].append("n")
        for _ in range(pick((0, 1, 1, 1, 2)) if self.random.random() < 0.7 else 0):
            lines += self.definition()
        lines += self.statements(pick((1, 2, 3)), 0)
        if self.random.random() < 0.05:
            wrong = pick(WRONG).replace("{x}", "s").replace("{i}", "k")
            lines += ["s = x", "k = n", wrong]
            lines += ["never = 1.0"] if "never" in wrong else []
        return "\n".join([*lines, f"output {self.outputs()}", *self.requests()]) + "\n"

    def requests(self) -> list[str]:
        """Derivatives by variables of what the program has made, at its end."""
        found = [name for name in self.names[FLOAT] if name not in "xwc"][-1:]
        if not found or self.more.random() < 0.8:
            return []
        forms = ["grad({f}, [x, w])", "grad(grad({f}, x), w)", "grad({f} * x, x)", "hvp({f}, w, x)"]
        request = self.more.choice(forms).format(f=found[0])
        return [
            f'output {request[:-1]}, unconnected = "zero")'
            if "hvp" not in request
            else f"output {request}"
        ]

    def outputs(self) -> str:
        """Of what the program has made last, mostly."""
        found = [name for name in self.names[FLOAT] if name not in "xwc"][-2:]
        other = self.random.choice([INT, VECTOR, LIST, DICT, BOOL, MATRIX])
        found += self.names[other][-1:]
        found += [f"{g}({self.float(0)})" for g in self.names[FUNCTION][-1:]]
        return ", ".join(dict.fromkeys(found or ["x"]))

    # ---- names -----------------------------------------------------------------------------------

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind.lower()}{self.count}"

    def counter(self) -> str:
        """A name of an int that no other statement assigns, so that loops end."""
        self.count += 1
        self.names[INT].append(f"k{self.count}")
        return f"k{self.count}"

    def known(self, kind: str, default: str) -> str:
        return self.random.choice(self.names[kind] or [default])

    def target(self, kind: str) -> str:
        """A name to assign to: a new one, or one that there is."""
        own = [name for name in self.names[kind] if name[0] == kind.lower()]
        return self.random.choice(own) if own and self.random.random() < 0.6 else self.fresh(kind)

    def assign(self, kind: str, value: str) -> list[str]:
        name = self.target(kind)
        if name not in self.names[kind]:
            self.names[kind].append(name)
        return [f"{name} = {value}"]

    # ---- functions -------------------------------------------------------------------------------

    def definition(self) -> list[str]:
        """A function of a float, and maybe of more that has a default."""
        name, outer, default = self.fresh(FUNCTION), self.names, self.float(1)
        self.names = {kind: list(found) for kind, found in outer.items()}
        self.names[FLOAT] = ["z", "z", "b", *self.names[FLOAT]]
        self.in_function, before = True, self.in_function
        pick = self.random.choice
        form = pick(["plain", "plain", "short", "recursive", "early", "made", "state", "rule"])
        head = f"fn {name}(z, b = {default if form == 'state' else pick(USUAL)})"
        if form == "short":
            lines = [f"{head} = {self.float(2)}"]
        elif form == "recursive":
            again = f"{name}({self.float(1)}, b - 1.0)"
            lines = [
                f"fn {name}(z, b = {pick(('2.0', '3.0', 'n'))}) {{",
                f"  if not b > 0 or b > 9 {{ return {self.float(1)} }}",
                *self.indented(self.statements(pick((0, 1)), 2)),
                f"  return {pick((f'{again} * {self.float(1)}', f'{again} + {again}', again))}",
                "}",
            ]
        elif form == "made":
            lines = [f"{head} {{", f"  inner = fn(y) = y * b + {self.float(1)}"]
            lines += [f"  return inner({self.float(1)}) + inner(z)", "}"]
        elif form == "rule":
            self.names[FLOAT] = ["z"] * 9 + ["b", "x"]
            lines = [f"{head} {{ return z * {self.float(1)} }}"]
            lines[0] += f" backward (dy) {{ return [dy * {pick(USUAL)}, dy * z] }}"
        else:
            lines = [f"{head} {{", *self.indented(self.statements(pick((1, 2)), 1))]
            if form == "state":
                lines.append(f"  c := {self.float(1)}")
            if form == "early":
                lines += self.indented(
                    self.loop(1, [f"if {self.bool(1)} {{ return {self.float(1)} }}"])
                )
            lines += [f"  return {self.float(2)}", "}"]
        self.names, self.in_function = outer, before
        self.names[FUNCTION].append(name)
        return lines

    # ---- statements ------------------------------------------------------------------------------

    def statements(self, count: int, depth: int) -> list[str]:
        lines = []
        for _ in range(count):
            kinds = SIMPLE + NESTED * (3 if depth == 0 else 1 if depth < 3 else 0)
            kinds += ["leave"] * 3 * self.in_loop + ["return"] * (self.in_function and depth > 1)
            lines += getattr(self, f"_{self.random.choice(kinds)}")(depth)
        return lines

    @staticmethod
    def indented(lines: list[str]) -> list[str]:
        return [f"  {line}" for line in lines]

    def block(self, depth: int, loop: bool = False, first: tuple[str, ...] = ()) -> list[str]:
        """Statements in a block, whose new names are known in it."""
        outer, before = self.names, self.in_loop
        self.names = {kind: list(found) for kind, found in outer.items()}
        self.in_loop = before or loop
        lines = [*first, *self.statements(self.random.choice((1, 1, 2)), depth + 1)]
        if self.random.random() < 0.95:  # otherwise a name may have no value later
            self.names = outer
        self.in_loop = before
        return self.indented(lines)

    def _float(self, depth: int) -> list[str]:
        return self.assign(FLOAT, self.float(2))

    def _int(self, depth: int) -> list[str]:
        return self.assign(INT, self.int(2))

    def _bool(self, depth: int) -> list[str]:
        return self.assign(BOOL, self.bool(1))

    def _vector(self, depth: int) -> list[str]:
        return self.assign(VECTOR, self.vector(2))

    def _matrix(self, depth: int) -> list[str]:
        v, f = (lambda: self.vector(0)), (lambda: self.float(1))
        new = f"array([[{f()}, {f()}], [{f()}, 2.0]])"
        old = self.known(MATRIX, new)
        form = [new, f"{old} @ {old}", f"{old} * {f()}", f"{old}.T", f"outer({v()}, {v()})[:2, :2]"]
        return self.assign(MATRIX, self.random.choice(form))

    def _list(self, depth: int) -> list[str]:
        if self.names[LIST] and self.random.random() < 0.5:
            old = self.random.choice(self.names[LIST])
            form = [f"append({old}, {self.float(1)})", f"{old}[1:]", f"[a * 2 for a in {old}]"]
            return [f"{old} = {self.random.choice(form)}"]
        return self.assign(LIST, f"[{self.float(1)}, {self.int(1)}, {self.float(0)}]")

    def _dict(self, depth: int) -> list[str]:
        return self.assign(
            DICT, f"{{p: {self.float(1)}, k: {self.int(1)}, r: [{self.float(0)}, 1]}}"
        )

    def _closure(self, depth: int) -> list[str]:
        name, body = self.fresh(FUNCTION), self.float(1)
        self.names[FUNCTION].append(name)
        return [f"{name} = fn(z) = z * {body} + {self.float(1)}"]

    def _choice(self, depth: int) -> list[str]:
        """One of two functions."""
        g = self.known(FUNCTION, "sin"), self.known(FUNCTION, "tanh")
        name = self.fresh(FUNCTION)
        self.names[FUNCTION].append(name)
        return [f"{name} = {g[0]} if {self.bool(0)} else {g[1]}"]

    def _augment(self, depth: int) -> list[str]:
        name = next((n for n in reversed(self.names[FLOAT]) if n[0] == "f"), None)
        if name is None:
            return self._float(depth)
        return [f"{name} {self.random.choice('+-*')}= {self.float(1)}"]

    def _swap(self, depth: int) -> list[str]:
        own = [name for name in self.names[FLOAT] if name[0] == "f"]
        if len(own) < 2:
            return self._float(depth)
        a, b = self.random.sample(own, 2)
        return [f"{a}, {b} = {b}, {a} * {self.float(0)}"]

    def _update(self, depth: int) -> list[str]:
        sign = self.random.choice([":=", ":=", ":+=", ":-="])
        return [f"{self.random.choice('cccxw')} {sign} {self.float(1)}"]

    def _element(self, depth: int) -> list[str]:
        own = self.names[VECTOR]
        if not own:
            return self._vector(depth)
        place = self.random.choice(["0", "-1", "n % 3", "1:", self.int(1) + " % 3"])
        sign = self.random.choice(["=", "+=", "*="])
        return [f"{self.random.choice(own)}[{place}] {sign} {self.float(1)}"]

    def _entry(self, depth: int) -> list[str]:
        if not self.names[LIST]:
            return self._list(depth)
        return [f"{self.random.choice(self.names[LIST])}[0] = {self.float(1)}"]

    def _member(self, depth: int) -> list[str]:
        if not self.names[DICT]:
            return self._dict(depth)
        form = self.random.choice(["{d}.p = {f}", "{d}.k += {i}", "{d}.r[0] = {f}", "{d}.p *= {f}"])
        return [form.format(d=self.random.choice(self.names[DICT]), f=self.float(1), i=self.int(0))]

    def _slope(self, depth: int) -> list[str]:
        return self.assign(FLOAT, self.slope(1))

    def _print(self, depth: int) -> list[str]:
        return [f"print {self.float(1)}, {self.int(0)}"]

    def _expect(self, depth: int) -> list[str]:
        form = self.random.choice(["{b}", "{f} ~= {f}", "{f} ~= {f} within (rtol = 0.5)"])
        while "{f}" in form:
            form = form.replace("{f}", self.float(0), 1)
        return [f"expect {form.replace('{b}', self.bool(0))}"]

    def _tape(self, depth: int) -> list[str]:
        k = self.count = self.count + 1
        name = self.fresh(FLOAT)
        lines = [
            f"p{k} = {self.float(1)} * 1.0",
            f"tape t{k} {{ watch p{k}; q{k} = p{k} * {self.float(1)} }}",
        ]
        self.names[FLOAT].append(name)
        return [*lines, f'{name} = t{k}.gradient(q{k}, p{k}, unconnected = "zero")']

    def _mixed(self, depth: int) -> list[str]:
        """A name that is an int or a float."""
        name = self.fresh(FLOAT)
        lines = [f"{name} = {self.int(1)}", f"if {self.bool(1)} {{ {name} = {self.float(1)} }}"]
        self.names[FLOAT].append(name)
        return lines

    def _none(self, depth: int) -> list[str]:
        name, of = self.fresh(FLOAT), self.fresh(FLOAT)
        lines = [f"{of} = none", f"if {self.bool(1)} {{ {of} = {self.float(1)} }}"]
        lines.append(f"{name} = {self.float(0)} if {of} == none else {of} * {self.float(0)}")
        self.names[FLOAT].append(name)
        return lines

    def _value(self, depth: int) -> list[str]:
        """The derivative of a value, where it stands."""
        name = self.fresh(FLOAT)
        form = [
            'grad({a}, {x}, unconnected = "zero")',
            'grad({a} * {f}, {x}, seed = {f}, unconnected = "zero")',
        ]
        text = self.random.choice(form).replace("{x}", self.random.choice("xw"))
        text = text.replace("{a}", f"({self.float(1)})").replace("{f}", self.float(0))
        self.names[FLOAT].append(name)
        return [f"{name} = {text}"]

    # ---- control flow ----------------------------------------------------------------------------

    def _if(self, depth: int) -> list[str]:
        lines = [f"if {self.bool(1)} {{", *self.block(depth)]
        if self.random.random() < 0.3:
            lines += [f"}} elif {self.bool(1)} {{", *self.block(depth)]
        if self.random.random() < 0.6:
            lines += ["} else {", *self.block(depth)]
        return [*lines, "}"]

    def _loops(self, depth: int) -> list[str]:
        """A branch with a loop on either side."""
        name = self.target(FLOAT)
        known = name in self.names[FLOAT]
        first = [] if known else [f"{name} = {self.float(0)}"]
        self.names[FLOAT] += [] if known else [name]
        sides = [
            self.indented(
                self.loop(depth + 1, [f"{name} = {name} * {self.float(0)} + {self.float(1)}"])
            )
            for _ in range(2)
        ]
        return [*first, f"if {self.bool(1)} {{", *sides[0], "} else {", *sides[1], "}"]

    def loop(self, depth: int, body: list[str]) -> list[str]:
        """A loop of some kind around statements."""
        k = self.count = self.count + 1
        heads = [
            [f"for i{k} in range({self.random.choice(('2', '3', 'n', 'n + 1'))}) {{"],
            [f"j{k} = 0", f"while j{k} < {self.random.choice('123')} {{", f"  j{k} += 1"],
            [f"for e{k} in [{self.float(0)}, {self.float(0)}] {{"],
        ]
        return [*self.random.choice(heads), *self.indented(body), "}"]

    def _for(self, depth: int) -> list[str]:
        k = self.fresh(INT)
        bounds = self.random.choice(
            ["3", "n", "4", "1, 4", "3, 0, -1", "n + 2", f"abs({self.int(1)}) % 4"]
        )
        use = self.random.choice(
            [f"{self.target(FLOAT)} = {self.float(1)} + {k}", f"{k} = {k} + 1", *[""] * 3]
        )
        if " = " in use and use[0] == "f":
            name = use.split(" = ")[0]
            first = [] if name in self.names[FLOAT] else [f"{name} = {self.float(0)}"]
            self.names[FLOAT] += [name] if first else []
        else:
            first = []
        self.names[INT].append(k)
        body = self.block(depth, True, tuple(filter(None, [use])))
        self.names[INT].remove(k)
        return [*first, f"for {k} in range({bounds}) {{", *body, "}"]

    def _while(self, depth: int) -> list[str]:
        k = self.counter()
        head = f"while {k} < {self.random.choice(['2', '3', 'n'])}"
        head += f" and {self.bool(0)}" * (self.random.random() < 0.4)
        return [f"{k} = 0", f"{head} {{", f"  {k} += 1", *self.block(depth, True), "}"]

    def _data(self, depth: int) -> list[str]:
        """A loop that ends by what it computes."""
        name = self.fresh(FLOAT)
        self.names[FLOAT].append(name)
        lines = [f"{name} = {self.float(1)}"]
        if self.random.random() < 0.5:
            step = f"{name} = {name} * 0.5"
            return [*lines, f"while 0.3 < abs({name}) < 50 {{", f"  {step}", "}"]
        k = self.counter()
        step = f"{name} = {name} * {self.random.choice(['1.5', '-1.5', '2'])} + {self.float(0)}"
        head = f"{k} = 0\nwhile {self.random.choice(['', 'abs'])}({name}) < 9 and {k} < 6 {{"
        return [*lines, head, f"  {k} += 1; {step}", *self.block(depth + 1, True), "}"]

    def _each(self, depth: int) -> list[str]:
        name = self.fresh(FLOAT)
        over = self.random.choice([f"[{self.float(1)}, {self.float(0)}, 2.0]", self.vector(1)])
        over = self.known(LIST, over) if self.random.random() < 0.3 else over
        self.names[FLOAT].append(name)
        body = self.block(depth, True)
        self.names[FLOAT].remove(name)
        return [f"for {name} in {over} {{", *body, "}"]

    def _leave(self, depth: int) -> list[str]:
        return [f"if {self.bool(1)} {{ {self.random.choice(['break', 'continue'])} }}"]

    def _return(self, depth: int) -> list[str]:
        return [f"if {self.bool(1)} {{ return {self.float(1)} }}"]

    # ---- expressions -----------------------------------------------------------------------------

    def float(self, depth: int) -> str:
        pick, chance = self.random.choice, self.random.random()
        if depth <= 0 or chance < 0.2:
            return (
                self.known(FLOAT, "0.5")
                if self.random.random() < 0.8
                else pick((*USUAL, "0.0", "3"))
            )
        a = self.float(depth - 1)
        if chance < 0.5:
            return f"({a} {pick(BINARY)} {self.float(depth - 1)})"
        if chance < 0.6:
            return f"{pick(UNARY)}({a})"
        if chance < 0.66:
            return f"{pick(CALLS)}({a}, {self.float(depth - 1)})"
        if chance < 0.72:
            return f"({a} {pick('+*-')} {self.int(depth - 1)})"
        if chance < 0.77:
            return f"({a} if {self.bool(0)} else {self.float(depth - 1)})"
        if chance < 0.86:
            return self.call(a, depth)
        if chance < 0.89:
            return self.slope(depth - 1)
        return self.part(a, depth)

    def call(self, a: str, depth: int) -> str:
        g = self.known(FUNCTION, "tanh")
        form = ["{g}({a})"] * 4 + ["(fn(h, z) = h(h(z)))({g}, {a})"]
        if g[:1] == "g" and g in self.names[FUNCTION]:
            form.append("{g}(z = {a})")
        return self.random.choice(form).format(g=g, a=a)

    def part(self, a: str, depth: int) -> str:
        forms = [f"where({self.bool(0)}, {a}, {self.float(0)})", f"detach({a})"]
        forms.append(f"{self.random.choice(OF_VECTORS)}({self.vector(depth - 1)})")
        forms += [
            f"{name}[{self.random.choice(('0', '-1', 'n % 3'))}]"
            for name in self.names[VECTOR][-1:]
        ]
        forms += [f"{name}[0]" for name in self.names[LIST][-1:]]
        forms += [f"sum({name})" for name in self.names[LIST][-1:]]
        forms += [f"{name}.p" for name in self.names[DICT][-1:]]
        forms += [f"({name}.k * {name}.r[0])" for name in self.names[DICT][-1:]]
        forms += [f"sum({name} @ {self.vector(0)}[:2])" for name in self.names[MATRIX][-1:]]
        return self.random.choice(forms)

    def slope(self, depth: int) -> str:
        text = self.random.choice(SLOPES).replace("{g}", self.known(FUNCTION, "sin"))
        while "{f}" in text:
            text = text.replace("{f}", self.float(depth - 1), 1)
        return text.replace("{v}", self.vector(0))

    def int(self, depth: int) -> str:
        chance = self.random.random()
        if depth <= 0 or chance < 0.3:
            return self.known(INT, "2") if self.random.random() < 0.6 else self.random.choice(INTS)
        a, b = self.int(depth - 1), self.int(depth - 1)
        if chance < 0.8:
            return f"({a} {self.random.choice(INT_BINARY)} {b})"
        if chance < 0.9:
            return f"({a} if {self.bool(0)} else {b})"
        return self.random.choice([f"abs({a})", f"{a}**2", f"maximum({a}, {b})", f"-({a})"])

    def bool(self, depth: int) -> str:
        chance = self.random.random()
        if depth and chance < 0.15:
            return f"({self.bool(0)} {self.random.choice(('and', 'or'))} {self.bool(0)})"
        if depth and chance < 0.22:
            return f"not {self.bool(0)}"
        if chance < 0.3 and self.names[BOOL]:
            return self.random.choice(self.names[BOOL])
        if chance < 0.5:
            return f"{self.int(0)} {self.random.choice(COMPARISONS)} {self.int(depth)}"
        return f"{self.float(0)} {self.random.choice(COMPARISONS[:4])} {self.float(depth)}"

    def vector(self, depth: int) -> str:
        f, pick = self.float, self.random.choice
        new = f"array([{f(0)}, {f(0)}, {pick(USUAL)}])"
        if depth <= 0 or self.random.random() < 0.4:
            return self.known(VECTOR, new)
        a, b = self.vector(depth - 1), self.vector(depth - 1)
        g = self.known(FUNCTION, "sin")
        forms = [f"({a} {pick('+-*')} {b})", f"({a} * {f(1)})", f"{a}[::-1]", f"cumsum({a})"]
        forms += [f"maximum({a}, {f(0)})", f"vmap({g})({a})", f"{pick(UNARY)}({a})", new]
        forms += [f"where({a} > {f(0)}, {b}, {f(0)})", f"{a}[[2, 0, n % 3]]", "array([1, n, 3])"]
        forms += [f"sort({a})", f"cumprod({a})", f"interp({a}, [-1.0, 0.5, 2.0], {b})"]
        forms += [f"solve(2 * eye(3) + outer({a}, {a}), {b})", f"({a} * median({b}))"]
        return pick(forms)
