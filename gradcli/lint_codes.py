"""The codes of what `lint` finds, as codes.py has them. `lint` also finds W202, W203, W206 and
W207, which a run tells about where they matter to it."""

from __future__ import annotations

from .lang.codes import Code

CODES: dict[str, Code] = {
    "W401": Code(
        "a name that nothing reads",
        "A function assigns a local name and never reads it, or a program with `output` assigns a "
        "name that leads to no output and no expectation, or imports what it doesn't use.",
        "Remove it. A name that begins with `_` is never reported.",
        "$ gradcli lint -e 'fn f(x) { t = x + 1; return x }; output f(2.0)'",
    ),
    "W402": Code(
        "a local name hides one from outside",
        "A plain assignment in a function makes a local name. The name of the same spelling "
        "outside keeps its value.",
        "Write `name := …` to update the state of a variable from outside, or choose another name.",
        "$ gradcli lint -e 'frozen n = 0; fn f(x) { n = x + 1; return n }; output f(2.0), n'",
    ),
    "W403": Code(
        "a name hides a builtin or a constant",
        "The program can't use the builtin or the constant of this name any more: after `e = 0.1`, "
        "`e` is 0.1.",
        "Choose another name.",
        "$ gradcli lint -e 'var e = 0.1; output e**2'",
    ),
    "W404": Code(
        "statements that never run",
        "They come after `return`, `break` or `continue`, or their condition is `false`.",
        "Remove them.",
        "$ gradcli lint -e 'fn f(x) { return x; print x }; output f(2.0)'",
    ),
    "W405": Code(
        "floats compared by `==` or `!=`",
        "Rounding makes floats differ in the last digits: `0.1 + 0.2 == 0.3` is false. `== 0.0` "
        "and comparisons in `expect` aren't reported. Nothing is equal to nan.",
        "Write `abs(a - b) < tolerance`, or `expect a ~= b`. For nan write `x != x`.",
        "$ gradcli lint -e 'var x = 0.3; output 1.0 if x == 0.3 else 0.0'",
    ),
    "W406": Code(
        "a decimal comma",
        "A comma divides two values: `x = 3,14` is the list `[3, 14]`, and `expect y < 3,14` is "
        "`expect y < 3` with the message 14.",
        "Write `3.14`; or a blank behind the comma, if two values are meant.",
        "$ gradcli lint -e 'x = 3,14; output x'",
    ),
    "W411": Code(
        "the square of a norm",
        "`norm(x)**2` takes a root and squares it. `sum(x**2)` is the same without rounding twice.",
        "Write `sum(x**2)`. --fix does where x is surely an array of floats.",
        "$ gradcli lint -e 'var x = [1.0, 2.0]; output norm(x)**2'",
    ),
    "W412": Code(
        "a logarithm near 1",
        "Where x is small, `1 + x` loses the digits of x. `log1p(x)` keeps them, and so does its "
        "derivative.",
        "Write `log1p(x)`, or let --fix do it.",
        "$ gradcli lint -e 'var x = 1e-9; output log(1 + x)'",
    ),
    "W413": Code(
        "an exponential less 1",
        "Where x is small, `exp(x) - 1` loses the digits of x. `expm1(x)` keeps them.",
        "Write `expm1(x)`, or let --fix do it.",
        "$ gradcli lint -e 'var x = 1e-9; output exp(x) - 1'",
    ),
    "W414": Code(
        "a norm by hand",
        "`sqrt(sum(x**2))` overflows for large x, and its gradient at 0 is nan. `norm(x)` doesn't, "
        "and its gradient at 0 is 0.",
        "Write `norm(x)`. --fix does in programs without complex numbers.",
        "$ gradcli lint -e 'var x = [3.0, 4.0]; output sqrt(sum(x**2))'",
    ),
    "W421": Code(
        "a loop over elements",
        "The loop computes one element, or adds one, at each turn. An operation on whole arrays "
        "says the same, and is faster.",
        "The message shows it. Where turns depend on earlier ones, keep the loop.",
        "$ gradcli lint -e 'var x = [1.0]; s = 0.0; for i in range(1) { s += x[i] }; output s'",
    ),
}
