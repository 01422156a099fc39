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
        "`check --against FILE` or `--against-command` compared the gradient with the one that is given, and they differ by\n"
        "more than the rounding of the digits that are given; or an element, a variable or an output is missing, or too many.",
        "The message names the element that is worst, and the mistake where it is a common one. --rtol and --atol allow a\n"
        "distance, --of and --wrt leave gradients out.",
    ),
    "E604": Code(
        "whether a gradient is right can't be told",
        "No independent method confirms the gradient (`check --strict`, on by default where CI=true), or the derivative jumps\n"
        "at this very point (`check --inconclusive fail`). The message says why each method is silent.",
        "Check at another point (--set, --points), or write `2.0` for a variable that is an int. --no-strict lets undecided\n"
        "gradients pass, as long as another one is verified.",
        "$ gradcli check -e 'var x = 0.0; y = abs(x)' --inconclusive fail",
    ),
    "E610": Code(
        "what is to be compared isn't finite",
        "The output or its gradient is nan or infinite at this point, and no other number can be compared with it: a wrong\n"
        "gradient would pass as well as a right one.",
        "`gradcli eval --debug-nan` names the operation that makes it. Where it is meant, the program says so\n"
        "(`expect y == -inf`, `expect grad(y, x) ~= inf`), or --allow-nonfinite passes over it.",
        "$ gradcli check -e 'var x = -2.0; y = log(x)'",
    ),
    "E611": Code(
        "nothing was verified",
        "The check ended without a gradient that an independent method confirms, and without an `expect` that held. That is\n"
        "no success: a misspelled name, or a variable that is an int, would look the same.",
        "A check needs an output (the last value, or what `output` names), a variable declared as a float (`var x = 2.0`), and\n"
        "a method beside forward mode, which has the rules of reverse mode.",
        "$ gradcli check -e 'var x = 2; y = x**2'",
    ),
    "E612": Code(
        "the program fails at a random point",
        "`check --points N` runs the program at points of the domains that its variables declare; at this one it ends with an\n"
        "error.",
        "Narrow the domain (`var x = 0.5 in (0.0, 1.0)`), or mend the program.",
        "$ gradcli check -e 'var x = 0.5 in (0.0, 1.0); a = [1.0, 2.0]; y = x if x > 0.49 else a[7]' --points 9",
    ),
    "E613": Code(
        "the command that is to give gradients failed",
        "The program of `check --against-command` can't be run, ends with an exit code other than 0, or prints anything but\n"
        "JSON with gradients. So nothing is known of its gradients.",
        "The message has the exit code and what the program said. Run it by hand: it gets the inputs as JSON on standard input\n"
        '(`{"x": [1.0, 2.0]}`), and prints `{"value": 5.0, "gradient": {"x": [2.0, 4.0]}}`.',
        "$ gradcli check -e 'var x = 2.0; y = x**2' --against-command false",
    ),
    "E614": Code(
        "the command that is to give gradients takes too long, or prints too much",
        "The program of `check --against-command` didn't end within the time that it has at a point, or printed more than\n"
        "64 MiB; it was ended.",
        "--command-timeout SECONDS gives it more. It is to print the value and the gradient as JSON, and nothing else.",
        "$ gradcli check -e 'var x = 2.0; y = x**2' --against-command 'sleep 9' --command-timeout 0.1",
    ),
}
