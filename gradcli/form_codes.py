"""The codes of closed forms, as codes.py has them."""

from __future__ import annotations

from .lang.codes import Code

FORM_CODES: dict[str, Code] = {
    "E340": Code(
        "no closed form",
        "SymPy has no counterpart of this function, or none for such operands. Values that "
        "depend on it have no closed form.",
        "`gradcli eval` still computes values and gradients.",
        "$ gradcli symbolic -e 'sum(eigh(x)[0])' --set 'x=[[2.0, 1.0], [1.0, 2.0]]'",
    ),
    "E408": Code(
        "a closed form is too large",
        "An unrolled loop or a large array makes a formula too long to read. gradcli stops at "
        "the operation that is shown.",
        "Ask for the form of fewer iterations or smaller arrays, or of an intermediate value "
        "(`--of`).",
        "$ gradcli symbolic -e 'var x = 0.5; for k in range(20) { x = 4 * x * (1 - x) }; output x'",
    ),
    "W340": Code(
        "a closed form holds only near this point",
        "The closed form comes from a run of the program at this point. The operation that is "
        "shown has no closed form (the\n"
        "position of the largest element, the derivative rule of a function), so the form uses "
        "its value at this point.",
        "Check that the form holds where you want to use it.",
        "$ gradcli symbolic -e 'var x = [1.0, 2.0]; y = x[argmax(x)]'",
    ),
    "W341": Code(
        "a closed form holds only for one path",
        "The path of the program depends on its variables, and its paths can't be joined into "
        "one form: there are too many of\n"
        "them, as in a `while` loop, or they give values of different shapes.",
        "Check where the program takes this path; `gradcli check` shows how far this point is "
        "from another path.",
        "$ gradcli symbolic -e 'var x = 2.0; t = x; while t > 0.1 { t = t / 2 }; y = t**2'",
    ),
    "W342": Code(
        "not simplified",
        "SymPy's simplification took longer than --timeout, and was stopped. The form is "
        "correct, but not simplified.",
        "Raise --timeout, or use --no-simplify.",
    ),
    "W343": Code(
        "no closed form for an output",
        "`eval --closed-form` found no closed form of an output, or none that is short enough. "
        "Its numbers are correct.",
        "The message says which operation has none.",
        "$ gradcli eval -e 'sum(eigh(x)[0])' --set 'x=[[2.0, 1.0], [1.0, 2.0]]' --closed-form",
    ),
}
