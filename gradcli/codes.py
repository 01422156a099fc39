"""Every diagnostic code and reason code, with what it means and what to do: what `gradcli explain`
prints.

Examples that are programs really produce their code, and lines that begin with `$` are commands
that do (tests run both). Those of the language (E1, E2, E401, E402) stand in lang/codes.py, those
of run time (E3) in run_time_codes.py, those of `check` (from E602 on) in check_codes.py, those of
`batch` (from E605 on) in batch_codes.py, those of `lint` (W4) in lint_codes.py.

E0 the command line · E1 syntax · E2 names and structure · E3 run time · E4 limits · E5 device · E6
expectations and checks · E9 a bug.
"""

from __future__ import annotations

from .batch_codes import CODES as _BATCH
from .check_codes import CODES as _CHECKS
from .form_codes import FORM_CODES as _FORMS
from .lang.codes import CODES as _LANGUAGE
from .lang.codes import Code as Code
from .lint_codes import CODES as _LINT
from .reason_codes import REASONS as _REASONS
from .run_time_codes import CODES as _RUN_TIME

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
        "Check the path. `-` is standard input. Inputs come from .json, .csv, .tsv, .jsonl, "
        ".parquet, .arrow, .npy and .npz.",
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
        "Give it with --set NAME=VALUE or --inputs FILE, in Python with run({NAME: VALUE}), or "
        "add a value to the declaration.",
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
        "Please report the command, the program, and what `gradcli --version --verbose` and "
        "--traceback show.",
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
        "automatic gradients with respect to it are `none`.",
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
                **_LINT,
                **_RUN_TIME,
                **_LIMITS,
                **_OTHER,
            }.items()
        )
    )
    | _REASONS
)
REASONS: frozenset[str] = frozenset(_REASONS)
