"""Strategies for the bodies of functions: expressions, conditions, and blocks of statements that
end."""

from __future__ import annotations

from hypothesis import strategies as st

UNARY = [
    "sin({})",
    "exp(-({})**2)",
    "sqrt(({})**2 + 1.0)",
    "-({})",
    "abs({})",
    "tanh({})",
    "({})**2",
]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "({} / (({})**2 + 1.0))", "maximum({}, {})"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
NAMES = ["x", "w", "a", "b", "n", "i"]


@st.composite
def expressions(draw: st.DrawFn, names: list[str], depth: int = 2) -> str:
    kind = draw(
        st.sampled_from(
            ["name", "name", "number", "unary", "binary", "choice"] if depth else ["name", "number"]
        )
    )
    if kind == "name":
        return draw(st.sampled_from(names))
    if kind == "number":
        return str(draw(st.sampled_from([0.5, 1.0, 2.0, -1.5])))
    parts = [draw(expressions(names, depth - 1)) for _ in range(2)]
    if kind == "choice":
        return f"({parts[0]} if {draw(conditions(names))} else {parts[1]})"
    return (
        draw(st.sampled_from(UNARY)).format(parts[0])
        if kind == "unary"
        else draw(st.sampled_from(BINARY)).format(*parts)
    )


@st.composite
def conditions(draw: st.DrawFn, names: list[str]) -> str:
    a, b = (draw(expressions(names, 1)) for _ in range(2))
    single = f"{a} {draw(st.sampled_from(COMPARISONS))} {b}"
    return draw(
        st.sampled_from(
            [
                single,
                f"not {single}",
                f"{single} and x < 1.0",
                f"{single} or w > {a}",
                f"-1.0 < {a} <= {b}",
            ]
        )
    )


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2) -> str:
    statements = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(
                ["assign", "augment", "int", "if", "while", "for", "return"]
                if depth
                else ["assign", "int", "exit"]
            )
        )
        name, value = draw(st.sampled_from(["a", "b", "x"])), draw(expressions(NAMES))
        if kind == "if":
            branches = f"if {draw(conditions(NAMES))} {{ {draw(blocks(depth - 1))} }}"
            statements.append(
                branches + draw(st.sampled_from(["", f" else {{ {draw(blocks(depth - 1))} }}"]))
            )
        elif kind == "while":
            bound = draw(st.sampled_from(["n < 30", f"n < 20 and ({draw(conditions(NAMES))})"]))
            statements.append(
                f"while {bound} {{ n = n + 1; {draw(blocks(depth - 1))}; {name} = {name}*0.5 + tanh({value}) }}"
            )
        elif kind == "for":
            bounds = draw(st.sampled_from(["n, n + 3", "n % 4", "n // 2, 0, -2"]))
            statements.append(
                f"for j in range({bounds}) {{ {name} = {name}*0.5 + tanh({value})*j; {draw(blocks(depth - 1))} }}"
            )
        elif kind == "int":
            statements.append(
                draw(st.sampled_from(["i = i + n % 3", "i = n - 2*i % 7", "n += 1", "i = -i // 3"]))
            )
        elif kind == "exit":
            exits = ["break", "continue", f"return {value}"]
            statements.append(
                f"if {draw(conditions(NAMES))} {{ n = n + 1; {draw(st.sampled_from(exits))} }}"
            )
        else:
            statements.append(
                {
                    "assign": f"{name} = {value}",
                    "augment": f"{name} += tanh({value})",
                    "return": f"return {value}",
                }[kind]
            )
            if kind == "return":
                break
    return "; ".join(statements)


H = "fn h(z) { y = tanh(z); if y > 0.9 { return 0.5*y }; n = 0; while y < 0.5 and n < 3 { n += 1; y = y*0.5 + 0.3 }; return y }"
