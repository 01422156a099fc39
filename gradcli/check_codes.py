"""The codes of what `check` finds."""

from __future__ import annotations

from .lang.codes import Code

CODES = {
    "E602": Code(
        "a gradient is wrong",
        "`check` compared the gradient of reverse mode with what other methods say, and they don't agree. Where the rule of an\n"
        "operation is wrong, the message names the first one, with what the rule gives and what the operation itself says.",
        "Correct the `backward` of the function that is named. Where none is named, this is a bug: please report it.",
        "$ gradcli check -e 'fn f(x) { return x**2 } backward (dy) { return 3 * x * dy }; var x = 2.0; y = f(x)'",
    ),
    "E603": Code(
        "a gradient isn't what was given",
        "`check --against FILE` compared the gradient with the one in the file, and they differ by more than rounding errors.",
        "The message names the element that is worst. --rtol and --atol allow a distance.",
    ),
    "E604": Code(
        "whether a gradient is right can't be told",
        "Under `check --inconclusive fail` a method that can't say anything counts as failed; the message says why it can't.",
        "Check at another point (--set, --points), or leave the method out (--methods).",
        "$ gradcli check -e 'var x = 0.0; y = abs(x)' --inconclusive fail",
    ),
}
