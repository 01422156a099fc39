"""The codes of the front end, with what `gradcli explain` says about them: what is wrong and why,
an example, the fix.

E1 syntax, E2 names and structure, E4 limits. Each example, run as a program, shows its code; a test
runs them.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """One entry: a title of a few words, what happened and why it is an error, the way out, a
    program that shows it."""

    title: str
    text: str
    fix: str
    example: str = ""


CODES: dict[str, Code] = {
    "E100": Code(
        "not UTF-8",
        "A program must be UTF-8 text. The byte at this place isn't valid UTF-8, so gradcli "
        "can't read what follows.",
        "Save the file as UTF-8.",
    ),
    "E101": Code(
        "unexpected text",
        "The text before this place is correct, but it can't continue with what is here.",
        "The message says what is missing, or what you probably meant.",
        "y = 2 *",
    ),
    "E102": Code(
        "a character without a meaning",
        "No word, number or operator of the language starts with this character.",
        "Write `**` for a power, `and`, `or` and `not` as words, and strings in double quotes.",
        "y = 2^3",
    ),
    "E103": Code(
        "an invalid string",
        "A string must end on the line where it begins, and a backslash must start one of "
        "Python's escapes.",
        'Close the string with `"`, and write a backslash as `\\\\`.',
        'print "hello',
    ),
    "E104": Code(
        "an invalid number",
        "Numbers are decimal, without leading zeros. Ints have 64 bits. Floats range from 5e-324 "
        "to 1.8e308; a number that would "
        "become 0 or infinite is an error. A name directly after a number doesn't mean a product.",
        "Write `2*x`. For a larger int, write a float: `1e20`.",
        "y = 2x",
    ),
    "E105": Code(
        "`not` binds weaker",
        "`not` binds weaker than comparisons and arithmetic, so it can't be their right operand, "
        "as in Python.",
        "Put it in parentheses: `a == (not b)`.",
        "a = true\ny = a == not a",
    ),
    "E110": Code(
        "a bracket is never closed",
        "The message points at the bracket that opens.",
        "Close it. A statement continues over lines inside `( )` and `[ ]`, so the next lines "
        "belong to it.",
        "y = [1, 2",
    ),
    "E111": Code(
        "a bracket closes nothing",
        "There is no open bracket of this kind.",
        "Remove it, or open one.",
        "y = 1)",
    ),
    "E113": Code(
        "`;` inside brackets",
        "`;` ends a statement, which can't end inside `( )`, `[ ]` or a dict.",
        "Separate elements with `,`, or close the bracket first.",
        "y = sin(1; 2)",
    ),
    "E120": Code(
        "this can't be assigned to",
        "The left side of an assignment must be a name, an element, a member, or a list of these.",
        "Define a function with `fn f(x) = …`, and compare with `==`.",
        "3 = 4",
    ),
    "E121": Code(
        "another language's spelling",
        "The word or operator has a meaning in Python, C or JavaScript, but not in this language.",
        "The message shows how to write it.",
        "if true:",
    ),
    "E123": Code(
        "arguments or parameters out of order",
        "Positional arguments come first, each keyword once; parameters with a default come last.",
        "Reorder them.",
        "fn f(a = 1, b) = a",
    ),
    "E124": Code(
        "an invalid size",
        "A size in a type is an int, a name that stands for one size in all declarations, or "
        "`_`. `...` alone means any shape.",
        "Write for example `float[3]`, `float[_, n]` or `float[...]`.",
        "var x: float[2.5]",
    ),
    "E200": Code(
        "unknown name",
        "Neither the program nor the builtins define this name. Only a file that is one "
        "expression may have free variables.",
        "Correct the spelling, or declare it: `var x`. `gradcli ops` lists the builtins.",
        "y = sine(1.0)",
    ),
    "E201": Code(
        "no value yet",
        "The name is assigned only later. In a function, an assignment anywhere makes the name "
        "local to the whole function.",
        "Assign it first. A `var` outside a function is updated from inside with `:=`.",
        "y = x + 1\nx = 2",
    ),
    "E202": Code(
        "wrong arguments of a builtin",
        "The call doesn't fit the builtin's signature, which the message shows.",
        "`gradcli ops NAME` describes the builtin.",
        "y = sin(1, 2)",
    ),
    "E203": Code(
        "wrong arguments of a function",
        "The call doesn't fit the parameters of the function, which the message shows.",
        "Change the call, or give the parameter a default.",
        "fn f(a, b) = a + b\ny = f(1)",
    ),
    "E204": Code(
        "`break` or `continue` outside a loop",
        "They apply to the enclosing loop of the same function.",
        "Use `if`, or `return` to leave a function.",
        "break",
    ),
    "E205": Code(
        "`return` outside a function",
        "The top level has no caller, and a call of a module always returns an instance.",
        "Use `output y` to name a result of the program.",
        "return 1",
    ),
    "E206": Code(
        "a duplicate parameter",
        "An argument could belong to either.",
        "Rename one.",
        "fn f(a, a) = a",
    ),
    "E207": Code(
        "a constant is assigned",
        "A name that is declared with `const` keeps its value.",
        "Declare it with `var`, or use another name.",
        "const c = 2\nc = 3",
    ),
    "E208": Code(
        "`:=` needs a variable",
        "`:=` updates the state of a `var` or `frozen` variable. This name holds a plain value "
        "or a constant.",
        "Declare it with `var`, or rebind it with `=`.",
        "y = 2.0\ny := 3.0",
    ),
    "E209": Code(
        "this element can't be assigned",
        "`a[i] = v` works only on arrays of this function itself, and not on a variable, a "
        "constant or a captured name.",
        "Write `x[i] := v` for a variable. Otherwise copy first: `b = a`, then `b[i] = v`.",
        "var x = [1.0, 2.0]\nx[0] = 3.0",
    ),
    "E210": Code(
        "a declaration in the wrong place",
        "`var`, `frozen` and `const` are allowed at the top level and in modules, where they can "
        "be set from outside.\n"
        "`import` is allowed at the top level.",
        "In a function, assign a plain name.",
        "fn f() { var x = 1.0 }",
    ),
    "E211": Code(
        "declared twice",
        "With two declarations of one name it would be unclear which one is meant.",
        "Update a variable with `:=`, or use another name.",
        "var x = 1.0\nvar x = 2.0",
    ),
    "E212": Code(
        "`output` in the wrong place",
        "Outputs are named at the top level. In a loop or a function there could be several "
        "values of one output.",
        "Collect the values in a list, and output the list.",
        "for i in range(3) { output i }",
    ),
    "E213": Code(
        "two outputs of one name",
        "Results are identified by their names.",
        "Give one of them another name: `output other = …`.",
        "x = 1.0\noutput x, x",
    ),
    "E214": Code(
        "unknown type",
        "The types are float (the run's dtype), float64, float32, int64, bool and complex128.",
        "Use one of them, followed by a shape if needed: `float[3]`.",
        "var x: int = 1",
    ),
    "E215": Code(
        "an import has no such member",
        "The imported file has no such name at its top level.",
        "Correct the spelling, or add the name to the file.",
    ),
    "E217": Code(
        "not a function",
        "The name holds a value that can't be called. Often it hides a builtin: `sum = 0` makes "
        "`sum(x)` a call of 0.",
        "Choose another name for the value.",
        "sum = 0\ny = sum([1, 2])",
    ),
    "E218": Code(
        "a duplicate key",
        "One of the two values would be lost.",
        "Rename or remove one.",
        "d = {a: 1, a: 2}",
    ),
    "E219": Code(
        "`...` twice in an index",
        "`...` means all remaining axes. Two of them could divide these in several ways.",
        "Write `:` for one of them.",
        "x = zeros([2, 2])\ny = x[..., ...]",
    ),
    "E220": Code(
        "an invalid import",
        "An import names a `.tg` file in the program's own folder or below it, or a module of "
        "the library.",
        "Check the path. Files outside the folder can't be imported, not even through links.",
        'import "../other.tg" as other',
    ),
    "E221": Code(
        "circular imports",
        "Each of these files must run before another one of them.",
        "Move the code that they share into another file.",
    ),
    "E222": Code(
        "this function can't have a separate rule",
        "`backward NAME(dy, …) { … }` adds the derivative rule of an `opaque fn`, once. Any "
        "other function is differentiated\n"
        "through its body, or has its rule directly after the body.",
        "Declare the function `opaque fn`, or write its rule directly after the body: `fn f(x) { "
        "… } backward (dy) { … }`.",
        "fn f(x) = x**2\nbackward f(dy, x) { return 2 * x * dy }",
    ),
    "E223": Code(
        "a rule doesn't fit its function",
        "A rule after a function's body has one parameter, the gradient of the result. A "
        "separate rule has this parameter\n"
        "first, and then the function's parameters in their order. Both return one gradient per "
        "parameter.",
        "The message shows the parameters to write. `return none` says that there is no gradient.",
        "opaque fn f(x, k) { return k * x }\nbackward f(dy, k, x) { return [k * dy, x * dy] }",
    ),
    "E226": Code(
        "a statement inside an expression",
        "`attach_grad(x)` is a statement: it makes x a variable, and has no value for an "
        "expression to use.",
        "Write it on a line of its own.",
        "x = 1.0\ny = attach_grad(x)",
    ),
    "E401": Code(
        "the source is too large",
        "A program has at most 10 MB.",
        "Move data to a file, and read it with --set or --inputs.",
    ),
    "E402": Code(
        "nesting too deep",
        "Brackets and blocks nest at most 200 deep, expressions 400, imports 50.",
        "Give names to parts of the expression, or use a loop.",
        "y = " + "(" * 201 + "1" + ")" * 201,
    ),
}
