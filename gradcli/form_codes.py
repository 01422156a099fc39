"""The codes of closed forms, as codes.py has them."""

from __future__ import annotations

from .lang.codes import Code

FORM_CODES: dict[str, Code] = {
    "E340": Code(
        "no closed form",
        "SymPy has no counterpart of this function, or none for operands like these, so what depends on it has no closed form.",
        "Its values and gradients are there all the same: `gradcli eval`.",
        "$ gradcli symbolic -e 'sum(eigh(x)[0])' --set 'x=[[2.0, 1.0], [1.0, 2.0]]'",
    ),
    "E408": Code(
        "a closed form too large",
        "A loop unrolled, or a large array, makes a formula that nobody would read; it stops at the operation that is shown.",
        "Ask for the form of fewer iterations or smaller arrays, or of an intermediate value (`--of`).",
        "$ gradcli symbolic -e 'var x = 0.5; for k in range(20) { x = 4 * x * (1 - x) }; output x'",
    ),
    "W340": Code(
        "true along this path",
        "The closed form was read from a run of the program at this point. The operation that is shown has no form of its own\n"
        "(the position of the largest element, the derivative rule of a function), so its value here stands in its place.",
        "Look whether it holds where you mean to use it.",
        "$ gradcli symbolic -e 'var x = [1.0, 2.0]; y = x[argmax(x)]'",
    ),
    "W341": Code(
        "true along one path",
        "Which path a program takes depends on its variables, and its paths can't be joined into one form: there are too many\n"
        "of them, as in a loop that runs until something holds, or they give values of different shapes.",
        "Look where the path of this point holds; `gradcli check` shows how far it is from another one.",
        "$ gradcli symbolic -e 'var x = 2.0; t = x; while t > 0.1 { t = t / 2 }; y = t**2'",
    ),
    "W342": Code(
        "not simplified",
        "SymPy's simplification took longer than --timeout, and was cut off; the form is right as it is.",
        "Raise --timeout, or leave it: --no-simplify doesn't try.",
    ),
    "W343": Code(
        "no closed form beside the numbers",
        "`eval --closed-form` found no closed form of an output, or none that is short enough; its numbers are right.",
        "The message says which operation has none.",
        "$ gradcli eval -e 'sum(eigh(x)[0])' --set 'x=[[2.0, 1.0], [1.0, 2.0]]' --closed-form",
    ),
}
