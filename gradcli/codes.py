"""Every diagnostic code and reason code, with what it means and what to do: what `gradcli explain` prints.

Examples that are programs really produce their code, and lines that begin with `$` are commands that do (tests run both).
Those of the language (E1, E2, E401, E402) stand in lang/codes.py, those of `check` (from E602 on) in
check_codes.py, those of `batch` (from E605 on) in batch_codes.py.

E0 the command line · E1 syntax · E2 names and structure · E3 run time · E4 limits · E5 device · E6 expectations and
checks · E9 a bug.
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
        "An option or command doesn't exist, or its value isn't one that it takes;\nor GRADCLI_TIER is none of 0, 1 and 2.",
        "`gradcli COMMAND --help` lists the options; the message names the closest one.",
        "$ gradcli eval -e 'x**2' --sett x=3",
    ),
    "E002": Code(
        "a file can't be read",
        "It isn't there, may not be read, has an ending that isn't known, or is a folder where one file is asked for; or there\n"
        "is no .tg file in a folder of programs.",
        "Check the path. `-` is standard input. Inputs come from .json, .csv, .npy and .npz:name.",
        "$ gradcli eval nowhere.tg",
    ),
    "E003": Code(
        "an input that the program doesn't declare",
        "--set, --inputs or `run(…)` gives a value to a name that the program doesn't declare with var, frozen or const.\n"
        "A misspelled input would otherwise leave the old value in place, silently.",
        "Correct the name, declare it (`var x`), or pass --ignore-extra.",
        "$ gradcli eval -e 'var width = 2.0; y = width**2' --set widht=3",
    ),
    "E004": Code(
        "an input is missing",
        "A declaration without a value (`var x`), or a free name of an expression, has to be given from outside.",
        "Give it with --set NAME=VALUE or --inputs FILE, or write a value behind its declaration.",
        "$ gradcli eval -e 'x**2'",
    ),
    "E005": Code(
        "an input doesn't fit",
        "The value isn't what the declaration says (`var x: float[3]`), or its file doesn't hold numbers as it should.",
        "The message names the file and line, or both shapes. Change the value or the declaration.",
        "$ gradcli eval -e 'var x: float[3]; y = sum(x)' --set 'x=[1, 2]'",
    ),
    "E006": Code(
        "the answer can't be written",
        "The folder isn't there, may not be written, or the disk is full. No partial file is left behind;\n"
        "what `batch` has finished is kept for --resume.",
        "Make the folder, free space, or choose another file for -o.",
        "$ gradcli eval -e 'x**2' --set x=3 -o nowhere/y.json",
    ),
    "E007": Code(
        "a setting is wrong",
        "[tool.gradcli] in pyproject.toml, or gradcli.toml, isn't valid TOML, has a key that is no option, or one that only\n"
        "the command line may have: addresses, commands, files, and what lets `check` pass over something. Whoever filled the\n"
        "folder wrote the file.",
        "Keys are long options without their dashes: `precision = 12`, for one command under [tool.gradcli.eval]. Pass others\n"
        "on the command line; with --no-config no file is read.",
    ),
    "E008": Code(
        "a package can't add its functions",
        "An installed package offers functions (entry-point group `gradcli.ops`), and failed to register them.\n"
        "Packages are asked when a program calls what the table of builtins doesn't have.",
        "The message says what the package raised. Update it, or remove it.",
    ),
}

_RUN_TIME = {
    "E301": Code(
        "operands of a wrong type",
        "The operation isn't defined for what it was given: none, a string, a function.",
        "The message shows both operands. Often a function wasn't called, or returned nothing on some path.",
        "x = none + 1",
    ),
    "E302": Code(
        "shapes don't broadcast",
        "Elementwise operations stretch axes of length 1 and add missing ones in front, as NumPy does.\n"
        "These shapes don't fit so.",
        "Compare the shapes from the right: each pair of sizes has to be equal, or one of them 1. `x[:, none]` adds an axis.",
        "a = ones([3]) + ones([4])",
    ),
    "E303": Code(
        "index out of range",
        "Indices of an axis of length n run from 0 to n-1, and from -1 back to -n; an index is an int, a slice or a mask.",
        "The message shows the length. `x[-1]` is the last element.",
        "x = [1.0, 2.0]\ny = x[2]",
    ),
    "E304": Code(
        "a matrix doesn't fit",
        "A product needs equal inner dimensions; inverses, determinants and linear systems need square matrices, and, but for "
        "determinants, none that is singular; `cholesky` needs a positive definite one.",
        "The message shows the shapes or the matrix; a transpose (`x.T`) or a `reshape` is often what is missing.",
        "y = ones([3, 2]) @ ones([3])",
    ),
    "E305": Code(
        "int overflow",
        "Ints have 64 bits. Where a result needs more, that is an error: a value that wrapped around would be a wrong answer.",
        "Compute in floats: write `2.0` instead of `2`.",
        "x = 9223372036854775807 + 1",
    ),
    "E306": Code(
        "int division by zero",
        "`//` and `%` of ints have no answer for 0. Floats have inf and nan.",
        "Check the divisor, or divide floats.",
        "x = 1 // 0",
    ),
    "E307": Code(
        "a name is read before it is assigned",
        "The name is assigned on some path, but not on the one that was taken.",
        "Assign it before the `if` or loop.",
        "x = 1.0\nif x > 2 { y = x }\nz = y",
    ),
    "E308": Code(
        "this can't be called so",
        "What stands before the parentheses isn't a function, or the arguments don't fit its parameters.",
        "The message shows the signature. A name that hides a builtin is named with its line.",
        "fn f(a, b) = a + b\ng = f\ny = g(1.0)",
    ),
    "E309": Code(
        "no such member or key",
        "The dict, module, tape or import has no entry of this name.",
        "The message lists what there is.",
        "d = {alpha: 1.0}\ny = d.alhpa",
    ),
    "E310": Code(
        "a condition isn't one bool",
        "`if`, `while`, `and`, `or` and `not` ask one question. An array of several elements gives several answers.",
        "Say which: `any(x > 0)` or `all(x > 0)`; elementwise choice is `where(x > 0, a, b)`.",
        "x = [1.0, -1.0]\nif array(x) > 0 { y = 1.0 }",
    ),
    "E311": Code(
        "an option of a builtin is wrong",
        "Its options have values that they take, and this isn't one of them.",
        "`gradcli ops NAME` shows the signature.",
        "for i in range(0, 4, 0) { print i }",
    ),
    "E312": Code(
        "this can't be assigned",
        "A const was assigned, a float put into an int array, `:=` used on something that isn't a variable, or an element of a\n"
        "captured array replaced.",
        "Declare a `var` for state that changes; write floats (`[1.0, 2.0]`) into arrays that are to hold them.",
        "a = array([1, 2])\na[0] = 0.5",
    ),
    "E313": Code(
        "a value isn't of its declared type",
        "The declaration says a dtype or a shape, and the value has another.",
        "Change one of them. `_` is a free size, a name a size that has to agree wherever it stands.",
        "var x: float[3] = [1.0, 2.0]",
    ),
    "E314": Code(
        "this can't be differentiated so",
        "The target or the source isn't something with a derivative: a complex target,\n"
        "a string, a function where a value is expected.",
        "Differentiate `real(z)`, `imag(z)` or `abs(z)`; call the function, or use the form `grad(f)(x)`.",
        "var x = 1.0\ny = grad(x * 1j, x)",
    ),
    "E315": Code(
        "unpacking doesn't come out",
        "There are more or fewer values than names.",
        "Take as many names as there are values, or index the list.",
        "a, b = [1.0, 2.0, 3.0]",
    ),
    "E316": Code(
        "no gradient attached",
        "`x.grad` is there once `attach_grad(x)` has made x hold a variable with a gradient. An assignment `x = …` after it\n"
        "gives the name another value, which has none.",
        "Write `attach_grad(x)` before the `record` block, and update x with `x := …`.",
        "x = [1.0, 2.0]\ny = x.grad",
    ),
    "E317": Code(
        "no gradient registered",
        "The path goes through an `opaque fn`, whose derivative nobody has stated. A silent `none` would hide that.",
        "State it with `backward NAME(dy, …) { … }`, or cut the path with `detach(…)`.",
        "opaque fn f(x) = x**2\nvar x = 2.0\ny = grad(f(x), x)",
    ),
    "E322": Code(
        "a rule returned what is no gradient",
        "A `backward` body returns one gradient a parameter, in order, as a list (a bare value for one parameter).\n"
        "Each has the structure and the shape of its parameter; `none` is no gradient.",
        "The message shows both shapes. Where the body repeats a parameter along an axis, the gradient is the sum over it.",
        "var x = 2.0\nfn f(x) { return x * ones([3]) } backward (dy) { return dy }\ny = grad(f(x), x)",
    ),
    "E323": Code(
        "a rule can't return this gradient",
        "A function with a derivative rule of its own uses a variable from outside. The rule returns gradients of the\n"
        "parameters only, so the one by that variable would be missing, silently.",
        "Make the variable a parameter, or cut the path with `detach(…)`.",
        "var w = 2.0\nvar x = 3.0\nfn f(x) { return w * x } backward (dy) { return dy * w }\ny = f(x)",
    ),
    "E324": Code(
        "a nan or an infinity",
        "With --debug-nan: an operation, forwards or on the way back, made a value that isn't finite, and the answer has it.\n"
        "What `where` discards doesn't count.",
        "The message shows the operation with its operands, and where there is one a formula that is finite there.",
        "$ gradcli eval -e 'log(x) * 3' --set x=-2 --debug-nan",
    ),
    "E318": Code(
        "an unconnected gradient",
        "With --unconnected error, a gradient that doesn't exist is an error. The reason code says why it doesn't.",
        "`gradcli explain REASON` has the fix; --unconnected none or zero accepts it.",
        "$ gradcli eval -e 'var x = 1.0; var y = 2.0; output x**2' --unconnected error",
    ),
    "E321": Code(
        "a tape was asked twice",
        "A tape answers one request for a derivative, unless it is persistent.",
        "Open it with `tape t (persistent = true) { … }`, or ask for all gradients at once: `t.gradient(y, [a, b])`.",
        "var x = 1.0\ntape t { y = x**2 }\na = t.gradient(y, x)\nb = t.gradient(y, x)",
    ),
    "E325": Code(
        "this can't be the head of `backward`",
        "`backward(y)` walks back what `record` blocks recorded, from y to the variables with attached gradients. This y was\n"
        "computed elsewhere, is a plain value, or depends on nothing attached.",
        "Compute it inside `record { … }`, from something that `attach_grad` was called for before.",
        "x = 3.0\nattach_grad(x)\ny = x**2\nbackward(y)",
    ),
    "E326": Code(
        "an operation was consumed",
        "A `backward` consumes the operations that it walks, so that forgetting to record anew is found. Another one needs them.",
        "Write `backward(y, retain = true)` in the first; or use `grad(y, x)`, which consumes nothing.",
        "x = 3.0\nattach_grad(x)\nrecord { y = x**2 }\nbackward(y)\nbackward(y)",
    ),
    "E319": Code(
        "this can't be looped over",
        "`for` goes over range(n), an array's rows, a list, zip(…) and enumerate(…).",
        "Write `range(n)` for a count.",
        "for i in 3.0 { print i }",
    ),
    "E320": Code(
        "a builtin refuses its operands",
        "The function itself found something wrong with what it was given; the message is its own.",
        "`gradcli ops NAME` shows what it takes.",
        "y = reshape(ones([2, 3]), [4])",
    ),
}

_LIMITS = {
    "E403": Code(
        "--max-steps reached",
        "The program executed as many statements as it was allowed to.",
        "Look for a loop that doesn't end, or raise --max-steps.",
        "$ gradcli eval -e 'i = 0; while true { i = i + 1 }' --max-steps 1000",
    ),
    "E404": Code(
        "--timeout reached",
        "The program ran for as long as it was allowed to. What it printed before that is in the answer.",
        "Raise --timeout, or do less.",
        "$ gradcli eval -e 'i = 0; while true { i = 1 - i }' --timeout 0.3",
    ),
    "E405": Code(
        "out of memory",
        "An array can't fit, and was refused before it was made; or the program reached --max-memory.",
        "Make arrays smaller, or raise --max-memory.",
        "y = zeros([1000000, 1000000, 1000])",
    ),
    "E406": Code(
        "too many calls inside each other",
        "A recursion went deeper than the interpreter allows.",
        "Check that it ends; turn it into a loop.",
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
        "Something happened that should not have: this is our mistake, not yours.",
        "Please report the command, the program, `gradcli --version`, and what --traceback shows.",
    ),
    "W007": Code(
        "a settings file is passed over",
        "A gradcli.toml or pyproject.toml that another user owns, or that stands above the root of the repository, isn't read:\n"
        "somebody else may have put it there.",
        "Pass what you want of it on the command line, or write a file of your own. --no-config reads none.",
    ),
    "W201": Code(
        "an unconnected gradient",
        "The target doesn't depend on the source in a way that was recorded, so the gradient is `none`.\n"
        "That isn't 0: 0 is a derivative, `none` says that there is no path. The diagnostic carries a reason code.",
        "`gradcli explain REASON` tells about the reason. --unconnected zero gives zeros.",
        "var x = 1.0\nvar y = 2.0\noutput x**2",
    ),
    "W202": Code(
        "ints, bools and strings, which aren't differentiable",
        "Gradients by an int, a bool or a string are `none`, and those of an output of ints are, too.",
        "Write a float: `2.0` instead of `2`.",
        "var x = 1.0\nn = 3\ng = grad(n * x, n)",
    ),
    "W203": Code(
        "a variable was replaced by a plain value",
        "`x = …` binds the name x to a new value: the variable of that name is gone, and automatic gradients by it are `none`.",
        "Update its state with `x := …`, or give the value a name of its own.",
        "var x = 1.0\nx = x + 1.0\noutput x**2",
    ),
    "W204": Code(
        "rows of a batch that mix",
        "`batch_jacobian` takes the first axis for a batch, whose rows have nothing to do with each other. Here they do, so\n"
        "what it gives is the gradient of the sum over the batch.",
        "Ask for the `jacobian`, which has every row of the target by every row of the source.",
        "var x = [[1.0, 2.0], [3.0, 4.0]]\nj = batch_jacobian(x - mean(x, axis = 0), x)",
    ),
    "W206": Code(
        "a value that is thrown away",
        "The statement computes something that nothing can read. Values never change: `l.append(3.0)` gives a longer list, and\n"
        "leaves `l` as it is.",
        "Give the value a name, return it, print it, or leave the statement out.",
        "var x = 1.0\nx + 1\ny = x**2",
    ),
    "W207": Code(
        "a function without a value, which is used",
        "The function has no `return`, or there is a way to its end without one: its value is none there.",
        "Write `return …` at its end.",
        "var x = 1.0\nfn f(a) { b = a*2 }\ny = f(x)",
    ),
    "W205": Code(
        "a value or a gradient that isn't finite",
        "An output, or a derivative of one, is nan or infinite.",
        "`gradcli eval --debug-nan` shows the first operation that made it, with its operands.",
        "var x = 0.0\ny = log(x)",
    ),
}

CODES: dict[str, Code] = (
    dict(sorted({**_COMMAND_LINE, **_LANGUAGE, **_CHECKS, **_BATCH, **_FORMS, **_RUN_TIME, **_LIMITS, **_OTHER}.items()))
    | _REASONS
)
REASONS: frozenset[str] = frozenset(_REASONS)
