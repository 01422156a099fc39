"""Every diagnostic code and reason code, with what it means and what to do: what `gradcli explain`
prints.

Examples that are programs really produce their code, and lines that begin with `$` are commands
that do (tests run both). Those of the language (E1, E2, E401, E402) stand in lang/codes.py, those
of `check` (from E602 on) in check_codes.py, those of `batch` (from E605 on) in batch_codes.py.

E0 the command line · E1 syntax · E2 names and structure · E3 run time · E4 limits · E5 device · E6
expectations and checks · E9 a bug.
"""

from __future__ import annotations

from .batch_codes import CODES as _BATCH
from .check_codes import CODES as _CHECKS
from .form_codes import FORM_CODES as _FORMS
from .lang.codes import CODES as _LANGUAGE
from .lang.codes import Code as Code
from .reason_codes import REASONS as _REASONS

_COMMAND_LINE = {
    "E001": Code(
        "the command line is wrong",
        "An option or command doesn't exist, an option has a value that it doesn't accept,\nor "
        "GRADCLI_TIER isn't 0, 1 or 2.",
        "`gradcli COMMAND --help` lists the options; the message names the closest one.",
        "$ gradcli eval -e 'x**2' --sett x=3",
    ),
    "E002": Code(
        "a file can't be read",
        "The file doesn't exist, can't be opened, has an unknown ending, or is a folder where a "
        "single file is needed.\n"
        "A folder of programs must have at least one .tg file.",
        "Check the path. `-` is standard input. Inputs come from .json, .csv, .npy and .npz:name.",
        "$ gradcli eval nowhere.tg",
    ),
    "E003": Code(
        "an input that the program doesn't declare",
        "--set, --inputs or `run(…)` gives a value to a name that the program doesn't declare "
        "with var, frozen or const.\n"
        "Without this error, a misspelled name would silently leave the old value in place.",
        "Correct the name, declare it (`var x`), or pass --ignore-extra.",
        "$ gradcli eval -e 'var width = 2.0; y = width**2' --set widht=3",
    ),
    "E004": Code(
        "an input is missing",
        "A declaration without a value (`var x`) and a free variable of an expression need a "
        "value from outside.",
        "Give it with --set NAME=VALUE or --inputs FILE, or add a value to the declaration.",
        "$ gradcli eval -e 'x**2'",
    ),
    "E005": Code(
        "an input doesn't fit",
        "The value doesn't match the declaration (`var x: float[3]`), or its file has something "
        "that isn't a number.",
        "The message names the file and line, or both shapes. Change the value or the declaration.",
        "$ gradcli eval -e 'var x: float[3]; y = sum(x)' --set 'x=[1, 2]'",
    ),
    "E006": Code(
        "the output can't be written",
        "The folder doesn't exist, can't be written to, or the disk is full. No partial file is "
        "left behind.\n"
        "Blocks that `batch` has finished are kept for --resume.",
        "Make the folder, free space, or choose another file for -o.",
        "$ gradcli eval -e 'x**2' --set x=3 -o nowhere/y.json",
    ),
    "E007": Code(
        "a setting is wrong",
        "[tool.gradcli] in pyproject.toml, or gradcli.toml, isn't valid TOML, or has a key that "
        "is no option. Some options are\n"
        "allowed only on the command line, because the file may come from a stranger: addresses, "
        "commands, files, and whatever\n"
        "makes `check` less strict.",
        "Keys are long options without their dashes: `precision = 12`, or for one command under "
        "[tool.gradcli.eval]. Give other\n"
        "options on the command line; --no-config ignores all settings files.",
    ),
    "E008": Code(
        "a package can't add its functions",
        "An installed package provides functions (entry-point group `gradcli.ops`), but "
        "registering them failed.\n"
        "gradcli loads such packages if a program calls a function that isn't a builtin.",
        "The message says what the package raised. Update it, or remove it.",
    ),
}

_RUN_TIME = {
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
        "a, b)`.",
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
        "only, so the gradient by that variable would silently be missing.",
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

_LIMITS = {
    "E403": Code(
        "--max-steps reached",
        "The program executed as many statements as --max-steps allows.",
        "Look for a loop that doesn't end, or raise --max-steps.",
        "$ gradcli eval -e 'i = 0; while true { i = i + 1 }' --max-steps 1000",
    ),
    "E404": Code(
        "--timeout reached",
        "The program ran for as long as --timeout allows. The output has what it printed before "
        "that.",
        "Raise --timeout, or compute less.",
        "$ gradcli eval -e 'i = 0; while true { i = 1 - i }' --timeout 0.3",
    ),
    "E405": Code(
        "out of memory",
        "An array doesn't fit into memory, and wasn't created; or the program reached "
        "--max-memory.",
        "Make arrays smaller, or raise --max-memory.",
        "y = zeros([1000000, 1000000, 1000])",
    ),
    "E406": Code(
        "too many calls inside each other",
        "A recursion went deeper than the interpreter allows.",
        "Check that it ends, or turn it into a loop.",
        "fn f(n) { return f(n + 1) }\ny = f(0)",
    ),
    "E407": Code(
        "lists nested too deep",
        "Lists and dicts nest at most 200 deep.",
        "Collect with `append`, or in an array.",
        "l = [1.0]\nfor i in range(1000) { l = [l] }\nprint l",
    ),
}

_OTHER = {
    "E501": Code(
        "the device isn't there",
        "--device cuda needs an NVIDIA GPU with its driver, and CuPy.",
        "Install with `pip install 'gradcli[gpu]'`, or use --device cpu.",
    ),
    "E601": Code(
        "an expectation failed",
        "An `expect` didn't hold. The program went on; the exit code is 1.",
        "The message shows both sides. `within (rtol = …, atol = …)` states another tolerance.",
        "expect 1.0 + 1.0 == 3.0",
    ),
    "E900": Code(
        "a bug in gradcli",
        "Something went wrong inside gradcli. This isn't your mistake.",
        "Please report the command, the program, `gradcli --version`, and what --traceback shows.",
    ),
    "W007": Code(
        "a settings file is ignored",
        "gradcli ignores a gradcli.toml or pyproject.toml that another user owns, or that is "
        "above the root of the repository,\n"
        "because somebody else may have put it there.",
        "Give the settings that you want on the command line, or write a file of your own. "
        "--no-config ignores all files.",
    ),
    "W201": Code(
        "an unconnected gradient",
        "No recorded operation connects the target to the source, so the gradient is `none`. "
        "That isn't 0: 0 is a derivative,\n"
        "and `none` says that there is no path. The diagnostic has a reason code.",
        "`gradcli explain REASON` explains the reason. --unconnected zero gives zeros.",
        "var x = 1.0\nvar y = 2.0\noutput x**2",
    ),
    "W202": Code(
        "ints, bools and strings aren't differentiable",
        "Gradients by an int, a bool or a string are `none`, and so are the gradients of an "
        "output that is an int.",
        "Write a float: `2.0` instead of `2`.",
        "var x = 1.0\nn = 3\ng = grad(n * x, n)",
    ),
    "W203": Code(
        "a variable was replaced by a plain value",
        "`x = …` binds the name x to a new value. The variable no longer has a name, and "
        "automatic gradients by it are `none`.",
        "Update its state with `x := …`, or give the value a name of its own.",
        "var x = 1.0\nx = x + 1.0\noutput x**2",
    ),
    "W204": Code(
        "rows of a batch depend on each other",
        "`batch_jacobian` treats the first axis as a batch of independent rows. Here a row of "
        "the target depends on other rows\n"
        "of the source, so the result is the gradient of the sum over the batch.",
        "Use `jacobian`, which differentiates every row of the target by every row of the source.",
        "var x = [[1.0, 2.0], [3.0, 4.0]]\nj = batch_jacobian(x - mean(x, axis = 0), x)",
    ),
    "W206": Code(
        "a value that is thrown away",
        "Nothing can read the value that the statement computes. Values never change: "
        "`l.append(3.0)` returns a longer list,\n"
        "and leaves `l` as it is.",
        "Give the value a name, return it, print it, or leave the statement out.",
        "var x = 1.0\nx + 1\ny = x**2",
    ),
    "W207": Code(
        "a call uses the value of a function that returns none",
        "The function has no `return`, or can reach its end without one. Its value is then none.",
        "Write `return …` at its end.",
        "var x = 1.0\nfn f(a) { b = a*2 }\ny = f(x)",
    ),
    "W205": Code(
        "a value or a gradient that isn't finite",
        "An output, or a derivative of one, is nan or infinite.",
        "`gradcli eval --debug-nan` shows the first operation that causes it, with its operands.",
        "var x = 0.0\ny = log(x)",
    ),
}

CODES: dict[str, Code] = (
    dict(
        sorted(
            {
                **_COMMAND_LINE,
                **_LANGUAGE,
                **_CHECKS,
                **_BATCH,
                **_FORMS,
                **_RUN_TIME,
                **_LIMITS,
                **_OTHER,
            }.items()
        )
    )
    | _REASONS
)
REASONS: frozenset[str] = frozenset(_REASONS)
