"""The codes of what `check` finds."""

from __future__ import annotations

from .lang.codes import Code

CODES = {
    "E602": Code(
        "a gradient is wrong",
        "`check` compared the gradient of reverse mode with other methods, and they disagree. If "
        "the derivative rule of an\n"
        "operation is wrong, the message names the first such operation, with the rule's result "
        "and the correct one.",
        "Correct the `backward` of the function that is named. If none is named, this is a bug: "
        "please report it.",
        "$ gradcli check -e 'fn f(x) { return x**2 } backward (dy) { return 3 * x * dy }; var x "
        "= 2.0; y = f(x)'",
    ),
    "E603": Code(
        "a given gradient is wrong",
        "`check --against FILE` or `--against-command` compared the gradient with the given one. "
        "They differ by more than the\n"
        "rounding of the given digits, or an element, a variable or an output is missing or "
        "unexpected.",
        "The message names the worst element, and the mistake if it is a common one. --rtol and "
        "--atol set a tolerance, and\n"
        "--of and --wrt select gradients.",
    ),
    "E604": Code(
        "a gradient is undecided",
        "No independent method confirms the gradient (an error with `check --strict`, the "
        "default if CI=true), or the\n"
        "derivative jumps at this point (an error with `check --inconclusive fail`). The message "
        "says why each method is\n"
        "inconclusive.",
        "Check at another point (--set, --points), or write `2.0` for a variable that is an int. "
        "--no-strict lets undecided\n"
        "gradients pass, as long as another one is verified.",
        "$ gradcli check -e 'var x = 0.0; y = abs(x)' --inconclusive fail",
    ),
    "E610": Code(
        "a value or gradient to check isn't finite",
        "The output or its gradient is nan or infinite at this point, so it can't be compared "
        "with anything. A wrong gradient\n"
        "would pass as easily as a correct one.",
        "`gradcli eval --debug-nan` names the operation that causes it. If it is intended, say "
        "so in the program\n"
        "(`expect y == -inf`, `expect grad(y, x) ~= inf`), or use --allow-nonfinite.",
        "$ gradcli check -e 'var x = -2.0; y = log(x)'",
    ),
    "E611": Code(
        "nothing was verified",
        "No independent method confirmed a gradient, and no `expect` held. That doesn't count as "
        "success, because a misspelled\n"
        "name or a variable that is an int would look just like it.",
        "A check needs an output (the last value, or the names after `output`), a variable "
        "declared as a float (`var x = 2.0`),\n"
        "and a method besides forward mode, which shares the derivative rules of reverse mode.",
        "$ gradcli check -e 'var x = 2; y = x**2'",
    ),
    "E612": Code(
        "the program fails at a random point",
        "`check --points N` runs the program at random points of the declared domains. At this "
        "point it ends with an error.",
        "Narrow the domain (`var x = 0.5 in (0.0, 1.0)`), or fix the program.",
        "$ gradcli check -e 'var x = 0.5 in (0.0, 1.0); a = [1.0, 2.0]; y = x if x > 0.49 else "
        "a[7]' --points 9",
    ),
    "E613": Code(
        "the command of --against-command failed",
        "The program of `check --against-command` can't be run, ends with an exit code other "
        "than 0, or prints something\n"
        "other than JSON with gradients. So its gradients are unknown.",
        "The message has the exit code and the output of the program. Run it by hand: it gets "
        "the inputs as JSON on stdin\n"
        '(`{"x": [1.0, 2.0]}`), and prints `{"value": 5.0, "gradient": {"x": [2.0, 4.0]}}`.',
        "$ gradcli check -e 'var x = 2.0; y = x**2' --against-command false",
    ),
    "E614": Code(
        "the command of --against-command takes too long, or prints too much",
        "The program of `check --against-command` exceeded its time limit at a point, or printed "
        "more than 64 MiB. gradcli\n"
        "stopped it.",
        "--command-timeout SECONDS raises the time limit. The program must print the value and "
        "the gradient as JSON, and\n"
        "nothing else.",
        "$ gradcli check -e 'var x = 2.0; y = x**2' --against-command 'sleep 9' "
        "--command-timeout 0.1",
    ),
}
