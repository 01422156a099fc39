"""The reason codes: why a gradient is none, zero, nan or infinite; what they mean and what to do.

The examples are programs, of which `gradcli why` gives the reason.
"""

from __future__ import annotations

from .lang.codes import Code

_NONE = {
    "never_read": Code(
        "the source is never used",
        "No computation that leads to the target reads the source.",
        "Use it, or leave it out of --wrt.",
        "var x = 1.0\nvar y = 2.0\nz = y**2",
    ),
    "value_unused": Code(
        "the source is read, but its value isn't used",
        "The program takes its length, its shape or its text, or passes it on to where nothing "
        "computes with it.",
        "Compute with the value itself, or leave it out of --wrt.",
        "var x = [1.0, 2.0]\nvar v = 3.0\ny = v * len(x)",
    ),
    "constant": Code(
        "the source is a constant",
        "Literals and `const` are never watched.",
        "Declare it with `var`, or `watch` it before it is used.",
        "var x = 1.0\nconst c = 2.0\ny = c * x\ng = grad(y, c)\noutput y",
    ),
    "integer": Code(
        "the path goes through integers",
        "Ints and bools have no derivatives.",
        'Write floats: `2.0`, or `cast(x, "float64")`.',
        "var x = 2.7\nn = int64(x)\ny = n * 3.0",
    ),
    "string": Code(
        "the source is a string",
        "Strings have no derivatives.",
        "Differentiate by a number.",
        'var s = "mean"\nvar x = 1.0\ny = x**2',
    ),
    "frozen": Code(
        "the source is frozen",
        "`frozen` variables are watched only on request.",
        "Declare it with `var`, or `watch` it.",
        "frozen s = 2.0\nvar x = 1.0\ny = s * x\ng = grad(y, s)\noutput y",
    ),
    "detached": Code(
        "the path is cut by detach",
        "`detach` (or `stop_gradient`) gives the value without its history.",
        "Remove it, if it isn't intended.",
        "var x = 2.0\na = x**2\nb = detach(a)\ny = b * 3",
    ),
    "replaced": Code(
        "the variable was replaced",
        "`x = …` bound its name to a plain value.",
        "Update the variable with `x := …`, or use another name for the value.",
        "var x = 2.0\nx = x + 1.0\ny = x**2",
    ),
    "state": Code(
        "the path goes through a variable's state",
        "`v := …` stores a value; reading v later starts a new path at v.",
        "Use a plain name for intermediate values, and `:=` only for updates.",
        "var x = 3.0\nvar v = 0.0\nv := x * 2\ny = v**2",
    ),
    "paused": Code(
        "the path goes through a pause block",
        "Nothing is recorded inside `pause { … }`.",
        "Move the computation out of the block.",
        "var x = 2.0\npause { a = x**2 }\ny = a * 3",
    ),
    "condition_only": Code(
        "the source decides only a condition",
        "The choice of the branch depends on the source, but the value that the branch computes "
        "doesn't. Choices have no\n"
        "derivative.",
        "Let the value depend on it, for example with a smooth blend such as `sigmoid`.",
        "var x = 1.0\nvar v = 2.0\nif x > 0 { y = v } else { y = -v }\noutput y",
    ),
    "index_only": Code(
        "the source decides only an index, a shape or a count",
        "The choice of the elements depends on the source, but their values don't.",
        "Weight the elements with a smooth function, such as `softmax`.",
        "var x = 1.2\na = [1.0, 2.0, 4.0]\ny = a[int64(x)] * 2.0",
    ),
    "branch_not_taken": Code(
        "the source is used only in a branch that wasn't taken",
        "A gradient exists only for values that the path taken uses.",
        "Inputs that take the other branch have a gradient.",
        "var x = 1.0\nvar v = 2.0\nif v > 3 { y = x } else { y = v**2 }\noutput y",
    ),
    "not_watched": Code(
        "the tape doesn't watch the source",
        "A tape watches trainable variables, unless opened with `watch_variables = false`; "
        "anything else has to be watched.",
        "Write `watch x` inside the block of the tape.",
        "var x = 2.0\ntape t (watch_variables = false) { y = x**2 }\ng = t.gradient(y, "
        "x)\noutput y",
    ),
    "not_recorded": Code(
        "the path was computed while the tape wasn't recording",
        "The tape holds only what was computed while it was open, from what it watched.",
        "Open the tape earlier, or `watch` the source first.",
        "var x = 2.0\na = x**2\ntape t { y = a * 3 }\ng = t.gradient(y, x)\noutput y",
    ),
    "rule_gives_none": Code(
        "a function's own rule returned none",
        "The path goes through a function whose `backward` rule says, for this parameter, that "
        "there is no gradient.",
        "Return a gradient in its place, or zeros if the function doesn't depend on the parameter.",
        "fn f(a) { return a**2 } backward (dy) { return none }\nvar x = 2.0\ny = f(x)",
    ),
    "opaque": Code(
        "the path goes through an opaque function",
        "This `opaque fn` has no derivative rule, so differentiating through it is an error "
        "(E317).",
        "Add one with `backward NAME(dy, …) { … }`, or cut the path with `detach(…)`.",
        "opaque fn f(a) { return a**2 }\nvar x = 2.0\ny = f(x) * 3",
    ),
    "not_on_path": Code(
        "the source isn't on the path to the target",
        "Both were recorded, but no operation leads from one to the other.",
        "Check the names.",
        "var x = 1.0\nvar v = 2.0\na = x * 2\ny = v * 2",
    ),
    "unknown": Code(
        "the reason wasn't found",
        "The search runs the program a second time, for a bounded number of steps, and this "
        "program takes more.",
        "Use `gradcli why`, which has no such limit, or make the run shorter: fewer iterations, "
        "less data.",
    ),
}

_ZERO = {
    "dead_relu": Code(
        "a relu below zero",
        "`relu` is 0 for everything below 0, and flat there: no gradient passes.",
        "Use `leaky_relu`, `softplus` or `gelu`, or start at other weights.",
        "var x = -2.0\nh = relu(x * 3)\ny = h * 5",
    ),
    "saturated": Code(
        "a function that has flattened out",
        "For large arguments `tanh`, `sigmoid` and similar functions are so flat that their "
        "slope is 0 in floating point.",
        "Keep the argument small, for example by normalising it, or compute with logarithms.",
        "var x = 500.0\ny = tanh(x) * 2",
    ),
    "flat": Code(
        "a step function",
        "`floor`, `ceil`, `round`, `trunc` and `sign` have steps: their derivative is 0.",
        "Use the value itself, or a smooth function.",
        "var x = 2.5\ny = floor(x) * 2",
    ),
    "clipped": Code(
        "a value outside its bounds",
        "Outside its bounds `clip` returns the bound, and `maximum` and `minimum` return the "
        "other operand. The result doesn't\n"
        "depend on this value.",
        "Values inside the bounds have a gradient.",
        "var x = 2.5\ny = clip(x, 0, 1) * 2",
    ),
    "not_chosen": Code(
        "another value is chosen",
        "`where`, `max`, `x[i]` and similar operations choose some of their values; the result "
        "doesn't depend on the others.",
        "Inputs for which this value is chosen have a gradient.",
        "var x = 2.0\ny = where(x > 0, 1.0, x)",
    ),
    "zero_factor": Code(
        "a factor of 0",
        "This value is multiplied by 0, so the derivative with respect to it is 0.",
        "Start with another factor. This is why the weights of a layer are initialised at random.",
        "var x = 1.0\nconst w = 0.0\ny = w * x",
    ),
    "stationary": Code(
        "a point where the derivative is zero",
        "The function has a minimum, a maximum or a saddle here.",
        "Nothing is wrong; other points have a gradient that isn't 0.",
        "var x = 0.0\ny = cos(x)",
    ),
    "kink": Code(
        "a kink",
        "The function has no derivative here, and by convention it counts as 0 (`gradcli ops` "
        "has the conventions).",
        "Other points have a gradient.",
        "var x = 0.0\ny = abs(x) * 3",
    ),
    "cancelled": Code(
        "paths that cancel",
        "Several paths lead from the source to the target, and their contributions to the "
        "gradient add up to 0.",
        "Nothing is lost: the target doesn't change with the source.",
        "var x = 2.0\ny = (x + 1) - x",
    ),
    "vanished": Code(
        "slopes whose product is too small",
        "No slope on the path is 0, but their product is less than the smallest float.",
        "Scale the values, or compute with logarithms.",
        "var x = 2.0\na = x * 1e-200\ny = a * 1e-200",
    ),
    "rule_gives_zero": Code(
        "a function's own rule returned zero",
        "The path goes through a function whose `backward` rule gives 0 here.",
        "Check the rule: `gradcli check` compares it with differences.",
        "fn f(a) { return a**2 } backward (dy) { return 0.0 * dy }\nvar x = 2.0\ny = f(x)",
    ),
}

_NOT_FINITE = {
    "nonfinite_value": Code(
        "an operation that gave nan or infinity",
        "Its operands are finite and its result isn't: outside the domain, a division by zero, "
        "or more than the largest float.",
        "`why` and `eval --debug-nan` suggest a formula that is finite there, if they know one.",
        "var x = 800.0\ny = log(1 + exp(x))",
    ),
    "nonfinite_input": Code(
        "a number that is nan or infinite to begin with",
        "The input or the literal is nan or infinite; no operation caused it.",
        "Use finite numbers.",
        "var x = inf\ny = x * 2 * x",
    ),
    "infinite_slope": Code(
        "a derivative that is infinite or nan",
        "The value is finite, but the function is infinitely steep here, as `sqrt` at 0.",
        "Leave the point out with `where(x > 0, sqrt(x), 0)`, or use a formula with a derivative "
        "there.",
        "var x = [0.0, 4.0]\ny = sum(sqrt(x))",
    ),
    "overflow": Code(
        "slopes whose product is too large",
        "No slope on the path is infinite, but their product or sum is more than the largest "
        "float.",
        "Scale the values, or compute with logarithms.",
        "var x = 1e-200\na = x * 1e200\nb = a * 1e200\ny = b * 1e-50",
    ),
}

REASONS: dict[str, Code] = _NONE | _ZERO | _NOT_FINITE
