"""The codes of errors at run time (E3), as codes.py has them, and what they mean."""

from __future__ import annotations

from .lang.codes import Code

CODES: dict[str, Code] = {
    "E301": Code(
        "operands of the wrong type",
        "The operation isn't defined for an operand of this type: none, a string, a function.",
        "The message shows both operands. Often a function wasn't called, or returned nothing on "
        "some path.",
        "x = none + 1",
    ),
    "E302": Code(
        "shapes don't broadcast",
        "Elementwise operations broadcast as in NumPy: they repeat axes of length 1 and add "
        "missing axes in front.\n"
        "These shapes have sizes that differ, of which neither is 1.",
        "Compare the shapes from the right: the two sizes must be equal, or one of them 1. `x[:, "
        "none]` adds an axis.",
        "a = ones([3]) + ones([4])",
    ),
    "E303": Code(
        "index out of range",
        "Indices of an axis of length n run from 0 to n-1, and from -1 back to -n; an index is "
        "an int, a slice or a mask.",
        "The message shows the length. `x[-1]` is the last element.",
        "x = [1.0, 2.0]\ny = x[2]",
    ),
    "E304": Code(
        "a matrix doesn't fit",
        "A product needs equal inner dimensions. Determinants, inverses and linear systems need "
        "a square matrix; inverses and\n"
        "linear systems need one that isn't singular. `cholesky` needs a positive definite matrix.",
        "The message shows the shapes or the matrix. Often a transpose (`x.T`) or a `reshape` is "
        "missing.",
        "y = ones([3, 2]) @ ones([3])",
    ),
    "E305": Code(
        "int overflow",
        "Ints have 64 bits. A result that needs more is an error, because a value that wraps "
        "around would be wrong.",
        "Compute in floats: write `2.0` instead of `2`.",
        "x = 9223372036854775807 + 1",
    ),
    "E306": Code(
        "int division by zero",
        "`//` and `%` of ints have no result for the divisor 0. Floats give inf or nan.",
        "Check the divisor, or divide floats.",
        "x = 1 // 0",
    ),
    "E307": Code(
        "a name is read before it is assigned",
        "Some path assigns the name, but not the one that the program took.",
        "Assign it before the `if` or loop.",
        "x = 1.0\nif x > 2 { y = x }\nz = y",
    ),
    "E308": Code(
        "a call that doesn't work",
        "The value before the parentheses isn't a function, or the arguments don't fit its "
        "parameters.",
        "The message shows the signature. A name that hides a builtin is named with its line.",
        "fn f(a, b) = a + b\ng = f\ny = g(1.0)",
    ),
    "E309": Code(
        "no such member or key",
        "The dict, module, tape or import has no entry of this name.",
        "The message lists the existing names.",
        "d = {alpha: 1.0}\ny = d.alhpa",
    ),
    "E310": Code(
        "a condition isn't one bool",
        "`if`, `while`, `and`, `or` and `not` need one bool. A condition on an array has one per "
        "element.",
        "Write `any(x > 0)` or `all(x > 0)`. To choose element by element, write `where(x > 0, "
        "a, b)`; `logical_and` and `logical_or` combine conditions on arrays.",
        "x = [1.0, -1.0]\nif array(x) > 0 { y = 1.0 }",
    ),
    "E311": Code(
        "an option of a builtin is wrong",
        "The builtin doesn't accept this value of its option.",
        "`gradcli ops NAME` shows the signature.",
        "for i in range(0, 4, 0) { print i }",
    ),
    "E312": Code(
        "this can't be assigned",
        "The statement assigns to a const, puts a float into an int array, uses `:=` on "
        "something that isn't a variable, or\n"
        "replaces an element of a captured array.",
        "Declare a `var` for state that changes. Create arrays for floats from floats: `[1.0, "
        "2.0]`.",
        "a = array([1, 2])\na[0] = 0.5",
    ),
    "E313": Code(
        "a value isn't of its declared type",
        "The value has another dtype or shape than its declaration.",
        "Change one of them. In a shape, `_` allows any size, and a name stands for one size "
        "everywhere.",
        "var x: float[3] = [1.0, 2.0]",
    ),
    "E314": Code(
        "a target or source without a derivative",
        "The target or the source has no derivative: it is a complex target, a string, or a "
        "function instead of a value.",
        "Differentiate `real(z)`, `imag(z)` or `abs(z)`; call the function, or use the form "
        "`grad(f)(x)`.",
        "var x = 1.0\ny = grad(x * 1j, x)",
    ),
    "E315": Code(
        "unpacking a wrong number of values",
        "There are more or fewer values than names.",
        "Write one name per value, or index the list.",
        "a, b = [1.0, 2.0, 3.0]",
    ),
    "E316": Code(
        "no gradient attached",
        "`x.grad` exists after `attach_grad(x)`, which makes x a variable with a gradient. A "
        "later assignment `x = …` binds the\n"
        "name to another value, which has none.",
        "Write `attach_grad(x)` before the `record` block, and update x with `x := …`.",
        "x = [1.0, 2.0]\ny = x.grad",
    ),
    "E317": Code(
        "no gradient registered",
        "The path goes through an `opaque fn` without a derivative rule. A silent `none` would "
        "hide that.",
        "Add a rule with `backward NAME(dy, …) { … }`, or cut the path with `detach(…)`.",
        "opaque fn f(x) = x**2\nvar x = 2.0\ny = grad(f(x), x)",
    ),
    "E322": Code(
        "a rule returned something that isn't a gradient",
        "A `backward` body returns one gradient per parameter, in order, as a list (a bare value "
        "for one parameter).\n"
        "Each has the structure and the shape of its parameter; `none` says that there is no "
        "gradient.",
        "The message shows both shapes. Where the body repeats a parameter along an axis, the "
        "gradient is the sum over it.",
        "var x = 2.0\nfn f(x) { return x * ones([3]) } backward (dy) { return dy }\ny = "
        "grad(f(x), x)",
    ),
    "E323": Code(
        "a rule can't return this gradient",
        "A function with its own derivative rule uses a variable from outside. The rule returns "
        "gradients of the parameters\n"
        "only, so the gradient with respect to that variable would silently be missing.",
        "Make the variable a parameter, or cut the path with `detach(…)`.",
        "var w = 2.0\nvar x = 3.0\nfn f(x) { return w * x } backward (dy) { return dy * w }\ny = "
        "f(x)",
    ),
    "E324": Code(
        "a nan or an infinity",
        "--debug-nan found an operation, in the forward or the backward pass, whose result isn't "
        "finite and reaches the output.\n"
        "Values that `where` discards don't count.",
        "The message shows the operation with its operands, and a formula that is finite there "
        "if there is one.",
        "$ gradcli eval -e 'log(x) * 3' --set x=-2 --debug-nan",
    ),
    "E318": Code(
        "an unconnected gradient",
        "With --unconnected error, a missing gradient is an error. The reason code says why it "
        "is missing.",
        "`gradcli explain REASON` shows the fix. --unconnected none or zero accepts missing "
        "gradients.",
        "$ gradcli eval -e 'var x = 1.0; var y = 2.0; output x**2' --unconnected error",
    ),
    "E321": Code(
        "a second request to a tape",
        "A tape answers one request for a derivative, unless it is persistent.",
        "Open it with `tape t (persistent = true) { … }`, or ask for all gradients at once: "
        "`t.gradient(y, [a, b])`.",
        "var x = 1.0\ntape t { y = x**2 }\na = t.gradient(y, x)\nb = t.gradient(y, x)",
    ),
    "E325": Code(
        "this can't be the head of `backward`",
        "`backward(y)` goes back over the operations in `record` blocks, from y to the variables "
        "with attached gradients. This\n"
        "y was computed elsewhere, is a plain value, or depends on no such variable.",
        "Compute it inside `record { … }`, from a variable that `attach_grad` was called on "
        "before.",
        "x = 3.0\nattach_grad(x)\ny = x**2\nbackward(y)",
    ),
    "E326": Code(
        "an operation was consumed",
        "`backward` consumes the operations that it goes through, so that a forgotten `record` "
        "is noticed. A later request\n"
        "needs one of them again.",
        "Write `backward(y, retain = true)` the first time, or use `grad(y, x)`, which consumes "
        "nothing.",
        "x = 3.0\nattach_grad(x)\nrecord { y = x**2 }\nbackward(y)\nbackward(y)",
    ),
    "E319": Code(
        "this can't be looped over",
        "`for` loops over range(n), the rows of an array, a list, zip(…) and enumerate(…).",
        "To repeat something n times, write `range(n)`.",
        "for i in 3.0 { print i }",
    ),
    "E320": Code(
        "a builtin rejects its operands",
        "The builtin doesn't accept these operands; its message says why.",
        "`gradcli ops NAME` shows what it accepts.",
        "y = reshape(ones([2, 3]), [4])",
    ),
}
