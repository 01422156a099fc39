"""Random programs on scalars: functions, branches, loops, ints beside floats."""

from __future__ import annotations

from random import Random

HEAD = "var x = 1.25\nvar y = -0.75\nfrozen n = 3\n"
UNARY = ["sin", "exp", "tanh", "abs", "floor", "sqrt", "log", "square", "sign"]
BINARY = ["+", "-", "*", "/", "**", "%", "//"]
CALLS = ["maximum", "minimum", "atan2", "hypot"]


class Writer:
    """Writes one program; `names` are those that have a value where it writes."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.count = 0

    def program(self) -> str:
        functions = [self.function(f"f{k}") for k in range(self.random.randint(0, 2))]
        names, lines = ["x", "y", "n"], []
        calls = [f"f{k}" for k in range(len(functions))]
        for _ in range(self.random.randint(2, 5)):
            lines += self.statement(names, calls, 0)
        outputs = ", ".join(self.random.sample(names, min(3, len(names))))
        return HEAD + "\n".join([*functions, *lines, f"output {outputs}"]) + "\n"

    def function(self, name: str) -> str:
        names, lines = ["a", "b", "x"], []
        for _ in range(self.random.randint(0, 2)):
            lines += self.statement(names, [], 1)
        if self.random.random() < 0.4:
            lines += self.returning_loop(names)
        if self.random.random() < 0.5:
            early = self.expression(names, [], 1)
            lines.append(f"if {self.condition(names)} {{ return {early} }}")
        lines.append(f"return {self.expression(names, [], 2)}")
        return f"fn {name}(a, b = 0.5) {{\n" + "\n".join(f"  {line}" for line in lines) + "\n}"

    def returning_loop(self, names: list[str]) -> list[str]:
        """A loop that may return."""
        index = self.fresh()
        inner = [*names, index]
        body = [f"  {line}" for line in self.statement(inner, [], 2)]
        early = f"  if {self.condition(inner)} {{ return {self.expression(inner, [], 1)} }}"
        return [f"for {index} in range({self.random.choice([0, 3, 'n'])}) {{", *body, early, "}"]

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def statement(self, names: list[str], calls: list[str], depth: int) -> list[str]:
        kind = self.random.choice(["assign", "assign", "augment", "if", "for", "while"])
        own = [name for name in names if name[0] == "v"]
        if kind == "assign" or depth > 2 or not own:
            name = (
                self.fresh() if not own or self.random.random() < 0.6 else self.random.choice(own)
            )
            line = f"{name} = {self.expression(names, calls, 2)}"
            if name not in names:
                names.append(name)
            return [line]
        name = self.random.choice(own)
        if kind == "augment":
            return [f"{name} {self.random.choice('+-*')}= {self.expression(names, calls, 1)}"]
        body = []
        inner = list(names)
        for _ in range(self.random.randint(1, 2)):
            body += self.statement(inner, calls, depth + 1)
        block = "\n".join(f"  {line}" for line in body)
        if kind == "if":
            other = f"  {name} = {self.expression(names, calls, 1)}"
            return [f"if {self.condition(names)} {{\n{block}\n}} else {{\n{other}\n}}"]
        if kind == "for":
            index = self.fresh()
            leave = self.random.choice(["", "", "break", "continue"])
            if leave:
                block += (
                    f"\n  if {self.condition([*inner, index])} {{ {leave} }}\n  {name} += {index}"
                )
            if self.random.random() < 0.3:
                names.append(index)  # which has no value if there is no iteration
            return [f"for {index} in range({self.random.randint(0, 4)}) {{\n{block}\n}}"]
        count = self.fresh()
        names.append(count)
        leave = f"\n  if {self.condition(names)} {{ break }}" if self.random.random() < 0.5 else ""
        head = f"{count} = 0\nwhile {count} < {self.random.randint(1, 4)} "
        return [head + f"{{\n{block}{leave}\n  {count} += 1\n}}"]

    def condition(self, names: list[str]) -> str:
        a, b = self.atom(names), self.expression(names, [], 1)
        sign = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        if self.random.random() < 0.2:
            return f"({a} {sign} {b}) {self.random.choice(['and', 'or'])} {self.atom(names)} > 0"
        return f"{a} {sign} {b}"

    def atom(self, names: list[str]) -> str:
        number = self.random.choice(["0.5", "2", "3.0", "-1", "1e-3", "7", "0"])
        return self.random.choice([*names, number])

    def expression(self, names: list[str], calls: list[str], depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.2:
            return self.atom(names)
        a, b = (self.expression(names, calls, depth - 1) for _ in range(2))
        if kind < 0.6:
            return f"({a} {self.random.choice(BINARY)} {b})"
        if kind < 0.75:
            return f"{self.random.choice(UNARY)}({a})"
        if kind < 0.85:
            return f"{self.random.choice(CALLS)}({a}, {b})"
        if kind < 0.93 and calls:
            return f"{self.random.choice(calls)}({a})"
        return f"({a} if {self.condition(names)} else {b})"


class RecursiveWriter(Writer):
    """Writes a program with a function that calls itself, on numbers of either kind."""

    def program(self) -> str:
        names = ["a", "b", "x", "k"]
        lines = self.statement(names, [], 1)
        lines.append(f"if k {self.random.choice(['<', '=='])} 1 {{ return {self.atom(names)} }}")
        again = f"r({self.expression(names, [], 1)}, k - 1{self.random.choice(['', ', k'])})"
        other = self.expression(names, [], 1)
        lines += self.random.choice(
            [
                [f"return {again} {self.random.choice('+-*')} {other}"],
                [f"s = {again}", f"return s * s if {self.condition([*names, 's'])} else {other}"],
                ["s = 0", f"for i in range(2) {{ s += {again} }}", "return s"],
                [f"if {self.condition(names)} {{ return {again} }}", f"return {other} - {again}"],
                ["j = 0", f"while j < 2 {{ j += 1; if {again} > a {{ return j }} }}", "return a"],
            ]
        )
        body = "\n".join(f"  {line}" for line in lines)
        outputs = "output r(x, 3), r(n, 4), r(y, 1, x)"
        return f"{HEAD}c = {self.atom(['x', 'n'])}\nfn r(a, k, b = c) {{\n{body}\n}}\n{outputs}\n"
